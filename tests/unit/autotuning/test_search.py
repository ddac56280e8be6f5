"""Searches propose each point once, equal ones for equal seeds, and none that is known."""

from __future__ import annotations

import pytest

from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.search.named import SEARCHES, search_named
from polytile.autotuning.search.search import Search
from polytile.autotuning.space import Constraint, Parameter, Point, Space, Subspace
from polytile.choices import Choices
from polytile.diagnostics import UsageError


def space_of(most: int = 4, limit: int = 99) -> Space:
    """Two parts; points of the first have rows and columns, whose product has a limit."""
    numbers = tuple(range(1, most + 1))
    bounded = Constraint(("rows", "columns"), lambda rows, columns: rows * columns <= limit, "too many")
    parameters = (Parameter("rows", numbers), Parameter("columns", numbers))
    grid = Subspace("tiled", parameters, lambda _: Choices(), (bounded,))
    line = Subspace("classic", (Parameter("warps", numbers),), lambda _: Choices())
    return Space((grid, line))


def asked(search: Search) -> list[Point]:
    """All that a search asks for, each point told as soon as it was asked for."""
    points = []
    while (point := search.ask()) is not None:
        points.append(point)
        search.tell(Outcome(point, Status.MEASURED, milliseconds=(float(len(repr(point))),)))
    return points


def begun(name: str, space: Space, seed: int = 0) -> Search:
    return search_named(name, space, seed, lambda points: [1.0] * len(points))


@pytest.mark.parametrize("name", SEARCHES)
def test_each_point_comes_once(name: str) -> None:
    space = space_of(limit=6)
    points = asked(begun(name, space))
    assert len(points) == len(space.points) == 10 + 4
    assert set(points) == set(space.points)


@pytest.mark.parametrize("name", SEARCHES)
def test_equal_seeds_ask_for_equal_points(name: str) -> None:
    space = space_of()
    assert asked(begun(name, space, 3)) == asked(begun(name, space, 3))


@pytest.mark.parametrize("name", SEARCHES)
def test_points_that_are_known_are_not_asked_for(name: str) -> None:
    space, search = space_of(), begun(name, space_of())
    known = space.points[::2]
    for point in known:
        search.tell(Outcome(point, Status.REFUSED, "not legal"))
    assert set(asked(search)) == set(space.points) - set(known)


@pytest.mark.parametrize("name", SEARCHES)
def test_points_may_be_asked_for_before_others_are_told(name: str) -> None:
    search = begun(name, space_of())
    points = [search.ask() for _ in range(20)]
    assert len(set(points)) == 20 and None not in points
    assert search.ask() is None


def test_the_order_is_said() -> None:
    assert begun("exhaustive", space_of()).description == "exhaustive: 20 points in the order of the space"
    assert begun("random", space_of(), 7).description == "random: 20 points in random order (seed 7)"


def test_small_spaces_are_searched_exhaustively() -> None:
    assert begun("", space_of(13, 999)).description == "exhaustive: 182 points in the order of the space"
    assert begun("", space_of(14, 999)).description.startswith("model: 210 points ranked by the cost model")


def test_unknown_searches_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown search 'genetic'") as caught:
        begun("genetic", space_of())
    assert caught.value.hint == "one of exhaustive, random, model, gaussian"
