"""Times over evaluations: a dot for each, a line for the best so far, the default, and below what has no time."""

from __future__ import annotations

from math import inf

from polytile.autotuning import words
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.report.axes import TimeAxis, dot, line, steps, text
from polytile.autotuning.report.history import DEFAULT, History, schedule_of
from polytile.drawing.svg import Svg

WIDTH, HEIGHT = 960.0, 330.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 820.0, 22.0, 262.0
_FAILED = 280.0  # where the row of what has no time is
_MOST_TOLD = 1500  # dots that say which point they are where they are pointed at
_APART = 13.0  # pixels between the labels at the right


def time_plot(history: History) -> str:
    """Return the SVG; empty where nothing was measured."""
    if not history.measured:
        return ""
    svg = Svg("Time over evaluations", f"{len(history.outcomes)} evaluations of {history.scop}", WIDTH, HEIGHT)
    axis = TimeAxis.of([*(one.median for one in history.measured), history.best], _TOP, _BOTTOM)
    axis.draw(svg, _LEFT, _RIGHT)
    _numbers(svg, len(history.outcomes))
    _dots(svg, axis, history)
    best = list(enumerate(history.best_so_far))
    places = [(_across(k, history), axis.at(time)) for k, time in best if time < inf]
    svg.path(f"{steps(places)}H{_RIGHT:g}", **{"class": "best"})
    _labels(svg, axis, history)
    return "\n".join(svg.lines())


def _across(index: int, history: History) -> float:
    """Return where an evaluation is; the first and the last one have room beside them."""
    return _LEFT + (index + 0.5) * (_RIGHT - _LEFT) / len(history.outcomes)


def _numbers(svg: Svg, count: int) -> None:
    """Draw counts of evaluations below the plot."""
    line(svg, _LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis")
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10**4, 10**9) if count / s <= 10)
    for k in [1, *range(step, count + 1, step)] if step > 1 else range(1, count + 1):
        text(svg, _LEFT + (k - 0.5) * (_RIGHT - _LEFT) / count, HEIGHT - 24, str(k), "tick middle")
    text(svg, (_LEFT + _RIGHT) / 2, HEIGHT - 6, "evaluations", "label middle")
    text(svg, _LEFT - 6, _TOP - 10, "ms", "tick end")


def _dots(svg: Svg, axis: TimeAxis, history: History) -> None:
    colours = {name: k for k, name in enumerate(history.schedules)}
    for k, one in enumerate(history.outcomes):
        x, says = _across(k, history), _says(k, one) if len(history.outcomes) <= _MOST_TOLD else ""
        if one.status is Status.MEASURED and one.milliseconds:
            kind = "default" if one.point == DEFAULT else f"s{colours[schedule_of(one.point)] % 6}"
            dot(svg, x, axis.at(one.median), 3, f"dot {kind}{' reused' * one.reused}", says)
        else:
            dot(svg, x, _FAILED, 2.5, f"none {one.status.value}", says)
    if any(one.status is not Status.MEASURED for one in history.outcomes):
        text(svg, _RIGHT + 8, _FAILED + 3.5, "no time", "tick")


def _says(index: int, one: Outcome) -> str:
    """Describe an evaluation: `12: tiled: rows 2: 1.25 ms`."""
    about = f"{index + 1}: {words.point(one.point)}: "
    if one.milliseconds:
        return f"{about}{words.milliseconds(one.median)}{', known from earlier' * one.reused}"
    return about + one.status.value + (f" ({one.reason})" if one.reason else "")


def _labels(svg: Svg, axis: TimeAxis, history: History) -> None:
    """Draw the default's time and the best one, beside their lines."""
    y = {"best": axis.at(min(history.best_so_far))}
    says = {"best": f"best {words.milliseconds(min(history.best_so_far))}"}
    default = next((one.median for one in history.measured if one.point == DEFAULT), None)
    if default is not None:
        y["default"] = axis.at(default)
        says["default"] = f"default {words.milliseconds(default)}"
        line(svg, _LEFT, y["default"], _RIGHT, y["default"], "reference")
        if abs(y["default"] - y["best"]) < _APART:
            y["default"] = y["best"] - _APART
    for name, at in y.items():
        text(svg, _RIGHT + 8, at + 3.5, says[name], f"label {name}-label")
