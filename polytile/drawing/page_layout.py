"""Where the parts of a picture are on its page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polytile.dataclass import dataclass
from polytile.drawing.colours import INK, PAPER, SOFT
from polytile.drawing.panel import Panel, axis_below, ticks
from polytile.drawing.svg import Svg, width_of

MARGIN = 16
CAPTION = 44  # pixels
LINE_WIDTH, LINE_HEIGHT = 900, 400  # of the grid over one axis, at most
PANEL = 290  # of one over two axes
PAGE = 1040
ROW_LABEL = 11  # pixels of a row that has a label of its own
GAP = 24  # between panels


@dataclass(frozen=True, slots=True)
class Range:
    """The drawn places along an axis, every `stride`-th: columns `low`, `low + 1` and so on."""

    low: int
    count: int
    stride: int

    @staticmethod
    def of(places: Iterable[int], stride: int) -> Range:
        columns = {place // stride for place in places}
        return Range(min(columns), max(columns) - min(columns) + 1, stride)


def page(title: str, sizes: Iterable[str]) -> Svg:
    """Create an empty page with its caption."""
    text = ", ".join(sizes)
    svg = Svg(title, text)
    svg.add("rect", x=0, y=0, width="100%", height="100%", rx=6, fill=PAPER)
    svg.label(MARGIN, 22, title, font_size=14, font_weight="bold", fill=INK)
    svg.label(MARGIN, 39, text, fill=SOFT)
    return svg


def heading(svg: Svg, y: float, parts: Iterable[str]) -> float:
    """Write what a view shows; return where the view begins."""
    text = "; ".join(part for part in parts if part)
    if not text:
        return y
    svg.label(MARGIN, y + 18, text, fill=SOFT)
    return y + 22


def fitting(pixels: float, count: int, least: float, most: float) -> float:
    """Compute the size of a cell in pixels, whole if it is not small."""
    size = max(least, min(most, pixels / count))
    return float(int(size)) if size > 4 else size


def rows_panel(top: float, columns: Range, labels: Sequence[str]) -> Panel:
    """Place a panel whose rows lie upon each other, beside their labels."""
    left = MARGIN + max(width_of(label, 10) for label in labels) + 10
    width, height = fitting(LINE_WIDTH, columns.count, 1.5, 14), fitting(LINE_HEIGHT, len(labels), 4, 22)
    return Panel(left, top + 8, width, height, columns.low, 0, len(labels), up=True)


def rows_axes(
    svg: Svg, panel: Panel, columns: Range, labels: Sequence[str], name: str
) -> tuple[float, float]:
    """Draw the labels of the rows, and the axis below; return where they end."""
    rows_left(svg, panel, labels)
    axis_below(svg, panel, columns.count, columns.stride, name)
    return panel.across(columns.low + columns.count), panel.y + len(labels) * panel.height + 34


@dataclass(frozen=True, slots=True)
class PanelGrid:
    """Panels of the same two axes, one for each label, in lines as wide as a page."""

    top: float
    down: Range
    across: Range
    labels: tuple[str, ...]

    @property
    def cell(self) -> float:
        return fitting(PANEL, max(self.down.count, self.across.count), 1, 14)

    @property
    def gutter(self) -> float:
        ends = self.down.low, self.down.low + self.down.count
        return 18 + max(width_of(str(k * self.down.stride), 10) for k in ends)

    @property
    def wide(self) -> float:
        return self.gutter + max(self.across.count * self.cell, max(map(width_of, self.labels))) + GAP

    @property
    def high(self) -> float:
        return self.down.count * self.cell + 60

    @property
    def per_line(self) -> int:
        return max(1, min(len(self.labels), int((PAGE + GAP) / self.wide)))

    @property
    def end(self) -> tuple[float, float]:
        lines = -(-len(self.labels) // self.per_line)
        return MARGIN + self.per_line * self.wide - GAP, self.top + lines * self.high - 6

    def panel(self, svg: Svg, number: int) -> Panel:
        """Place the panel with this number, below its label."""
        line, column = divmod(number, self.per_line)
        x, y = MARGIN + self.gutter + column * self.wide, self.top + 24 + line * self.high
        svg.label(x, y - 6, self.labels[number], font_weight="bold", fill=INK)
        return Panel(x, y, self.cell, self.cell, self.across.low, self.down.low, self.down.count)

    def axes(self, svg: Svg, panel: Panel, number: int, names: Sequence[str]) -> None:
        axis_below(svg, panel, self.across.count, self.across.stride, names[1])
        axis_left(svg, panel, self.down, names[0], number % self.per_line == 0)


def axis_left(svg: Svg, panel: Panel, down: Range, name: str, named: bool) -> None:
    for k in ticks(down.low, down.count, panel.height, stride=down.stride):
        y = panel.down(k / down.stride + 0.5)
        svg.add("line", x1=panel.x - 6, y1=y, x2=panel.x - 2, y2=y, stroke=SOFT)
        svg.label(panel.x - 8, y + 3.5, str(k), font_size=10, text_anchor="end", fill=SOFT)
    if named:
        svg.label(panel.x - 10, panel.y - 6, name, font_style="italic", text_anchor="end", fill=INK)


def rows_left(svg: Svg, panel: Panel, labels: Sequence[str]) -> None:
    """Draw the labels of rows that lie upon each other, as far as there is room."""
    for k in ticks(0, len(labels), panel.height, ROW_LABEL):
        middle = panel.down(k + 0.5) + 3.5
        svg.label(panel.x - 6, middle, labels[k], font_size=10, text_anchor="end", fill=SOFT)
