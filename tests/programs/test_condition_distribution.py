"""Loops are distributed over the statements under a condition on data: one sets what another one reads later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polytile
from polytile.check.checker import problems
from polytile.check.source import differences
from tests.bitwise import same_as_c
from tests.every_schedule import source

DATA = (
    "int k[n + 3], double a[n + 3], double b[n + 3], float c[n + 3], const double x[n + 3],"
    " double A[m + 2][n + 2], double B[m + 2][n + 2]"
)
PARALLEL = {
    "a value for the next iteration": (
        "for (int i = 0; i < n; i++) if (a[i] > 0.3) { if (b[i] > 0.6) a[i] += x[i]; b[i + 1] = x[i] * c[i]; }"
    ),
    "branches in this order": (
        "for (int i = 0; i < n; i++) if (x[i] < 0.5) b[i + 1] = a[i] * x[i]; else a[i] = b[i] - x[i];"
    ),
    "branches in the other order": (
        "for (int i = 0; i < n; i++) if (x[i] < 0.5) a[i] = b[i] - x[i]; else b[i + 1] = a[i] * x[i];"
    ),
    "backwards": "for (int i = n; i > 0; i--) if (k[i] > 0) { c[i] = b[i] + c[i]; k[i] = 1; b[i - 1] = x[i]; }",
    "three statements": (
        "for (int i = 1; i < n; i++) if (k[i] > 3 || x[i] > 0.5)"
        " { a[i + 2] = x[i]; b[i] = a[i] - 1; c[i] += a[i + 1]; }"
    ),
    "a number as a condition": (
        "for (int i = 0; i < n; i++) { if (k[i]) { a[i] += b[i] * x[i]; b[i + 2] = x[i] + k[i]; } }"
    ),
    "what the condition reads is changed": (
        "for (int i = 0; i < n; i++) if (k[i] > 0) { k[i] = -k[i]; a[i] = b[i] + k[i]; b[i + 1] = x[i]; }"
    ),
    "jumps that meet again": (
        "for (int i = 0; i < n; i++) { if (a[i] >= 0.7) goto next; if (b[i] >= 0.3) goto on; a[i] += x[i];"
        " on: b[i + 1] = x[i] - c[i]; next: ; }"
    ),
    "in rows": (
        "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++)"
        " if (A[j][i] > 0.5) { A[j][i] -= B[j][i]; B[j + 1][i + 1] = x[i]; } else B[j][i] *= 2;"
    ),
    "not under a condition": (
        "for (int i = 0; i < n; i++) { double t = x[i] * 2; a[i] = t * b[i]; b[i + 1] = t - 1; }"
    ),
}
IN_ORDER = {
    "a value from the one before": (
        "for (int i = 0; i < n; i++) if (a[i] > 0.3) { b[i + 1] = b[i] * x[i]; c[i] = x[i]; }"
    ),
    "a condition on the one before": (
        "for (int i = 0; i < n; i++) if (b[i] > 0.3) { c[i] = x[i]; b[i + 1] = x[i]; }"
    ),
    "a sum": "double s = 0; for (int i = 0; i < n; i++) if (x[i] > 0.3) { s += b[i]; b[i + 1] = s; } a[0] = s;",
    "elements that data choose": (
        "for (int i = 0; i < n; i++) if (x[i] > 0.3) { a[i] = b[k[i] & 1]; b[i + 1] = x[i]; }"
    ),
    "in turns": "for (int i = 0; i < n; i++) if (x[i] > 0.3) { a[i + 1] = b[i]; b[i + 1] = a[i]; }",
}
SIZES = [{"n": n, "m": m} for n, m in ((0, 0), (1, 1), (2, 3), (45, 7), (1000, 2))]


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PARALLEL)
def test_loops_are_distributed_over_conditions(name: str) -> None:
    scop = polytile.compile(source(DATA, PARALLEL[name]), name="f.c", strict=True, raise_bugs=True).scops[0]
    assert scop.program is not None
    assert "holds" in scop.cuda or "not under" in name
    same_as_c(scop, SIZES)


@pytest.mark.parametrize("name", PARALLEL)
def test_their_certificates_hold(name: str, tmp_path: Path) -> None:
    """Branches in another order, and conditions that are kept, are the source's for the checker, too."""
    path = tmp_path / "f.c"
    path.write_text(source(DATA, PARALLEL[name]))
    content = json.loads(polytile.compile(path).certificate)
    assert list(differences(content, str(path), ())) == []
    assert [line for scop in content["scops"] for line in problems(scop)] == []


@pytest.mark.quick
@pytest.mark.parametrize("name", IN_ORDER)
def test_recurrences_stay_in_order(name: str) -> None:
    assert polytile.compile(source(DATA, IN_ORDER[name]), name="f.c").scops[0].program is None
