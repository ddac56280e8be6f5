"""Cells of overlapped tiles on paper: in the colour of their tile, striped where several compute them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from polytile.drawing.colours import INK, PAPER, kernel_colour, mixed
from polytile.drawing.outline import At, Rectangle, borders, inner_lines, rectangles
from polytile.drawing.overlapped.model import Span, StreamDrawing, TileIndex
from polytile.drawing.overlapped.stripes import Area, edges, stripe
from polytile.drawing.panel import LEAST_WITH_LINES, Panel
from polytile.drawing.svg import Svg, number, width_of

FAINT = 0.45  # how much colour cells have that are loaded
ACROSS = 2  # colours from one chunk of planes to the next
COLOURS = 4
MADE, KEPT = 0.85, 0.35  # the opacity of planes at the moment that is shown
DASHED = {"stroke": INK, "stroke_width": 1.6, "stroke_dasharray": "5 3", "fill": "none"}
ARROW = 16  # pixels, in the direction of the stream
Tiles = tuple[TileIndex, ...]


def tile_colour(tile: TileIndex) -> str:
    """Choose the colour of a tile: neighbours differ, also across a corner."""
    return kernel_colour(sum(k * ACROSS ** (len(tile) - 1 - n) for n, k in enumerate(tile)) % COLOURS)


def paint_cells(svg: Svg, panel: Panel, cells: Mapping[At, Tiles], loaded: Iterable[At] = ()) -> None:
    """Paint the cells, those that are loaded faintly, with lines between cells and around those of the same tiles."""
    faint = set(loaded)
    groups: dict[tuple[Tiles, bool], dict[At, None]] = defaultdict(dict)
    for at, tiles in cells.items():
        groups[tiles, at in faint][at] = None
    for tiles, is_loaded in sorted(groups):
        areas = [area(panel, r) for r in rectangles(groups[tiles, is_loaded])]
        fill(svg, areas, tiles, FAINT if is_loaded else 1)
    kinds = {at: number for number, own in enumerate(groups.values()) for at in own}
    if min(panel.width, panel.height) >= LEAST_WITH_LINES:
        svg.path(panel.tracing(inner_lines(kinds)), stroke=PAPER, stroke_opacity=0.6, stroke_width=0.6, fill="none")
    svg.path(panel.tracing(borders(kinds)), stroke=INK, stroke_width=0.8, stroke_linecap="square", fill="none")


def fill(svg: Svg, areas: list[Area], tiles: Tiles, strength: float = 1) -> None:
    """Fill areas with the colours of some tiles, mixed with that of paper unless `strength` is 1."""
    svg.path("".join(map(covering, areas)), fill=mixed(tile_colour(tiles[0]), PAPER, strength))
    for k, tile in enumerate(tiles[1:], 1):
        shapes = "".join(stripe(a, k, len(tiles)) for a in areas)
        svg.path(shapes, fill=mixed(tile_colour(tile), PAPER, strength))
    if len(tiles) > 1:
        svg.path("".join(map(edges, areas)), stroke=INK, stroke_width=0.6, stroke_opacity=0.6, fill="none")


def covering(area: Area) -> str:
    left, top, right, bottom = area
    return f"M{number(left)} {number(top)}H{number(right)}V{number(bottom)}H{number(left)}z"


def area(panel: Panel, found: Rectangle) -> Area:
    x, y, w, h = found
    rows = sorted((panel.down(y), panel.down(y + h)))
    return panel.across(x), rows[0], panel.across(x + w), rows[1]


def outline(svg: Svg, panel: Panel, cells: Iterable[At]) -> None:
    """Draw a thick line around cells of the highlighted tile."""
    own = dict.fromkeys(cells, 0)
    svg.path(panel.tracing(borders(own)), stroke=INK, stroke_width=2.6, stroke_linecap="square", fill="none")


def dashed(svg: Svg, panel: Panel, columns: Span, rows: Span, within: Iterable[At]) -> None:
    """Draw a dashed rectangle around some columns and rows, as far as cells are drawn there."""
    inside = [(x, y) for x, y in within if columns[0] <= x <= columns[1] and rows[0] <= y <= rows[1]]
    if inside:
        left, right = min(x for x, _ in inside), max(x for x, _ in inside)
        low, high = min(y for _, y in inside), max(y for _, y in inside)
        svg.path(covering(area(panel, (left, low, right - left + 1, high - low + 1))), **DASHED)


def planes(svg: Svg, panel: Panel, own: Iterable[At], plane: int, slots: int) -> None:
    """Shade the plane that a tile computes at a moment of the stream, and the planes before that are kept."""
    rows = {row: [(x, y) for x, y in own if y == row] for row in range(plane - slots + 1, plane + 1)}
    for row, cells in rows.items():
        shape = "".join(covering(area(panel, r)) for r in rectangles(cells))
        svg.path(shape, fill=INK, fill_opacity=MADE if row == plane else KEPT)


def downwards(svg: Svg, panel: Panel, own: Iterable[At], plane: int) -> None:
    """Draw an arrow from a plane on in the direction of the stream."""
    columns = [x for x, y in own if y == plane]
    if columns:
        x, y = panel.across((min(columns) + max(columns) + 1) / 2), panel.down(plane + 1)
        svg.path(f"M{number(x)} {number(y)}v{ARROW}", stroke=INK, stroke_width=2, fill="none")
        svg.path(f"M{number(x)} {number(y + ARROW + 6)}l-4.5 -9h9z", fill=INK)


def name_tiles(svg: Svg, panel: Panel, drawing: StreamDrawing, cells: Mapping[At, Tiles], row: float) -> None:
    """Label each tile with its number in the middle of its own cells of a row, if there is room."""
    for tile, columns in _alone(cells, int(row)).items():
        text, left, right = tile_name(drawing, tile), min(columns), max(columns) + 1
        if (right - left) * panel.width >= width_of(text, 13) + 4:
            x, y = panel.across((left + right) / 2), panel.down(row + 0.5) + 4.5
            svg.label(x, y, text, font_size=13, font_weight="bold", text_anchor="middle", fill=INK)


def _alone(cells: Mapping[At, Tiles], row: int) -> dict[TileIndex, list[int]]:
    """Return the columns that one tile alone computes in a row."""
    found: dict[TileIndex, list[int]] = defaultdict(list)
    for (column, own_row), tiles in cells.items():
        if own_row == row and len(tiles) == 1:
            found[tiles[0]].append(column)
    return found


def tile_name(drawing: StreamDrawing, tile: TileIndex) -> str:
    """Name a tile by its position along each dimension that tiles are shared out over."""
    several = [k for k, axis in zip(tile, drawing.grid.axes, strict=True) if len(axis) > 1]
    return ", ".join(map(str, several or tile[-1:]))
