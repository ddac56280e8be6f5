"""A drawing of overlapped tiles as SVG: steps upon each other over one axis; over two also a panel for each of some
steps, at the moment when one plane of the inputs arrives."""

from __future__ import annotations

from polytile.drawing.colours import INK, PAPER
from polytile.drawing.outline import At, rectangles
from polytile.drawing.overlapped.legend import legend, legend_width, sizes, title
from polytile.drawing.overlapped.model import StepCells, StreamCone, StreamDrawing, StreamView
from polytile.drawing.overlapped.panel import (
    Tiles,
    area,
    covering,
    dashed,
    downwards,
    name_tiles,
    outline,
    paint_cells,
    planes,
)
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
from polytile.drawing.panel import Panel, arrowhead
from polytile.drawing.svg import Svg


def to_svg(drawing: StreamDrawing) -> Svg:
    svg = page(title(drawing), sizes(drawing))
    right, bottom = float(MARGIN), float(CAPTION)
    cut, space = drawing.section, drawing.space
    shown = cut.view if cut else space
    text = f"{_block(drawing)}{f', section at {cut.axis} = {cut.place}' if cut else ''}: "
    text += f"{shown.axes[0]} to the right, steps upwards"
    right, bottom = _rows(svg, drawing, shown, heading(svg, bottom, (text, *shown.notes)))
    if cut:
        text = f"one step in each panel, while the plane {cut.axis} = {drawing.arrives} is loaded"
        own, bottom = _panels(svg, drawing, space, heading(svg, bottom, (text, *space.notes)))
        right = max(right, own)
    svg.height = legend(svg, MARGIN, bottom + 24, drawing)
    svg.width = max(right, MARGIN + legend_width(drawing)) + MARGIN
    return svg


def _block(drawing: StreamDrawing) -> str:
    count = drawing.plan.iterations
    return f"one launch runs {count} iteration{'s' * (count > 1)} of {drawing.time}"


def _range(view: StreamView, axis: int) -> Range:
    return Range.of((place[axis] for step in view.steps for place in step.tiles), 1)


# Steps over one axis ----------------------------------------------------------------------------------
def _rows(svg: Svg, drawing: StreamDrawing, view: StreamView, top: float) -> tuple[float, float]:
    """Draw space to the right, steps upwards; return where the panel ends."""
    columns, labels = _range(view, -1), [step.label for step in view.steps]
    panel, rows = rows_panel(top, columns, labels), len(labels)
    cells: dict[At, Tiles] = {}
    loaded: list[At] = []
    for row, step in enumerate(view.steps):
        own = {(place[-1], row): tiles for place, tiles in step.tiles.items()}
        cells.update(own)
        loaded += own if step.step.is_input else []
    paint_cells(svg, panel, cells, loaded)
    _shade(svg, panel, drawing.cone, view)
    outline(svg, panel, (at for at, tiles in cells.items() if drawing.tile in tiles))
    dashed(svg, panel, drawing.grid.owner(drawing.tile)[-1], (0, rows - 1), cells)
    name_tiles(svg, panel, drawing, cells, rows - 2 if rows > 2 else rows - 1)
    _point(svg, panel, drawing.cone, view)
    return rows_axes(svg, panel, columns, labels, view.axes[0])


def _places(cone: StreamCone, view: StreamView, cells: frozenset[tuple[int, tuple[int, ...]]]) -> list[At]:
    """Return where some cells are in a view over the last axis, if it has them."""
    rows = {step.step.index: (row, step.tiles) for row, step in enumerate(view.steps)}
    found = ((place, *rows[index]) for index, place in cells if index in rows)
    return sorted((place[-1], row) for place, row, drawn in found if place in drawn)


def _shade(svg: Svg, panel: Panel, cone: StreamCone, view: StreamView) -> None:
    shaded = (area(panel, r) for r in rectangles(_places(cone, view, cone.all)))
    svg.path("".join(map(covering, shaded)), fill=INK, fill_opacity=0.3)


def _point(svg: Svg, panel: Panel, cone: StreamCone, view: StreamView) -> None:
    """Mark the cell that the cone belongs to, with lines to those that it reads."""
    for column, row in _places(cone, view, frozenset({(cone.step, cone.place)})):
        x, y = panel.across(column + 0.5), panel.down(row + 0.5)
        for to_column, to_row in _places(cone, view, cone.sources):
            to_x, to_y = panel.across(to_column + 0.5), panel.down(to_row + 0.5)
            svg.add("line", x1=to_x, y1=to_y, x2=x, y2=y, stroke=INK, stroke_width=1)
        radius = max(2.5, min(3.5, 0.36 * min(panel.width, panel.height)))
        svg.add("circle", cx=x, cy=y, r=radius, fill=PAPER, stroke=INK, stroke_width=1.4)


# Steps over two axes ----------------------------------------------------------------------------------
def _panels(svg: Svg, drawing: StreamDrawing, view: StreamView, top: float) -> tuple[float, float]:
    """Draw steps one after another; return where they end."""
    grid = PanelGrid(top, _range(view, 0), _range(view, 1), tuple(step.label for step in view.steps))
    for number, step in enumerate(view.steps):
        panel = grid.panel(svg, number)
        _panel(svg, panel, drawing, step)
        grid.axes(svg, panel, number, view.axes)
        if drawing.section:
            row = panel.down(drawing.section.place + 0.5)
            svg.path(arrowhead(panel.across(grid.across.low + grid.across.count) + 2, row), fill=INK)
    return grid.end


def _panel(svg: Svg, panel: Panel, drawing: StreamDrawing, step: StepCells) -> None:
    """Draw a step with the box that one tile loads or computes of it, its owner box, and the planes of the stream."""
    cells = {(place[1], place[0]): tiles for place, tiles in step.tiles.items()}
    paint_cells(svg, panel, cells, cells if step.step.is_input else ())
    own = [at for at, tiles in cells.items() if drawing.tile in tiles]
    assert drawing.arrives is not None
    planes(svg, panel, own, drawing.arrives - step.step.lag, step.step.slots)
    outline(svg, panel, own)
    rows, columns = drawing.grid.owner(drawing.tile)
    dashed(svg, panel, columns, rows, cells)
    downwards(svg, panel, own, drawing.arrives - step.step.lag)
