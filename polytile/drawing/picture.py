"""A drawing as SVG: over one axis rows that time piles up, over two also a panel for each of some rows."""

from __future__ import annotations

from polytile.drawing.colours import INK, PAPER
from polytile.drawing.layout import (
    GAP,
    LINE_HEIGHT,
    LINE_WIDTH,
    MARGIN,
    PAGE,
    PANEL,
    Range,
    axis_left,
    fitting,
    heading,
    rows_left,
)
from polytile.drawing.legend import CAPTION, caption, legend, legend_width, sizes, tile_labels, title
from polytile.drawing.model import Drawing, View
from polytile.drawing.panel import Panel, arrowhead, axis_below, paint
from polytile.drawing.svg import Svg, width_of


def to_svg(drawing: Drawing) -> Svg:
    svg = Svg(title(drawing), ", ".join(sizes(drawing)))
    svg.add("rect", x=0, y=0, width="100%", height="100%", rx=6, fill=PAPER)
    caption(svg, MARGIN, drawing)
    right, bottom = float(MARGIN), float(CAPTION)
    if drawing.section:
        cut = drawing.section
        text = f"section at {cut.axis} = {cut.place}: {cut.view.axes[0]} to the right, time upwards"
        right, bottom = _rows(svg, drawing, cut.view, heading(svg, bottom, (text, *cut.view.notes)))
    text = "one step in each panel" if drawing.section else ""
    if len(drawing.space.axes) == 1:
        text = f"{drawing.space.axes[0]} to the right, time upwards"
    top = heading(svg, bottom, (text, *drawing.space.notes))
    paint_view = _rows if len(drawing.space.axes) == 1 else _panels
    own_right, bottom = paint_view(svg, drawing, drawing.space, top)
    svg.height = legend(svg, MARGIN, bottom + 24, drawing)
    svg.width = max(right, own_right, MARGIN + legend_width(drawing)) + MARGIN
    return svg


def _range(view: View, axis: int) -> Range:
    return Range.of((cell.place[axis] for cell in view.cells), view.stride)


def _rows(svg: Svg, drawing: Drawing, view: View, top: float) -> tuple[float, float]:
    """Space to the right, time upwards; returns where it ends."""
    axis = len(view.cells[0].place) - 1
    columns, rows = _range(view, axis), len(view.rows)
    labels = max(width_of(row.label, 10) for row in view.rows)
    width, height = fitting(LINE_WIDTH, columns.count, 1.5, 14), fitting(LINE_HEIGHT, rows, 4, 22)
    panel = Panel(MARGIN + labels + 10, top + 8, width, height, columns.low, 0, rows, up=True)
    cells = {(cell.place[axis] // view.stride, cell.row): cell for cell in view.cells}
    paint(svg, panel, drawing, cells, tile_labels(drawing))
    rows_left(svg, panel, [row.label for row in view.rows])
    axis_below(svg, panel, columns.count, columns.stride, view.axes[0])
    return panel.across(columns.low + columns.count), panel.y + rows * height + 34


def _panels(svg: Svg, drawing: Drawing, view: View, top: float) -> tuple[float, float]:
    """Steps one after another; returns where they end."""
    down, across = _range(view, 0), _range(view, 1)
    cell = fitting(PANEL, max(down.count, across.count), 1, 14)
    labels = tile_labels(drawing)
    gutter = 18 + max(width_of(str(k * down.stride), 10) for k in (down.low, down.low + down.count))
    least = max(width_of(row.label) for row in view.rows)
    wide, high = gutter + max(across.count * cell, least) + GAP, down.count * cell + 60
    per_line = max(1, min(len(view.rows), int((PAGE + GAP) / wide)))
    for number, row in enumerate(view.rows):
        x, y = MARGIN + gutter + number % per_line * wide, top + 24 + number // per_line * high
        panel = Panel(x, y, cell, cell, across.low, down.low, down.count)
        svg.label(x, y - 6, row.label, font_weight="bold", fill=INK)
        own = {(c.place[1] // view.stride, c.place[0] // view.stride): c for c in view.cells if c.row == number}
        paint(svg, panel, drawing, own, labels)
        axis_below(svg, panel, across.count, across.stride, view.axes[1])
        axis_left(svg, panel, down, view.axes[0], number % per_line == 0)
        _cut(svg, panel, drawing, across)
    lines = -(-len(view.rows) // per_line)
    return MARGIN + per_line * wide - GAP, top + lines * high - 6


def _cut(svg: Svg, panel: Panel, drawing: Drawing, across: Range) -> None:
    """Where the section is: an arrowhead at the right edge."""
    if drawing.section:
        y = panel.down(drawing.section.place // drawing.space.stride + 0.5)
        svg.path(arrowhead(panel.across(across.low + across.count) + 2, y), fill=INK)
