"""Times over the values of one parameter: a dot for each point, a line through the best of each value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import inf

from polytile.autotuning import words
from polytile.autotuning.outcome import Outcome
from polytile.autotuning.report.axes import TimeAxis, dot, line, polyline, text
from polytile.autotuning.report.history import History, values_of
from polytile.autotuning.space import Value
from polytile.drawing.svg import Svg

WIDTH, HEIGHT = 300.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 42.0, 292.0, 12.0, 160.0
_SPREAD = 0.5  # of the room of a value, over which its dots lie side by side
_CROWDED = 34.0  # pixels of a value, below which not each has its name


def marginal_plot(history: History, points: Sequence[Outcome], name: str, colour: int) -> str:
    """Return the SVG for measured `points` of one strategy, all of whose plots have the same times upwards."""
    svg = Svg(f"Time over {name}", f"{len(points)} points of {history.scop}", WIDTH, HEIGHT)
    default = [history.default] if history.default < inf else []
    axis = TimeAxis.of([*(history.time(one.point) for one in points), *default], _TOP, _BOTTOM)
    axis.draw(svg, _LEFT, _RIGHT)
    values = values_of(points, name)
    room = (_RIGHT - _LEFT) / len(values)
    if default:
        line(svg, _LEFT, axis.at(history.default), _RIGHT, axis.at(history.default), "reference")
    groups: dict[Value, list[Outcome]] = defaultdict(list)
    for one in points:
        groups[dict(one.point)[name]].append(one)
    best = {value: min(groups[value], key=lambda one: history.time(one.point)) for value in values}
    for k, value in enumerate(values):
        middle = _LEFT + (k + 0.5) * room
        for n, one in enumerate(groups[value]):
            x = middle + ((n + 0.5) / len(groups[value]) - 0.5) * _SPREAD * room
            dot(svg, x, axis.at(history.time(one.point)), 2, f"dot faint s{colour}")
        if room >= _CROWDED or k % 2 == 0 or len(values) < 9:
            text(svg, middle, _BOTTOM + 15, words.value(value), "tick middle")
    places = [(_LEFT + (k + 0.5) * room, axis.at(history.time(best[v].point))) for k, v in enumerate(values)]
    svg.path(polyline(places), **{"class": "through"})
    for (x, y), value in zip(places, values, strict=True):
        one = best[value]
        kind = "winner" if one.point == history.winner else f"dot s{colour}"
        says = f"{name} {words.value(value)}: {words.milliseconds(history.time(one.point))} at {words.point(one.point)}"
        dot(svg, x, y, 5 if one.point == history.winner else 3.5, kind, says)
    line(svg, _LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis")
    return "\n".join(svg.lines())
