"""Where the points of a panel are on paper."""

from __future__ import annotations

from polytile.dataclass import dataclass
from polytile.drawing.iterations.model import Dot
from polytile.drawing.iterations.model import Panel as Nest
from polytile.drawing.page_layout import Range, axis_left
from polytile.drawing.panel import Panel, axis_below
from polytile.drawing.svg import Svg

PITCH = (3.5, 28.0)  # pixels from point to point, at least and at most
BETWEEN = 0.4  # pitches between the points of neighbouring places that hold several


@dataclass(frozen=True, slots=True)
class Grid:
    """Columns to the right, rows upwards, `x` and `y` at the top left. Each place holds `slots` points."""

    x: float
    y: float
    across: Range
    up: Range
    slots: tuple[int, int]
    pitch: float

    @staticmethod
    def of(nest: Nest, x: float, y: float, pixels: float) -> Grid:
        across = Range.of((dot.at[0] for dot in nest.dots), 1)
        up = Range.of((dot.at[1] for dot in nest.dots), 1)
        most = max(across.count * nest.slots[0], up.count * nest.slots[1])
        pitch = max(PITCH[0], min(PITCH[1], pixels / most))
        return Grid(x, y, across, up, nest.slots, float(int(pitch)) if pitch > 4 else pitch)

    @property
    def gap(self) -> float:
        return BETWEEN * self.pitch if max(self.slots) > 1 else 0.0

    @property
    def cells(self) -> Panel:
        wide, high = self.slots[0] * self.pitch + self.gap, self.slots[1] * self.pitch + self.gap
        return Panel(self.x, self.y, wide, high, self.across.low, self.up.low, self.up.count, up=True)

    @property
    def width(self) -> float:
        return self.across.count * self.cells.width

    @property
    def height(self) -> float:
        return self.up.count * self.cells.height

    @property
    def radius(self) -> float:
        return 0.27 * self.pitch

    def middle(self, dot: Dot) -> tuple[float, float]:
        cells, half = self.cells, self.gap / 2
        right, upwards = dot.slot % self.slots[0] + 0.5, dot.slot // self.slots[0] + 0.5
        x = cells.across(dot.at[0]) + half + right * self.pitch
        return x, cells.down(dot.at[1]) - half - upwards * self.pitch

    def axes(self, svg: Svg, nest: Nest) -> None:
        """Draw numbers and names, but none at places beside a loop."""
        if nest.axes[0]:
            columns = [dot.at[0] for dot in nest.dots if dot.at[0] not in nest.margins]
            own = Range.of(columns, 1) if columns else self.across
            cells = self.cells
            inside = Panel(cells.across(own.low), cells.y, cells.width, cells.height, own.low, cells.top, cells.rows)
            axis_below(svg, inside, own.count, 1, nest.axes[0])
        if nest.axes[1]:
            axis_left(svg, self.cells, self.up, nest.axes[1], True)
