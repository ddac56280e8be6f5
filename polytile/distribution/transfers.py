"""The messages of one exchange: which boxes a rank sends to and receives from each neighbour.

`diagonal` and `overlap` exchange with all neighbours at once. `basic` goes along one axis after another: what comes
along a later axis has the halos of the earlier ones with it, so that edges and corners need no messages of their own.
Elements of a corner go along axis 0 first, to the halo of a neighbour, which sends them on along axis 1: a direction
(-1, 1) asks for (-1, 0) too, in the first round.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from polytile.dataclass import dataclass
from polytile.distribution.boxes import Box, Direction, Range, Reach, intersection, opposite, volume
from polytile.distribution.plan import HaloExchange
from polytile.distribution.process_grid import ProcessGrid


class ExchangeMode(Enum):
    """How halos are exchanged: along one axis after another, with all neighbours, or that behind the interior."""

    BASIC = "basic"
    DIAGONAL = "diagonal"
    OVERLAP = "overlap"


@dataclass(frozen=True, slots=True)
class ArrayBox:
    """A box of positions of an array."""

    array: str
    box: Box


@dataclass(frozen=True, slots=True)
class Transfer:
    """One message each way: what is sent to the rank in a direction, and what is received from it; all arrays in it."""

    neighbour: int
    direction: Direction
    sends: tuple[ArrayBox, ...]
    receives: tuple[ArrayBox, ...]


def rounds(
    grid: ProcessGrid, rank: int, exchanges: Sequence[HaloExchange], mode: ExchangeMode
) -> tuple[tuple[Transfer, ...], ...]:
    """Return the messages of a rank in an exchange: rounds, each of which ends before the next one begins.

    What one rank sends is what the other receives: `sends` of a transfer are `receives` of the neighbour's one in the
    opposite direction, box by box.
    """
    axes = len(grid.shape)
    if mode is ExchangeMode.BASIC:
        each = tuple(_along(grid, rank, exchanges, axis) for axis in range(axes))
        return tuple(found for found in each if found)
    wanted = dict.fromkeys(d for e in exchanges for d in e.directions)
    found = tuple(t for d in both_ways(wanted) if (t := _with_neighbour(grid, rank, exchanges, d)) is not None)
    return (found,) if found else ()


def both_ways(wanted: dict[Direction, None]) -> list[Direction]:
    """Return the directions that something comes from or goes to, in one order on all ranks."""
    return sorted({*wanted, *map(opposite, wanted)})


def _with_neighbour(
    grid: ProcessGrid, rank: int, exchanges: Sequence[HaloExchange], direction: Direction
) -> Transfer | None:
    neighbour = grid.neighbour(rank, direction)
    if neighbour is None:
        return None
    owned = grid.owned(rank)
    sends = tuple(
        ArrayBox(e.array, sent)
        for e in exchanges
        if opposite(direction) in e.directions and volume(sent := sent_box(owned, direction, e.reach))
    )
    receives = tuple(
        ArrayBox(e.array, got)
        for e in exchanges
        if direction in e.directions and volume(got := received_box(owned, direction, e.reach))
    )
    return Transfer(neighbour, direction, sends, receives) if sends or receives else None


def received_box(owned: Box, direction: Direction, reach: Sequence[Reach]) -> Box:
    """Return the halo positions that come from a direction: 0..n x 0..m with one position around, from (0, -1): 0..n x
    -1..0."""
    return tuple(_received(r, d, halo) for r, d, halo in zip(owned, direction, reach, strict=True))


def sent_box(owned: Box, direction: Direction, reach: Sequence[Reach]) -> Box:
    """Return the own positions that the rank in a direction has as its halo."""
    return tuple(_sent(r, d, halo) for r, d, halo in zip(owned, direction, reach, strict=True))


def _received(owned: Range, direction: int, halo: Reach) -> Range:
    first, end = owned
    if direction < 0:
        return first - halo[0], first
    return (end, end + halo[1]) if direction > 0 else owned


def _sent(owned: Range, direction: int, halo: Reach) -> Range:
    first, end = owned
    if direction < 0:
        return first, first + halo[1]
    return (end - halo[0], end) if direction > 0 else owned


def _along(grid: ProcessGrid, rank: int, exchanges: Sequence[HaloExchange], axis: int) -> tuple[Transfer, ...]:
    """Return the messages along an axis, with the halos of earlier axes where corners are read."""
    found = []
    for side in (-1, 1):
        direction = tuple(side if k == axis else 0 for k in range(len(grid.shape)))
        neighbour = grid.neighbour(rank, direction)
        if neighbour is None:
            continue
        sends = _boxes_along(grid, rank, exchanges, axis, -side, sent=True)
        receives = _boxes_along(grid, rank, exchanges, axis, side, sent=False)
        if sends or receives:
            found.append(Transfer(neighbour, direction, sends, receives))
    return tuple(found)


def _boxes_along(
    grid: ProcessGrid, rank: int, exchanges: Sequence[HaloExchange], axis: int, side: int, sent: bool
) -> tuple[ArrayBox, ...]:
    """Return the boxes that a receiver takes from `side` of an axis.

    These are halos of this rank, or elements that it has, where they are `sent` to the neighbour at the other side.
    Both have the same part of all other axes.
    """
    owned = grid.owned(rank)
    domain = tuple((0, extent) for extent in grid.extents)
    found = []
    for e in exchanges:
        for spans in merged_directions(on_the_way(e.directions, axis, side)):
            box = [_spanned(r, span, halo) for r, span, halo in zip(owned, spans, e.reach, strict=True)]
            if sent:
                box[axis] = _sent(owned[axis], -side, e.reach[axis])
            inside = intersection(tuple(box), domain)
            if volume(inside):
                found.append(ArrayBox(e.array, inside))
    return tuple(found)


def on_the_way(wanted: Iterable[Direction], axis: int, side: int) -> set[Direction]:
    """Return the directions that elements of the `wanted` ones have come from when they have gone along an axis:
    (-1, 1, 1) becomes (-1, 1, 0) along axis 1."""
    return {(*d[: axis + 1], *(0 for _ in d[axis + 1 :])) for d in wanted if d[axis] == side}


def merged_directions(found: set[Direction]) -> list[tuple[Range, ...]]:
    """Return few boxes of directions, each from a first to a last component along each axis, that have each direction
    once: (-1, 1), (0, 1), (1, 1) are one, -1..1 x 1..1."""
    spans = sorted(tuple((c, c) for c in d) for d in found)
    for axis in range(len(spans[0]) if spans else 0):
        merged: list[tuple[Range, ...]] = []
        for span in sorted(spans, key=lambda one: (one[:axis], one[axis + 1 :], one[axis])):
            wider = (*span[:axis], (merged[-1][axis][0], span[axis][1]), *span[axis + 1 :]) if merged else ()
            if merged and merged[-1] == (*span[:axis], (wider[axis][0], span[axis][0] - 1), *span[axis + 1 :]):
                merged[-1] = wider
            else:
                merged.append(span)
        spans = merged
    return spans


def _spanned(owned: Range, span: Range, halo: Reach) -> Range:
    """Return the positions from those of the first component of a direction to those of the last one."""
    return _received(owned, span[0], halo)[0], _received(owned, span[1], halo)[1]
