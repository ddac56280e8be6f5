"""Whether a tree that was changed is still a program with defined behaviour."""

from __future__ import annotations

from typing import Any

from polytile.fuzz.ranges import PARAMETERS, Linear, Ranges, below, range_of
from polytile.fuzz.tree import (
    Assign,
    Declare,
    DeclareArray,
    Element,
    If,
    Loop,
    Name,
    Num,
    Program,
    Row,
    Statement,
    Sweep,
    Update,
    walk,
)


def well_formed(program: Program) -> bool:
    """Names are declared where they are used, and what the generator promises still holds."""
    if not program.functions or not all(part for f in program.functions for part in f.parts):
        return False
    outside = {a.name for a in program.arrays}
    try:
        return all(_body(part, PARAMETERS, outside) for f in program.functions for part in f.parts)
    except KeyError:  # an iterator that is not in scope
        return False


def _body(body: tuple[Statement, ...], names: Ranges, known: set[str]) -> bool:
    known = set(known)
    for s in body:
        if not _statement(s, names, known):
            return False
        if isinstance(s, Declare | DeclareArray):
            known.add(s.name)
    return True


def _statement(s: Statement, names: Ranges, known: set[str]) -> bool:
    match s:
        case Loop():
            inner = below(s, names)
            return bool(s.body) and _head(s, names) and _uses(s.also, inner, known) and _body(s.body, inner, known)
        case If(condition, then, otherwise):
            inside = _body(then, names, known) and _body(otherwise, names, known)
            return bool(then) and _uses(condition, names, known) and inside
        case Assign(targets):
            arrays = [t.array for t in targets]
            return len(set(arrays)) == len(arrays) > 0 and _uses(s, names, known)
        case Update() | Sweep() | Declare() | DeclareArray():
            return _uses(s, names, known)


def _head(loop: Loop, names: Ranges) -> bool:
    """Bounds in scope, and `!=` only where it ends."""
    high = range_of(loop.high, names)
    range_of(loop.low, names)
    exact = loop.low == Num(0) and loop.step == 1 and high.never_negative
    return loop.step >= 1 and (loop.form != "!=" or exact)


def _uses(node: Any, names: Ranges, known: set[str]) -> bool:
    for inner in walk(node):
        if isinstance(inner, Name) and inner.name not in names:
            return False
        if isinstance(inner, Element | Row | Sweep) and inner.array not in known:
            return False
        if isinstance(inner, Row | Sweep) and not (range_of(inner.count, names).low + Linear(c=-1)).never_negative:
            return False
    return True
