"""`continue`, forward `goto`, and loops that data end: `break`, `while`, `do`, and bounds that are read."""

from __future__ import annotations

from dataclasses import replace

from polytile.fuzz.expressions import Context
from polytile.fuzz.pieces.places import Statements, entry, free_iterators, inside
from polytile.fuzz.ranges import within
from polytile.fuzz.statements import StatementWriter
from polytile.fuzz.tree import (
    Index,
    JumpOver,
    Leave,
    Loop,
    Name,
    Num,
    Remainder,
    Sum,
    Switch,
    Until,
)


def skip_rest(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw a loop with `if (...) continue;` in the middle of its body."""
    free = free_iterators(at)
    if not free or depth < 1:
        return ()
    loop = Loop(free[0], Num(0), writer.size(), writer.draw.pick(1, 1, 2), writer.draw.pick("<", "<", ">="))
    inner = inside(at, loop)
    condition, data = writer.condition(inner)
    before = (writer.statement(inner, 0),) if writer.draw.chance(2) else ()
    rest = _plain(writer, replace(inner, guarded=at.guarded or data), 0 if data else depth - 1)
    return (replace(loop, body=(*before, Leave("continue", condition), *rest)),)


def jump_over(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `if (...) goto next; ...; next: ;`."""
    if not at.iterators:
        return ()
    condition, data = writer.condition(at)
    skipped = _plain(writer, replace(at, guarded=at.guarded or data), 0)
    return JumpOver(condition, writer.fresh("l"), skipped), writer.statement(at, 0)


def switch(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `switch (i % 3) { case 0: ...; break; case 1: ...; default: ...; break; }`, with an iterator or an
    integer."""
    if not at.iterators:
        return ()
    iterator = writer.draw.one_of(at.iterators)
    subject: Index = Remainder(Name(iterator), 3) if writer.draw.chance(2) else Name(iterator)
    cases = tuple(_plain(writer, at, 0) for _ in range(writer.draw.pick(2, 3, 3)))
    return (Switch(subject, cases, tuple(k for k in range(len(cases) - 1) if writer.draw.chance(4))),)


def _plain(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw one or two statements without declarations."""
    return tuple(writer.statement(at, depth) for _ in range(writer.draw.pick(1, 1, 2)))


def _outermost(writer: StatementWriter, at: Context) -> bool:
    """Return whether nothing around is parallel, which leaves the SCoP to C: it is wanted one in six times."""
    return not at.iterators and not writer.draw.chance(6)


def search(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw a loop with `if (...) break;`."""
    free = free_iterators(at)
    if not free or _outermost(writer, at):
        return ()
    loop = Loop(free[0], Num(writer.draw.pick(0, 0, 1)), writer.size())
    inner = replace(inside(at, loop), guarded=True)
    leave = Leave("break", writer.data_compare(inner))
    some = _plain(writer, inner, 0)
    body = (leave, *some) if writer.draw.chance(2) else (*some, leave)
    return (replace(loop, body=body),)


def until(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `int w = 0; while (w < n && A[w] > 0) { ...; w++; }`, or the `do` loop."""
    if _outermost(writer, at):
        return ()
    limit: Index = writer.draw.pick(writer.size(), Num(5), Num(9))
    found = Until(writer.fresh("w"), limit, writer.data_compare(at), (), writer.draw.pick("while", "while", "do"))
    inner = replace(at, names=within(found, at.names), iterators=(*at.iterators, found.name), guarded=True)
    body = _plain(writer, inner, 0)
    return (replace(found, condition=writer.data_compare(inner), body=body),)


def row_of_entries(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `for (int j = row[i]; j < row[i + 1]; j++)`, with `x[j]` and `x[col[j]]` in it."""
    first, free = entry(writer, at, "row"), free_iterators(at)
    if first is None or not free or _outermost(writer, at):
        return ()
    last = replace(first, subscripts=(*first.subscripts[:-1], Sum(first.subscripts[-1], Num(1))))
    low: Index = Num(0) if writer.draw.chance(4) else first
    loop = Loop(free[0], low, last)
    inner = replace(inside(at, loop), iterators=at.iterators, guarded=True)
    here = replace(inner, indices=(*at.indices, Name(free[0])))
    column = entry(writer, inside(at, loop), "index")
    if column is not None and len(column.subscripts) == 1:
        here = replace(here, indices=(*here.indices, replace(column, subscripts=(Name(free[0]),))))
    return (replace(loop, body=_plain(writer, here, 0)),)


JUMPS = (skip_rest, skip_rest, jump_over, switch)
DATA_LOOPS = (search, until, row_of_entries, row_of_entries)
