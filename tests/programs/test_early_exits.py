"""Loops that a break ends on a condition that is known before they run: parallel, and as far as C goes."""

from __future__ import annotations

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS
from tests.bitwise import same_as_c
from tests.every_schedule import source

DATA = "int a[n + 1], float b[n + 1], double c[n + 2], double d[n + 1], float x0, int r[2], int p[n + 1]"
PARALLEL = {
    "the first place": "int k = -2; for (int i = 0; i < n; i++) if (b[i] > 0.9f) { k = i; break; } r[0] = k;",
    "the first place and its value": (
        "int k = -2; float v = -1; for (int i = 0; i < n; i++) { if (b[i] > x0) { k = i; v = b[i]; break; } }"
        " r[0] = k + v;"
    ),
    "a jump": "int k = n; for (int i = 1; i <= n; ++i) { if (a[i] == r[1]) { k = i; goto found; } } found: r[0] = k;",
    "whether there is one": (
        "int some = 0; for (int i = 0; i < n; i++) if (a[i] < -60) { some = 1; break; } r[0] = some;"
    ),
    "up to the first": "for (int i = 0; i < n; i++) { d[i] += c[i] * b[i]; if (c[i] > 0.97) break; }",
    "before the first": "for (int i = 0; i < n; i++) { if (b[i] + c[i + 1] > 1.9) break; d[i] = c[i]; a[i]++; }",
    "around the test": (
        "for (int i = 0; i < n; i++) { d[i] *= 2; if (a[i] == 5 && b[i] > 0) { r[0] = i; d[i] = 7; break; }"
        " if (a[i] > 0) p[n - i] = i; }"
    ),
    "a sum up to the first": (
        "double s = 0; for (int i = 0; i < n; i++) { if (b[i] > 0.95f) break; s += c[i]; } d[0] = s;"
    ),
}
IN_ORDER = {
    "it ends on what it computes": "for (int i = 0; i < n; i++) { d[i] += c[i]; if (d[i] > 1) break; }",
    "it ends on a sum": "float s = 0; for (int i = 0; i < n; i++) { s += b[i]; if (s > 3) break; } r[0] = s;",
    "data behind it may be no indices": (
        "for (int i = 0; i < n; i++) { if (p[i] < 0 || c[p[i]] > 1) { r[0] = i; break; } }"
    ),
    "the break may keep it inside": (
        "for (int i = 0; i < m; i++) { d[i] = 1; if (b[i] > 0.9f) { r[0] = i; break; } }"
    ),
    "the bound is beyond the array": "for (int i = 0; i < n + 2; i++) { if (b[i] > 0.9f) { r[0] = i; break; } }",
    "two ways out": "for (int i = 0; i < n; i++) { if (a[i] > 9) break; if (c[i] > 0.9) break; d[i] = 0; }",
    "else": "for (int i = 0; i < n; i++) { if (a[i] > 9) break; else d[i] = 1; }",
}



@pytest.mark.parametrize("name", PARALLEL)
def test_early_exits_are_searches(name: str) -> None:
    scop = polytile.compile(source(DATA, PARALLEL[name]), name="f.c", raise_bugs=True).scops[0]
    assert scop.program is not None
    for n in (0, 1, 2, 45, 3000):
        for report in scop.validate(on="emulator", parameters={"n": n}, seed=n, sanitize=CHECKS):
            assert not report.note, report.line


@pytest.mark.parametrize("name", PARALLEL)
def test_the_order_of_sums_can_be_kept(name: str) -> None:
    scop = polytile.compile(source(DATA, PARALLEL[name]), name="f.c", strict=True, raise_bugs=True).scops[0]
    if scop.program is not None:
        same_as_c(scop, [{"n": n} for n in (0, 1, 45)])


@pytest.mark.quick
@pytest.mark.parametrize("name", IN_ORDER)
def test_what_is_not_known_before_stays_in_order(name: str) -> None:
    scop = polytile.compile(source(DATA, IN_ORDER[name]), name="f.c").scops[0]
    assert scop.program is None


def test_arrays_without_a_size_may_end_there() -> None:
    text = source("double *c, int *r", "for (int i = 0; i < n; i++) if (c[i] == 0) { r[0] = i; break; }")
    assert polytile.compile(text, name="f.c").scops[0].program is None
