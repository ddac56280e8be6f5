"""Which pairs of parameters are shown as surfaces, and the points of each.

Zhang, Mueller (CGO 2012, figures 6 and 7) show the time over the two block sizes at the best block dimensions, and the
other way round: `tile_x` by `tile_y` at the best `block_x` and `block_y`. So are all parameters that come along x and
y; spaces with one such pair or none show the two parameters that explain most of the times, too.

    sizes 16 .. 64 by 2 .. 16, the best threads 32 x 4:    at these threads, over the sizes that 32 and 4 divide
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
_LEAST = 4  # cells of a cut
_COVERED = 0.5  # of the pairs between its ends that were evaluated at all: with fewer, the best of all points are shown
Pair = tuple[str, str]


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
    """Yield the surfaces of the winner's strategy; where the default has won, of the best point's."""
    best = next((one.point for one in history.ranking if one.point), None)
    if best is None:
        return
    points = history.of(schedule_of(best))
    for pair in _pairs(points):
        yield _surface(history, points, pair)


def _pairs(points: Sequence[Outcome]) -> Sequence[Pair]:
    """Choose pairs of parameters along x and y, then the two that explain most."""
    names = varied(points)
    found = [(name, name.removesuffix(ALONG_X) + ALONG_Y) for name in names if name.endswith(ALONG_X)]
    found = [pair for pair in found if pair[1] in names]
    strongest = sorted(name for name, _ in by_influence(points, names)[:2])
    if len(strongest) == 2 and strongest not in [sorted(pair) for pair in found]:
        found.append((strongest[0], strongest[1]))
    return found[:_MOST]


def _surface(history: History, points: Sequence[Outcome], pair: Pair) -> Surface:
    """Return the cut through the fastest point, or, where too little of it was evaluated, the best of all points."""
    cut = _cut(history, points, pair)
    shown = points if cut is None else cut
    cells: dict[tuple[Value, Value], Outcome] = {}
    for one in shown:
        key = _values(one, pair)
        if key not in cells or history.time(one.point) < history.time(cells[key].point):
            cells[key] = one
    says = "the best over all other parameters"
    if cut is not None:
        held = ", ".join(f"{name} {words.value(value)}" for name, value in _fixed(cut[0].point, pair))
        says = f"at {held}" if held else ""
    x, y = pair
    return Surface(x, y, values_of(shown, x), values_of(shown, y), cells, says)


def _cut(history: History, points: Sequence[Outcome], pair: Pair) -> Sequence[Outcome] | None:
    """Select the points that differ from the fastest in a pair of parameters alone; None where these are few."""
    best = _fixed(min(points, key=lambda one: history.time(one.point)).point, pair)
    cut = [one for one in points if _fixed(one.point, pair) == best]
    across, upwards = (values_of(cut, name) for name in pair)
    near = {(x, y) for x, y in (_values(one, pair) for one in points) if x in across and y in upwards}
    found = {_values(one, pair) for one in cut}
    return cut if len(found) >= max(_LEAST, _COVERED * len(near)) else None


def _fixed(point: Point, pair: Pair) -> Point:
    """Return what a point has beside a pair of parameters and its strategy."""
    return tuple((name, value) for name, value in point if name not in (*pair, SCHEDULE))


def _values(one: Outcome, pair: Pair) -> tuple[Value, Value]:
    found = dict(one.point)
    return found[pair[0]], found[pair[1]]
