"""What the superposed strategy makes of the programs of table 2 of its paper (Shirako, Hayashi and Sarkar 2017).

Seen here: sums over rows and columns by lanes and chunks, two over one read of a matrix (bicg, gesummv, mvt; gemver's
with the update of the matrix); doitgen distributed for threads and fused for blocks; jacobi-2d-alt in one kernel with
barriers; dot products of rows where that coalesces (syrk, syr2k).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import islpy as isl
import pytest

import polytile

SUITES = Path(__file__).parents[4] / "polybench"

TABLE_2 = {
    "polybench/2mm": (
        "seq(kernel(block[i/32,j/64] thread[8,32](i/4-8*i/32,j/2-32*j/64) seq(serial[jmod2] serial[imod4] S0, "
        "serial[k] serial[jmod2] serial[imod4] S1)), kernel(block[i/32,j/64] thread[8,32](i/4-8*i/32,j/2-32*j/64) "
        "seq(serial[jmod2] serial[imod4] S2, serial[k] serial[jmod2] serial[imod4] S3)))"
    ),
    "polybench/3mm": (
        "seq(kernel(block[i/32,j/64] thread[8,32](i/4-8*i/32,j/2-32*j/64) seq(serial[jmod2] serial[imod4] S0, "
        "serial[k] serial[jmod2] serial[imod4] S1)), kernel(block[i/32,j/64] thread[8,32](i/4-8*i/32,j/2-32*j/64) "
        "seq(serial[jmod2] serial[imod4] S2, serial[k] serial[jmod2] serial[imod4] S3)), kernel(block[i/32,j/64] "
        "thread[8,32](i/4-8*i/32,j/2-32*j/64) seq(serial[jmod2] serial[imod4] S4, serial[k] serial[jmod2] "
        "serial[imod4] S5)))"
    ),
    "polybench/atax": (
        "seq(kernel(block[i/16] sync seq(thread[16,32](imod16,0) S1, thread[16,32](imod16,j_lane) seq(S2_init, "
        "serial[j/64] serial[jmod2] S2_update), thread[16,32](imod16,0) S2_fold, "
        "thread[16,32](j/64-16*j/1024,j/2-32*j/64) serial[-j/1024] seq(serial[jmod2] S3_init, serial[i] serial[jmod2] "
        "S3_update))), kernel(block[i/32] sync seq(thread[8,32](i_adder,jmod32) seq(S3_begin, serial[i_chunk/8] "
        "S3_finish), thread[8,32](0,imod32) seq(S0, S3_total))))"
    ),
    "polybench/bicg": (
        "seq(kernel(block[i_chunk,j/64] sync seq(thread[8,32](i_lane,jmod32) seq(serial[j/32] S2_init, S3_init, "
        "serial[i/8] serial[j/32] seq(S2_update, S3_update)), thread[8,32](0,jmod32) serial[j/32] S2_fold, "
        "thread[8,32](imod8,0) S3_fold)), kernel(block[0,i/32] sync seq(thread[8,32](i_adder,jmod32) seq(S2_begin, "
        "serial[i_chunk/8] S2_finish), thread[8,32](j_adder,imod32) seq(S3_begin, serial[j_chunk/8] S3_finish), "
        "thread[8,32](0,imod32) seq(S0, S1, S2_total, S3_total))))"
    ),
    "polybench/covariance": (
        "seq(kernel(block[0,j/32] sync seq(thread[8,32](0,jmod32) S0, thread[8,32](i_lane,jmod32) seq(S1_init, "
        "serial[i/8] S1_update), thread[8,32](0,jmod32) S1_fold)), kernel(block[j/32] sync "
        "seq(thread[8,32](i_adder,jmod32) seq(S1_begin, serial[i_chunk/8] S1_finish), thread[8,32](0,jmod32) "
        "seq(S1_total, S2))), kernel(block[i/8,j/32] thread[8,32](imod8,jmod32) S3), kernel(block[i/32,j/32] "
        "thread[8,32](i/4-8*i/32,jmod32) seq(serial[imod4] S4, serial[k] serial[imod4] S5, serial[imod4] S6, "
        "serial[imod4] S7)))"
    ),
    "polybench/doitgen": (
        "seq(kernel(block[r/2,q/16] sync seq(thread[2,4,32](rmod2,q/4-4*q/16,p) seq(serial[qmod4] S0, serial[s] "
        "serial[qmod4] S1), thread[2,4,32](rmod2,q/4-4*q/16,p) serial[qmod4] S2)), kernel(block[i0/128] "
        "thread[128](i0mod128) S3))"
    ),
    "polybench/gemm": (
        "kernel(block[i/32,j/64] thread[8,32](i/4-8*i/32,j/2-32*j/64) seq(serial[jmod2] serial[imod4] S0, serial[k] "
        "serial[jmod2] serial[imod4] S1))"
    ),
    "polybench/gemver": (
        "seq(kernel(block[i/128,j/64] sync seq(thread[8,32](imod8,j/2-32*j/64) seq(serial[imod2] S1_init, serial[i/8] "
        "seq(serial[jmod2] S0, serial[imod2] S1_update)), thread[8,32](0,i/2-32*i/64) serial[imod2] S1_fold)), "
        "kernel(block[i/32] sync seq(thread[8,32](j_adder,imod32) seq(S1_begin, serial[j_chunk/8] S1_finish), "
        "thread[8,32](0,imod32) seq(S1_total, S2))), kernel(block[i/4] sync seq(thread[1,128](0,j_lane_) seq(serial[i] "
        "S3_init, serial[j/256] serial[i] serial[jmod2] S3_update), thread[1,128](0,0) serial[i] S3_fold)))"
    ),
    "polybench/gesummv": (
        "kernel(block[i/8] sync seq(thread[8,32](imod8,0) S0, thread[8,32](imod8,0) S1, thread[8,32](imod8,j_lane) "
        "seq(S2_init, S3_init, serial[j/64] seq(serial[jmod2] S2_update, serial[jmod2] S3_update)), "
        "thread[8,32](imod8,0) S2_fold, thread[8,32](imod8,0) S3_fold, thread[8,32](imod8,0) S4))"
    ),
    "polybench/mvt": (
        "seq(kernel(block[i/256,j_chunk] sync seq(thread[8,32](imod8,j_lane) seq(S0_init, serial[i/32] S1_init, "
        "serial[i/8] serial[j/32] seq(S0_update, S1_update)), thread[8,32](imod8,0) S0_fold, "
        "thread[8,32](0,imod32) serial[i/32] S1_fold)), kernel(block[0,i/32] sync seq(thread[8,32](j_adder,imod32) "
        "seq(S0_begin, serial[j_chunk/8] S0_finish), thread[8,32](j_adder_,imod32) seq(S1_begin, "
        "serial[j_chunk_/8] S1_finish), thread[8,32](0,imod32) seq(S0_total, S1_total))))"
    ),
    "polybench/syr2k": (
        "kernel(block[i/2,j/4] sync seq(thread[2,4,32](imod2,jmod4,0) S0, thread[2,4,32](imod2,jmod4,k_lane) "
        "seq(S1_init, serial[k/32] S1_update), thread[2,4,32](imod2,jmod4,0) S1_fold))"
    ),
    "polybench/syrk": (
        "kernel(block[i/2,j/4] sync seq(thread[2,4,32](imod2,jmod4,0) S0, thread[2,4,32](imod2,jmod4,k_lane) "
        "seq(S1_init, serial[k/32] S1_update), thread[2,4,32](imod2,jmod4,0) S1_fold))"
    ),
    "polyast/symm-3.2": (
        "kernel(block[j/32] sync serial[i] sync seq(thread[8,32](0,jmod32) S0, "
        "thread[8,32](kmod8,jmod32) seq(S2_init, serial[k/8] seq(S1, S2_update)), "
        "thread[8,32](0,jmod32) S2_fold, thread[8,32](0,jmod32) S3))"
    ),
    "polyast/jacobi-2d-alt": (
        "kernel(block[i/8] sync serial[t] sync seq(thread[8,32](imod8,j) S0, thread[8,32](imod8,j) S1))"
    ),
    "polyast/mri-q": "kernel(block[i/128] thread[128](imod128) serial[s] S2)",
    "polyast/sp-xsolve-1": (
        "kernel(block[k/8,j/32] thread[8,32](kmod8,jmod32) serial[i] seq(S0, S1, S2, serial[m] seq(S3, S6, "
        "S9), S4, S5, S7, S8))"
    ),
    "polyast/sp-xsolve-2": (
        "kernel(block[k/8,j/32] thread[8,32](kmod8,jmod32) serial[i] seq(S0, S1, S2, S3, S4, S5, S6, S7, S8, "
        "S9, S10, S11, S12, S13, S14, S15, S16, S17, S18, S19))"
    ),
}


@pytest.mark.slow(but="polybench/syr2k")
@pytest.mark.parametrize("program", TABLE_2)
def test_structure(program: str, shape: Callable[..., str]) -> None:
    compiled = polytile.compile(SUITES / f"{program}.c", schedule="superposed").scops[0]
    assert shape(isl.Schedule(compiled.schedule), threads=True) == TABLE_2[program]


def test_doitgen_distributes_for_threads_and_fuses_for_blocks() -> None:
    """The paper's example: all of r and q on blocks, p along threadIdx.x, and a barrier before A is overwritten."""
    compiled = polytile.compile(SUITES / "polybench/doitgen.c", schedule="superposed")
    text = compiled.cuda
    assert "br = y, bq = x; 32 x 4 x 2 threads" in text
    assert text.count("__syncthreads();  // doitgen.c:56 depends on doitgen.c:53") == 1
