"""Loops that look for the place of an extreme, or for the last place, run in parallel and find the same."""

from __future__ import annotations

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import source

DATA = "int a[n + 1], float b[n + 1], double c[n + 1], float x0, int r[1], int q[1]"
PARALLEL = {
    "the first largest": (
        "int x = a[0]; int k = 0; for (int i = 0; i < n; i++) if (a[i] > x) { x = a[i]; k = i; } r[0] = x; q[0] = k;"
    ),
    "the first smallest, of some": (
        "float x = x0; int k = -7; for (int i = 2; i <= n; ++i) if (x > b[i]) { k = i; x = b[i]; } q[0] = k;"
    ),
    "of amounts": (
        "double x = -1; int k = 5; for (int i = 1; i < n; i++) if (fabs(c[i]) > x) { k = i; x = fabs(c[i]); }"
        " q[0] = k; r[0] = x > 2;"
    ),
    "the last place": "int k = -1; for (int i = 0; i < n; i++) if (a[i] < 0) k = i; q[0] = k;",
    "the last place of two values": (
        "int k = n; for (int i = 1; i < n; i++) if (b[i] < b[i - 1] && a[i] != 3) { k = i; } q[0] = k + 1;"
    ),
}
IN_ORDER = {
    "rounded": "float x = 0; int k = 0; for (int i = 0; i < n; i++) if (c[i] > x) { x = c[i]; k = i; } q[0] = k;",
    "the last largest": "int x = 0, k = 0; for (int i = 0; i < n; i++) if (a[i] >= x) { x = a[i]; k = i; } q[0] = k;",
    "another value": "int x = 0, k = 0; for (int i = 0; i < n; i++) if (a[i] > x) { x = a[i + 1]; k = i; } q[0] = k;",
    "a place that it reads": "int k = 0; for (int i = 0; i < n; i++) if (a[i] > k) k = i; q[0] = k;",
}


@pytest.mark.parametrize("name", PARALLEL)
def test_searches_are_reductions(name: str) -> None:
    text = "#include <math.h>\n" + source(DATA, PARALLEL[name])
    scop = polytile.compile(text, name="f.c", raise_bugs=True).scops[0]
    assert scop.program is not None
    for n in (0, 1, 2, 45, 4000):
        for report in scop.validate(on="emulator", parameters={"n": n}, seed=n + 1, sanitize=CHECKS):
            assert not report.note, report.line


@pytest.mark.parametrize("name", IN_ORDER)
def test_what_is_no_such_search_stays_in_order(name: str) -> None:
    assert polytile.compile(source(DATA, IN_ORDER[name]), name="f.c").scops[0].program is None
