"""Copies of many cells by few threads: loops that compilers unroll in part."""

from __future__ import annotations

import re

import polytile

TEXT = """#include <math.h>
void f(int n, float *restrict a, float *restrict b)
{
#pragma scop
    for (int t = 0; t < n; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = a[i - 1] + a[i] + a[i + 1];
        for (int i = 1; i < n - 1; i++)
            a[i] -= sinf(b[i]);
    }
#pragma endscop
}
"""


def test_a_thread_that_copies_a_whole_tile_unrolls_some_iterations() -> None:
    (scop,) = polytile.compile(TEXT, name="f.c", schedule="split", block=(1, 1), time_tile=2).scops
    loops = re.findall(r"#pragma unroll(.*)\n.* < (\d+); \+\+", scop.cuda)
    assert any(int(count) > 1000 for _, count in loops)
    assert all(factor.strip() == "8" for factor, count in loops if int(count) > 256)


def test_a_block_that_shares_it_unrolls_all() -> None:
    (scop,) = polytile.compile(TEXT, name="f.c", schedule="split", block=(128,), time_tile=2).scops
    assert "#pragma unroll 8" not in scop.cuda
