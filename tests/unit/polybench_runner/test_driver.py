"""The driver of an export, with device memory on the host: which data it draws, and which results it accepts."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from polybench.runner.driver_text import driver
from polybench.runner.errors import RunnerError
from polybench.runner.export import SUPPORT
from polytile import compile as compile_program

HOST = Path(__file__).parent / "host"
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is needed")

# Columns of A made orthogonal; there are more of them than rows, so that the last ones become rounding noise.
ORTHOGONAL = """
constexpr int rows = 40, columns = 60;
template <typename T, typename W> void compute(W *A, W *Q)
{
    for (int k = 0; k < columns; k++) {
        W norm = 0;
        for (int i = 0; i < rows; i++) norm += A[i * columns + k] * A[i * columns + k];
        for (int i = 0; i < rows; i++) Q[i * columns + k] = A[i * columns + k] / std::sqrt(norm);
        for (int j = k + 1; j < columns; j++) {
            W product = 0;
            for (int i = 0; i < rows; i++) product += Q[i * columns + k] * A[i * columns + j];
            for (int i = 0; i < rows; i++) A[i * columns + j] -= Q[i * columns + k] * product;
        }
    }
}
int main()
{
    bench::Times times;
    bench::Array<double> a("A", {rows, columns}, 0, 1, {true, true, true, false});
    bench::Array<double> q("Q", {rows, columns}, 0, 1, {false, true, true, false});
    bench::Scop scop{"orthogonal", 60.0, 2.220446049250313e-16};
    scop.arrays = {&a, &q};
    scop.sequential = [&] { compute<double>(a.host(), q.host()); };
    scop.wide = [&] { compute<double>(a.wide(), q.wide()); };
    scop.device = [&] {
        std::copy(q.host(), q.host() + rows * columns, q.device());
        std::copy(a.host(), a.host() + rows * columns, a.device());
        CHANGE;
        bench::kernel_ms = 1;
        return 0;
    };
    bench::run(scop, 1, 1, times);
    bench::print(times, 1);
}
"""
# Of data that are small beside 1e8, nothing but rounding noise is left.
CANCELLED = """
constexpr int rows = 20, columns = 50;
template <typename W> void compute(W *A)
{
    for (int i = 0; i < rows * columns; i++) A[i] = (A[i] + W(1e8)) - W(1e8);
}
int main()
{
    bench::Times times;
    bench::Array<float> a("A", {rows, columns}, 0, 1, {true, true, true, false});
    DRAW;
    bench::Scop scop{"cancelled", 2.0, 1.1920928955078125e-07};
    scop.arrays = {&a};
    scop.sequential = [&] { compute(a.host()); };
    scop.wide = [&] { compute(a.wide()); };
    scop.device = [&] {
        compute(a.device());
        bench::kernel_ms = 1;
        return 0;
    };
    bench::run(scop, 1, 1, times);
    bench::print(times, 1);
}
"""


def run(folder: Path, text: str) -> dict[str, Any]:
    """The line that a driver prints."""
    source = folder / "driver.cpp"
    source.write_text(f'#include "driver.h"\n{text}')
    flags = ["-std=c++17", "-O1", "-ffp-contract=off", f"-I{HOST}", f"-I{SUPPORT}"]
    subprocess.run(["g++", *flags, source, "-o", folder / "driver"], check=True, timeout=120)
    finished = subprocess.run([folder / "driver"], capture_output=True, text=True, timeout=60, check=False)
    found: dict[str, Any] = json.loads(f"{{{finished.stdout}}}")
    return found


@pytest.mark.slow
@needs_compiler
def test_noise_is_accepted_beside_strict_elements(tmp_path: Path) -> None:
    noisy = "for (int i = 0; i < rows; i++) q.device()[i * columns + 55] = 0.1"
    found = run(tmp_path, ORTHOGONAL.replace("CHANGE", noisy))
    _, q = found["validated"]
    assert q["undetermined"] == 40 * 20
    assert q["max_error"] == 0 and q["tolerance"] < 1e-10 * q["scale"]


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("column", [0, 20, 39])
def test_an_error_among_determined_elements_is_found(tmp_path: Path, column: int) -> None:
    wrong = f"q.device()[17 * columns + {column}] += 1e-6"
    found = run(tmp_path, ORTHOGONAL.replace("CHANGE", wrong))
    assert (
        f"1 of 2400 elements of Q differ from the sequential C, the first is number {17 * 60 + column};"
        in found["error"]
    )


@pytest.mark.slow
@needs_compiler
def test_data_that_determine_nothing_are_refused(tmp_path: Path) -> None:
    found = run(tmp_path, CANCELLED.replace("DRAW", ""))
    assert "no random data were found" in found["error"]


@pytest.mark.slow
@needs_compiler
def test_data_are_drawn_as_the_table_says(tmp_path: Path) -> None:
    drawn = "a.draw = [](double x, const long long *at) -> double { return (x + (at[0] == 1)) * 1e8; }"
    (a,) = run(tmp_path, CANCELLED.replace("DRAW", drawn))["validated"]
    assert 2e8 < a["scale"] < 2.5e8 and "undetermined" not in a and a["tolerance"] < 1e-5 * a["scale"]


SOURCE = """
void scale(int n, int m, double x[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[i][j] *= 2;
#pragma endscop
}
"""


def test_formulas_of_data() -> None:
    program = compile_program(SOURCE, name="scale.c")
    sizes = {"n": 5, "m": 6}
    text = driver(program, sizes, 1, {"x": "x + 4*(i1 == 2) - i0/10.0"})
    assert "v0.draw = [](double x, const long long *at) -> double { return x + 4*(at[1] == 2) - at[0]/10.0; };" in text
    assert "draw" not in driver(program, sizes, 1)
    with pytest.raises(RunnerError, match="y is drawn, which is no array"):
        driver(program, sizes, 1, {"y": "x"})
    for wrong in ("i2", "system(x)"):
        with pytest.raises(RunnerError, match="neither x nor one of its indices"):
            driver(program, sizes, 1, {"x": wrong})
