"""The count of SCoPs that stay C, and of kernels of one thread with loops over data."""

from __future__ import annotations

from pathlib import Path

import pytest

from polybench import parallel_coverage
from polybench.parallel_coverage import Row, has_loop_over_data, kernel_text

SCAN = "for (int i = 1; i < n; i++) y[i] += y[i - 1] * x[i];"
SCALE = "for (int i = 0; i < n; i++) x[i] *= 2;"
KERNEL = """__global__ void f_k0(double *x, int n)
{
    if (n > 3) {
        for (int c0 = 0; c0 < n; c0 += 1)
            x[c0] = 1;
    }
}

__global__ void f_k1(double *x)
{
    for (int c0 = 0; c0 <= 7; c0 += 1)
        x[c0] = 1;
}
"""


def function(name: str, *loops: str) -> str:
    return f"void {name}(int n, double x[n], double y[n])\n{{\n#pragma scop\n{' '.join(loops)}\n#pragma endscop\n}}\n"


@pytest.mark.slow
def test_counts_of_a_file_and_what_has_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, results = tmp_path / "f.c", tmp_path / "results.jsonl"
    file.write_text(function("scan", SCAN) + function("both", SCALE, SCAN) + function("scale", SCALE))
    assert parallel_coverage.main([str(file), "--json", str(results)]) == 0
    out = capsys.readouterr().out
    assert "3 SCoPs" in out and "1 stay C" in out and "1 kernels of one thread" in out
    file.write_text(function("scan", SCALE) + function("both", SCAN) + function("scale", SCALE))
    assert parallel_coverage.main([str(file), "--before", str(results)]) == 1
    assert "worse: host ['scan_scop0'] -> ['both_scop0'], one thread ['both_scop0_k1'] -> []" in capsys.readouterr().out


def test_loops_of_a_kernel() -> None:
    assert has_loop_over_data(kernel_text(KERNEL, "f_k0"))
    assert not has_loop_over_data(kernel_text(KERNEL, "f_k1"))
    assert has_loop_over_data("while (x[p] > 0) p++;") and has_loop_over_data("for (int i = 0; i < 2000; i++) ;")


def test_what_is_worse() -> None:
    good, refused = Row("f.c", 2), Row("f.c", 1, 1)
    assert refused.worse_than(good) and not good.worse_than(refused)
    assert Row("f.c", 2, one_thread=("f_k0",)).worse_than(good) and Row("f.c", failed="70").worse_than(good)
