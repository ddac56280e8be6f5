"""Loop trees as data: parts of them, and the schedules they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest

from polytile.scheduling.strategies.superposed.loop_tree import (
    CONSTANT,
    Kind,
    Leaf,
    Loop,
    Row,
    Sequence,
    in_sequence,
    outline,
    restrict,
    rows_of,
    statements_of,
    to_schedule,
)

TWO = (
    "int n, double A[n][n], double x[n]",
    "for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) A[i][j] = 1; x[i] = 2; }",
)
FORALL, SERIAL = Kind.FORALL, Kind.SEQUENTIAL
INNER = Loop((Row("S0", 1, -1, 2),), (FORALL,), Leaf("S0"))
TREE = Loop((Row("S0", 0), Row("S1", 0, 1, 3)), (FORALL, FORALL), Sequence((INNER, Leaf("S1"))))


def test_parts() -> None:
    assert statements_of(TREE) == ("S0", "S1")
    assert rows_of(TREE, "S0") == ((Row("S0", 0), FORALL), (Row("S0", 1, -1, 2), FORALL))
    assert rows_of(TREE, "S1") == ((Row("S1", 0, 1, 3), FORALL),)
    assert restrict(TREE, ["S1"]) == Loop((Row("S1", 0, 1, 3),), (FORALL,), Leaf("S1"))
    assert restrict(TREE, ["S0"]) == Loop((Row("S0", 0),), (FORALL,), INNER)
    assert restrict(TREE, ["S0", "S1"]) == TREE
    assert restrict(TREE, []) == Sequence(())
    assert in_sequence([Leaf("S0"), Sequence((Leaf("S1"),))]) == Sequence((Leaf("S0"), Leaf("S1")))
    assert in_sequence([Sequence((Leaf("S1"),))]) == Leaf("S1")


def test_a_loop_of_constants_alone_disappears() -> None:
    constant = Row("S1", CONSTANT, 1, 5)
    tree = Loop((Row("S0", 0), constant), (SERIAL, SERIAL), Sequence((Leaf("S0"), Leaf("S1"))))
    assert restrict(tree, ["S1"]) == Leaf("S1")
    assert restrict(tree, ["S0"]) == Loop((Row("S0", 0),), (SERIAL,), Leaf("S0"))


def test_outline(prepared: Callable[..., Any]) -> None:
    scop = prepared(*TWO).scop
    assert outline(scop, TREE) == "(S0.i* S1.i+3*) { (-S0.j+2*) S0; S1 }"


def test_schedule(prepared: Callable[..., Any]) -> None:
    scop = prepared(*TWO).scop
    schedule = to_schedule(scop, TREE)
    expected = "[n] -> { S0[i, j] -> [i, 0, 2 - j]; S1[i] -> [i + 3, 1, 0] }"
    assert schedule.get_map().intersect_domain(scop.domain).is_equal(
        isl.UnionMap(expected).intersect_domain(scop.domain)
    )
    band = schedule.get_root().child(0)
    assert band.band_member_get_coincident(0)
    assert band.n_children() == 1


@pytest.mark.parametrize(("kinds", "members"), [((FORALL, FORALL), 2), ((FORALL, SERIAL), 1), ((SERIAL, SERIAL), 1)])
def test_parallel_nests_are_one_band(kinds: tuple[Kind, Kind], members: int, prepared: Callable[..., Any]) -> None:
    scop = prepared(TWO[0], "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = 1;").scop
    tree = Loop((Row("S0", 1),), kinds[:1], Loop((Row("S0", 0),), kinds[1:], Leaf("S0")))
    band = to_schedule(scop, tree).get_root().child(0)
    assert band.band_n_member() == members
    assert [bool(band.band_member_get_coincident(i)) for i in range(members)] == [
        kind is FORALL for kind in kinds[:members]
    ]


def test_schedule_of_one_point(prepared: Callable[..., Any]) -> None:
    scop = prepared("double x[1]", "x[0] = 1;").scop
    assert to_schedule(scop, Leaf("S0")).get_domain().is_equal(scop.domain)
