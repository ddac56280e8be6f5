"""The messages of one exchange: which boxes a rank sends to and receives from each neighbour.

`diagonal` and `overlap` exchange with all neighbours at once. `basic` goes along one axis after another: what comes
along a later axis has the halos of the earlier ones with it, so that edges and corners need no messages of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from polytile.dataclass import dataclass
from polytile.distribution.boxes import Box, Direction, Range, Reach, opposite, volume
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
    found = tuple(t for d in _both_ways(wanted) if (t := _with_neighbour(grid, rank, exchanges, d)) is not None)
    return (found,) if found else ()


def _both_ways(wanted: dict[Direction, None]) -> list[Direction]:
    """The directions that something comes from or goes to, in one order on all ranks."""
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
    """The messages along an axis, with the halos of earlier axes where corners are read."""
    straight = [tuple(s if k == axis else 0 for k in range(len(grid.shape))) for s in (-1, 1)]
    found = []
    for direction in straight:
        neighbour = grid.neighbour(rank, direction)
        if neighbour is None:
            continue
        sends, receives = [], []
        for e in exchanges:
            box = _with_earlier(grid, rank, e, axis)
            if any(d[axis] == -direction[axis] for d in e.directions):
                sends.append(ArrayBox(e.array, sent_box(box, direction, e.reach)))
            if any(d[axis] == direction[axis] for d in e.directions):
                receives.append(ArrayBox(e.array, received_box(box, direction, e.reach)))
        if sends or receives:
            transfer = Transfer(neighbour, direction, _with_positions(sends), _with_positions(receives))
            found.append(transfer)
    return tuple(found)


def _with_positions(boxes: Sequence[ArrayBox]) -> tuple[ArrayBox, ...]:
    return tuple(b for b in boxes if volume(b.box))


def _with_earlier(grid: ProcessGrid, rank: int, exchange: HaloExchange, axis: int) -> Box:
    """The owned box with the halos that earlier rounds have brought, as far as elements come along them."""
    owned, stored = grid.owned(rank), grid.stored(rank, exchange.reach)
    along = [
        earlier < axis and any(d[earlier] and d[axis] for d in exchange.directions) for earlier in range(len(owned))
    ]
    return tuple(s if with_halo else o for o, s, with_halo in zip(owned, stored, along, strict=True))
