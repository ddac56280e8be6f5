"""Stores to cells of a thread that nothing reads."""

from __future__ import annotations

import re

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS

UNREAD = """double exp(double);
void f(int n, int m, {real} x[restrict n + 1][m + 1], const {real} z[restrict n + 1])
{{
#pragma scop
    for (int i = (n < m ? n : m) - 1; i > 0; i--) {{
        {real} v = exp(z[i]), w = v / z[i - 1];
        w = w * v;
        for (int j = 0; j < m; j++)
            x[i - 1][j] = x[i][j] + 1;
    }}
#pragma endscop
}}
"""
READ = UNREAD.replace("x[i][j] + 1", "x[i][j] + w")


@pytest.mark.slow(but=("read-float", "unread-double"))
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize(("text", "reads"), [(UNREAD, False), (READ, True)], ids=["unread", "read"])
def test_kernels_have_no_loops_for_what_nothing_reads(real: str, text: str, reads: bool) -> None:
    """nvcc of CUDA 13.0 does not end on a dead loop that starts at the greatest of three numbers."""
    (scop,) = polytile.compile(text.format(real=real), name="f.c", schedule="classic", tile=(1,), strict=True).scops
    kernels = re.findall(r"__global__.*?\n}", scop.cuda, re.DOTALL)
    assert any("z[" in kernel for kernel in kernels) == reads
    for n, m in ((0, 0), (1, 1), (2, 7), (9, 4), (33, 40)):
        assert scop.validate(on="emulator", parameters={"n": n, "m": m}, sanitize=CHECKS)
