"""C of polyhedral tools and PENCIL: undeclared helpers, promises, SCoPs in which nothing runs."""

from __future__ import annotations

import islpy as isl
import pytest

import polytile
from polytile.diagnostics import NothingRunsError
from tests.bitwise import same_as_c
from tests.every_schedule import same_in_every_schedule, source

SIZES = [{"n": 0, "m": 0}, {"n": 1, "m": 1}, {"n": 7, "m": 5}, {"n": 70, "m": 33}]
CHECKS = "address,undefined,race,uninitialised"
DECLARED = "int imin(int a, int b); int imax(int a, int b); void __pencil_assume(int c); void __pencil_kill();\n"
PROGRAMS = {
    "helpers of indices": (
        "double A[n][m], const double B[n][m]",
        "for (int i = 0; i < min(n, m); i++) for (int j = max(i - 2, 0); j <= floord(i, 2) && j < m; j++)"
        " A[i][j] = B[i][j] + floord(3 - i, 4) + ceild(i - 5, 3);",
    ),
    "minima and maxima of integers": (
        "int a[n], const int b[n]",
        "for (int i = 0; i < n; i++) a[i] = imin(b[i], imax(a[i], 3)) + MAX(b[imin(i + 1, n - 1)], -4);",
    ),
    "promises and kills": (
        "double a[n], const double b[n]",
        "__pencil_assume(n >= 0); __pencil_kill(a);"
        " for (int i = 0; i < n; i++) { __pencil_assume(i < n * n + 1); a[i] = 2 * b[i]; }",
    ),
    "a promise about data": (
        "double a[n], const double b[n]",
        "__builtin_assume(b[0] > 0.5); for (int i = 0; i < n; i++) a[i] = b[i] / b[0];",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("declared", ["", DECLARED])
def test_functions_of_tools(name: str, declared: str) -> None:
    text = declared + source(*PROGRAMS[name])
    if "helpers" not in name and "minima" not in name:
        same_in_every_schedule(text, SIZES)
        return
    (scop,) = polytile.compile(text, strict=True, raise_bugs=True).scops  # the helpers' C is in no file
    known = {p.name for p in scop.scop.parameters}
    for sizes in ({name: value for name, value in one.items() if name in known} for one in SIZES):
        for report in scop.validate(on="emulator", parameters=sizes, seed=1, sanitize=CHECKS):
            assert report.bitwise and "defined elsewhere" in report.note


def test_promises_are_used() -> None:
    body = "__pencil_assume(m >= 1 && m <= n);"
    body += " for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) a[i * n + j] = n;"
    (scop,) = polytile.compile(source("double *a", body), strict=True).scops
    assert scop.scop.context.is_subset(isl.Set("[n, m] -> { : 1 <= m <= n }"))
    same_as_c(scop, [{"n": 5, "m": 3}])


NOTHING = {
    "dead scalars": "int k = 3;",
    "empty blocks": "{ ; }",
    "no iteration": "for (int i = 5; i < 3; i++) a[i] = 0;",
}


@pytest.mark.quick
@pytest.mark.parametrize("body", NOTHING.values(), ids=NOTHING)
def test_a_scop_that_runs_nothing_is_no_fault(body: str) -> None:
    program = polytile.compile(source("double *a", body))
    assert not program.scops and not program.marked
    assert all(isinstance(r, NothingRunsError) for r in program.refusals)
    assert program.host == source("double *a", body)


def test_loops_that_do_nothing_are_detected_without_a_fault() -> None:
    text = "void f(int n)\n{\n    int k;\n    for (int i = 0; i < n; i++) k = 4;\n}\n"
    program = polytile.compile(text, autodetect=True)
    assert not program.scops and not program.marked


def test_a_first_value_and_a_recurrence_compile() -> None:
    """A copy that stands in no loop is not copied back at the end of each step of one."""
    text = source("double x[n], const double y[n]", "x[0] = y[0]; for (int k = 1; k < n; k++) x[k] = x[k - 1] + y[k];")
    (scop,) = polytile.compile(text, raise_bugs=True).scops
    assert scop.program is None
