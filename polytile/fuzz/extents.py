"""The extents that arrays need, and the ranges of variables that count along with loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from polytile.fuzz.ranges import (
    ONE,
    PARAMETERS,
    ZERO,
    Linear,
    Range,
    Ranges,
    below,
    range_of,
    set_by,
    shift,
    within,
)
from polytile.fuzz.tree import (
    Advance,
    Counting,
    DeclareArray,
    Element,
    Entry,
    Function,
    Let,
    Loop,
    PostStep,
    Program,
    Row,
    Statement,
    Sweep,
    Until,
)
from polytile.fuzz.walking import walk

Extents = dict[str, list[Linear]]


def scope_of(function: Function) -> Ranges:
    """Return the names in the SCoPs of a function: sizes, and what is set before."""
    names: Ranges = PARAMETERS
    for let in function.known:
        names = {**names, let.name: set_by(let, names)}
    return names


def statements(body: tuple[Statement, ...], names: Ranges) -> Iterator[tuple[Statement, Ranges]]:
    """Yield the statements of a block with the names that each may use."""
    for s in body:
        yield s, names
        if isinstance(s, Let):
            names = {**names, s.name: set_by(s, names)}


def counted(node: Counting, names: Ranges) -> Ranges:
    """Return the names in the body of Counting, and after it."""
    start, moved = range_of(node.start, names), _moved(node.name, node.body, names)
    return {**names, node.name: Range(start.low + moved.low, start.high + moved.high)}


def _moved(name: str, node: Any, names: Ranges) -> Range:
    """Return how far statements may move a variable, 0 included. Raises KeyError where that is no sum of sizes."""
    match node:
        case Advance(moved, by) if moved == name:
            return Range(Linear(c=min(0, by)), Linear(c=max(0, by)))
        case PostStep(moved) if moved == name:
            return Range(ZERO, ONE)
        case Loop() | Until():
            inner = below(node, names) if isinstance(node, Loop) else within(node, names)
            once = _moved(name, node.body, inner)
            return once if once == Range(ZERO, ZERO) else _repeated(once, _trips(node, inner))
        case tuple():
            found = Range(ZERO, ZERO)
            for item in node:
                found += _moved(name, item, names)
                if isinstance(item, Let):
                    with suppress(KeyError):  # its value uses a variable that counts, so no bounds of loops may use it
                        names = {**names, item.name: set_by(item, names)}
            return found
    if hasattr(node, "__dataclass_fields__"):
        return _moved(name, tuple(getattr(node, f) for f in node.__dataclass_fields__), names)
    return Range(ZERO, ZERO)


def _trips(node: Loop | Until, inner: Ranges) -> Linear:
    """Return at least as many iterations as there are."""
    name = node.iterator if isinstance(node, Loop) else node.name
    bounds = inner[name]
    return (bounds.high + bounds.low * -1 + ONE).most(ZERO)


def _repeated(once: Range, trips: Linear) -> Range:
    return Range(_product(once.low, trips), _product(once.high, trips))


def _product(one: Linear, other: Linear) -> Linear:
    if one.constant:
        return other * one.c
    if other.constant:
        return one * other.c
    raise KeyError("a product of sizes")


def extents(program: Program) -> Extents:
    """Compute the extents of every array, those declared inside SCoPs too; each is at least 1 for all sizes.

    Arrays of one name, declared in several places, get the extents that all of them need. Raises KeyError for a name
    that is not in scope.
    """
    found = {a.name: [ONE] * a.rank for a in program.arrays}
    found |= {d.name: [ONE] * d.rank for d in walk(program) if isinstance(d, DeclareArray)}
    for function in program.functions:
        for part in function.parts:
            _visit(part, scope_of(function), found)
    return found


def _visit(node: Any, names: Ranges, found: Extents) -> None:
    """Enter what the subscripts below a node need."""
    if isinstance(node, Element | Row | Sweep | Entry):
        _enter(found.get(node.array, []), _needed(node, names))
    match node:
        case tuple():
            for item, here in statements(node, names):
                _visit(item, here, found)
        case Loop() | Until():
            inner = below(node, names) if isinstance(node, Loop) else within(node, names)
            _visit((node.low, node.high) if isinstance(node, Loop) else node.limit, names, found)
            _visit(node.body, inner, found)
            _visit(node.also if isinstance(node, Loop) else node.condition, inner, found)
        case Counting():
            _visit(node.start, names, found)
            _visit(node.body, counted(node, names), found)
        case _ if hasattr(node, "__dataclass_fields__"):
            for name in node.__dataclass_fields__:
                _visit(getattr(node, name), names, found)


def _needed(node: Element | Row | Sweep | Entry, names: Ranges) -> list[Linear]:
    """Compute the sizes that one use of an array needs."""
    needed = [range_of(s, names) for s in node.subscripts]
    sizes = [r.high + shift(r) + ONE for r in needed]
    if isinstance(node, Row | Sweep):
        first = Range(ZERO, ZERO) if node.start is None else range_of(node.start, names)
        sizes.append(first.high + shift(first) + range_of(node.count, names).high)
    return sizes


def _enter(known: list[Linear], needed: list[Linear]) -> None:
    for position, extent in enumerate(needed):
        known[position] = known[position].most(extent)
