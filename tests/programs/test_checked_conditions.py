"""Linearised subscripts that stay in their rows for some sizes: the program checks them, and runs the C elsewhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.bitwise import same_as_c

PART = """
#include <stdio.h>
void part(int rows, int cols, int low, int high, double *restrict a)
{
#pragma scop
    for (int i = 0; i < rows; i++)
        for (int j = low; j <= high; j++)
            a[i * cols + j] = 10 * i + j;
#pragma endscop
}
int main(void)
{
    static double a[400];
    part(3, 10, 2, 7, a + 100);
    part(3, 10, -1, 12, a + 200);
    part(3, 10, 5, 4, a + 300);
    for (int k = 0; k < 400; k++) printf("%g ", a[k]);
    return 0;
}
"""


def test_the_condition_is_passed_on() -> None:
    (scop,) = polytile.compile(PART, strict=True, raise_bugs=True).scops
    assert scop.scop.checked == "low >= 0 && cols >= high + 1"
    same_as_c(scop, [{"rows": 3, "cols": 9, "low": 2, "high": 6}, {"rows": 41, "cols": 33, "low": 0, "high": 32}])


def test_the_c_runs_where_it_does_not_hold(tmp_path: Path) -> None:
    program = polytile.compile(PART, name="part.c", strict=True)
    assert program.host.count("low >= 0 && cols >= high + 1") == 2
    results = []
    (tmp_path / "part.c").write_text(PART)
    plain = tmp_path / "plain"
    subprocess.run(["gcc", "-std=c99", "-w", tmp_path / "part.c", "-o", plain], check=True, timeout=60)
    built = program.build(tmp_path / "built", on="emulator")
    for executable in (plain, built):
        results.append(subprocess.run([executable], check=True, timeout=60, capture_output=True).stdout)
    assert results[0] == results[1]


def test_a_condition_on_elements_names_them() -> None:
    text = (
        "int grid[2];\nvoid f(int n, int m, double *restrict a)\n{\n#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < grid[1]; j++) a[i * m + j] = 1;\n#pragma endscop\n}\n"
    )
    program = polytile.compile(text)
    assert "if (m >= grid[1]) {" in program.host


@pytest.mark.parametrize("bound", ["j <= n", "j < m * n"])
def test_what_never_holds_is_refused(bound: str) -> None:
    text = (
        "void f(int n, int m, double *restrict a)\n{\n#pragma scop\n"
        f"for (int i = 0; i < m; i++) for (int j = 0; {bound}; j++) a[i * n + j] = 1;\n#pragma endscop\n}}\n"
    )
    with pytest.raises(UserError):
        polytile.compile(text)
