"""Which pairs of parameters are shown as surfaces, and the points of each.

Zhang, Mueller (CGO 2012, figures 6 and 7) show the time over the two block sizes at the best block dimensions, and the
other way round. Spaces without these parameters show the two that explain most of the times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.report import words
from polytile.autotuning.report.history import History, schedule_of, values_of, varied
from polytile.autotuning.report.influence import by_influence
from polytile.autotuning.space import SCHEDULE, Point, Value
from polytile.dataclass import dataclass

PAPER = (("block.x", "block.y"), ("threads.x", "threads.y"))  # BlockSize and BlockDim of the paper
_COVERED = 0.5  # of the pairs of values that a cut through the winner must have, else the best of all points are shown


@dataclass(frozen=True, slots=True)
class Surface:
    """Outcomes by the values of two parameters; `held` says of which points."""

    x: str
    y: str
    across: Sequence[Value]
    upwards: Sequence[Value]
    cells: Mapping[tuple[Value, Value], Outcome]
    held: str


def surfaces(history: History) -> Iterator[Surface]:
    """The surfaces of the winner's strategy; where the default has won, of the best point's."""
    best = next((one.point for one in history.ranking if one.point), None)
    if best is None:
        return
    points = history.of(schedule_of(best))
    names = varied(points)
    pairs = [pair for pair in PAPER if all(name in names for name in pair)]
    if not pairs:
        pairs = [(x, y) for (x, _), (y, _) in [by_influence(points, names)[:2]] if x != y] if len(names) > 1 else []
    for pair in pairs:
        yield _surface(history, points, pair, best)


def _surface(history: History, points: Sequence[Outcome], pair: tuple[str, str], best: Point) -> Surface:
    """The cut through the best point, or, where too little of it was evaluated, the best of all points."""
    x, y = pair
    fixed = {name: value for name, value in best if name not in pair}
    cut = [one for one in points if {n: v for n, v in one.point if n not in pair} == fixed]
    across, upwards = values_of(points, x), values_of(points, y)
    pairs = len({_pair(one, pair) for one in points})
    is_cut = len({_pair(one, pair) for one in cut}) >= _COVERED * pairs
    held = ", ".join(f"{name} {words.value(value)}" for name, value in fixed.items() if name != SCHEDULE)
    shown = cut if is_cut else points
    cells: dict[tuple[Value, Value], Outcome] = {}
    for one in shown:
        key = _pair(one, pair)
        if key not in cells or history.time(one.point) < history.time(cells[key].point):
            cells[key] = one
    says = f"at {held}" if is_cut and held else "" if is_cut else "the best over all other parameters"
    return Surface(x, y, across, upwards, cells, says)


def _pair(one: Outcome, pair: tuple[str, str]) -> tuple[Value, Value]:
    found = dict(one.point)
    return found[pair[0]], found[pair[1]]
