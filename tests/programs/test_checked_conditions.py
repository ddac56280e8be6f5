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
    assert program.host.count("(long long)low >= 0 && (long long)cols >= (long long)high + 1") == 1
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


SHIFTED = """
#include <stdio.h>
void shift(int n, int k, double a[n], const double b[n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = b[(i + k) % n];
#pragma endscop
}
int main(void)
{
    double a[8] = {0}, b[40];
    for (int i = 0; i < 40; i++) b[i] = i;
    for (int k = 0; k < 30; k++) {
        shift(7, k, a, b);
        for (int i = 0; i < 8; i++) printf("%g ", a[i]);
    }
    shift(0, 3, a, b);
    return 0;
}
"""

STRIDED = """
#include <stdio.h>
void rows(int n, int m, int s, double *restrict a, const double *restrict b)
{
#pragma scop
    for (int i = 0; i < n; i += s)
        for (int j = 0; j < m; j++)
            a[i * m + j] = 2 * b[i * m + j];
#pragma endscop
}
void twice(int n, int s, double *restrict x, double *restrict y)
{
    int i;
#pragma scop
    for (i = 0; i <= n; i += s + 1)
        x[i] = i;
    for (i = 0; i <= n; i = i + (s + 1))
        y[i] += x[i];
#pragma endscop
}
double sum(int n, int s, const double a[n])
{
    double r = 0;
#pragma scop
    for (int i = 1; i < n; i += s)
        r += a[i];
#pragma endscop
    return r;
}
int main(void)
{
    double a[33] = {0}, b[33], x[12] = {0}, y[12] = {0};
    for (int i = 0; i < 33; i++) b[i] = i;
    for (int s = 1; s < 14; s++) {
        rows(11, 3, s, a, b);
        twice(11, s - 1, x, y);
        printf("%g ", sum(33, s, b));
        for (int i = 0; i < 33; i++) printf("%g ", a[i]);
        for (int i = 0; i < 12; i++) printf("%g %g ", x[i], y[i]);
    }
    rows(0, 3, 0, a, b);
    rows(-3, 3, -2, a, b);
    return 0;
}
"""


def _same_as_gcc(text: str, folder: Path) -> None:
    """What the built program prints is what gcc's does."""
    (folder / "plain.c").write_text(text)
    subprocess.run(["gcc", "-std=c99", "-w", folder / "plain.c", "-o", folder / "plain"], check=True, timeout=60)
    built = polytile.compile(text, name="plain.c").build(folder / "built", on="emulator")
    printed = [
        subprocess.run([executable], check=True, timeout=60, capture_output=True).stdout
        for executable in (folder / "plain", built)
    ]
    assert printed[0] == printed[1]


def test_a_rotation_by_a_size_is_within_two_periods_where_the_program_finds_so(tmp_path: Path) -> None:
    (scop,) = polytile.compile(SHIFTED, strict=True, raise_bugs=True).scops
    assert scop.scop.checked == "n + k >= 1 && n >= k"
    same_as_c(scop, [{"n": 1, "k": 1}, {"n": 13, "k": 0}, {"n": 41, "k": 41}])
    _same_as_gcc(SHIFTED, tmp_path)


def test_conditions_of_a_trial_that_fails_are_not_asked() -> None:
    text = (
        "void f(int n, int k, double a[n], const int p[n])\n{\n#pragma scop\n"
        "for (int i = 0; i < n; i++) { int t = (i + k) % n + p[i]; a[i] = t; }\n#pragma endscop\n}\n"
    )
    (scop,) = polytile.compile(text).scops
    assert not scop.scop.checked


def test_loops_count_by_sizes(tmp_path: Path) -> None:
    program = polytile.compile(STRIDED, raise_bugs=True)
    assert [s.scop.checked for s in program.scops] == ["s >= 1", "s >= 0", "s >= 2"]
    for scop in program.scops:
        assert scop.validate(on="emulator", seed=1)
    _same_as_gcc(STRIDED, tmp_path)


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; i += s) if (a[i] > 0) break;",
        "for (int t = 0; t < n; t++) for (int i = 0; i < n; i += t) a[i] = 0;",
        "for (int i = n - 1; i >= 0; i -= s) a[i] = 0;",
    ],
)
def test_steps_that_are_no_sizes_are_refused(loop: str) -> None:
    text = f"void f(int n, int s, double a[n])\n{{\n#pragma scop\n{loop}\n#pragma endscop\n}}\n"
    with pytest.raises(UserError, match="step"):
        polytile.compile(text)


def test_rows_do_not_reach_beyond_an_array_that_they_do_not_divide() -> None:
    text = (
        "void f(int n, int m, int l, double a[l])\n{\n#pragma scop\n"
        "for (int i = 0; i < n; i++) a[i * m] = 1;\n#pragma endscop\n}\n"
    )
    (scop,) = polytile.compile(text).scops
    assert scop.scop.array("a").extents[0] is None


@pytest.mark.quick
def test_certificates_name_the_condition() -> None:
    assert '"checked": "low >= 0 && cols >= high + 1"' in polytile.compile(PART).certificate


@pytest.mark.parametrize("bound", ["j <= n", "j < 2 * n + 1"])
def test_what_never_holds_is_refused(bound: str) -> None:
    text = (
        "void f(int n, int m, double *restrict a)\n{\n#pragma scop\n"
        f"for (int i = 0; i < m; i++) for (int j = 0; {bound}; j++) a[i * n + j] = 1;\n#pragma endscop\n}}\n"
    )
    with pytest.raises(UserError):
        polytile.compile(text)
