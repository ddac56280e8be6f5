"""The page: one file of HTML without scripts, which loads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import inf
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from polytile.autotuning import words
from polytile.autotuning.report.heat_map import SLOWER, heat_map
from polytile.autotuning.report.history import History, varied
from polytile.autotuning.report.influence import by_influence
from polytile.autotuning.report.marginal_plot import marginal_plot
from polytile.autotuning.report.surfaces import Surface, surfaces
from polytile.autotuning.report.time_plot import time_plot
from polytile.dataclass import dataclass
from polytile.drawing.svg import number
from polytile.report import words as report_words
from polytile.report.pictures import inlined
from polytile.report.templating import templates_in

TEMPLATES = Path(__file__).parent / "templates"
MOST_RANKED = 10


@dataclass(frozen=True, slots=True)
class Marginal:
    """A parameter, how much of the times it explains, and its plot."""

    name: str
    share: float
    picture: Markup


@dataclass(frozen=True, slots=True)
class Part:
    """The points of one strategy: how many, and a plot for each parameter, what matters most first."""

    schedule: str
    colour: int
    measured: int
    marginals: Sequence[Marginal]


@dataclass(frozen=True, slots=True)
class Map:
    """A surface of two parameters."""

    title: str
    held: str
    width: str  # of the picture, in pixels
    picture: Markup


@dataclass(frozen=True, slots=True)
class View:
    """What the template shows of one SCoP."""

    number: int
    history: History
    times: Markup
    maps: Sequence[Map]
    parts: Sequence[Part]

    @property
    def reused(self) -> int:
        return sum(one.reused for one in self.history.outcomes)


def page(histories: Sequence[History]) -> str:
    """Return the text of the file for the SCoPs that were tuned."""
    views = [_view(place, history) for place, history in enumerate(histories)]
    return _environment().get_template("tuning.html.j2").render(views=views)


def _view(place: int, history: History) -> View:
    maps = [_map(history, one, f"{place}-map{k}") for k, one in enumerate(surfaces(history))]
    return View(place, history, inlined(time_plot(history), f"{place}-time"), maps, list(_parts(place, history)))


def _map(history: History, surface: Surface, name: str) -> Map:
    svg = heat_map(history, surface)
    return Map(f"{surface.x} and {surface.y}", surface.held, number(svg.width), inlined("\n".join(svg.lines()), name))


def _parts(place: int, history: History) -> Iterator[Part]:
    for colour, schedule in enumerate(history.schedules):
        points = [one for one in history.of(schedule) if history.time(one.point) < inf]
        plots = [
            Marginal(name, share, inlined(marginal_plot(history, points, name, colour % 6), f"{place}-{schedule}-{k}"))
            for k, (name, share) in enumerate(by_influence(points, varied(points)))
        ]
        yield Part(schedule, colour % 6, len(points), plots)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return templates_in(
        TEMPLATES,
        {"style": "tuning.css"},
        words=words,
        counted=report_words.counted,
        sizes=lambda history: report_words.values(tuple(history.sizes.items())),
        slower=SLOWER,
        most_ranked=MOST_RANKED,
    )
