"""A least and a greatest value in one condition, `if (x < lo) lo = x; else if (x > hi) hi = x;`."""

from __future__ import annotations

import pytest

import polytile
from tests.every_schedule import same_in_every_schedule, source
from tests.parallel_loops import SIZES, runs_in_many_threads, total

pytestmark = pytest.mark.usefixtures("emulator")

X = "double x[n + 1], double y[n], double o[3]"
EACH = "for (int i = 0; i < n; i++)"
PROGRAMS = {
    "of one start": (
        X, total("double lo, hi; lo = hi = x[0];", f"{EACH} if (x[i] < lo) lo = x[i];"
                 " else if (x[i] > hi) hi = x[i];", "lo", "hi"),
    ),
    "the greatest first, of integers": (
        "int x[n + 1], int o[2]",
        total("int lo = x[n], hi = lo;", f"{EACH} if (hi < x[i]) hi = x[i]; else {{ if (x[i] < lo) lo = x[i]; }}",
              "lo", "hi"),
    ),
    "of numbers": (
        "double A[n][m], double o[2]",
        total("double lo = -0.125, hi = .25, v; int i, j;", "for (i = 0; i < n; i++) for (j = 0; j < m; j++)"
              " { v = 2 * A[i][j]; if (v < lo) lo = v; else if (v > hi) hi = v; }", "lo", "hi"),
    ),
    "of what is no number": (
        X, total("double lo = x[n], hi = x[n];", f"{EACH} {{ double v = x[i] > 0.3 ? 0. / 0. : x[i];"
                 " if (v < lo) lo = v; else if (v > hi) hi = v; }", "lo", "hi"),
    ),
    "of a start that is no number": (
        X, total("double lo = 0. / 0., hi = lo;", f"{EACH} if (x[i] < lo) lo = x[i]; else if (x[i] > hi) hi = x[i];",
                 "lo", "hi"),
    ),
    "with a place": (
        X, total("double lo = x[0], hi = x[0];", f"{EACH} if (x[i] < lo) {{ lo = x[i]; y[i] = 1; }}"
                 " else if (x[i] > hi) { hi = x[i]; }", "hi"),
    ),
}  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("name", [name for name in PROGRAMS if "place" not in name])
def test_they_run_in_many_threads(name: str) -> None:
    runs_in_many_threads(source(*PROGRAMS[name]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_schedule_computes_what_c_does(name: str) -> None:
    same_in_every_schedule(source(*PROGRAMS[name]), SIZES)


LOOP = f"{EACH} if (x[i] < lo) lo = x[i]; else if (x[i] > hi) hi = x[i];"
KEPT = {
    "a least value above the greatest": f"double lo = 9, hi = -9; {LOOP}",
    "values of two times": f"double lo = x[0]; x[0] = 5; double hi = x[0]; {LOOP}",
    "a greatest value that something else sets": "double lo = x[0], hi = x[0];"
    f"{EACH} {{ if (x[i] < lo) lo = x[i]; else if (x[i] > hi) hi = x[i]; if (y[i] > 0) hi = y[i]; }}",
    "another number": f"double lo = x[0], hi = x[0]; {EACH} if (x[i] < lo) lo = x[i]; else if (y[i] > hi) hi = y[i];",
    "a start of which one is set again": f"double lo = x[0], hi = x[0]; lo = 2; {LOOP}",
    "unsigned and signed": "int lo = -1, hi = 3; unsigned k = 0;"
    f"{EACH} {{ k = 4 * i; if (k < lo) lo = k; else if (k > hi) hi = k; }}",
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_no_pair_of_extremes_stays_one_condition(name: str) -> None:
    same_in_every_schedule(source(X, f"{KEPT[name]} o[0] = lo; o[1] = hi;"), SIZES)


STARTS = {
    "one value": ("double lo = x[0], hi = x[0];", True),
    "the same variable": ("double lo = x[0], hi; hi = lo;", True),
    "numbers": ("double lo = -1, hi = 2;", True),
    "numbers the other way round": ("double lo = 2, hi = -1;", False),
    "one that is set again": ("double lo = x[0], hi = x[0]; if (n > 9) hi = 0;", False),
}


@pytest.mark.parametrize("name", STARTS)
def test_the_function_may_say_how_they_start(name: str) -> None:
    start, known = STARTS[name]
    text = f"""double f(int n, double x[n])
{{
    {start}
#pragma scop
    {LOOP}
#pragma endscop
    return hi - lo;
}}
"""
    (scop,) = polytile.compile(text, name="f.c", raise_bugs=True).scops
    assert (scop.program is not None) is known
    if known:
        for n in (1, 2, 300):
            scop.validate(on="emulator", parameters={"n": n})
