"""Loop trees of small programs, each for one thing that the search has to do or to survive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import islpy as isl
import pytest

from polytile.frontend.isl_text import scop_from_isl
from polytile.ir.expr import DOUBLE, Name
from polytile.ir.isl_util import OverBudgetError
from polytile.ir.scop import Array, Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.strategies.superposed.loop_alignment import Distribution
from polytile.scheduling.strategies.superposed.loop_tree import Kind, NoLoopTreeError, original_tree, rows_of
from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees

ONE = "int n, double x[n], double y[n]"
PAIR = "int n, double A[n][n], double B[n][n]"
LOOPS = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"

SMALL = {
    "one point": ("double x[1]", "x[0] = 1;", "S0"),
    "points in order": ("double x[2]", "x[0] = 1; x[1] = x[0];", "{ S0; S1 }"),
    "nothing parallel": (ONE, "for (int i = 1; i < n; i++) x[i] = x[i - 1] / 2;", "i S0"),
    "backwards": (ONE, "for (int i = n - 2; i >= 0; i--) x[i] = x[i + 1] / 2;", "-i S0"),
    "may-writes": (ONE, "for (int i = 0; i < n; i++) if (x[i] > 0) y[i] = 1;", "i* S0"),
    "may-writes to one place": (ONE, "for (int i = 0; i < n; i++) if (x[i] > 0) y[0] = x[i];", "i S0"),
    "coalesced last": (PAIR, f"{LOOPS} A[j][i] = B[j][i];", "j* i* S0"),
    "a serial loop goes inside": (
        PAIR,
        "for (int j = 0; j < n; j++) for (int i = 1; i < n; i++) A[i][j] = A[i - 1][j];",
        "j* i S0",
    ),
    "interchange": (
        PAIR,
        "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = A[i - 1][j] + B[i][j];",
        "j* i S0",
    ),
    "retimed": (
        "int n, double a[n], double b[n], double c[n]",
        "for (int i = 0; i < n; i++) a[i] = c[i]; for (int i = 1; i < n; i++) b[i] = a[i - 1];",
        "(i* i-1*) { S0; S1 }",
    ),
    "turned": (
        "int n, double a[n], double b[n]",
        "for (int i = 0; i < n; i++) a[i] = 1; for (int i = 0; i < n; i++) b[i] = a[n - 1 - i];",
        "{ i* S0; i* S1 }",  # n - 1 - i is not i apart by a constant
    ),
    "turned by a constant": (
        "double a[9], double b[9]",
        "for (int i = 0; i < 9; i++) a[i] = 1; for (int i = 0; i < 9; i++) b[i] = a[8 - i];",
        "(i* -i+8*) { S0; S1 }",
    ),
    "not fused across what needs all": (
        ONE + ", double s[1]",
        "for (int i = 0; i < n; i++) s[0] += x[i]; for (int i = 0; i < n; i++) y[i] = x[i] / s[0];",
        "{ i+ S0; i* S1 }",
    ),
    "an order between": (
        PAIR,
        f"{LOOPS} A[i][j] = 1; {LOOPS} B[i][j] = A[j][n - 1 - i]; {LOOPS} A[i][j] = B[n - 1 - j][i];",
        "{ i* j* S0; i* j* S1; i* j* S2 }",
    ),
    "threads keep what coalesces": (
        PAIR,
        f"{LOOPS} A[i][j] += 1; {LOOPS} B[j][i] = B[j][i] * A[i][j] * B[j][i + 0];",
        "{ i* j* S0; j* i* S1 }",
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_programs(
    name: str, prepared: Callable[..., Any], check: Callable[..., None], short: Callable[..., str]
) -> None:
    arguments, body, expected = SMALL[name]
    found = prepared(arguments, body)
    trees = loop_trees(found.scop, found.dependences)
    assert short(found.scop, trees.thread) == expected
    check(found, trees.thread)
    check(found, trees.block)


def test_blocks_do_not_care_what_coalesces(prepared: Callable[..., Any], short: Callable[..., str]) -> None:
    found = prepared(*SMALL["threads keep what coalesces"][:2])
    assert short(found.scop, loop_trees(found.scop, found.dependences).block).endswith("{ S0; S1 }")


def test_strict_reductions_are_serial(prepared: Callable[..., Any], short: Callable[..., str]) -> None:
    found = prepared(PAIR + ", double x[n]", f"{LOOPS} x[i] += A[i][j];")
    assert short(found.scop, loop_trees(found.scop, found.dependences).thread) == "i* j+ S0"
    assert short(found.scop, loop_trees(found.scop, found.dependences, relax=False).thread) == "i* j S0"


def test_epilogue_last_and_alone(program: Callable[..., Any]) -> None:
    (found,) = program("polybench/doitgen.c")
    trees = loop_trees(found.scop, found.dependences)
    assert found.scop.epilogue
    for tree in (trees.thread, trees.block):
        assert [len(child.rows) for child in tree.children[-len(found.scop.epilogue) :]] == [1]


def from_isl(schedule: str, *before: str) -> Scop:
    """A[i][j] from the elements `before` it, in an order given as isl text."""
    return scop_from_isl(
        "given",
        domain="[n] -> { S[i, j] : 1 < i < n - 1 and 1 < j < n - 1 }",
        schedule=schedule,
        reads="{ " + "; ".join(f"S[i, j] -> A[{element}]" for element in before) + " }",
        writes="{ S[i, j] -> A[i, j] }",
        bodies={"S": "A[i][j] = " + " + ".join("A[" + e.replace(", ", "][") + "]" for e in before) + ";"},
        arrays=[Array("A", DOUBLE, (Name("n"), Name("n")))],
    )


@pytest.mark.parametrize("schedule", ["{ S[i, j] -> [i, 0, j] }", "{ S[i, j] -> [2i + j, i] }"])
def test_orders_from_isl_text(
    schedule: str, stages: Callable[[Scop], Any], check: Callable[..., None], short: Callable[..., str]
) -> None:
    """The order of the source may be anything where another one is found."""
    found = stages(from_isl(schedule, "i - 1, j", "i - 1, j + 1"))
    scop = found.scop
    tree = loop_trees(scop, found.dependences).thread
    assert short(scop, tree) == "i j* S"
    check(found, tree)


def test_no_tree_where_loops_must_be_skewed() -> None:
    scop = from_isl("{ S[i, j] -> [i + j, i] }", "i - 2, j + 1", "i + 1, j - 2")
    with pytest.raises(NoLoopTreeError):
        original_tree(scop)
    with pytest.raises(NoLoopTreeError, match="S"):
        loop_trees(scop, analyse(scop))


def test_the_order_of_the_source_is_the_last_resort(
    prepared: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, check: Callable[..., None], short: Callable[..., str]
) -> None:
    found = prepared(PAIR, f"for (int t = 0; t < n; t++) {LOOPS} A[i][j] = A[j][i] + t; {LOOPS} B[i][j] = A[i][j];")
    monkeypatch.setattr(Distribution, "_component", lambda *_: None)
    trees = loop_trees(found.scop, found.dependences)
    for tree in (trees.thread, trees.block):
        assert short(found.scop, tree) == "{ t i j* S0; i* j* S1 }"
        check(found, tree)


def test_a_statement_that_never_runs(stages: Callable[[Scop], Any], check: Callable[..., None]) -> None:
    scop = from_isl("{ S[i, j] -> [i, j] }", "i - 1, j")
    nowhere = replace(scop.statements[0], domain=scop.statements[0].domain.intersect(isl.Set("{ S[i, j] : i < 0 }")))
    found = stages(replace(scop, statements=(nowhere,), schedule=scop.schedule.intersect_domain(nowhere.domain)))
    assert all(kind is Kind.FORALL for _, kind in rows_of(loop_trees(found.scop, found.dependences).thread, "S"))


@pytest.mark.parametrize("operations", [50, 500, 2000, 5000, 10000])
def test_budget(operations: int, program: Callable[..., Any]) -> None:
    """However isl reports that the budget is spent."""
    (found,) = program("polybench/correlation.c")
    with pytest.raises(OverBudgetError):
        loop_trees(found.scop, found.dependences, max_operations=operations)
