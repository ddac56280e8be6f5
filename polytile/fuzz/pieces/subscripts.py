"""Subscripts that stand in variables, are chosen, clamped to a range, or wrap around."""

from __future__ import annotations

from dataclasses import replace

from polytile.fuzz.expressions import Context, plus
from polytile.fuzz.pieces.places import Statements, free_iterators, inside, with_base
from polytile.fuzz.ranges import Linear, range_of, set_by
from polytile.fuzz.statements import StatementWriter
from polytile.fuzz.structs import kind
from polytile.fuzz.tree import (
    OFFSET,
    SIZES,
    Assign,
    Choice,
    Clamped,
    Element,
    Let,
    Loop,
    Name,
    Num,
    Place,
    Sum,
    Update,
    Wrapped,
)


def set_variable(writer: StatementWriter, at: Context, let: Let, depth: int) -> Statements:
    """Draw statements whose subscripts use a variable for an index expression, after the one that sets it."""
    inner = with_base(replace(at, names={**at.names, let.name: set_by(let, at.names)}), Name(let.name))
    return (let, *writer.block(inner, depth))


def variable_subscript(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `k = 2 * i + j; A[k] = ...;`, declared there or before the SCoP."""
    declared = writer.draw.chance(2)
    return set_variable(writer, at, Let(writer.fresh("k"), writer.small_index(at), declared), depth)


def chosen_subscript(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `w = i == 0 ? i : i - 1; x = A[w];`."""
    one = writer.small_index(at)
    choice = Choice(writer.affine(at, 0), one, plus(one, writer.draw.pick(1, -1)))
    if writer.draw.chance(2):
        return writer.block(with_base(at, choice), 0)
    return set_variable(writer, at, Let(writer.fresh("k"), choice), 0)


def limited_end(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `int end = i + 3; if (end > n) end = n; for (int j = i; j < end; j++)`."""
    free = free_iterators(at)
    if not at.iterators or not free or depth < 1:
        return ()
    low = Name(writer.draw.one_of(at.iterators))
    end = Let(writer.fresh("e"), plus(low, writer.draw.pick(2, 3, 5)), True, ">", writer.size())
    known = replace(at, names={**at.names, end.name: set_by(end, at.names)})
    loop = Loop(free[0], low, Name(end.name))
    return end, replace(loop, body=writer.block(inside(known, loop), depth - 1))


def flat_place(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `int k = i * m + j; A[k] = ...;`, or `int k = i * m; A[k + j] = ...;`."""
    flat = [a for a in writer.arrays if a.form == "flat" and a.rank > 1 and not a.type.startswith("struct")]
    if not flat or not at.iterators:
        return ()
    array, name = writer.draw.one_of(flat), writer.fresh("k")
    element, row = Element(array.name, writer.affine_subscripts(at, array)), writer.draw.chance(2)
    through, wanted = replace(element, through=name, row=row), kind(array.type)
    inner = replace(at, places=(*at.places, through))
    place = Place(name, element, row)
    if not array.written:
        return (place, *writer.block(inner, 0))
    writer.left -= 1
    if writer.draw.chance(2):
        return place, Update(through, "+", writer.operand(inner, through, wanted, "+"), "compound")
    return place, Assign((through,), writer.value(inner, wanted))


def clamped_subscript(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `A[clamped(i + 1, 0, n)]`: a call of a function that returns early."""
    if not at.iterators:
        return ()
    moved = plus(Name(writer.draw.one_of(at.iterators)), writer.draw.pick(-2, -1, 1, 2))
    return writer.block(with_base(at, Clamped(moved, Num(0), writer.draw.pick(writer.size(), Num(4)))), 0)


def wrapped_subscript(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw `A[(i + 1) % n]`, `A[(i + n - 1) % n]`, `A[(i + k) % n]`, with an iterator that runs below n."""
    found = [(i, s) for i in at.iterators for s in SIZES if _runs_below(at, i, s)]
    if not found:
        return ()
    iterator, size = writer.draw.one_of(found)
    around = Sum(Name(iterator), Name(size))
    moved = writer.draw.pick(
        Sum(Name(iterator), Num(1)), plus(around, -1), Sum(Name(iterator), Name(OFFSET)), Sum(around, Name(OFFSET))
    )
    return writer.block(with_base(at, Wrapped(moved, Name(size))), 0)


def _runs_below(at: Context, iterator: str, size: str) -> bool:
    last = range_of(Name(size), at.names).high + Linear(c=-1)
    return at.names[iterator].never_negative and at.names[iterator].high == last


def nest_below_sizes(writer: StatementWriter, at: Context, depth: int) -> Statements:
    """Draw a loop from 0 to below a size, as most are, around one of the others."""
    free = free_iterators(at)
    if not free or depth < 1:
        return ()
    loop = Loop(free[0], Num(0), writer.size())
    inner = inside(at, loop)
    chosen = writer.draw.pick(wrapped_subscript, clamped_subscript, flat_place)
    body = chosen(writer, inner, depth - 1) or writer.block(inner, depth - 1)
    return (replace(loop, body=body),)


SUBSCRIPTS = (
    variable_subscript,
    chosen_subscript,
    limited_end,
    flat_place,
    clamped_subscript,
    wrapped_subscript,
    nest_below_sizes,
    nest_below_sizes,
)
