"""A grid of cells on paper: tiles in the colours of their kernels, their borders, and what is highlighted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from polytile.dataclass import dataclass
from polytile.drawing.colours import INK, PAPER, SOFT, kernel_colour
from polytile.drawing.model import Cell, Cone, Drawing, Tile
from polytile.drawing.outline import At, Line, Rectangle, borders, inner_lines, rectangles
from polytile.drawing.svg import Svg, number, width_of

LEAST_WITH_LINES = 5  # pixels of a cell whose border is drawn
TICK_SPACE = 34  # pixels between the numbers along an axis, at least
LIGHTER = 0.62  # the opacity of every other launch of a kernel; of every other block, where there is one launch


@dataclass(frozen=True, slots=True)
class Panel:
    """Where cells are on paper: columns from `left` rightwards, rows from `top` downwards (upwards: `up`)."""

    x: float
    y: float
    width: float  # of a cell
    height: float
    left: int
    top: int
    rows: int
    up: bool = False

    def across(self, column: float) -> float:
        return self.x + (column - self.left) * self.width

    def down(self, row: float) -> float:
        distance = self.top + self.rows - row if self.up else row - self.top
        return self.y + distance * self.height

    def covering(self, found: Iterable[Rectangle]) -> str:
        """Return the rectangles as a path."""
        parts = []
        for x, y, w, h in found:
            top = min(self.down(y), self.down(y + h))
            wide, high = number(w * self.width), number(h * self.height)
            parts.append(f"M{number(self.across(x))} {number(top)}h{wide}v{high}h-{wide}z")
        return "".join(parts)

    def tracing(self, lines: Iterable[Line]) -> str:
        """Return level and upright lines as a path."""
        parts = []
        for x, y, to_x, to_y in lines:
            end = f"H{number(self.across(to_x))}" if y == to_y else f"V{number(self.down(to_y))}"
            parts.append(f"M{number(self.across(x))} {number(self.down(y))}{end}")
        return "".join(parts)


def paint(svg: Svg, panel: Panel, drawing: Drawing, cells: Mapping[At, Cell], labels: Mapping[Tile, str]) -> None:
    """Paint the tiles of some cells with their borders and labels, the cone, and the highlighted tile."""
    tiles: dict[Tile, list[At]] = defaultdict(list)
    for at, cell in sorted(cells.items()):
        tiles[cell.tile].append(at)
    groups = {at: cell.tile for at, cell in cells.items()}
    for tile in sorted(tiles):
        _fill(svg, panel, drawing, tile, tiles[tile])
    if min(panel.width, panel.height) >= LEAST_WITH_LINES:
        svg.path(panel.tracing(inner_lines(groups)), stroke=PAPER, stroke_opacity=0.6, stroke_width=0.6, fill="none")
    _shade(svg, panel, drawing, cells)
    svg.path(panel.tracing(borders(groups)), stroke=INK, stroke_width=0.8, stroke_linecap="square", fill="none")
    for tile in sorted(tiles):
        _number(svg, panel, tiles[tile], labels[tile], tile == drawing.tile)
    own = dict.fromkeys(tiles.get(drawing.tile, ()), 0)
    svg.path(panel.tracing(borders(own)), stroke=INK, stroke_width=2.6, stroke_linecap="square", fill="none")
    if drawing.cone:
        _point(svg, panel, drawing.cone, cells)


def _fill(svg: Svg, panel: Panel, drawing: Drawing, tile: Tile, cells: list[At]) -> None:
    position = next(k for k, kernel in enumerate(drawing.kernels) if kernel.number == tile.kernel)
    launches = drawing.kernels[position].launches
    turn = launches.index(tile.launch) if len(launches) > 1 else sum(tile.block)
    faint = {"fill_opacity": LIGHTER} if turn % 2 else {}
    svg.path(panel.covering(rectangles(cells)), fill=kernel_colour(position), **faint)


def _shade(svg: Svg, panel: Panel, drawing: Drawing, cells: Mapping[At, Cell]) -> None:
    """Shade the cone; without one, the cells of one thread of the highlighted tile."""
    reached = drawing.cone.all if drawing.cone else {cell.instance for cell in thread_cells(drawing)}
    shaded = rectangles(at for at, cell in cells.items() if cell.instance in reached)
    svg.path(panel.covering(shaded), fill=INK, fill_opacity=0.3 if drawing.cone else 0.75)


def thread_cells(drawing: Drawing) -> tuple[Cell, ...]:
    """Return the cells of the highlighted tile that its middle cell's thread runs."""
    own = [cell for cell in drawing.cells if cell.tile == drawing.tile]
    thread = own[len(own) // 2].thread
    return tuple(cell for cell in own if cell.thread == thread)


def _number(svg: Svg, panel: Panel, cells: list[At], text: str, aside: bool) -> None:
    """Label a tile in its middle row, if there is room; or `aside`, where other things are in the middle."""
    columns: dict[int, list[int]] = defaultdict(list)
    for column, row in cells:
        columns[row].append(column)
    rows = sorted(columns, reverse=panel.up)
    size = min(13.0, 0.8 * len(rows) * panel.height)
    high = aside and len(rows) * panel.height > 4 * size
    middle = rows[len(rows) // 5 if high else len(rows) // 2]
    left, right = min(columns[middle]), max(columns[middle]) + 1
    wide = (right - left) * panel.width
    if size < 7 or wide < width_of(text, size) + 4:
        return
    x = panel.across((left + right) / 2) - (wide / 4 if aside else 0)
    y = panel.down(middle + 0.5 if high else (rows[0] + rows[-1] + 1) / 2) + 0.36 * size
    svg.label(x, y, text, font_size=size, font_weight="bold", text_anchor="middle", fill=INK)


def _point(svg: Svg, panel: Panel, cone: Cone, cells: Mapping[At, Cell]) -> None:
    """Mark the instance that the cone belongs to, with lines to those that it reads from, if there is room."""
    at = {cell.instance: where for where, cell in cells.items()}
    if cone.focus not in at:
        return
    radius = max(2.5, min(3.5, 0.36 * min(panel.width, panel.height)))
    x, y = _middle(panel, at[cone.focus])
    sources = sorted(at[instance] for instance in cone.sources if instance in at)
    for from_x, from_y in (_middle(panel, source) for source in sources):
        svg.add("line", x1=from_x, y1=from_y, x2=x, y2=y, stroke=INK, stroke_width=1)
    svg.add("circle", cx=x, cy=y, r=radius, fill=PAPER, stroke=INK, stroke_width=1.4)


def _middle(panel: Panel, at: At) -> tuple[float, float]:
    return panel.across(at[0] + 0.5), panel.down(at[1] + 0.5)


def arrowhead(x: float, y: float) -> str:
    """Return an arrowhead to the left, as a path."""
    return f"M{number(x)} {number(y)}l9 -4.5v9z"


def ticks(low: int, count: int, pixels: float, space: float = TICK_SPACE, stride: int = 1) -> list[int]:
    """Choose round numbers along an axis, far enough apart to be read: places of columns that stand for `stride`."""
    steps = (s for power in range(7) for s in (10**power, 2 * 10**power, 5 * 10**power))
    step = next((s for s in steps if s * pixels / stride >= space), 10**7)
    return [k for k in range(low * stride, (low + count - 1) * stride + 1) if k % step == 0]


def axis_below(svg: Svg, panel: Panel, columns: int, stride: int, name: str) -> None:
    """Draw numbers and the name of the axis below a panel."""
    bottom = panel.y + panel.rows * panel.height
    for k in ticks(panel.left, columns, panel.width, stride=stride):
        x = panel.across(k / stride + 0.5)
        svg.add("line", x1=x, y1=bottom + 2, x2=x, y2=bottom + 6, stroke=SOFT)
        svg.label(x, bottom + 17, str(k), font_size=10, text_anchor="middle", fill=SOFT)
    middle = panel.across(panel.left + columns / 2)
    svg.label(middle, bottom + 30, name, font_style="italic", text_anchor="middle", fill=INK)
