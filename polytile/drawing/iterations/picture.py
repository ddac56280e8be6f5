"""A drawing of iterations as SVG: a panel for each nest, and a legend below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import cos, pi, sin

from polytile.dataclass import dataclass
from polytile.drawing.colours import INK, PAPER, SOFT
from polytile.drawing.iterations.arrow_paths import ArrowPath, arrow
from polytile.drawing.iterations.legend import captions, legend, legend_width, marks_line, shapes_of, title
from polytile.drawing.iterations.model import Arrow, At, Dot, IterationDrawing
from polytile.drawing.iterations.model import Panel as Nest
from polytile.drawing.iterations.point_colours import WITNESS, blocks_of, colours_of
from polytile.drawing.model import Instance, Tile
from polytile.drawing.outline import borders
from polytile.drawing.page_layout import CAPTION, GAP, MARGIN, PAGE, Range, axis_left, page
from polytile.drawing.panel import Panel, axis_below
from polytile.drawing.svg import Svg, number, width_of

PIXELS = {1: 520, 2: 440}  # of the points of one panel, where there are so many
MANY = 270
LINE = 15
TITLE = 12
TOGETHER = 0.7  # neighbours of a place in its tile, on average, where tiles have outlines
BELOW = 40  # pixels for the axis
HEADS = 6.0, 10.0  # lengths of arrowheads, of thin and of bold arrows


def to_svg(drawing: IterationDrawing) -> Svg:
    sizes = [f"{name} = {value}" for name, value in drawing.parameters.items()]
    svg = page(title(drawing), sizes)
    y = float(CAPTION)
    for note in drawing.notes:
        svg.label(MARGIN, y + 12, note, fill=INK)
        y += LINE
    right, y = _panels(svg, drawing, y + 12)
    svg.height = legend(svg, MARGIN, y + 8, drawing)
    svg.width = max(right, MARGIN + legend_width(drawing)) + MARGIN
    return svg


def _panels(svg: Svg, drawing: IterationDrawing, y: float) -> tuple[float, float]:
    """Draw panels side by side, in lines as wide as a page; return where they end."""
    drawn = [nest for nest in drawing.panels if nest.dots]
    pixels = PIXELS.get(len(drawn), MANY)
    x, right, low = float(MARGIN), float(MARGIN), y
    for nest in drawing.panels:
        wide = _width(nest, pixels)
        if x > MARGIN and x + wide > PAGE:
            x, y = float(MARGIN), low
        low = max(low, _panel(svg, nest, x, y, pixels))
        right = max(right, x + wide)
        x += wide + GAP
    return right, low


def _gutter(nest: Nest) -> float:
    """Compute the room for the numbers of rows."""
    if not nest.axes[1]:
        return 4.0
    return 14 + max(width_of(str(dot.at[1]), 10) for dot in nest.dots)


def _width(nest: Nest, pixels: float) -> float:
    texts = max(width_of(text, TITLE if k == 0 else 11) for k, text in enumerate(captions(nest)))
    if not nest.dots:
        return texts
    return max(texts, marks_line(nest)[1], _gutter(nest) + Grid.of(nest, 0, 0, pixels).width)


def _panel(svg: Svg, nest: Nest, x: float, y: float, pixels: float) -> float:
    """Draw a panel below its captions; return where it ends."""
    first, *others = captions(nest)
    svg.label(x, y + 12, first, font_size=TITLE, font_weight="bold", fill=INK)
    y += 12 + LINE
    for text in others:
        svg.label(x, y, text, fill=SOFT)
        y += LINE
    if not nest.dots:
        return y + 8
    marks, _ = marks_line(nest)
    for position, name, offset in marks:
        mark(svg, position, x + offset + 5, y - 4, 4.0, fill=PAPER, stroke=INK, stroke_width=1)
        svg.label(x + offset + 13, y, name, fill=INK)
    y += LINE if marks else 0
    grid = Grid.of(nest, x + _gutter(nest), y + (10 if nest.axes[1] else 0), pixels)
    _points(svg, grid, nest)
    _arrows(svg, grid, nest)
    grid.axes(svg, nest)
    return grid.y + grid.height + (BELOW if nest.axes[0] else 8)


def _points(svg: Svg, grid: Grid, nest: Nest) -> None:
    """Draw the instances in groups of one statement and colour, which say so; then the lines around blocks."""
    cells = {dot.at: None for dot in nest.dots}
    if max(nest.slots) > 1:
        svg.path(grid.cells.tracing(borders({at: at for at in cells})), stroke=SOFT, stroke_width=0.3, fill="none")
    colours = colours_of(nest)
    groups: dict[tuple[str, str], list[Dot]] = {}
    for dot in nest.dots:
        groups.setdefault((dot.instance[0], colours[dot]), []).append(dot)
    numbers = shapes_of(nest)
    thin = 0.8 if grid.pitch > 8 else 0.4
    for (name, colour), dots in sorted(groups.items()):
        svg.begin("g", data_statement=name, fill=colour, stroke=INK, stroke_width=thin)
        for dot in dots:
            mark(svg, numbers[name], *grid.middle(dot), grid.radius)
        svg.end("g")
    _outlines(svg, grid, nest)


def _outlines(svg: Svg, grid: Grid, nest: Nest) -> None:
    """Draw lines around what one block runs in one launch, where such places are adjacent."""
    tiles: dict[At, set[Tile | None]] = {}
    for dot in nest.dots:
        tiles.setdefault(dot.at, set()).add(dot.tile)
    if any(len(own) > 1 for own in tiles.values()) or blocks_of(nest) < 2:
        return
    groups = {at: next(iter(own)) for at, own in tiles.items()}
    together = sum(groups.get(beside) == tile for (x, y), tile in groups.items() for beside in ((x + 1, y), (x, y + 1)))
    if together >= TOGETHER * len(groups):
        svg.path(grid.cells.tracing(borders(groups)), stroke=INK, stroke_width=1.2, fill="none")


def _arrows(svg: Svg, grid: Grid, nest: Nest) -> None:
    at = {dot.instance: grid.middle(dot) for dot in nest.dots}
    dashed = {} if nest.arrows.flow else {"stroke_dasharray": "3 2"}
    _stroked(svg, _paths(grid, at, nest.arrows.drawn, HEADS[0]), INK, 1.0, dashed)
    for instance in nest.arrows.sinks:
        x, y = at[instance]
        svg.add("circle", cx=x, cy=y, r=grid.radius + 2.5, fill="none", stroke=INK, stroke_width=1.6)
    _stroked(svg, _paths(grid, at, [bold.arrow for bold in nest.bold], HEADS[1]), WITNESS, 3.0, {})


def _paths(
    grid: Grid, at: Mapping[Instance, tuple[float, float]], arrows: Iterable[Arrow], length: float
) -> list[ArrowPath]:
    return [arrow(at[a.source], at[a.sink], grid.radius, grid.pitch, length) for a in arrows]


def _stroked(svg: Svg, paths: list[ArrowPath], colour: str, width: float, attributes: Mapping[str, object]) -> None:
    """Draw lines on wider light ones, to be seen on dark points."""
    lines, heads = "".join(path.line for path in paths), "".join(path.head for path in paths)
    svg.path(lines, fill="none", stroke=PAPER, stroke_width=width + 1.6)
    svg.path(lines, fill="none", stroke=colour, stroke_width=width, **attributes)
    svg.path(heads, fill=colour, stroke=PAPER, stroke_width=0.5)


Corners = tuple[tuple[float, float], ...]


def _regular(corners: int, turn: float = 0.0, size: float = 1.0) -> Corners:
    """Return corners on a circle, the first one upwards."""
    angles = (2 * pi * k / corners + turn for k in range(corners))
    return tuple((size * sin(angle), -size * cos(angle)) for angle in angles)


def _plus() -> Corners:
    arm, half = 1.1, 0.4
    quarter = ((-half, -arm), (half, -arm), (half, -half))
    turns = ((1, 0, 0, 1), (0, -1, 1, 0), (-1, 0, 0, -1), (0, 1, -1, 0))
    return tuple((a * x + b * y, c * x + d * y) for a, b, c, d in turns for x, y in quarter)


SHAPES: tuple[Corners, ...] = (
    (),  # a circle
    _regular(4, pi / 4, 1.2),
    _regular(4, size=1.3),
    _regular(3, size=1.3),
    _regular(3, pi, 1.3),
    _plus(),
    _regular(3, pi / 2, 1.3),
    _regular(3, -pi / 2, 1.3),
    _regular(6, size=1.1),
)


def mark(svg: Svg, position: int, x: float, y: float, radius: float, **attributes: object) -> None:
    """Draw the shape of the statement with this position in its panel."""
    corners = SHAPES[position % len(SHAPES)]
    if not corners:
        svg.add("circle", cx=x, cy=y, r=radius, **attributes)
        return
    places = (f"{number(x + radius * right)} {number(y + radius * down)}" for right, down in corners)
    svg.path(f"M{'L'.join(places)}z", **attributes)


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
