"""Steps of stream plans: boxes, lags, planes, where reads find values, what blocks load and store, and refusals."""

from __future__ import annotations

import pytest

from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.time_tile import Exchange
from polytile.scheduling.analysis.stencil_form import NotAStencilError

from .conftest import PlanOf

INSIDE = "for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++)"
COPY_BACK = f"{INSIDE} B[i][j] = A[i - 1][j] + A[i + 1][j] + A[i][j - 1]; {INSIDE} A[i][j] = B[i][j];"
PLANES = {  # that the inputs and the steps of the first iteration keep, where threads exchange values by shuffles
    "polybench/jacobi-2d.c": [("A", 3), ("B", 3), ("A", 3)],
    "an5d/box2d1r.c": [("A", 3), ("A", 3)],
    "stencilgen/j2d9pt.c": [("A", 5), ("A", 5)],
    "polybench/fdtd-2d.c": [("ey", 1), ("ex", 1), ("hz", 2), ("ey", 2), ("ex", 2), ("hz", 2)],
    "split/copy-back-9pt.c": [("A", 3), ("B", 1), ("A", 3)],
    "polybench/jacobi-1d.c": [("A", 1), ("B", 1), ("A", 1)],
}
PLANES_OF_BLOCKS = {  # through shared memory: own columns are there at once, those of others a plane later
    "polybench/heat-3d.c": [("A", 3), ("B", 3), ("A", 3)],
    "stencilgen/j3d7pt.c": [("A", 3), ("A", 3)],
    "stencilgen/j3d27pt.c": [("A", 4), ("A", 4)],
    "stencilgen/cheby.c": [("A", 1), ("A", 5), ("A", 5)],
    "stencilgen/denoise.c": [("u", 4), ("g", 3), ("u", 4)],
    "cluster/himeno-19pt.c": [("p", 4), ("p", 4)],
}


@pytest.mark.parametrize("source", [*PLANES, *PLANES_OF_BLOCKS])
def test_planes_that_steps_keep(source: str, plan_of: PlanOf) -> None:
    plan = plan_of(source)
    first = [s for s in plan.steps if s.iteration <= 0]
    assert [(s.array, s.slots) for s in first] == {**PLANES, **PLANES_OF_BLOCKS}[source]


def test_boxes_shrink_and_lags_grow(plan_of: PlanOf) -> None:
    plan = plan_of("stencilgen/j2d9pt.c", 3)
    assert [s.lower for s in plan.steps] == [(-6, -6), (-4, -4), (-2, -2), (0, 0)]
    assert [s.upper for s in plan.steps] == [(6, 6), (4, 4), (2, 2), (0, 0)]
    assert [s.lag for s in plan.steps] == [0, 2, 4, 6]
    assert plan.overlap == (16,) and plan.owned == (112,)  # whole lanes of 4


def test_one_dimension_runs_on_a_single_plane(plan_of: PlanOf) -> None:
    plan = plan_of("polybench/jacobi-1d.c", 8)
    assert {(s.lag, s.slots) for s in plan.steps} == {(0, 1)}
    assert plan.overlap == (32,)


def test_values_of_other_threads_wait_for_a_barrier(plan_of: PlanOf) -> None:
    """One plane more where the plane ahead is read beside the own column, as in boxes, and none in stars."""
    assert [s.lag for s in plan_of("stencilgen/j3d27pt.c", 2).steps] == [0, 2, 4]
    assert [s.lag for s in plan_of("stencilgen/j3d7pt.c", 2).steps] == [0, 1, 2]
    assert [s.lag for s in plan_of("an5d/box2d1r.c", 2).steps] == [0, 1, 2]


@pytest.mark.parametrize("source", [*PLANES, *PLANES_OF_BLOCKS])
def test_reads_find_planes_that_are_made_and_not_yet_overwritten(source: str, plan_of: PlanOf) -> None:
    plan = plan_of(source)
    for read in plan.reads:
        reader, made = plan.steps[read.step], plan.steps[read.source]
        ahead = reader.lag - made.lag - (read.offset[0] if plan.streamed else 0)
        waits = plan.exchange is Exchange.BLOCK and any(read.offset[1:])
        assert waits <= ahead < made.slots
        assert all(a + k >= b for a, k, b in zip(reader.lower, read.offset, made.lower, strict=True))
        assert all(a + k <= b for a, k, b in zip(reader.upper, read.offset, made.upper, strict=True))


def stored(plan: OverlappedTiles) -> list[tuple[str, int, int | None]]:
    """Array, iteration, and the iteration of the input that it becomes."""
    steps = plan.steps
    return [
        (steps[s.step].array, steps[s.step].iteration, None if s.becomes is None else steps[s.becomes].iteration)
        for s in plan.stores
    ]


STORES = {
    "stencilgen/j2d5pt.c": [("A", 2, None), ("A", 3, -1)],  # A[t % 2]: the older plane, too
    "polybench/jacobi-2d.c": [("B", 3, None), ("A", 3, -1)],
    "stencilgen/cheby.c": [("A", 1, None), ("A", 2, -2), ("A", 3, -1)],  # A[t % 3], read 1 and 2 iterations ago
    "split/copy-back-9pt.c": [("B", 3, None), ("A", 3, -1)],
    "polybench/fdtd-2d.c": [("ey", 3, -1), ("ex", 3, -1), ("hz", 3, -1)],
}


