"""A picture of scaling as SVG: weak scaling, published figures beside it, and strong scaling, over the ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log2

from polytile.dataclass import dataclass
from polytile.drawing.colours import INK, KERNELS, PAPER, SOFT, mixed
from polytile.drawing.page_layout import CAPTION, MARGIN, page
from polytile.drawing.scaling.model import Curve, ScalingPicture
from polytile.drawing.svg import Svg, number, width_of

WIDTH, HEIGHT = 380, 300  # of a chart
STRIP = 64  # pixels of each figure beside it
GUTTER = 48
LINE = 17
COLOURS = tuple(mixed(colour, INK, 0.82) for colour in KERNELS)
DASHES = "5 3"
LEAST = 0.4  # the lowest efficiency of the chart, where none is below


@dataclass(frozen=True, slots=True)
class Chart:
    """Where numbers of ranks (as powers of two) and values from `low` to `high` are on paper."""

    x: float
    y: float
    most: int
    low: float
    high: float

    def across(self, ranks: float) -> float:
        return self.x + WIDTH * log2(ranks) / max(1.0, log2(self.most))

    def down(self, value: float) -> float:
        return self.y + HEIGHT * (self.high - value) / (self.high - self.low)


def to_svg(picture: ScalingPicture) -> Svg:
    """Return the picture; speedups are on a scale of powers of two, as ranks are."""
    svg = page(picture.title, picture.facts)
    top = CAPTION + 34.0
    most = max(ranks for curve in (*picture.weak, *picture.strong) for ranks, _ in curve.points)
    weak = Chart(MARGIN + GUTTER, top, most, _least(picture), 1.0)
    strip = weak.x + WIDTH + 16
    strong = Chart(strip + STRIP * len(picture.beside) + GUTTER + 28, top, most, 0.0, log2(most))
    _weak(svg, weak, picture.weak)
    right = _beside(svg, weak, strip, picture)
    _strong(svg, strong, picture.strong)
    svg.width = max(strong.x + WIDTH, right) + MARGIN
    svg.height = _legend(svg, top + HEIGHT + 62, picture)
    return svg


def _least(picture: ScalingPicture) -> float:
    """Choose the lower end of the scale of efficiencies, a multiple of a tenth."""
    values = [v for curve in picture.weak for _, v in curve.points] + [b.low for b in picture.beside]
    return min(LEAST, max(0.0, int(10 * min(values) - 0.5) / 10))


def _weak(svg: Svg, chart: Chart, curves: Sequence[Curve]) -> None:
    svg.label(chart.x, chart.y - 14, "Weak scaling: share of one rank's speed", font_weight="bold", fill=INK)
    tenths = range(round(10 * chart.low), 11)
    _frame(svg, chart, [(k / 10, f"{10 * k}%") for k in tenths])
    _ideal(svg, [(1, 1.0), (chart.most, 1.0)], chart)
    for curve in curves:
        _curve(svg, chart, curve, curve.points)


def _strong(svg: Svg, chart: Chart, curves: Sequence[Curve]) -> None:
    svg.label(chart.x, chart.y - 14, "Strong scaling: times one rank's speed", font_weight="bold", fill=INK)
    powers = range(int(chart.high) + 1)
    _frame(svg, chart, [(k, str(1 << k)) for k in powers if k % 2 == 0])
    _ideal(svg, [(1, 0.0), (chart.most, log2(chart.most))], chart)
    for curve in curves:
        _curve(svg, chart, curve, [(ranks, log2(value)) for ranks, value in curve.points if value >= 1])


def _frame(svg: Svg, chart: Chart, marks: Iterable[tuple[float, str]]) -> None:
    """Draw the axes with their numbers; ranks below."""
    bottom = chart.y + HEIGHT
    for value, text in marks:
        y = chart.down(value)
        svg.add("line", x1=chart.x, y1=y, x2=chart.x + WIDTH, y2=y, stroke=SOFT, stroke_opacity=0.25)
        svg.label(chart.x - 6, y + 3.5, text, font_size=10, text_anchor="end", fill=SOFT)
    for power in range(0, int(log2(chart.most)) + 1, 2):
        x = chart.across(1 << power)
        svg.add("line", x1=x, y1=bottom, x2=x, y2=bottom + 4, stroke=SOFT)
        svg.label(x, bottom + 16, str(1 << power), font_size=10, text_anchor="middle", fill=SOFT)
    svg.add("line", x1=chart.x, y1=bottom, x2=chart.x + WIDTH, y2=bottom, stroke=SOFT)
    svg.label(chart.x + WIDTH / 2, bottom + 31, "ranks", font_style="italic", text_anchor="middle", fill=INK)


def _ideal(svg: Svg, ends: Sequence[tuple[int, float]], chart: Chart) -> None:
    svg.path(_trace(chart, ends), stroke=INK, stroke_width=1.2, stroke_dasharray="2 3", fill="none")


def _trace(chart: Chart, points: Iterable[tuple[int, float]]) -> str:
    """Return a line through points, as a path."""
    places = (f"{number(chart.across(ranks))} {number(chart.down(value))}" for ranks, value in points)
    return "M" + "L".join(places)


def _curve(svg: Svg, chart: Chart, curve: Curve, points: Sequence[tuple[int, float]]) -> None:
    """Draw a line with a mark for each number of ranks; marks of dashed ones are open."""
    if not points:
        return
    colour = COLOURS[curve.colour % len(COLOURS)]
    dashes = {"stroke_dasharray": DASHES} if curve.dashed else {}
    svg.path(_trace(chart, points), stroke=colour, stroke_width=1.8, fill="none", **dashes)
    for ranks, value in points:
        _dot(svg, chart.across(ranks), chart.down(value), colour, curve.dashed)


def _dot(svg: Svg, x: float, y: float, colour: str, is_open: bool) -> None:
    svg.add("circle", cx=x, cy=y, r=2.6, fill=PAPER if is_open else colour, stroke=colour, stroke_width=1.4)


def _beside(svg: Svg, chart: Chart, x: float, picture: ScalingPicture) -> float:
    """Draw published efficiencies on the scale of the chart, and predicted ones; return where they end."""
    for k, found in enumerate(picture.beside):
        middle = x + (k + 0.5) * STRIP
        svg.add("line", x1=middle, y1=chart.y, x2=middle, y2=chart.y + HEIGHT, stroke=SOFT, stroke_opacity=0.25)
        svg.label(middle, chart.y + HEIGHT + 16, found.label, font_size=10, text_anchor="middle", fill=SOFT)
        _published(svg, middle - 7, chart.down(found.high), chart.down(found.low) - chart.down(found.high))
        published = (chart.down(found.low) + chart.down(found.high)) / 2
        svg.label(middle + 10, published + 3.5, _percent(found.low, found.high), font_size=10, fill=INK)
        _predicted(svg, middle, chart.down(found.predicted))
        predicted = _percent(found.predicted, found.predicted)
        svg.label(middle + 10, chart.down(found.predicted) + 3.5, predicted, font_size=10, fill=SOFT)
    return x + STRIP * len(picture.beside)


def _percent(low: float, high: float) -> str:
    first, last = (f"{100 * value:.0f}" for value in (low, high))
    return f"{last}%" if first == last else f"{first}-{last}%"


def _published(svg: Svg, x: float, y: float, high: float) -> None:
    svg.add("rect", x=x, y=y - 2, width=14, height=high + 4, fill=INK)


def _predicted(svg: Svg, x: float, y: float) -> None:
    svg.path(f"M{number(x)} {number(y - 5)}l5 5l-5 5l-5 -5z", fill=PAPER, stroke=INK, stroke_width=1.4)


def _legend(svg: Svg, y: float, picture: ScalingPicture) -> float:
    """Draw the meaning of lines and marks: solid, dashed and all others in columns; return where the legend ends."""
    ends = []
    x = float(MARGIN)
    for dashed in (False, True):
        curves = [curve for curve in picture.weak if curve.dashed is dashed]
        for k, curve in enumerate(curves):
            _sample(svg, x, y + k * LINE, curve)
        ends.append(y + LINE * len(curves))
        x += max((width_of(curve.label) for curve in curves), default=0.0) + 64
    svg.path(f"M{number(x)} {number(y - 4)}h26", stroke=INK, stroke_width=1.2, stroke_dasharray="2 3", fill="none")
    svg.label(x + 34, y, "ideal", fill=INK)
    if picture.beside:
        _published(svg, x + 6, y + LINE - 6, 4)
        svg.label(x + 34, y + LINE, picture.published, fill=INK)
        _predicted(svg, x + 13, y + 2 * LINE - 4)
        svg.label(x + 34, y + 2 * LINE, picture.predicted, fill=INK)
    return max(*ends, y + 3 * LINE)


def _sample(svg: Svg, x: float, y: float, curve: Curve) -> None:
    colour = COLOURS[curve.colour % len(COLOURS)]
    dashes = {"stroke_dasharray": DASHES} if curve.dashed else {}
    svg.add("line", x1=x, y1=y - 4, x2=x + 26, y2=y - 4, stroke=colour, stroke_width=1.8, **dashes)
    _dot(svg, x + 13, y - 4, colour, curve.dashed)
    svg.label(x + 34, y, curve.label, fill=INK)
