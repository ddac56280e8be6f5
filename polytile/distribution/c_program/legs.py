"""The messages of a plan as tables: which boxes come from which direction, for any grid of ranks."""

from __future__ import annotations

from collections.abc import Sequence

from polytile.dataclass import dataclass
from polytile.distribution.boxes import Direction, Range
from polytile.distribution.plan import HaloExchange
from polytile.distribution.transfers import both_ways, merged_directions, on_the_way


@dataclass(frozen=True, slots=True)
class Piece:
    """A box of a message, of exchange number `exchange`: what lies at a first to a last direction along each axis."""

    exchange: int
    span: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Leg:
    """What comes from a direction in a round of an exchange. What goes there is what the rank there receives: the leg
    of the opposite direction of the same round, box by box."""

    round: int
    direction: Direction
    pieces: tuple[Piece, ...]


def legs(exchanges: Sequence[HaloExchange], axes: int, *, at_once: bool) -> tuple[Leg, ...]:
    """Return the legs of an exchange along one axis after another, or with all neighbours at once."""
    if at_once:
        return tuple(_at_once(exchanges))
    return tuple(leg for axis in range(axes) for leg in _along(exchanges, axes, axis))


def _at_once(exchanges: Sequence[HaloExchange]) -> list[Leg]:
    wanted = dict.fromkeys(d for e in exchanges for d in e.directions)
    return [
        Leg(0, d, tuple(Piece(k, tuple((c, c) for c in d)) for k, e in enumerate(exchanges) if d in e.directions))
        for d in both_ways(wanted)
    ]


def _along(exchanges: Sequence[HaloExchange], axes: int, axis: int) -> list[Leg]:
    made = [
        Leg(
            axis,
            tuple(side if k == axis else 0 for k in range(axes)),
            tuple(
                Piece(number, span)
                for number, e in enumerate(exchanges)
                for span in merged_directions(on_the_way(e.directions, axis, side))
            ),
        )
        for side in (-1, 1)
    ]
    return made if any(leg.pieces for leg in made) else []
