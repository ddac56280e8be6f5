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
from polytile.fuzz.tree import (
    Apply,
    Array,
    Assign,
    Declare,
    Element,
    Extreme,
    If,
    Junction,
    Literal,
    Loop,
    Minus,
    Name,
    Not,
    Num,
    Path,
    Position,
    Program,
    Quotient,
    Remainder,
    Row,
    Sum,
    Times,
    Update,
    kind,
    positions,
    replaced,
    substituted,
    walk,
)

_FIXED_LENGTH = ("arguments", "subscripts", "arrays")
_TABLES = (FORMS, {"f": WHOLE_CALLS}, JUMPS, SUMMANDS, INPUT_SUMMANDS, FACTORS)
_KINDS = {text: (result, kinds) for table in _TABLES for result, forms in table.items() for text, kinds in forms}


def cost(case: Case) -> tuple[int, int, int, int]:
    """What must become less: nodes, options, the length of the text, the size of its numbers."""
    nodes = list(walk(case.program))
    numbers = sum(abs(n.value) for n in nodes if isinstance(n, Num))
    chosen = sum(getattr(case.choices, f.name) != f.default for f in fields(Choices))
    runs = case.reload + case.whole + chosen + len(case.strategies) + len(case.sanitize) + len(case.sizes)
    numbers += sum(abs(v) for sizes in case.sizes for v in sizes.values())
    return len(nodes), runs, len(c_text(case.program)), numbers


def simpler(case: Case) -> Iterator[Case]:
    """Cases that may be simpler; some are not programs any more."""
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
    """The record with one field changed."""
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


def _shorter(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if len(items) > 2:
        half = len(items) // 2
        yield items[half:]
        yield items[:half]
    for k in range(len(items)):
        yield items[:k] + items[k + 1 :]


def _spliced(program: Program, path: Path, node: Any) -> Iterator[Program]:
    """A loop or a condition replaced by what it holds."""
    if not (isinstance(node, Loop | If) and path):
        return
    outer: Any = program
    for step in path[:-1]:
        outer = outer[step] if isinstance(step, int) else getattr(outer, step)
    number = path[-1]
    assert isinstance(outer, tuple) and isinstance(number, int)
    bodies = [node.then, node.otherwise] if isinstance(node, If) else []
    if isinstance(node, Loop):
        bodies = [substituted(node.body, node.iterator, by) for by in (node.low, Num(0), Num(1))]
    for body in bodies:
        yield replaced(program, path[:-1], outer[:number] + body + outer[number + 1 :])


def _instead(program: Program, node: Any) -> Iterator[Any]:
    """Simpler nodes of the same sort."""
    match node:
        case Num(value) if value:
            yield from (Num(v) for v in (0, 1, value // 2, value - 1) if abs(v) < abs(value))
        case Sum(a, b) | Minus(a, b) | Extreme(_, a, b):
            yield from (a, b)
            if isinstance(node, Extreme) and node.macro:
                yield replace(node, macro=False)
        case Times(_, a) | Quotient(a, _) | Remainder(a, _):
            yield a
        case Not(a):
            yield a
        case Junction(_, a, b):
            yield from (a, b)
        case Apply() | Row() | Position():
            yield from _values(node)
        case Element(_, subscripts, _):
            yield from (
                replace(node, subscripts=(*subscripts[:k], Num(0), *subscripts[k + 1 :]))
                for k, s in enumerate(subscripts)
                if s != Num(0)
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
    if loop.step != 1:
        yield replace(loop, step=1)
    if loop.type != "int":
        yield replace(loop, type="int")
    for name, simple in (("low", Num(0)), ("high", Name("n")), ("high", Num(4))):
        if getattr(loop, name) != simple:
            yield _with(loop, name, simple)


def _plain(program: Program) -> Iterator[Program]:
    """Plainer declarations."""
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
