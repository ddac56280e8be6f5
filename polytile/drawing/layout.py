"""Where the parts of a picture are on its page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polytile.drawing.colours import INK, SOFT
from polytile.drawing.panel import Panel, ticks
from polytile.drawing.svg import Svg

MARGIN = 16
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


def heading(svg: Svg, y: float, parts: Iterable[str]) -> float:
    """What a view shows; returns where it begins."""
    text = "; ".join(part for part in parts if part)
    if not text:
        return y
    svg.label(MARGIN, y + 18, text, fill=SOFT)
    return y + 22


def fitting(pixels: float, count: int, least: float, most: float) -> float:
    """The size of a cell, whole if it is not small."""
    size = max(least, min(most, pixels / count))
    return float(int(size)) if size > 4 else size


def axis_left(svg: Svg, panel: Panel, down: Range, name: str, named: bool) -> None:
    for k in ticks(down.low, down.count, panel.height, stride=down.stride):
        y = panel.down(k / down.stride + 0.5)
        svg.add("line", x1=panel.x - 6, y1=y, x2=panel.x - 2, y2=y, stroke=SOFT)
        svg.label(panel.x - 8, y + 3.5, str(k), font_size=10, text_anchor="end", fill=SOFT)
    if named:
        svg.label(panel.x - 10, panel.y - 6, name, font_style="italic", text_anchor="end", fill=INK)


def rows_left(svg: Svg, panel: Panel, labels: list[str]) -> None:
    """The labels of rows that lie upon each other, as far as there is room."""
    for k in ticks(0, len(labels), panel.height, ROW_LABEL):
        middle = panel.down(k + 0.5) + 3.5
        svg.label(panel.x - 6, middle, labels[k], font_size=10, text_anchor="end", fill=SOFT)
