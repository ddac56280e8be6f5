"""Copies of inputs: which reads take what an array held before the SCoP from a copy, and which programs stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest

from polytile.ir.scop import AccessKind, Origin, Scop, Statement
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.analysis.source_loops import carried, nest_of
from polytile.scheduling.transform.element_reads import element_reads, read_from
from polytile.scheduling.transform.input_snapshot import Snapshots, snapshot_inputs

TRMM = (
    "int m, int n, double alpha, const double A[restrict m][m], double B[restrict m][n]",
    """for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            for (int k = i + 1; k < m; k++)
                B[i][j] += A[k][i] * B[k][j];
            B[i][j] = alpha * B[i][j];
        }""",
)


def snapshots(scop: Scop) -> Snapshots | None:
    return snapshot_inputs(scop, analyse(scop))


def relation(statement: Statement, array: str, kind: AccessKind) -> isl.Map:
    (found,) = statement.united(kind, arrays=frozenset((array,)))
    return found[1]


@pytest.fixture
def trmm(scop: Callable[..., Scop]) -> Scop:
    return scop(*TRMM)


def test_an_array_is_copied_where_reads_always_find_its_first_values(trmm: Scop) -> None:
    found = snapshots(trmm)
    assert found is not None
    assert found.notes == ("B is copied to B_in first: overwriting it kept i in order",)
    copy = found.scop.array("B_in")
    assert (copy.origin, copy.holds, copy.rank, copy.live_in) == (Origin.TEMPORARY, "B", 2, False)
    assert found.scop.prologue == ("S2",)
    assert [s.name for s in found.scop.main] == ["S0", "S1"]


def test_just_what_is_read_is_copied(trmm: Scop) -> None:
    """Row 0 is never read in another iteration."""
    found = snapshots(trmm)
    assert found is not None
    made = found.scop.statement("S2")
    for array, kind in (("B", AccessKind.READ), ("B_in", AccessKind.WRITE)):
        wanted = isl.Map(f"[m, n] -> {{ S2[k, j] -> {array}[k, j] : 0 < k < m and 0 <= j < n }}")
        assert relation(made, array, kind).is_equal(wanted)


def test_only_the_reads_of_first_values_move(trmm: Scop) -> None:
    """What `+=` reads stays where it is written."""
    found = snapshots(trmm)
    assert found is not None
    update = found.scop.statement("S0")
    domain = "0 <= i < k < m and 0 <= j < n"
    moved, kept = (relation(update, array, AccessKind.READ) for array in ("B_in", "B"))
    assert moved.is_equal(isl.Map(f"[m, n] -> {{ S0[i, j, k] -> B_in[k, j] : {domain} }}"))
    assert kept.is_equal(isl.Map(f"[m, n] -> {{ S0[i, j, k] -> B[i, j] : {domain} }}"))
    assert found.scop.statement("S1") is trmm.statement("S1")


def test_the_dependences_that_are_handed_on_are_those_of_the_result(trmm: Scop) -> None:
    found = snapshots(trmm)
    assert found is not None
    for own in analyse(found.scop).by_array:
        known = found.dependences.of(own.array)
        assert known.all.is_equal(own.all) and known.uninitialised.is_equal(own.uninitialised)


def test_the_loop_is_free_afterwards(trmm: Scop) -> None:
    found = snapshots(trmm)
    assert found is not None
    nest = nest_of(trmm)
    outer = nest.around["S0"][0]
    own = trmm.domain
    left = found.dependences.all.intersect_domain(own).intersect_range(own)
    assert carried(analyse(trmm).all, nest, outer) and not carried(left, nest, outer)


ARGUMENTS = """int m, int n, const double A[restrict m][m], double B[restrict m][n], double C[restrict m][n],
    double x[restrict m]"""
LOOPS = "for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) for (int k = i + 1; k < m; k++)"
COPIED = {
    "rows from the last one up": (
        """for (int i = m - 1; i >= 0; i--) for (int j = 0; j < n; j++) for (int k = 0; k < i; k++)
            B[i][j] += A[i][k] * B[k][j];""",
        ["B"],
    ),
    "columns": (
        """for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) for (int k = j + 1; k < n; k++)
            B[i][j] += B[i][k] * C[k][j];""",
        ["B"],
    ),
    "two arrays that keep one loop in order": (
        f"{LOOPS} {{ B[i][j] += A[i][k] * C[k][j]; C[i][j] += A[k][i] * B[k][j]; }}",
        ["B", "C"],
    ),
    "under a condition on data": (f"{LOOPS} if (A[i][k] > 0) B[i][j] += A[i][k] * B[k][j];", ["B"]),
    "one of two arrays, as the other one is read in place": (
        f"{LOOPS} {{ B[i][j] += A[i][k] * B[k][j]; C[i][j] = B[i][j]; }}",
        ["B"],
    ),
    "what other statements of the loop read of it, too": (
        f"{LOOPS} {{ B[i][j] += A[i][k] * B[k][j]; if (k == i + 1) C[i][j] = B[i + 1][j]; }}",
        ["B"],
    ),
}


@pytest.mark.parametrize(("body", "arrays"), COPIED.values(), ids=COPIED.keys())
def test_what_is_copied(scop: Callable[..., Scop], body: str, arrays: list[str]) -> None:
    found = snapshots(scop(ARGUMENTS, body))
    assert found is not None
    assert [a.root for a in found.scop.arrays if a.origin is Origin.TEMPORARY] == arrays


KEPT = {
    "values flow from row to row": """for (int i = 0; i < m; i++) for (int j = 0; j < n; j++)
        for (int k = 0; k < i; k++) B[i][j] -= A[i][k] * B[k][j];""",
    "a stencil in place": """for (int t = 0; t < m; t++) for (int i = 1; i < m - 1; i++) for (int j = 1; j < n - 1; j++)
        B[i][j] = 0.2 * (B[i - 1][j] + B[i][j - 1] + B[i][j] + B[i][j + 1] + B[i + 1][j]);""",
    "two arrays in turns": """for (int t = 0; t < m; t++) {
        for (int i = 1; i < m - 1; i++) for (int j = 0; j < n; j++) C[i][j] = B[i - 1][j] + B[i + 1][j];
        for (int i = 1; i < m - 1; i++) for (int j = 0; j < n; j++) B[i][j] = C[i - 1][j] + C[i + 1][j];
    }""",
    "the copy would take as long as the loop": "for (int i = 0; i < m - 1; i++) x[i] = x[i + 1];",
    "another value keeps the loop in order, too": f"{LOOPS} {{ B[i][j] += A[i][k] * B[k][j]; x[0] = x[0] * 0.5 + 1; }}",
    "only one of two reads finds first values": f"{LOOPS} B[i][j] += A[i][k] * (B[k][j] + (i > 0 ? B[i - 1][j] : 0));",
    "nothing is overwritten that is read elsewhere": f"{LOOPS} B[i][j] += A[i][k] * C[k][j];",
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT.keys())
def test_what_stays_as_it_is(scop: Callable[..., Scop], body: str) -> None:
    assert snapshots(scop(ARGUMENTS, body)) is None


def test_reads_by_the_element_that_they_read(scop: Callable[..., Scop]) -> None:
    """The two ways to read B agree where i = 2: that pair stays with each of them."""
    sums = "for (int i = 0; i < n; i++) A[i] += B[i] + B[2] + A[2];"
    before = scop("int n, double A[n], double B[n]", sums).statement("S0")
    own, third = (r for r in element_reads(before, "B") or ())
    assert [r.updates for r in element_reads(before, "A") or ()] == [False, True]
    after = read_from(before, "B", [third], "B_in")
    assert relation(after, "B_in", AccessKind.READ).is_equal(isl.Map("[n] -> { S0[i] -> B_in[2] : 0 <= i < n }"))
    assert relation(after, "B", AccessKind.READ).is_equal(
        isl.Map("[n] -> { S0[i] -> B[i] : 0 <= i < n; S0[2] -> B[2] : n > 2 }")
    )
    assert [a.array for a in after.accesses if a.writes] == ["A"]
    assert own.subscripts != third.subscripts


def test_subscripts_that_are_not_linear_are_left_alone(scop: Callable[..., Scop]) -> None:
    before = scop("int n, double A[n], double B[n]", "for (int i = 0; i < n; i++) A[i] = B[i % 3];")
    assert element_reads(before.statement("S0"), "B") is None


# Schedules ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("strategy", ["classic", "superposed"])
def test_both_loops_of_the_product_are_blocks_and_threads(
    compiled: Callable[..., Any], shape: Callable[..., str], strategy: str
) -> None:
    found = compiled(*TRMM, schedule=strategy).compilation
    copy, product = "kernel(block[e0/8,e1/32] thread[8,32] S2)", "kernel(block[i/8,j/32] thread[8,32] "
    assert shape(found.schedule.tree).startswith(f"seq({copy}, {product}")


@pytest.mark.slow
def test_the_user_is_told(compiled: Callable[..., Any]) -> None:
    found = compiled(*TRMM).compilation
    assert any("B is copied to B_in first" in r.message for r in found.remarks)
    assert any(line.startswith("without copies of inputs: estimated") for line in found.considered)


def test_no_copy_where_it_costs_more_than_it_saves(compiled: Callable[..., Any]) -> None:
    """With a handful of elements a second launch takes longer than the loops."""
    found = compiled(*TRMM, parameters={"m": 3, "n": 3}).compilation
    assert found.scop.prologue == ()


@pytest.mark.slow
def test_a_schedule_with_copies_is_saved_and_loaded(compiled: Callable[..., Any]) -> None:
    first = compiled(*TRMM).compilation
    assert first.scop.prologue
    again = compiled(*TRMM, load_schedule=first.saved_schedule()).compilation
    assert [k.body for k in again.program.kernels] == [k.body for k in first.program.kernels]


def test_a_schedule_without_copies_is_loaded_as_it_is(compiled: Callable[..., Any]) -> None:
    rows = """domain: "[m, n] -> { S0[i, j, k] : 0 <= i < k < m and 0 <= j < n; S1[i, j] : 0 <= i < m and 0 <= j < n }"
child:
  schedule: "[m, n] -> [{ S0[i, j, k] -> [j]; S1[i, j] -> [j] }]"
  coincident: [ 1 ]
  child:
    schedule: "[m, n] -> [{ S0[i, j, k] -> [i]; S1[i, j] -> [i] }]"
    child:
      sequence:
      - filter: "{ S0[i, j, k] }"
        child:
          schedule: "[m, n] -> [{ S0[i, j, k] -> [k] }]"
      - filter: "{ S1[i, j] }"
"""
    assert compiled(*TRMM, load_schedule=rows).compilation.scop.prologue == ()
