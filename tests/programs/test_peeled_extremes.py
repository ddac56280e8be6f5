"""Loops behind the element that an extreme starts with take it in, and leave the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pycparser.c_generator import CGenerator

import polytile
from polytile.frontend import assemble, peeled_extremes
from tests.bitwise import same_as_c
from tests.every_schedule import source

DATA = (
    "float a[n + 1][m + 1], double c[n + 1][m + 1], long q[n + 1][m + 1], int p[n + 1], float b[n + 1], double d[n + 1]"
)
SIZES = tuple({"n": n, "m": m} for n, m in ((0, 0), (1, 1), (5, 2), (33, 45), (9, 300)))
TAKEN_IN = {
    "the place": (
        "float x = a[i][0]; int k = 0; for (int j = 1; j < m; j++) if (a[i][j] > x) { x = a[i][j]; k = j; }"
        " p[i] = k; b[i] = x;"
    ),
    "the least": (
        "float x = a[i][0]; for (int j = 1; j < m; j++) if (x > a[i][j]) x = a[i][j]; b[i] = x;"
    ),
    "by a choice": (
        "float x = a[i][0]; for (int j = 1; j < m; j++) x = a[i][j] >= x ? a[i][j] : x; b[i] = x;"
    ),
    "by a function": (
        "double x = c[i][0]; for (int j = 1; j < m; j++) x = fmin(x, c[i][j]); d[i] = x;"
    ),
    "of amounts": (
        "double x = fabs(c[i][0]); for (int j = 1; j < m; j++) if (fabs(c[i][j]) > x) x = fabs(c[i][j]);"
        " d[i] = x;"
    ),
    "behind a place": (
        "float x; p[i] = 3; x = a[i][i % 2]; int k = 0; for (int j = i % 2 + 1; j < m; j++) if (a[i][j] < x) { k ="
        " j; x = a[i][j]; } p[i] += k; b[i] = x;"
    ),
}
LEFT = {
    "rounded by a function": "double x = c[i][0]; for (int j = 1; j < m; j++) x = fmaxf(x, c[i][j]); d[i] = x;",
    "an integer that a function rounds": (
        "long x = q[i][0]; for (int j = 1; j < m; j++) x = fmax(x, q[i][j]); d[i] = x;"
    ),
    "a start that changes": (
        "int st = i % 2; float x = a[i][st]; st = st + 1; for (int j = st + 1; j < m; j++) if (a[i][j] > x)"
        " x = a[i][j]; b[i] = x;"
    ),
    "rounded": (
        "float x = c[i][0]; for (int j = 1; j < m; j++) if (c[i][j] > x) x = c[i][j]; b[i] = x;"
    ),
    "another element": (
        "float x = a[i][1]; for (int j = 1; j < m; j++) if (a[i][j] > x) x = a[i][j]; b[i] = x;"
    ),
    "the last of equals": (
        "float x = a[i][0]; int k = 5; for (int j = 1; j < m; j++) if (a[i][j] >= x) { x = a[i][j]; k = j; }"
        " p[i] = k; b[i] = x;"
    ),
    "an element that changes": (
        "float x = a[i][0]; a[i][0] = 9; for (int j = 1; j < m; j++) if (a[i][j] > x) x = a[i][j]; b[i] = x;"
    ),
    "a sum beside it": (
        "float x = a[i][0]; int k = 0; for (int j = 1; j < m; j++) { if (a[i][j] > x) x = a[i][j]; k += 1; }"
        " p[i] = k; b[i] = x;"
    ),
    "an extreme that changes": (
        "float x = a[i][0]; x += 1; for (int j = 1; j < m; j++) if (a[i][j] > x) x = a[i][j]; b[i] = x;"
    ),
}


ROW = "for (int i = 0; i < n; i++) {{ {} }}"


def _source(loops: str) -> str:
    return "#include <math.h>\n" + source(DATA, ROW.format(loops))


def _loops(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return the loop over j before and after."""
    found: list[str] = []

    def watched(body: Any, scope: Any) -> Any:
        for change in (lambda: None, lambda: peeled_extremes.with_peeled_extremes(body, scope)):
            change()
            found.extend(line for node in body for line in CGenerator().visit(node).splitlines() if "int j = " in line)
        return body

    monkeypatch.setattr(assemble, "with_peeled_extremes", watched)
    polytile.compile(text)
    before, after = found
    return before.strip(), after.strip()


@pytest.mark.parametrize("loops", [pytest.param(v, id=k) for k, v in TAKEN_IN.items()])
def test_the_loop_takes_the_first_element_in(loops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        before, after = _loops(_source(loops), context)
    assert after == before.replace("j = 1", "j = 0").replace("j = (i % 2) + 1", "j = i % 2")
    assert after != before
    (scop,) = polytile.compile(_source(loops), strict=True).scops
    same_as_c(scop, SIZES)


@pytest.mark.parametrize("loops", [pytest.param(v, id=k) for k, v in LEFT.items()])
def test_the_loop_stays_where_the_first_element_counts(loops: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        before, after = _loops(_source(loops), context)
    assert after == before


@pytest.mark.quick
def test_rows_that_start_with_no_number() -> None:
    text = source("float a[n][m], float b[n], int p[n]", ROW.format(TAKEN_IN["the place"]))
    rows = np.array([[np.nan, 3, 1], [0.0, -0.0, np.nan], [-0.0, 0.0, -1], [np.nan, np.nan, np.nan]], np.float32)
    rows, best, places = rows.copy(), np.zeros(4, np.float32), np.full(4, 7, np.int32)
    polytile.compile(text)["f"](a=rows, b=best, p=places)
    assert best.tobytes() == rows[:, 0].tobytes()
    assert places.tolist() == [0, 0, 0, 0]
