"""What the classic strategy makes of typical programs, as one line per schedule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest

from polytile.scheduling.cost.strides import few_threads
from polytile.stages import select_schedule

SQUARE = "int n, double A[n][n]"
PAIR = "int n, int T, double A[n][n], double B[n][n]"
MATVEC = (
    "int n, int m, double A[n][m], double y[n]",
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[i] += A[i][j];",
)

PROGRAMS = {
    "matrix product": (
        "int n, int m, int p, double A[n][p], double B[p][m], double C[n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " for (int k = 0; k < p; k++) C[i][j] += A[i][k] * B[k][j];",
        "kernel(block[i/8,j/32] thread[8,32] serial[k] S0)",
    ),
    "one loop": (
        "int n, double x[n]",
        "for (int i = 0; i < n; i++) x[i] = 1;",
        "kernel(block[i/128] thread[128] S0)",
    ),
    "three loops": (
        "int n, double A[n][n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) A[i][j][k] = 1;",
        "kernel(block[i/2,j/4,k/32] thread[2,4,32] S0)",
    ),
    "four loops": (
        "int n, double A[n][n][n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"
        " for (int l = 0; l < n; l++) A[i][j][k][l] = 1;",
        "kernel(block[i/2,j/4,l/32] thread[2,4,32] serial[k*] S0)",
    ),
    "rows are summed by one thread each": (*MATVEC, "kernel(block[i/32] thread[32] serial[j] S0)"),
    "columns are summed by one thread each": (
        "int n, int m, double A[n][m], double y[m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j] += A[i][j];",
        "kernel(block[j/32] thread[32] serial[i] S0)",
    ),
    "the contiguous loop runs along x": (
        SQUARE,
        "for (int j = 0; j < n; j++) for (int i = 0; i < n; i++) A[i][j] = 1;",
        "kernel(block[i/8,j/32] thread[8,32] S0)",
    ),
    "time on the host": (
        PAIR,
        """for (int t = 0; t < T; t++) {
            for (int i = 1; i < n - 1; i++)
                for (int j = 1; j < n - 1; j++) B[i][j] = A[i - 1][j] + A[i + 1][j] + A[i][j - 1];
            for (int i = 1; i < n - 1; i++)
                for (int j = 1; j < n - 1; j++) A[i][j] = B[i - 1][j] + B[i + 1][j] + B[i][j - 1];
        }""",
        "serial[t] seq(kernel(block[i/8,j/32] thread[8,32] S0), kernel(block[i/8,j/32] thread[8,32] S1))",
    ),
    "independent rows, iterated inside the kernel": (
        PAIR,
        """for (int i = 0; i < n; i++)
            for (int t = 0; t < T; t++) {
                for (int j = 0; j < n; j++) B[i][j] = A[i][n - 1 - j] + A[i][j];
                for (int j = 0; j < n; j++) A[i][j] = B[i][j] + B[i][n - 1 - j];
            }""",
        "kernel(block[i] sync serial[t] sync seq(thread[128] S0, thread[128] S1))",
    ),
    "a local scalar does not serialise": (
        PAIR,
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double t = A[i][j]; B[i][j] = t * t; }",
        "kernel(block[i/8,j/32] thread[8,32] S1)",
    ),
    "a local scalar between conflicting statements does not serialise": (
        PAIR,
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {"
        " double t = A[i][j]; A[i][j] = B[i][j]; B[i][j] = t * t; }",
        "kernel(block[i/8,j/32] thread[8,32] seq(S0, S1, S2))",
    ),
    "a serial prologue runs in one thread": (
        "int n, double x[n], double y[n]",
        "for (int i = 1; i < n; i++) x[i] += x[i - 1]; for (int i = 0; i < n; i++) y[i] = x[n - 1];",
        "seq(kernel(serial[i] S0), kernel(block[i/128] thread[128] S1))",
    ),
    "serial neighbours share a kernel": (
        "int n, double x[n], double y[n], double z[4]",
        "z[0] = x[0]; for (int i = 1; i < n; i++) x[i] += x[i - 1] * z[0]; for (int i = 0; i < n; i++) y[i] = x[n - 1];"
        " for (int i = 0; i < n; i++) z[1] += y[i]; z[2] = z[1];",
        "seq(kernel(seq(S0, serial[i] S1)), kernel(block[i/128] thread[128] S2), kernel(seq(serial[i] S3, S4)))",
    ),
}


@pytest.fixture(scope="module")
def compiled(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """The same with the classic strategy."""
    return lambda *parts, **settings: compiled(*parts, **{"schedule": "classic", **settings})


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_structure(compiled: Callable[..., Any], shape: Callable[[isl.Schedule], str], name: str) -> None:
    arguments, body, expected = PROGRAMS[name]
    assert shape(compiled(arguments, body).compilation.schedule.tree) == expected


def test_nothing_parallel_stays_on_the_host(compiled: Callable[..., Any]) -> None:
    found = compiled("int n, double x[n]", "for (int i = 1; i < n; i++) x[i] = 0.5 * x[i - 1];")
    assert found.program is None
    assert found.cuda == ""
    assert [r.message for r in found.remarks] == ["f_scop0 stays on the host: no loop of it is parallel"]


def test_a_wavefront_is_skewed_and_its_front_is_parallel(
    compiled: Callable[..., Any], shape: Callable[[isl.Schedule], str]
) -> None:
    body = """for (int t = 0; t < 9; t++) for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)
        A[i][j] = A[i - 1][j] + A[i][j - 1] + A[i + 1][j] + A[i][j + 1];"""
    found = shape(compiled(SQUARE, body).compilation.schedule.tree)
    assert found.startswith("serial[2t+i+j] kernel(block[")


def test_an_exhausted_budget_falls_back_to_the_source_order(
    compiled: Callable[..., Any], shape: Callable[[isl.Schedule], str]
) -> None:
    arguments, body, _ = PROGRAMS["time on the host"]
    found = compiled(arguments, body, max_operations=2000)
    assert any("gave up after 2000 operations" in r.message for r in found.remarks)
    assert shape(found.compilation.schedule.tree).startswith("serial[t] seq(kernel(")


def test_sync_marks_name_the_dependence_they_keep(compiled: Callable[..., Any]) -> None:
    arguments, body, _ = PROGRAMS["independent rows, iterated inside the kernel"]
    cuda = compiled(arguments, body).cuda
    barriers = [line.strip() for line in cuda.splitlines() if line.strip().startswith("__syncthreads")]
    assert len(barriers) == 2
    assert barriers[0] == "__syncthreads();  // test.c:8 depends on test.c:7 through B and A"
    assert barriers[1] == "__syncthreads();  // test.c:7 depends on test.c:8 through B and A"


def test_the_kernels_of_a_serial_loop_need_no_barrier(compiled: Callable[..., Any]) -> None:
    arguments, body, _ = PROGRAMS["time on the host"]
    assert "__syncthreads" not in compiled(arguments, body).cuda


SYMMETRIC = """for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {
    double t = 0;
    for (int k = 0; k < i; k++) { C[k][j] += B[i][j] * A[i][k]; t += B[k][j] * A[i][k]; }
    C[i][j] = 2 * C[i][j] + t; }"""
FACTOR = """for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
        double t = A[i][j];
        for (int k = 0; k < j; k++) t -= A[i][k] * A[k][j];
        A[i][j] = t / A[j][j]; }
    for (int j = i; j < n; j++) {
        double t = A[i][j];
        for (int k = 0; k < i; k++) t -= A[i][k] * A[k][j];
        A[i][j] = t; } }"""


@pytest.mark.slow
def test_more_expansion_where_the_schedule_gains(compiled: Callable[..., Any]) -> None:
    symmetric = compiled("int n, int m, double A[n][n], double B[n][m], double C[n][m]", SYMMETRIC)
    factor = compiled("int n, double A[n][n]", FACTOR)
    for scop in (symmetric, factor):
        assert any("kept the loops in order" in r.message for r in scop.remarks)
        assert not any("one GPU thread" in r.message for r in scop.remarks)
        assert not few_threads(scop.compilation.schedule.tree) or scop is factor
    deepest = [k for k in factor.program.kernels if "A[i][k] * A[k][j]" in " ".join(k.summary)]
    assert deepest and all(k.block == (32, 8, 1) for k in deepest)
    assert not symmetric.program.buffer("t")


def test_less_expansion_where_the_schedule_gains_nothing(compiled: Callable[..., Any]) -> None:
    body = """for (int k = 0; k < n; k++) {
        double s = 0;
        for (int i = 0; i < n; i++) s += A[i][k] * A[i][k];
        for (int i = 0; i < n; i++) A[i][k] = A[i][k] / s;
        for (int j = k + 1; j < n; j++) for (int i = 0; i < n; i++) A[i][j] -= A[i][k] * s; }"""
    scop = compiled("int n, double A[n][n]", body)
    assert not any("expanded" in r.message for r in scop.remarks)


def test_a_schedule_file_may_rely_on_more_expansion(compiled: Callable[..., Any]) -> None:
    scop = compiled("int n, double A[n][n]", FACTOR)
    again = compiled("int n, double A[n][n]", FACTOR, load_schedule=scop.compilation.schedule_text())
    assert [k.body for k in again.program.kernels] == [k.body for k in scop.program.kernels]


def test_copies_are_not_tried_where_isl_gave_up(
    compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are more statements, for which it would take as long again."""
    body = "for (int i = 1; i < n; i++) for (int j = 1; j < m; j++) { x[i] += x[i - 1] * x[j]; x[j] += x[i]; }"
    wanted: list[bool] = []

    def note(problem: Any, *, at_any_cost: bool = False) -> None:
        wanted.append(at_any_cost)

    monkeypatch.setattr(select_schedule, "with_snapshots", note)
    for operations, expected in ((20_000_000, [False, True]), (8000, [False])):
        wanted.clear()
        found = compiled("int n, int m, double x[n]", body, max_operations=operations)
        assert found.program is None
        assert wanted == expected
        assert any("gave up" in r.message for r in found.remarks) == (expected == [False])
