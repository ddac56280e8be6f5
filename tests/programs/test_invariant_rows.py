"""Rows that sizes choose, `x[i * m + j]` in a loop over j alone: dimensions are recovered there, too."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule

PROGRAMS: Mapping[str, tuple[str, str, str]] = {  # arguments, body, what the host asks
    "one row": (
        "int i, int m, float *x, float most",
        "for (int j = 0; j < m; j++) x[i * m + j] = x[i * m + j] - most;",
        "",
    ),
    "the greatest of a row": (
        "int i, int m, const int *x, int *most",
        "int s = 0; for (int j = 0; j < m; j++) if (x[i * m + j] > s) s = x[i * m + j]; most[0] = s;",
        "",
    ),
    "two rows of one array": (
        "int i, int k, int n, double *a, double f",
        "for (int j = 0; j < n; j++) a[i * n + j] -= a[k * n + j] * f;",
        "",
    ),
    "rows that are neighbours": (
        "int i, int n, double *a",
        "for (int j = 0; j < n; j++) a[(i + 1) * n + j] = a[i * n + j] + a[n * i + n + n + j];",
        "",
    ),
    "a part of a row": (
        "int i, int k, int n, double *a",
        "for (int j = k; j < n; j++) a[i * n + j] *= 2;",
        "k >= 0",
    ),
    "rows of an unknown length, which is named last": (
        "int i, int m, int n, double *a",
        "for (int j = 0; j < n; j++) a[2 * i * m + j] += a[i * m + j];",
        "m >= n",
    ),
    "planes of rows": (
        "int b, int t, int T, int C, float *o, const float *x, const float *w",
        "for (int i = 0; i < C; i++) o[b * T * C + t * C + i] = x[(b * T + t) * C + i] * w[i];",
        "t >= 0 && T >= t + 1",
    ),
    "a column": (
        "int j, int n, int m, double *a",
        "for (int i = 0; i < n; i++) a[i * m + j] = i;",
        "j >= 0 && m >= j + 1",
    ),
}


def _source(arguments: str, body: str) -> str:
    return f"void f({arguments})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    arguments, body, asked = PROGRAMS[name]
    text = _source(arguments, body)
    (scop,) = polytile.compile(text, name="f.c", strict=True).scops
    assert scop.scop.checked == asked
    assert not scop.scop.reached, "the sizes say what is used"
    names = [p.name for p in scop.scop.parameters]
    rows = {"i": 2, "k": 1, "j": 0, "b": 1, "t": 0}
    assert "auto" not in same_in_every_schedule(text, [{n: rows.get(n, size) for n in names} for size in (1, 2, 5, 33)])


@pytest.mark.quick
@pytest.mark.parametrize("name", ["one row", "two rows of one array", "rows that are neighbours", "planes of rows"])
def test_the_loop_is_parallel(name: str) -> None:
    (scop,) = polytile.compile(_source(*PROGRAMS[name][:2]), name="f.c").scops
    assert scop.program is not None


def test_no_length_that_all_accesses_share() -> None:
    text = _source("int i, int k, int m, int n, float *x", "for (int j = 0; j < m; j++) x[i * m + j] = x[k * n + j];")
    with pytest.raises(UserError, match="multiplies two sizes"):
        polytile.compile(text, name="f.c")


CALLS = """
#include <stdio.h>
static float x[256];
static double a[256];
int main(void)
{
    for (int i = 0; i < 256; i++) { x[i] = i; a[i] = i * 0.5; }
    one(-1, 5, x + 16, 2);
    one(2, 5, x, 2);
    one(2, -5, x + 40, 2);
    one(2, 0, x, 2);
    two(1, 3, 7, a, 0.5);
    two(2, 2, 7, a, 0.5);
    two(-1, -2, 33, a + 128, 0.5);
    plane(1, 2, 3, 4, x, x + 130, x + 200);
    plane(0, 9, 3, 4, x, x + 130, x + 200);
    part(3, -2, 9, a);
    part(3, 2, 9, a);
    for (int i = 0; i < 256; i++) printf("%g %g\\n", x[i], a[i]);
    return 0;
}
"""


@pytest.mark.usefixtures("emulator")
def test_calls_with_rows_in_front_behind_and_beyond(tmp_path: Path) -> None:
    """Rows below the pointer, the same row twice, and rows that do not fit, where the user's C runs."""
    called = {"one": "one row", "two": "two rows of one array", "plane": "planes of rows", "part": "a part of a row"}
    text = "".join(_source(*PROGRAMS[name][:2]).replace(" f(", f" {f}(") for f, name in called.items()) + CALLS
    file = tmp_path / "rows.c"
    file.write_text(text)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "plain", file], check=True)
    plain = subprocess.run([tmp_path / "plain"], check=True, capture_output=True, text=True).stdout
    program = polytile.compile(file)
    program.build(tmp_path / "built", on="emulator")
    assert subprocess.run([tmp_path / "built"], check=True, capture_output=True, text=True).stdout == plain
