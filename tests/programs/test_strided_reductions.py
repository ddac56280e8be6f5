"""Sums, products and extremes over loops with a step are shared out as those over loops that count by 1."""

from __future__ import annotations

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS
from tests.bitwise import same_as_c
from tests.every_schedule import source

DATA = "int a[5 * n + 9], float b[5 * n + 9], double c[5 * n + 9], double x0, double r[2], int k[n + 1]"
PARALLEL = {
    "five terms at once": (
        "float s = 0; for (int i = 0; i < 5 * n; i += 5)"
        " s = s + b[i] * b[i] + b[i + 1] * b[i] + b[i + 2] * b[i] + b[i + 3] * b[i] + b[i + 4] * b[i]; r[0] = s;"
    ),
    "some are subtracted": "for (int i = 1; i < n; i += 2) r[1] = r[1] - c[i] + c[i - 1];",
    "downwards": "double s = x0; for (int i = n; i >= 2; i -= 3) s += c[i]; r[0] = s;",
    "an iterator from outside": "int i; long s = 3; for (i = 0; i <= n; i += 4) s += a[i]; r[0] = s;",
    "an extreme": "int x = a[0]; for (int i = 2; i < 4 * n; i += 4) if (a[i] > x) x = a[i]; r[0] = x;",
    "under a condition": "for (int i = 0; i < n; i += 2) if (a[i] > 0) r[0] += c[i + 1];",
    "several rows": "for (int i = 0; i < n; i += 3) for (int j = i; j < n; j += 2) k[i] += a[j] - i;",
    "over two loops": (
        "int s = 1; for (int i = 0; i < n; i += 6) for (int j = i; j < i + 6; j += 4) s ^= a[j]; r[0] = s;"
    ),
    "tiles": "for (long t = 0; t < n; t += 16) for (long i = t; i < n && i < t + 16; i++) r[0] += c[i];",
}
SIZES = (0, 1, 2, 45, 1201)


@pytest.mark.slow(but="tiles")
@pytest.mark.parametrize("name", PARALLEL)
def test_sums_with_a_step_are_reductions(name: str) -> None:
    scop = polytile.compile(source(DATA, PARALLEL[name]), name="f.c", raise_bugs=True).scops[0]
    assert scop.program is not None
    for n in SIZES:
        if n > 100 and ("rows" in name or "two" in name):
            n = 101
        for report in scop.validate(on="emulator", parameters={"n": n}, seed=n + 1, sanitize=CHECKS):
            assert not report.note, report.line


@pytest.mark.parametrize("name", PARALLEL)
def test_their_order_can_be_kept(name: str) -> None:
    scop = polytile.compile(source(DATA, PARALLEL[name]), name="f.c", strict=True, raise_bugs=True).scops[0]
    if scop.program is not None:
        same_as_c(scop, [{"n": n} for n in (0, 1, 45)])


ITERATORS_THAT_ARE_NEEDED = {
    "behind the loop": "int i; for (i = 0; i < n; i += 2) r[0] += c[i]; r[1] = i;",
    "its bound changes": "for (int i = 0; i < k[0] % 9; i += 2) { r[0] += c[i]; k[0] -= i; }",
    "it ends early": "for (int i = 0; i < n; i += 2) { r[0] += c[i]; if (c[i] > 2) break; }",
    "not added to": "for (int i = 0; i < n; i += 2) k[i] = a[i + 1];",
    "unsigned": "for (unsigned i = 1; i < 9; i += 3) r[0] += c[i];",
}


@pytest.mark.parametrize("name", ITERATORS_THAT_ARE_NEEDED)
def test_other_loops_with_a_step_are_as_they_were(name: str) -> None:
    scop = polytile.compile(source(DATA, ITERATORS_THAT_ARE_NEEDED[name]), name="f.c", raise_bugs=True).scops[0]
    for n in (0, 1, 45):
        for report in scop.validate(on="emulator", parameters={"n": n}, seed=n, sanitize=CHECKS):
            assert not report.note, report.line
