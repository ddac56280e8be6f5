"""Random programs with what C programs seldom have: sizes at the ends of their types, structs with a layout of their
own, and static variables of functions that the SCoPs change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polytile.fuzz.draw import Draw
from polytile.fuzz.large_sizes import COMPARED, COMPARISONS, STARTS
from polytile.fuzz.structs import ENUMS, LAYOUTS, TYPES, laid_out
from polytile.fuzz.tree import (
    Array,
    Element,
    Entry,
    If,
    Junction,
    LargeCompare,
    Loop,
    Name,
    Num,
    Program,
    Row,
    Sweep,
)
from polytile.fuzz.walking import positions, replaced, walk
from polytile.fuzz.wellformed import well_formed


def with_kinds(draw: Draw, program: Program) -> Program:
    """Add some of these kinds to the program; return the same one where it has no place for them."""
    for change, one_in in ((with_large_sizes, 1), (with_layouts, 2), (with_statics, 3)):
        if draw.chance(one_in):
            program = change(draw, program)
    return program


def with_large_sizes(draw: Draw, program: Program) -> Program:
    """Add loops that start near the ends of types or end at large sizes, too: see large_sizes.py."""
    sites = [path for path, node in positions(program.functions) if isinstance(node, Loop)]
    for path in reversed(sites):  # inner ones first, as a change moves what is below it
        for change in (_started, _compared):
            functions = replaced(program.functions, path, change(draw, _at(program.functions, path)))
            changed = replace(program, functions=functions)
            program = changed if well_formed(changed) else program
    return program


def _at(node: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        node = node[step] if isinstance(step, int) else getattr(node, step)
    return node


def _started(draw: Draw, loop: Loop) -> Loop:
    """Let the loop begin at a start, with an unsigned iterator mostly up to an end that it is compared with by `!=`."""
    if loop.start or loop.type != "int" or draw.chance(2):
        return loop
    name = draw.one_of(tuple(STARTS))
    form = "!=" if loop.low == Num(0) and STARTS[name].unsigned and loop.form == "<" and draw.chance(2) else loop.form
    return replace(loop, start=name, type=STARTS[name].type, form=form)


def _compared(draw: Draw, loop: Loop) -> Loop:
    """Add a comparison beside the loop's bound or around its body."""
    if draw.chance(3):
        return loop
    compare = LargeCompare(draw.one_of(COMPARISONS), Name(loop.iterator), draw.one_of(COMPARED))
    if draw.chance(3) or loop.form in ("while", "do"):
        return replace(loop, body=(If(compare, loop.body),))
    return replace(loop, also=compare if loop.also is None else Junction("&&", compare, loop.also))


def with_layouts(draw: Draw, program: Program) -> Program:
    """Turn elements into fields of structs: packed, aligned, under #pragma pack, or enumerations in them."""
    nodes = list(walk(program.functions))
    whole = {n.array for n in nodes if isinstance(n, Row | Sweep | Entry)}  # rows are numbers for the functions called
    layouts = {}
    for array in program.arrays:
        if array.rank and array.type in TYPES and not array.holds and array.form != "own" and array.name not in whole:
            layout = draw.one_of([one for one in LAYOUTS if one != "enum" or array.type in ENUMS])
            layouts[array.name] = laid_out(layout, array.type)
    if not layouts:
        return program
    arrays = tuple(replace(a, type=layouts.get(a.name, a.type)) for a in program.arrays)
    functions = program.functions
    for path, node in positions(functions):
        if isinstance(node, Element) and node.array in layouts:
            functions = replaced(functions, (*path, "field"), "v")
    return replace(program, arrays=arrays, functions=functions)


def with_statics(draw: Draw, program: Program) -> Program:
    """Declare scalars that keep their values from call to call, in variables of the function."""

    def kept(array: Array) -> Array:
        return replace(array, form="kept") if array.rank == 0 and array.form in ("local", "dead") else array

    return replace(program, arrays=tuple(map(kept, program.arrays)))
