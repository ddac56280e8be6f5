"""Simpler variants of a case: what the shrinker tries, larger steps first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from polytile.fuzz.case import Case, Choices
from polytile.fuzz.forms import (
    FACTORS,
    FORMS,
    INPUT_SUMMANDS,
    JUMPS,
    SUMMANDS,
    WHOLE_CALLS,
)
from polytile.fuzz.printing import c_text
from polytile.fuzz.structs import kind
from polytile.fuzz.tree import (
    Advance,
    Apply,
    Array,
    Assign,
    Choice,
    Clamped,
    Counting,
    Declare,
    Element,
    Escape,
    Extreme,
    If,
    JumpOver,
    Junction,
    Leave,
    Let,
    Literal,
    Loop,
    Minus,
    Name,
    Not,
    Num,
    Place,
    Position,
    PostStep,
    Program,
    Quotient,
    Remainder,
    Row,
    Statement,
    Sum,
    Switch,
    Times,
    Until,
    Update,
    Wrapped,
)
from polytile.fuzz.walking import Path, positions, replaced, substituted, walk

_FIXED_LENGTH = ("arguments", "subscripts", "arrays", "inside", "known", "cases")
_TABLES = (FORMS, {"f": WHOLE_CALLS}, JUMPS, SUMMANDS, INPUT_SUMMANDS, FACTORS)
_KINDS = {text: (result, kinds) for table in _TABLES for result, forms in table.items() for text, kinds in forms}


def cost(case: Case) -> tuple[int, int, int, int]:
    """Return what must become less: nodes, options, the length of the text, the size of its numbers."""
    nodes = list(walk(case.program))
    numbers = sum(abs(n.value) for n in nodes if isinstance(n, Num))
    chosen = sum(getattr(case.choices, f.name) != f.default for f in fields(Choices))
    runs = case.reload + case.whole + chosen + len(case.strategies) + len(case.sanitize) + len(case.sizes)
    numbers += sum(abs(v) for sizes in case.sizes for v in sizes.values())
    return len(nodes), runs, len(c_text(case.program)), numbers


def simpler(case: Case) -> Iterator[Case]:
    """Yield cases that may be simpler; some are not programs any more."""
    yield from _fewer_runs(case)
    for changed in _programs(case.program):
        yield replace(case, program=changed)
    yield from _options(case)


def _fewer_runs(case: Case) -> Iterator[Case]:
    if case.reload:
        yield replace(case, reload=False)
    if case.whole:
        yield replace(case, whole=False)
    if case.sanitize:
        yield replace(case, sanitize=())
    if len(case.sanitize) > 1:
        yield from (replace(case, sanitize=(one,)) for one in case.sanitize)
    if len(case.strategies) > 1:
        yield from (replace(case, strategies=(one,)) for one in case.strategies)
    if len(case.sizes) > 1:
        yield from (replace(case, sizes=(one,)) for one in case.sizes)


def _options(case: Case) -> Iterator[Case]:
    for f in fields(Choices):
        if getattr(case.choices, f.name) != f.default and f.name != "strict":
            yield replace(case, choices=_with(case.choices, f.name, f.default))
    for name in ("tile", "block"):
        shape = getattr(case.choices, name)
        if len(shape) > 1:
            yield replace(case, choices=_with(case.choices, name, shape[:1]))
    for number, sizes in enumerate(case.sizes):
        for name, value in sizes.items():
            if value > 1 and name not in dict(case.program.fixed):
                for less in (value // 2, value - 1):
                    yield replace(case, sizes=replaced(case.sizes, (number,), {**sizes, name: less}))


def _with(record: Any, name: str, value: Any) -> Any:
    """Return the record with one field changed."""
    return replace(record, **{name: value})


def _programs(program: Program) -> Iterator[Program]:
    found = [(path, node) for path, node in positions(program) if path]
    for path, node in found:
        if isinstance(node, tuple) and node and is_dataclass(node[0]) and path[-1] not in _FIXED_LENGTH:
            for shorter in _shorter(node):
                yield replaced(program, path, shorter)
        elif isinstance(node, tuple) and path[-1] == "parts" and len(node) > 1:
            for k in range(len(node)):
                yield replaced(program, path, node[:k] + node[k + 1 :])
    for path, node in found:
        yield from (replaced(program, path, other) for other in _instead(program, node))
        yield from _spliced(program, path, node)
    yield from _plain(program)
    for number, function in enumerate(program.functions):
        for k, let in enumerate(function.known):
            known = function.known[:k] + substituted(function.known[k + 1 :], let.name, let.value)
            parts = substituted(function.parts, let.name, let.value)
            yield replaced(program, ("functions", number), replace(function, known=known, parts=parts))


def _shorter(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if len(items) > 2:
        half = len(items) // 2
        yield items[half:]
        yield items[:half]
    for k in range(len(items)):
        yield items[:k] + items[k + 1 :]


def _spliced(program: Program, path: Path, node: Any) -> Iterator[Program]:
    """Yield programs in which a loop, a condition or a variable is replaced by what it holds."""
    if not (isinstance(node, Loop | If | JumpOver | Switch | Escape | Until | Counting | Let | Place) and path):
        return
    outer: Any = program
    for step in path[:-1]:
        outer = outer[step] if isinstance(step, int) else getattr(outer, step)
    number = path[-1]
    if not isinstance(outer, tuple):
        return
    assert isinstance(number, int)
    if isinstance(node, Let | Place):
        yield replaced(program, path[:-1], outer[:number] + _unnamed(node, outer[number + 1 :]))
        return
    for body in _held(node):
        yield replaced(program, path[:-1], outer[:number] + body + outer[number + 1 :])


def _held(node: Loop | If | JumpOver | Switch | Escape | Until | Counting) -> list[tuple[Statement, ...]]:
    """Return what could stand instead of a statement that has a body."""
    match node:
        case If(_, then, otherwise):
            return [then, otherwise]
        case JumpOver(_, _, skipped):
            return [skipped]
        case Escape(_, loop):
            return [(loop,)]
        case Switch(_, cases):
            return list(cases)
        case Counting(name, start, body):
            return [substituted(_without_steps(body, name), name, start)]
        case Until(name, _, _, body):
            return [substituted(body, name, Num(0))]
    return [substituted(node.body, node.iterator, by) for by in (node.low, Num(0), Num(1))]


def _unnamed(node: Let | Place, following: Any) -> Any:
    """Replace a variable for a subscript by its value in the statements after it."""
    if isinstance(node, Let):
        return substituted(following, node.name, node.value)
    for path, element in positions(following):
        if isinstance(element, Element) and element.through == node.name:
            following = replaced(following, path, replace(element, through="", row=False))
    return following


def _without_steps(node: Any, name: str) -> Any:
    """Remove the statements that advance a variable from the tree."""
    if isinstance(node, tuple):
        return tuple(
            _without_steps(item, name) for item in node if not (isinstance(item, Advance) and item.name == name)
        )
    if isinstance(node, PostStep) and node.name == name:
        return Name(name)
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{f.name: _without_steps(getattr(node, f.name), name) for f in fields(node)})
    return node


def _instead(program: Program, node: Any) -> Iterator[Any]:
    """Yield simpler nodes of the same sort."""
    match node:
        case Num(value) if value:
            yield from (Num(v) for v in (0, 1, value // 2, value - 1) if abs(v) < abs(value))
        case Sum(a, b) | Minus(a, b) | Extreme(_, a, b):
            yield from (a, b)
            if isinstance(node, Extreme) and node.macro:
                yield replace(node, macro=False)
        case Times(_, a) | Quotient(a, _) | Remainder(a, _) | Clamped(a) | Wrapped(a):
            yield a
        case Choice(_, a, b):
            yield from (a, b)
        case Not(a):
            yield a
        case Junction(_, a, b):
            yield from (a, b)
        case Apply() | Row() | Position():
            yield from _values(node)
            if isinstance(node, Row) and node.start is not None:
                yield replace(node, start=None)
        case Counting(start=start) if start != Num(0):
            yield replace(node, start=Num(0))
        case Leave(label=label) if label:
            yield Leave("break", node.condition)
        case Switch() if node.falls:
            yield replace(node, falls=())
        case Until(word="do") | Let(declared=False) | Let():
            yield from _plainer_variable(node)
        case Element(_, subscripts):
            yield from (
                replace(node, subscripts=(*subscripts[:k], Num(0), *subscripts[k + 1 :]))
                for k, s in enumerate(subscripts)
                if s != Num(0)
            )
            yield from (
                replace(node, inside=tuple(Num(0) for _ in node.inside)) for s in node.inside[:1] if s != Num(0)
            )
        case Loop():
            yield from _loops(node)
        case Update(target, _, value, spelling):
            yield Assign((target,), value)
            if spelling not in ("compound", "?"):
                yield replace(node, spelling="?" if node.op in "<>" else "compound")
        case Declare(type=ctype) if ctype != "double" and kind(ctype) == "f":
            yield replace(node, type="double")
        case Name() if node.name not in ("n",):
            yield Num(0)


def _plainer_variable(node: Until | Let) -> Iterator[Any]:
    if isinstance(node, Until):
        yield replace(node, word="while")
        return
    if not node.declared:
        yield replace(node, declared=True)
    if node.limit is not None:
        yield replace(node, limit=None)


def _values(node: Any) -> Iterator[Any]:
    result, kinds = _KINDS.get(node.form, ("f", "")) if isinstance(node, Apply) else ("f", "")
    if isinstance(node, Apply):
        yield from (a for a, k in zip(node.arguments, kinds, strict=False) if k == result)
        if not kinds and len(node.arguments) > 1:  # a sum over the points of a stencil
            yield from (Apply("0.5 * {0}", (a,)) for a in node.arguments)
    yield Literal({"f": "1.5", "i": "1", "u": "1u"}[result])


def _loops(loop: Loop) -> Iterator[Loop]:
    if loop.also is not None:
        yield replace(loop, also=None)
    if loop.form != "<":
        yield replace(loop, form="<")
    if loop.stride is not None:
        yield replace(loop, stride=None)
    if loop.step != 1:
        yield replace(loop, step=1)
    if loop.type != "int":
        yield replace(loop, type="int")
    if loop.start:
        yield replace(loop, start="")
    for name, simple in (("low", Num(0)), ("high", Name("n")), ("high", Num(4))):
        if getattr(loop, name) != simple:
            yield _with(loop, name, simple)


def _plain(program: Program) -> Iterator[Program]:
    """Yield programs with plainer declarations."""
    if program.fixed:
        yield replace(program, fixed=())
    if program.assumptions:
        yield replace(program, assumptions=())
    if program.autodetect:
        yield replace(program, autodetect=False)
    if program.size_type != "int":
        yield replace(program, size_type="int")
    for number, array in enumerate(program.arrays):
        for other in _plainer(array):
            yield replaced(program, ("arrays", number), other)


def _plainer(array: Array) -> Iterator[Array]:
    if array.rank and array.form != "vla":
        yield replace(array, form="vla")
    if not array.rank and array.form != "local":
        yield replace(array, form="local")
    plain = {"f": "double", "i": "int", "u": "unsigned"}
    if array.type != "struct cell" and array.type != plain[kind(array.type)]:
        yield replace(array, type=plain[kind(array.type)])
