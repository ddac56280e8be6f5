"""Recurrences: a value that the next iteration of a serial loop reads back from memory is handed on in a register.

before: for (j = 1; j < n; ++j) p[i][j] = c / (a * p[i][j - 1] + b);
after:  if (1 < n) { double p_last = p[i][0];
            for (j = 1; j < n; ++j) { p_last = c / (a * p_last + b); p[i][j] = p_last; } }

The chain of a recurrence then runs through arithmetic alone, not through memory. It holds for an array that the loop's
body writes once, unconditionally, and reads where the iteration before wrote. Between that write and this read no other
thread touches the element, as nothing orders it with this loop. The first value is loaded where the loop runs at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polytile.codegen.accumulate import guarded
from polytile.codegen.fold import folded
from polytile.codegen.linear import Linear, linear
from polytile.codegen.names import Names
from polytile.ir.expr import (
    Access,
    Assign,
    Binary,
    Declare,
    Expr,
    For,
    If,
    Name,
    Scope,
    Stmt,
    Ternary,
    children,
    rewrite,
    walk,
)
from polytile.ir.kernel import Barrier

Known = Mapping[str, Expr]  # names declared in the loop's body, in terms of those outside and of the iterator


def carry(body: tuple[Stmt, ...], homes: frozenset[str], names: Names) -> tuple[Stmt, ...]:
    """Hand on values from iteration to iteration in all loops of a kernel's body, of arrays that are not in `homes`."""
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case For():
                found.append(_loop(replace(stmt, body=carry(stmt.body, homes, names)), homes, names))
            case If():
                then, otherwise = carry(stmt.then, homes, names), carry(stmt.otherwise, homes, names)
                found.append(replace(stmt, then=then, otherwise=otherwise))
            case Scope():
                found.append(Scope(carry(stmt.body, homes, names)))
            case _:
                found.append(stmt)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Step:
    """A statement that each iteration runs once, and what is declared before it."""

    stmt: Assign | Declare
    known: Known


@dataclass(frozen=True, slots=True)
class _Recurrence:
    """`write` stores the element that the next iteration reads; the first one finds it at `first`."""

    write: Assign
    element: tuple[Linear, ...]  # read, over the loop's iterator
    first: Access
    read_behind: bool  # whether the loop's body reads it behind the write, too


def _loop(loop: For, homes: frozenset[str], names: Names) -> Stmt:
    if not isinstance(loop.step, int) or any(isinstance(n, Barrier) for s in loop.body for n in walk(s)):
        return loop
    steps = list(_steps(loop.body, {}))
    if any(_sets_an_index(s.stmt) for s in steps):
        return loop
    elsewhere = {n.array for s in _branches(loop.body) for n in walk(s) if isinstance(n, Access)} | homes
    writes = [s for s in steps if isinstance(s.stmt, Assign) and isinstance(s.stmt.target, Access)]
    before: list[Stmt] = []
    body = loop.body
    for array in dict.fromkeys(_written(s) for s in writes):
        own = [s for s in writes if _written(s) == array]
        found = _recurrence(loop, loop.step, steps, own[0]) if len(own) == 1 and array not in elsewhere else None
        if found is not None:
            last = Name(names.shared(f"{array}_last"), found.first.type)
            following = Name(names.shared(f"{array}_next"), found.first.type)
            before.append(Declare(last.name, last.type, found.first, found.write.location))
            body = _handed_on(body, found, last, following)
    return guarded(loop, (*before, replace(loop, body=body))) if before else loop


def _written(step: _Step) -> str:
    assert isinstance(step.stmt, Assign) and isinstance(step.stmt.target, Access)
    return step.stmt.target.array


def _sets_an_index(stmt: Stmt) -> bool:
    """Whether a statement changes a local that subscripts may mention."""
    return isinstance(stmt, Assign) and isinstance(stmt.target, Name) and stmt.target.type.kind == "int"


def _steps(body: tuple[Stmt, ...], known: Known) -> Iterator[_Step]:
    for stmt in body:
        match stmt:
            case Scope():
                yield from _steps(stmt.body, known)
            case Declare() | Assign():
                yield _Step(stmt, known)
                known = _with(known, stmt)


def _with(known: Known, stmt: Stmt) -> Known:
    """What is declared behind a statement."""
    if not isinstance(stmt, Declare) or stmt.value is None:
        return known
    return {**known, stmt.name: _expanded(stmt.value, known)}


def _expanded(expr: Expr, known: Known) -> Expr:
    result: Expr = rewrite(expr, lambda node: known.get(node.name, node) if isinstance(node, Name) else node)
    return result