@pytest.mark.parametrize("source", STORES)
def test_stores_of_what_the_next_block_reads_and_of_what_is_live(source: str, plan_of: PlanOf) -> None:
    plan = plan_of(source)
    assert stored(plan) == STORES[source]
    names = [name for _, name in plan.shadows]
    assert len(set(names)) == len(names) == len(plan.inputs)


def test_statements_that_write_one_array_are_one_step(plan_of: PlanOf) -> None:
    plan = plan_of("polybench/fdtd-2d.c", 1)
    assert [s.statements for s in plan.made] == [("S0", "S1"), ("S2",), ("S3",)]
    assert {(r.statement, r.source, r.offset) for r in plan.reads if r.step == 5} == {
        ("S3", 2, (0, 0)),
        ("S3", 4, (0, 1)),
        ("S3", 4, (0, 0)),
        ("S3", 3, (1, 0)),
        ("S3", 3, (0, 0)),
    }


def test_rows_with_statements_of_their_own_are_of_one_step(plan_of: PlanOf) -> None:
    row = "for (int j = 1; j < N - 1; j++)"
    rows = f"if (i == 3) {row} B[i][j] = A[i][j - 1]; else {row} B[i][j] = A[i - 1][j];"
    plan = plan_of(f"for (int i = 1; i < N - 1; i++) {{ {rows} }} {INSIDE} A[i][j] = B[i][j];", 1)
    assert [s.statements for s in plan.made] == [("S0", "S1"), ("S2",)]
    assert [(r.statement, r.offset) for r in plan.reads] == [("S0", (0, -1)), ("S1", (-1, 0)), ("S2", (0, 0))]


REFUSED = {
    f"{INSIDE} C[(t + 1) % 2][i][j] = (j > 1 ? C[t % 2][i][j - 1] : 0.5) + C[t % 2][i - 1][j];": (
        "S0 reads C in some iterations alone"
    ),
    f"{INSIDE} A[i][j] = A[i][j] + A[i][N - 1 - j];": "depends on itself through A",
    f"{INSIDE} B[i][j] = A[i][j] + A[i][N - 1 - j]; {INSIDE} A[i][j] = B[i][j];": (
        "S0 reads A at a distance that is not the same everywhere"
    ),
    f"{INSIDE} B[i][j] = A[i][j - 1]; {INSIDE} A[i][j] = B[i][j] + B[1][j];": (
        "S1 reads B at a distance that is not the same everywhere"
    ),
    "if (t > 0) for (int i = 1; i < N; i++) E[t][i][i] = E[t - 1][i - 1][i - 1];": (
        "leading subscripts of E depend on more than t"
    ),
    "for (int i = 1; i < N - t; i++) for (int j = 1; j < N; j++) C[(t + 1) % 2][i][j] = C[t % 2][i][j - 1];": (
        "S0 does not run for the same cells in every iteration over t"
    ),
    f"if (t > 0) {INSIDE} E[t][i][j] = E[t - 1][i][j - 1];": "all iterations leave values in E",
    f"if (t % 2 == 0) {INSIDE} B[i][j] = A[i][j]; {INSIDE} A[i][j] = B[i][j + 1];": (
        "S0 does not run for the same cells in every iteration over t"
    ),
    f"{INSIDE} C[1][i][j] = C[0][i][j]; {INSIDE} C[0][i][j] = C[1][i][j + 1];": (
        "S0 and S1 write different versions of C in one iteration"
    ),
    f"{INSIDE} if ((i + j) % 2 == 0) A[i][j] = A[i][j - 1]; {INSIDE} if ((i + j) % 2) A[i][j] = A[i][j - 1];": (
        "S1 writes A, and reads values of A of the same iteration"
    ),
    f"{INSIDE} if (i < 9) A[i][j] = B[i][j]; {INSIDE} B[i][j] = A[i][j - 1]; {INSIDE} if (i > 8) A[i][j] = B[i][j];": (
        "S1 reads values of A that several iterations made"
    ),
    f"{INSIDE} A[i][j] = B[i][j]; {INSIDE} A[i][j] = A[i][j] + B[i][j + 1]; {INSIDE} B[i][j] = A[i][j];": (
        "S0 and S1 write the same elements of A in one iteration"
    ),
    f"{INSIDE} B[i][j] = t; {INSIDE} A[i][j] = B[i][j + 1];": "no iteration of t reads what another one made",
}


@pytest.mark.parametrize("source", REFUSED)
def test_what_is_no_plan_is_told_why(source: str, plan_of: PlanOf) -> None:
    with pytest.raises(NotAStencilError) as refused:
        plan_of(source)
    assert REFUSED[source] in refused.value.reason


def test_blocks_are_no_shorter_than_what_is_live(plan_of: PlanOf) -> None:
    assert plan_of("stencilgen/cheby.c", 3).iterations == 3
    with pytest.raises(NotAStencilError, match="3 iterations of t are live at once, more than the 2 of a block"):
        plan_of("stencilgen/cheby.c", 2)


def test_values_at_cells_that_are_not_written_are_of_the_same_version(plan_of: PlanOf) -> None:
    plan = plan_of(COPY_BACK, 2)
    assert [(s.array, s.iteration) for s in plan.steps] == [("A", -1), ("B", 0), ("A", 0), ("B", 1), ("A", 1)]
