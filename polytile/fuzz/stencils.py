"""Draws time loops over stencils: star, box and asymmetric, in place, ping-pong or with two planes of one array."""

from __future__ import annotations

from itertools import product

from polytile.dataclass import dataclass
from polytile.fuzz.expressions import plus
from polytile.fuzz.statements import ITERATORS, StatementWriter
from polytile.fuzz.tree import (
    Apply,
    Array,
    Assign,
    Element,
    Index,
    Loop,
    Name,
    Num,
    Remainder,
    Statement,
    Sum,
    Update,
    Value,
)

TIME = "t"
MOST_POINTS = 10


@dataclass(frozen=True, slots=True)
class _Nest:
    """The space loops of a stencil: their sizes and how far the points reach."""

    sizes: tuple[Index, ...]
    radius: int

    def over(self, body: Statement) -> Statement:
        for iterator, size in reversed(list(zip(ITERATORS, self.sizes, strict=False))):
            body = Loop(iterator, Num(self.radius), plus(size, -self.radius), body=(body,))
        return body

    def at(self, array: str, offsets: tuple[int, ...], front: tuple[Index, ...] = ()) -> Element:
        inner = tuple(plus(Name(i), o) for i, o in zip(ITERATORS, offsets, strict=False))
        return Element(array, front + inner)


def stencil(writer: StatementWriter) -> Loop | None:
    """Draw a time loop over one or two stencils, or None where the program has no arrays for one."""
    draw = writer.draw
    found = [a for a in writer.arrays if a.written and a.type in ("double", "float") and a.rank in (1, 2, 3)]
    if not found:
        return None
    first = draw.one_of(found)
    others = [a for a in found if a.rank == first.rank and a.name != first.name]
    counts: tuple[Index, ...] = (Num(4), Num(3), Name("m"), Name("n"))
    second = draw.one_of(others) if others and not draw.chance(4) else None
    if second is not None:
        body = _ping_pong(writer, first, second)
    elif first.rank > 1 and draw.chance(2):
        body = _planes(writer, first)
    else:
        nest = _nest(writer, first.rank)
        body = (nest.over(_gather(writer, nest, first.name, first.name)),)
    writer.left -= len(body)
    return Loop(TIME, Num(draw.pick(0, 0, 1)), draw.one_of(counts), body=body)


def _nest(writer: StatementWriter, rank: int) -> _Nest:
    return _Nest(tuple(writer.size() for _ in range(rank)), writer.draw.pick(1, 1, 1, 2, 3))


def _ping_pong(writer: StatementWriter, first: Array, second: Array) -> tuple[Statement, ...]:
    """Draw B from A, then A from B: by a copy, a second stencil, or an update."""
    nest = _nest(writer, first.rank)
    there = nest.over(_gather(writer, nest, second.name, first.name))
    centre = (0,) * first.rank
    match writer.draw.pick("copy", "stencil", "update", "none"):
        case "copy":
            back: Statement = Assign((nest.at(first.name, centre),), nest.at(second.name, centre))
        case "stencil":
            back = _gather(writer, nest, first.name, second.name)
        case "update":
            back = Update(nest.at(first.name, centre), "-", Apply("sin({0})", (nest.at(second.name, centre),)))
        case _:
            return (there,)
    return (there, nest.over(back))


def _planes(writer: StatementWriter, array: Array) -> tuple[Statement, ...]:
    """Draw `A[(t + 1) % 2][i] = ... A[t % 2][i]`."""
    nest = _nest(writer, array.rank - 1)
    old = (Remainder(Name(TIME), 2),)
    new = (Remainder(Sum(Name(TIME), Num(1)), 2),)
    return (nest.over(_gather(writer, nest, array.name, array.name, new, old)),)


def _gather(
    writer: StatementWriter,
    nest: _Nest,
    target: str,
    source: str,
    new: tuple[Index, ...] = (),
    old: tuple[Index, ...] = (),
) -> Assign:
    """Draw a weighted sum over the points of a random shape; the weights' sum is at most 1."""
    rank = len(nest.sizes)
    points = _points(writer, rank, nest.radius)
    weight = 0.5 ** (len(points) - 1).bit_length()
    arguments: tuple[Value, ...] = tuple(nest.at(source, p, old) for p in points)
    if writer.draw.chance(2):
        form = f"{weight} * (" + " + ".join(f"{{{k}}}" for k in range(len(points))) + ")"
    else:
        form = "(" + " + ".join(f"{weight} * {{{k}}}" for k in range(len(points))) + ")"
    return Assign((nest.at(target, (0,) * rank, new),), Apply(form, arguments))


def _points(writer: StatementWriter, rank: int, radius: int) -> list[tuple[int, ...]]:
    """Draw offsets: a star, a box, or any few points; sampled where there are many."""
    box = list(product(range(-radius, radius + 1), repeat=rank))
    match writer.draw.pick("star", "star", "box", "any"):
        case "star":
            points = [p for p in box if sum(map(bool, p)) <= 1]
        case "box":
            points = box
        case _:
            points = [writer.draw.one_of(box) for _ in range(3)]
    while len(points) > MOST_POINTS:
        points.pop(writer.draw.between(0, len(points) - 1))
    return points