def _branches(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """The statements that not every iteration runs exactly once."""
    for stmt in body:
        if isinstance(stmt, Scope):
            yield from _branches(stmt.body)
        elif not isinstance(stmt, (Declare, Assign)):
            yield stmt


def _recurrence(loop: For, step: int, steps: list[_Step], written: _Step) -> _Recurrence | None:
    write = written.stmt
    assert isinstance(write, Assign) and isinstance(write.target, Access)
    element = _element(write.target, written.known)
    if element is None or not any(e.get(loop.iterator) for e in element):
        return None
    earlier = tuple(_moved(e, loop.iterator, -step) for e in element)
    reading = [s for s in steps if s.stmt.value is not None and _reads(s.stmt.value, s.known, write.target, earlier)]
    for s in reading:
        certain = next(iter(_reads(s.stmt.value, s.known, write.target, earlier, certainly=True)), None)
        if certain is not None:
            behind = any(steps.index(other) > steps.index(written) for other in reading)
            return _Recurrence(write, earlier, _at_start(certain, s.known, loop), behind)
    return None


def _element(access: Access, known: Known) -> tuple[Linear, ...] | None:
    """The subscripts as linear forms; None where one is something else, and for members of structs."""
    forms = [linear(_expanded(s, known)) for s in access.subscripts]
    found = tuple(f for f in forms if f is not None)
    return found if len(found) == len(forms) and access.field is None else None


def _moved(form: Linear, iterator: str, by: int) -> Linear:
    moved = {**form, "": form.get("", 0) + by * form.get(iterator, 0)}
    return {name: factor for name, factor in moved.items() if factor}


def _reads(
    value: Expr | None, known: Known, like: Access, element: tuple[Linear, ...], *, certainly: bool = False
) -> list[Access]:
    """The reads of an element of `like`'s array; `certainly` leaves out what a condition may skip."""
    nodes = [] if value is None else _evaluated(value) if certainly else walk(value)
    return [n for n in nodes if isinstance(n, Access) and n.array == like.array and _element(n, known) == element]


def _evaluated(value: Expr) -> Iterator[Expr]:
    """The parts of a value that are evaluated whatever its conditions say."""
    yield value
    match value:
        case Ternary():
            parts: tuple[Expr, ...] = (value.condition,)
        case Binary(op="&&" | "||"):
            parts = (value.left,)
        case _:
            parts = tuple(p for p in children(value) if isinstance(p, Expr))
    for part in parts:
        yield from _evaluated(part)


def _at_start(access: Access, known: Known, loop: For) -> Access:
    """The element that the loop's first iteration reads, in terms of names outside the loop."""

    def start(node: Expr) -> Expr:
        return loop.lower if isinstance(node, Name) and node.name == loop.iterator else node

    return replace(access, subscripts=tuple(folded(rewrite(_expanded(s, known), start)) for s in access.subscripts))


def _handed_on(body: tuple[Stmt, ...], found: _Recurrence, last: Name, following: Name) -> tuple[Stmt, ...]:
    """The loop's body with `last` in place of the reads, ending with the value that this iteration wrote."""
    direct = not found.read_behind and found.write.op == ""
    changed = tuple(_changed(body, {}, found, last, last if direct else following))
    if direct:
        return changed
    return (Declare(following.name, following.type, None), *changed, Assign(last, "", following))


def _changed(body: tuple[Stmt, ...], known: Known, found: _Recurrence, last: Name, register: Name) -> Iterator[Stmt]:
    for stmt in body:
        match stmt:
            case Scope():
                yield Scope(tuple(_changed(stmt.body, known, found, last, register)))
            case Assign():
                value = _with_register(stmt.value, known, found, last)
                if stmt.target == found.write.target:
                    yield from _stored(replace(stmt, value=value), register)
                else:
                    yield replace(stmt, value=value)
            case Declare() if stmt.value is not None:
                yield replace(stmt, value=_with_register(stmt.value, known, found, last))
                known = _with(known, stmt)
            case _:
                yield stmt


def _stored(write: Assign, register: Name) -> tuple[Stmt, ...]:
    update = Assign(register, write.op, write.value, write.location)
    store = Assign(write.target, "", register, write.location)
    if write.op == "":
        return (update, store)
    assert isinstance(write.target, Access)
    return (Assign(register, "", write.target, write.location), update, store)


def _with_register(value: Expr, known: Known, found: _Recurrence, last: Name) -> Expr:
    like = found.first

    def change(node: Expr) -> Expr:
        here = isinstance(node, Access) and node.array == like.array and _element(node, known) == found.element
        return last if here else node

    result: Expr = rewrite(value, change)
    return result
