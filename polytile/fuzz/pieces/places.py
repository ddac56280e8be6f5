"""What pieces of programs share: the places inside loops, and arrays of a sort."""

from __future__ import annotations

from dataclasses import replace

from polytile.fuzz.expressions import SIZED, Context
from polytile.fuzz.ranges import below
from polytile.fuzz.statements import ITERATORS, StatementWriter
from polytile.fuzz.structs import kind
from polytile.fuzz.tree import Array, Entry, Index, Loop, Statement

Statements = tuple[Statement, ...]


def with_base(at: Context, base: Index) -> Context:
    """Return the place where subscripts are also built from this expression."""
    return replace(at, bases=(*at.bases, base))


def inside(at: Context, loop: Loop) -> Context:
    """Return the place in the body of a loop."""
    return replace(at, names=below(loop, at.names), iterators=(*at.iterators, loop.iterator))


def free_iterators(at: Context) -> list[str]:
    """List the free names for the iterator of a loop."""
    return [i for i in ITERATORS if i not in at.names]


def entry(writer: StatementWriter, at: Context, holds: str) -> Entry | None:
    """Draw an element of an array of indices or of bounds, where the program has one."""
    found = [a for a in writer.arrays if a.holds == holds]
    if not found:
        return None
    array = writer.draw.one_of(found)
    return Entry(array.name, writer.affine_subscripts(at, array))


def sized(writer: StatementWriter, kinds: str, *, written: bool, rank: int = 0) -> Array | None:
    """Draw an array of a plain type of one of these kinds, of known size, and of this rank where one is given."""
    found = [
        a
        for a in writer.arrays
        if a.rank and (a.rank == rank or not rank) and a.form in SIZED and not a.holds
        if not a.type.startswith("struct") and kind(a.type) in kinds and (a.written or not written)
    ]
    return writer.draw.one_of(found) if found else None
