"""Kernels for some sizes alone: constants in place of parameters; the program asks, and runs the C elsewhere."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UsageError
from polytile.runtime.binding import names
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from tests.bitwise import same_as_c

SMOOTH = """
#include <stdio.h>
void smooth(int n, int m, double a[n][m], double b[n][m])
{
#pragma scop
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            b[i][j] = a[i - 1][j] + a[i + 1][j] + 0.5 * a[i][j - 1] + n;
#pragma endscop
}
int main(void)
{
    static double a[9][11], b[9][11], c[8][11];
    for (int i = 0; i < 9; i++) for (int j = 0; j < 11; j++) a[i][j] = 3 * i - j;
    smooth(9, 11, a, b);
    smooth(8, 11, a, c);
    for (int i = 0; i < 9; i++) for (int j = 0; j < 11; j++) printf("%g %g ", b[i][j], c[i % 8][j]);
    return 0;
}
"""

JACOBI = """
void jacobi(int steps, int n, double a[n][n], double b[n][n])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = 0.2 * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i - 1][j] + a[i + 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = 0.2 * (b[i][j] + b[i][j - 1] + b[i][j + 1] + b[i - 1][j] + b[i + 1][j]);
    }
#pragma endscop
}
"""

PRODUCT = """
void product(int n, int m, int k, double c[n][m], double a[n][k], double b[k][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            c[i][j] = 0;
            for (int l = 0; l < k; l++)
                c[i][j] += a[i][l] * b[l][j];
        }
#pragma endscop
}
"""


def kernels(program: polytile.Program) -> str:
    """The text of all kernels."""
    text = program.cuda
    return text[text.index("__global__") :]


@pytest.mark.quick
def test_sizes_are_constants() -> None:
    program = polytile.compile(SMOOTH, parameters={"n": 9, "m": 11}, specialize=True)
    found = kernels(program)
    assert "* 11 + " in found
    assert re.search(r"smooth_scop0_k0\(double \*__restrict__ b,\s+const double \*__restrict__ a\)", found)
    assert "gridDim" not in found.partition("}")[0]


def test_one_size_alone_may_be_given() -> None:
    program = polytile.compile(SMOOTH, parameters={"m": 11}, specialize=True)
    assert re.search(r"_k0\(int n, double", kernels(program))
    assert "if (polytile_apart && (m == 11)) {" in program.host


def test_an_assumption_makes_a_constant_too() -> None:
    assumed = SMOOTH.replace("#pragma scop", "#pragma polytile assume(m == 11)\n#pragma scop", 1)
    assert "* 11 + " in kernels(polytile.compile(assumed))


def test_the_c_runs_at_other_sizes(tmp_path: Path) -> None:
    program = polytile.compile(SMOOTH, name="smooth.c", strict=True, parameters={"n": 9, "m": 11}, specialize=True)
    assert program.host.count("&& (n == 9 && m == 11)) {") == 1  # around the call, whose status says whether the C runs
    (tmp_path / "smooth.c").write_text(SMOOTH)
    plain = tmp_path / "plain"
    subprocess.run(["gcc", "-std=c99", "-w", tmp_path / "smooth.c", "-o", plain], check=True, timeout=60)
    built = program.build(tmp_path / "built", on="emulator")
    results = [subprocess.run([e], check=True, timeout=60, capture_output=True).stdout for e in (plain, built)]
    assert results[0] == results[1]


@pytest.mark.parametrize("schedule", ["classic", "superposed", "split", "overlapped"])
@pytest.mark.parametrize("sizes", [(0, 5), (1, 1), (3, 2), (5, 37), (4, 70)])
def test_stencils_are_right(schedule: str, sizes: tuple[int, int]) -> None:
    _right(JACOBI, {"steps": sizes[0], "n": sizes[1]}, schedule)


@pytest.mark.parametrize("schedule", ["classic", "superposed", "tiled"])
@pytest.mark.parametrize("sizes", [(0, 4, 3), (1, 1, 1), (33, 7, 65), (70, 65, 0)])
def test_products_are_right(schedule: str, sizes: tuple[int, int, int]) -> None:
    _right(PRODUCT, dict(zip("nmk", sizes, strict=True)), schedule)


def _right(text: str, sizes: Mapping[str, int], schedule: str) -> None:
    settings = {"schedule": schedule, "strict": True, "raise_bugs": True, "parameters": dict(sizes), "specialize": True}
    (scop,) = polytile.compile(text, **settings).scops
    same_as_c(scop, [dict(sizes)])


def test_wide_and_unsigned_values_keep_their_types() -> None:
    text = """
    void f(long n, unsigned u, double a[8])
    {
    #pragma scop
        for (int i = 0; i < 8; i++)
            if (i < n && i >= u) a[i] = n * n + (u - 4 > 7);
    #pragma endscop
    }
    """
    (scop,) = polytile.compile(text, strict=True, parameters={"n": 100000, "u": 3}, specialize=True).scops
    same_as_c(scop, [{"n": 100000, "u": 3}])


def test_sizes_with_which_nothing_runs_change_nothing() -> None:
    (scop,) = polytile.compile(PRODUCT, parameters={"n": 4, "m": 0, "k": 2}, specialize=True).scops
    assert scop.scop.checked == ""


def test_a_call_with_other_sizes() -> None:
    smooth = polytile.compile(SMOOTH, parameters={"n": 9, "m": 11}, specialize=True)["smooth"]
    a, b = np.ones((9, 11)), np.zeros((9, 11))
    smooth(a=a, b=b, on="emulator")
    assert (b[1:-1, 1:-1] == 11.5).all()
    with pytest.raises(UsageError, match="for n == 9 && m == 11 alone"):
        smooth(8, 11, a[:8], b[:8], on="emulator")


def test_scops_without_these_sizes_are_for_all() -> None:
    program = polytile.compile(SMOOTH + JACOBI, parameters={"m": 11}, specialize=True)
    assert [scop.scop.name for scop in program.scops] == ["smooth_scop0", "jacobi_scop0"]
    assert [scop.compilation.source.checked for scop in program.scops] == ["m == 11", ""]
    assert "for m == 11 alone: the program asks when it runs" in program["smooth"].explain()


def test_a_loop_that_sets_its_elements_in_turn() -> None:
    """One assignment in a loop that data end reads, in a later turn, what another one may have overwritten."""
    text = """
    void f(int n, double x[n], double y[n])
    {
    #pragma scop
        for (int i = 0; i < n; i++) {
            double e[2];
            e[0] = x[i];
            e[1] = 1;
            while (e[0] > 0.1)
                e[0] = e[0] * 0.5 * e[1];
            y[i] = e[0] + 10 * e[1];
        }
    #pragma endscop
    }
    """
    (scop,) = polytile.compile(text, strict=True, raise_bugs=True).scops
    same_as_c(scop, [{"n": n} for n in (0, 1, 33)])


def test_no_sizes() -> None:
    with pytest.raises(UsageError, match="specialize: there are no values"):
        polytile.compile(SMOOTH, specialize=True)


def test_sizes_that_cannot_be() -> None:
    assumed = SMOOTH.replace("#pragma scop", "#pragma polytile assume(m >= 12)\n#pragma scop", 1)
    with pytest.raises(UsageError, match="contradicts"):
        polytile.compile(assumed, parameters={"m": 11}, specialize=True)


@pytest.mark.usefixtures("emulator")
def test_who_calls_the_entry_point_with_other_sizes_is_told(tmp_path: Path) -> None:
    """As the host file does, which runs the C then: nothing has happened."""
    compiled = polytile.compile(SMOOTH, name="smooth.c", specialize=True, parameters={"n": 9, "m": 11})
    _, unit, header = compiled.write(tmp_path)
    assert "Does nothing and returns 2 unless n == 9 && m == 11." in header.read_text()
    entry = EmulatorLibrary.open(compile_shared(unit, tmp_path / "smooth.so")).function("polytile_smooth_scop0")
    for n, m, status in ((9, 11, 0), (8, 11, 2), (9, 12, 2)):
        a, b = np.ones((9, 12)), np.zeros((9, 12))
        passed = {"n": n, "m": m, "a": ctypes.c_void_p(a.ctypes.data), "b": ctypes.c_void_p(b.ctypes.data)}
        assert entry(*(passed[name] for name in names(compiled.scops[0].scop))) == status
        assert bool(b.any()) is (status == 0)
