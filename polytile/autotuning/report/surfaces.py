"""Which pairs of parameters are shown as surfaces, and the points of each.

Zhang, Mueller (CGO 2012, figures 6 and 7) show the time over the two block sizes at the best block dimensions, and the
other way round: `tile_x` by `tile_y` at the best `block_x` and `block_y`. So are all parameters that come along x and
y; spaces with one such pair or none show the two parameters that explain most of the times, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from polytile.autotuning import words
from polytile.autotuning.outcome import Outcome
from polytile.autotuning.report.history import History, schedule_of, values_of, varied
from polytile.autotuning.report.influence import by_influence
from polytile.autotuning.space import SCHEDULE, Point, Value
from polytile.dataclass import dataclass

ALONG_X, ALONG_Y = "_x", "_y"  # how names of parameters end that come in pairs
_MOST = 2  # surfaces of a space
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
    for pair in _pairs(points):
        yield _surface(history, points, pair, best)


def _pairs(points: Sequence[Outcome]) -> Sequence[tuple[str, str]]:
    """Parameters along x and y, then the two that explain most."""
    names = varied(points)
    found = [(name, name.removesuffix(ALONG_X) + ALONG_Y) for name in names if name.endswith(ALONG_X)]
    found = [pair for pair in found if pair[1] in names]
    strongest = sorted(name for name, _ in by_influence(points, names)[:2])
    if len(strongest) == 2 and strongest not in [sorted(pair) for pair in found]:
        found.append((strongest[0], strongest[1]))
    return found[:_MOST]


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
