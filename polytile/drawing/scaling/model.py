"""What a picture of scaling shows: curves over numbers of ranks, and figures beside them."""

from __future__ import annotations

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Curve:
    """Values (an efficiency, or a speedup) for numbers of ranks, in the `colour`-th colour; `dashed` for a second kind
    of the same."""

    label: str
    points: tuple[tuple[int, float], ...]
    colour: int
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """An efficiency that was published, from `low` to `high`, and what is predicted for the same machine."""

    label: str
    low: float
    high: float
    predicted: float


@dataclass(frozen=True, slots=True)
class ScalingPicture:
    """Efficiencies where each rank has as much work, speedups where all work is shared out, and published efficiencies
    `beside` with where they are from (`published`) and what is `predicted` for the same machine."""

    title: str
    facts: tuple[str, ...]
    weak: tuple[Curve, ...]
    strong: tuple[Curve, ...]
    beside: tuple[Beside, ...]
    published: str
    predicted: str
