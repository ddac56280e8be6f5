"""A surface: the time of each pair of values of two parameters, as cells that are darker the faster they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from html import escape
from math import inf

from polytile.autotuning import words
from polytile.autotuning.outcome import Outcome
from polytile.autotuning.report.axes import text
from polytile.autotuning.report.history import History
from polytile.autotuning.report.surfaces import Surface
from polytile.autotuning.space import Value
from polytile.dataclass import dataclass
from polytile.drawing.svg import Svg, width_of

SLOWER = (1.01, 1.05, 1.1, 1.2, 1.4, 1.75, 2.5)  # times the best, where the next lighter colour begins
_CELL = (50.0, 26.0)
_MOST = 560.0  # pixels of all columns
_GAP = 2.0


@dataclass(frozen=True, slots=True)
class _Grid:
    """Where cells are."""

    left: float
    top: float
    width: float
    across: Sequence[Value]
    upwards: Sequence[Value]

    def place(self, x: Value, y: Value) -> tuple[float, float]:
        row = len(self.upwards) - 1 - self.upwards.index(y)
        return self.left + self.across.index(x) * self.width, self.top + row * _CELL[1]

    @property
    def bottom(self) -> float:
        return self.top + len(self.upwards) * _CELL[1]

    @property
    def right(self) -> float:
        return self.left + len(self.across) * self.width


def heat_map(history: History, surface: Surface) -> Svg:
    """Draw the picture of a surface."""
    names = [words.value(value) for value in surface.upwards]
    left = 24 + max(width_of(name) for name in names)
    width = min(_CELL[0], _MOST / len(surface.across))
    grid = _Grid(left, 6, width, surface.across, surface.upwards)
    title = f"Time over {surface.x} and {surface.y}"
    svg = Svg(title, f"{surface.held}; {history.scop}", max(grid.right + 6, 160), grid.bottom + 36)
    for value in surface.across:
        x, _ = grid.place(value, surface.upwards[0])
        text(svg, x + width / 2, grid.bottom + 14, words.value(value), "tick middle")
    for value in surface.upwards:
        _, y = grid.place(surface.across[0], value)
        text(svg, left - 6, y + _CELL[1] / 2 + 4, words.value(value), "tick end")
    text(svg, (grid.left + grid.right) / 2, grid.bottom + 31, surface.x, "label middle")
    middle = (grid.top + grid.bottom) / 2
    svg.label(11, middle, surface.y, transform=f"rotate(-90 11 {middle:.1f})", **{"class": "label middle"})
    _cells(svg, grid, history, surface.cells)
    return svg


def _cells(svg: Svg, grid: _Grid, history: History, cells: Mapping[tuple[Value, Value], Outcome]) -> None:
    best = min((history.time(one.point) for one in cells.values()), default=inf)
    marked = []
    for (x, y), one in cells.items():
        left, top = grid.place(x, y)
        time = history.time(one.point)
        kind = f"h{bisect_left(SLOWER, time / best)}" if time < inf else "failed"
        _cell(svg, (left, top, grid.width), kind, _says(history, one))
        shown = words.short(time) if time < inf else "\u00d7"
        if width_of(shown, 9.5) < grid.width - 2:
            text(svg, left + grid.width / 2, top + _CELL[1] / 2 + 3.5, shown, f"in-cell on-{kind}")
        if one.point == history.winner or one.point in history.like_default:
            marked.append((left, top, "winner" if one.point == history.winner else "default"))
    for left, top, kind in marked:
        size = {"x": left + 1, "y": top + 1, "width": grid.width - 2, "height": _CELL[1] - 2}
        svg.add("rect", rx=3, **size, **{"class": f"{kind}-cell"})


def _says(history: History, one: Outcome) -> str:
    time = history.time(one.point)
    found = words.milliseconds(time) if time < inf else f"{one.status.value}: {one.reason}"
    default = history.says_of_default(one.point)
    return f"{words.point(one.point)}: {found}{f' ({default})' if default else ''}"


def _cell(svg: Svg, place: tuple[float, float, float], kind: str, says: str) -> None:
    left, top, width = place
    size = {"x": left + _GAP / 2, "y": top + _GAP / 2, "width": width - _GAP, "height": _CELL[1] - _GAP}
    svg.begin("rect", rx=2, **size, **{"class": f"cell {kind}"})
    svg.elements.append(f"<title>{escape(says)}</title>")
    svg.end("rect")
