"""A drawing as SVG: over one axis rows that time piles up, over two also a panel for each of some rows."""

from __future__ import annotations

from polytile.drawing.colours import INK
from polytile.drawing.legend import legend, legend_width, sizes, tile_labels, title
from polytile.drawing.model import Drawing, View
from polytile.drawing.page_layout import (
    CAPTION,
    MARGIN,
    PanelGrid,
    Range,
    heading,
    page,
    rows_axes,
    rows_panel,
)
from polytile.drawing.panel import Panel, arrowhead, paint
from polytile.drawing.svg import Svg


def to_svg(drawing: Drawing) -> Svg:
    svg = page(title(drawing), sizes(drawing))
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
    """Draw space to the right, time upwards; return where the panel ends."""
    axis = len(view.cells[0].place) - 1
    columns, labels = _range(view, axis), [row.label for row in view.rows]
    panel = rows_panel(top, columns, labels)
    cells = {(cell.place[axis] // view.stride, cell.row): cell for cell in view.cells}
    paint(svg, panel, drawing, cells, tile_labels(drawing))
    return rows_axes(svg, panel, columns, labels, view.axes[0])


def _panels(svg: Svg, drawing: Drawing, view: View, top: float) -> tuple[float, float]:
    """Draw steps one after another; return where they end."""
    labels = tile_labels(drawing)
    grid = PanelGrid(top, _range(view, 0), _range(view, 1), tuple(row.label for row in view.rows))
    for number in range(len(view.rows)):
        panel = grid.panel(svg, number)
        own = {(c.place[1] // view.stride, c.place[0] // view.stride): c for c in view.cells if c.row == number}
        paint(svg, panel, drawing, own, labels)
        grid.axes(svg, panel, number, view.axes)
        _cut(svg, panel, drawing, grid.across)
    return grid.end


def _cut(svg: Svg, panel: Panel, drawing: Drawing, across: Range) -> None:
    """Mark where the section is by an arrowhead at the right edge."""
    if drawing.section:
        y = panel.down(drawing.section.place // drawing.space.stride + 0.5)
        svg.path(arrowhead(panel.across(across.low + across.count) + 2, y), fill=INK)
