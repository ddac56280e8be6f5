"""Variables that count along with loops, `while` and `do` loops that count, and steps that are sizes."""

from __future__ import annotations

from dataclasses import replace

from polytile.fuzz.expressions import Context, plus
from polytile.fuzz.extents import counted
from polytile.fuzz.pieces.places import Statements, free_iterators, inside, sized, with_base
from polytile.fuzz.statements import StatementWriter
from polytile.fuzz.structs import kind
from polytile.fuzz.tree import (
    Advance,
    Assign,
    Counting,
    Element,
    If,
    Index,
    Loop,
    Name,
    Num,
    PostStep,
    Statement,
)


def counter(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `int c = 0; for (...) { a[c] = ...; c += 2; }`."""
    free = free_iterators(at)
    if not free or depth < 1:
        return ()
    draw, name = writer.draw, writer.fresh("c")
    start = draw.pick(Num(0), Num(0), Num(draw.between(1, 3)), writer.size())
    loop = Loop(free[0], Num(draw.pick(0, 0, 1)), writer.size(), form=draw.pick("<", "<", "<=", ">="))
    by = draw.pick(1, 1, 2, 3, -1)
    draft = Counting(name, start, (replace(loop, body=(Advance(name, by),)),))
    known = replace(at, names=counted(draft, at.names))
    body = writer.block(with_base(inside(known, loop), Name(name)), depth - 1)
    whole = replace(draft, body=(replace(loop, body=_advancing(writer, at, name, by, body)),))
    if draw.chance(3):
        whole = replace(whole, body=(*whole.body, *writer.block(with_base(known, Name(name)), 0)))
    return (whole,)


def _advancing(writer: StatementWriter, at: Context, name: str, by: int, body: Statements) -> Statements:
    """Add the step to a loop body: at its end, at its beginning, or in both branches of a condition."""
    step = Advance(name, by)
    match writer.draw.pick("last", "last", "last", "first", "both"):
        case "first":
            return (step, *body)
        case "both":
            return (*body, If(writer.affine(at, 0), (step,), (step,)))
    return (*body, step)


def stepping_store(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `int c = 0; for (...) A[c++] = ...;`, in an inner loop with a constant number of iterations too."""
    free = free_iterators(at)
    arrays = [a for a in writer.arrays if a.written and a.rank == 1 and not a.type.startswith("struct")]
    if len(free) < 2 or not arrays or depth < 1:
        return ()
    draw, name, array = writer.draw, writer.fresh("c"), writer.draw.one_of(arrays)
    loops = [Loop(free[0], Num(0), writer.size())]
    if depth > 1 and draw.chance(2):
        loops.append(Loop(free[1], Num(0), Num(draw.pick(2, 3, 4))))
    inner = at
    for loop in loops:
        inner = inside(inner, loop)
    writer.left -= 1
    store = Assign((Element(array.name, (PostStep(name),)),), writer.value(inner, kind(array.type)))
    body: tuple[Statement, ...] = (store,)
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return (Counting(name, draw.pick(Num(0), writer.size()), body),)


def compaction(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `int c = 0; for (...) if (A[i] > 0) { B[c] = A[i]; c++; }`."""
    free, target = free_iterators(at), sized(writer, "fiu", written=True)
    if not free or target is None or depth < 1:
        return ()
    name, loop = writer.fresh("c"), Loop(free[0], Num(0), writer.size())
    inner = replace(inside(at, loop), guarded=True)
    rows = tuple(writer.outer_index(at) for _ in range(target.rank - 1))
    writer.left -= 1
    store = Assign((Element(target.name, (*rows, Name(name))),), writer.value(inner, kind(target.type)))
    body = If(writer.data_compare(inner), (store, Advance(name, 1)))
    return (Counting(name, Num(0), (replace(loop, body=(body,)),)),)


def counting_while(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `i = 0; while (i < n) { ...; i++; }`, or the `do` loop, which runs once in any case."""
    free = free_iterators(at)
    if not free or depth < 1:
        return ()
    low, high = Num(writer.draw.pick(0, 0, 1)), writer.draw.pick(writer.size(), plus(writer.size(), 1), Num(4))
    loop = Loop(free[0], low, high, form=writer.draw.pick("while", "while", "do"), type="")
    return (replace(loop, body=writer.block(inside(at, loop), depth - 1)),)


def size_step(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `for (int i = 0; i < n; i += m + 1)`."""
    if depth < 1:
        return ()
    step: Index = plus(writer.size(), 1)
    loop = Loop(writer.fresh("b"), Num(writer.draw.pick(0, 0, 1)), writer.size(), stride=step)
    inner = inside(at, loop)
    blocks = [i for i in free_iterators(at) if i not in inner.iterators]
    if blocks and depth > 1 and writer.draw.chance(2):
        block = Loop(blocks[0], Num(0), writer.draw.pick(step, Num(3)))
        return (replace(loop, body=(replace(block, body=writer.block(inside(inner, block), depth - 2)),)),)
    return (replace(loop, body=writer.block(inner, depth - 1)),)


COUNTING = (counter, stepping_store, compaction, counting_while, size_step)
