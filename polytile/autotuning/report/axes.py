"""The frame of a plot: milliseconds upwards on a logarithmic scale, with lines at round times."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from math import ceil, floor, log10

from polytile.dataclass import dataclass
from polytile.drawing.svg import Svg, number

_STEPS = ((1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9))
_ENOUGH = 3  # lines across a plot
_MARGIN = 0.06  # of the decades shown, above and below


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Places of times between `top` (the longest) and `bottom`, in pixels."""

    least: float
    most: float
    top: float
    bottom: float

    @classmethod
    def of(cls, times: Iterable[float], top: float, bottom: float) -> TimeAxis:
        """Create an axis for these milliseconds, with room around them; raises ValueError where there are none."""
        found = list(times)
        low, high = log10(min(found)), log10(max(found))
        room = max(_MARGIN * (high - low), 0.02)
        return cls(10 ** (low - room), 10 ** (high + room), top, bottom)

    def at(self, time: float) -> float:
        """Return where a time is on the axis, at most at the ends."""
        share = (log10(time) - log10(self.least)) / (log10(self.most) - log10(self.least))
        return self.bottom - min(max(share, 0.0), 1.0) * (self.bottom - self.top)

    @property
    def ticks(self) -> list[float]:
        """Choose round times, as few as are enough."""
        for steps in _STEPS:
            decades = range(floor(log10(self.least)), ceil(log10(self.most)) + 1)
            found = [s * 10.0**d for d in decades for s in steps if self.least <= s * 10.0**d <= self.most]
            if len(found) >= _ENOUGH:
                break
        return found

    def draw(self, svg: Svg, left: float, right: float) -> None:
        """Draw lines at the ticks from `left` to `right`, their times in front of them."""
        for tick in self.ticks:
            line(svg, left, self.at(tick), right, self.at(tick), "grid")
            text(svg, left - 6, self.at(tick) + 3.5, f"{tick:.3g}", "tick end")


def line(svg: Svg, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
    svg.add("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"class": kind})


def dot(svg: Svg, x: float, y: float, radius: float, kind: str, says: str = "") -> None:
    """Draw a disc that says something where it is pointed at."""
    if says:
        svg.begin("circle", cx=x, cy=y, r=radius, **{"class": kind})
        svg.elements.append(f"<title>{escape(says)}</title>")
        svg.end("circle")
    else:
        svg.add("circle", cx=x, cy=y, r=radius, **{"class": kind})


def text(svg: Svg, x: float, y: float, says: str, kind: str) -> None:
    svg.label(x, y, says, **{"class": kind})


def steps(places: Iterable[tuple[float, float]]) -> str:
    """Return the path of a line that goes right first, then down: a value that holds until the next one."""
    parts: list[str] = []
    for x, y in places:
        parts.append(f"H{number(x)}V{number(y)}" if parts else f"M{number(x)} {number(y)}")
    return "".join(parts)


def polyline(places: Iterable[tuple[float, float]]) -> str:
    """Return the path through some places."""
    return "".join(f"{'L' if k else 'M'}{number(x)} {number(y)}" for k, (x, y) in enumerate(places))
