"""What the superposed strategy makes of small programs: which loops blocks and threads take, where sums are split, what
kernels of sums take along, and that all of it computes what C does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl
import pytest

from polytile.diagnostics import InternalError
from polytile.scheduling.proof.legality import Proof
from polytile.scheduling.proof.prove import Claim, prove_all
from polytile.stages import place_data

# arguments, body, schedule
PROGRAMS = {
    "dot product": (
        "int n, double x[n], double y[n], double *s",
        "for (int i = 0; i < n; i++) *s += x[i] * y[i];",
        (
            "seq(kernel(block[i_chunk] sync seq(thread[128](i_lane) seq(S0_init, serial[i/128] S0_update), "
            "thread[128](0) S0_fold)), kernel(sync seq(thread[128](i_adder) seq(S0_begin, serial[i_chunk/128] "
            "S0_finish), thread[128](0) S0_total)))"
        ),
    ),
    "rows": (
        "int n, int m, double A[n][m], double y[n]",
        "for (int i = 0; i < n; i++) { y[i] = 0; for (int j = 0; j < m; j++) y[i] += A[i][j]; }",
        (
            "kernel(block[i/8] sync seq(thread[8,32](imod8,0) S0, thread[8,32](imod8,j_lane) seq(S1_init, serial[j/64] "
            "serial[jmod2] S1_update), thread[8,32](imod8,0) S1_fold))"
        ),
    ),
    "columns, with what starts and follows": (
        "int n, int m, double A[n][m], double y[m], double z[m]",
        (
            "for (int j = 0; j < m; j++) y[j] = 0; for (int i = 0; i < n; i++) "
            "for (int j = 0; j < m; j++) y[j] += A[i][j]; for (int j = 0; j < m; j++) z[j] = 2 * y[j];"
        ),
        (
            "seq(kernel(block[0,j/32] sync seq(thread[8,32](0,jmod32) S0, thread[8,32](i_lane,jmod32) seq(S1_init, "
            "serial[i/8] S1_update), thread[8,32](0,jmod32) S1_fold)), kernel(block[j/32] sync "
            "seq(thread[8,32](i_adder,jmod32) seq(S1_begin, serial[i_chunk/8] S1_finish), thread[8,32](0,jmod32) "
            "seq(S1_total, S2))))"
        ),
    ),
    "sums of rows and of columns, added up by blocks of their own": (
        "int n, int m, double A[n][m], double x[n], double y[m], double z[m]",
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { y[j] += A[i][j]; x[i] += A[i][j]; } "
            "for (int j = 0; j < m; j++) z[j] = 2 * y[j];"
        ),
        (
            "seq(kernel(block[i_chunk,j/64] sync seq(thread[8,32](i_lane,jmod32) seq(serial[j/32] S0_init, "
            "S1_init, serial[i/8] serial[j/32] seq(S0_update, S1_update)), thread[8,32](0,jmod32) serial[j/32] "
            "S0_fold, thread[8,32](imod8,0) S1_fold)), kernel(block[0,j/32] sync seq(thread[8,32](i_adder,jmod32) "
            "seq(S0_begin, serial[i_chunk/8] S0_finish), thread[8,32](j_adder,imod32) seq(S1_begin, "
            "serial[j_chunk/8] S1_finish), thread[8,32](0,jmod32) seq(S0_total, S1_total, S2))))"
        ),
    ),
    "a start that is read meanwhile": (
        "int n, int m, double A[n][m], double y[m], double z[m]",
        (
            "for (int j = 0; j < m; j++) y[j] = 1; for (int j = 0; j < m; j++) z[j] = y[m - 1 - j]; "
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j] += A[i][j];"
        ),
        (
            "seq(kernel(block[j/128] thread[128](jmod128) S0), kernel(block[j/128] thread[128](jmod128) S1), "
            "kernel(block[i_chunk,j/32] sync seq(thread[8,32](i_lane,jmod32) seq(S2_init, serial[i/8] S2_update), "
            "thread[8,32](0,jmod32) S2_fold)), kernel(block[j/32] sync seq(thread[8,32](i_adder,jmod32) "
            "seq(S2_begin, serial[i_chunk/8] S2_finish), thread[8,32](0,jmod32) S2_total)))"
        ),
    ),
    "a following loop that mixes elements": (
        "int n, int m, double A[n][m], double y[m], double z[m]",
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j] += A[i][j]; "
            "for (int j = 0; j < m; j++) z[j] = y[m - 1 - j];"
        ),
        (
            "seq(kernel(block[i_chunk,j/32] sync seq(thread[8,32](i_lane,jmod32) seq(S0_init, serial[i/8] "
            "S0_update), thread[8,32](0,jmod32) S0_fold)), kernel(block[j/32] sync "
            "seq(thread[8,32](i_adder,jmod32) seq(S0_begin, serial[i_chunk/8] S0_finish), thread[8,32](0,jmod32) "
            "S0_total)), kernel(block[j/128] thread[128](jmod128) S1))"
        ),
    ),
    "a chain with a reader": (
        "int n, double x[n], double y[n]",
        "double s = 0; for (int i = 0; i < n; i++) { s += x[i]; y[i] = s; }",
        "host",
    ),
    "matrix product": (
        "int n, double A[n][n], double B[n][n], double C[n][n]",
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) "
            "for (int k = 0; k < n; k++) C[i][j] += A[i][k] * B[k][j];"
        ),
        (
            "kernel(block[i/32,j/64] thread[8,32](i/4-8*i/32,j/2-32*j/64) serial[k] serial[jmod2] serial[imod4] S0)"
        ),
    ),
    "four loops": (
        "int n, double A[n][n][n][n]",
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++) "
            "for (int l = 0; l < n; l++) A[i][j][k][l] = 1;"
        ),
        "kernel(block[i,j/2,k/4] thread[2,4,32](jmod2,kmod4,l) serial[i] S0)",
    ),
    "downwards": (
        "int n, double A[n][n]",
        "for (int i = n - 1; i >= 0; i--) for (int j = n - 1; j > 0; j--) A[i][j] = A[i][j - 1];",
        "kernel(block[i/128] thread[128](imod128) serial[-j] S0)",
    ),
    "in time": (
        "int n, int T, double A[n][n], double B[n][n]",
        (
            "for (int t = 0; t < T; t++) { for (int i = 1; i < n - 1; i++) "
            "for (int j = 0; j < n; j++) B[i][j] = A[i - 1][j] + A[i + 1][j]; for (int i = 0; i < n; i++) "
            "for (int j = 0; j < n; j++) A[i][j] = B[i][j]; }"
        ),
        (
            "kernel(block[j/32] sync serial[t] sync seq(thread[8,32](i,jmod32) S0, "
            "thread[8,32](i,jmod32) S1))"
        ),
    ),
    "sums in time": (
        "int n, int T, double A[n][n], double y[n]",
        (
            "for (int t = 0; t < T; t++) { for (int i = 0; i < n; i++) { y[i] = 0; "
            "for (int j = 0; j < n; j++) y[i] += A[i][j]; } for (int i = 0; i < n; i++) "
            "for (int j = 0; j < n; j++) A[i][j] = A[i][j] - y[j]; }"
        ),
        (
            "serial[t] seq(kernel(block[i/8] sync seq(thread[8,32](imod8,0) S0, thread[8,32](imod8,j_lane) "
            "seq(S1_init, serial[j/32] S1_update), thread[8,32](imod8,0) S1_fold)), kernel(block[i/8,j/32] "
            "thread[8,32](imod8,jmod32) S2))"
        ),
    ),
    "a product and the transposed one, from one read": (
        "int n, int m, double A[n][m], double x[m], double t[n], double y[m]",
        (
            "for (int j = 0; j < m; j++) y[j] = 0; for (int i = 0; i < n; i++) { t[i] = 0; "
            "for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j]; "
            "for (int j = 0; j < m; j++) y[j] += A[i][j] * t[i]; }"
        ),
        (
            "seq(kernel(block[i/16] sync seq(thread[16,32](imod16,0) S1, thread[16,32](imod16,j_lane) seq(S2_init, "
            "serial[j/64] serial[jmod2] S2_update), thread[16,32](imod16,0) S2_fold, "
            "thread[16,32](j/64-16*j/1024,j/2-32*j/64) serial[-j/1024] seq(serial[jmod2] S3_init, serial[i] "
            "serial[jmod2] S3_update))), kernel(block[j/32] sync seq(thread[8,32](i_adder,jmod32) seq(S3_begin, "
            "serial[i_chunk/8] S3_finish), thread[8,32](0,jmod32) seq(S0, S3_total))))"
        ),
    ),
    "a product and one with its results in another order": (
        "int n, int m, double A[n][m], double x[m], double t[n], double y[m]",
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j]; "
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j] += A[i][j] * t[n - 1 - i];"
        ),
        (
            "seq(kernel(block[i/4] sync seq(thread[1,128](0,j_lane) seq(serial[i] S0_init, serial[j/256] serial[i] "
            "serial[jmod2] S0_update), thread[1,128](0,0) serial[i] S0_fold)), kernel(block[i_chunk,j/32] sync "
            "seq(thread[8,32](i_lane,jmod32) seq(S1_init, serial[i/8] S1_update), thread[8,32](0,jmod32) S1_fold)), "
            "kernel(block[j/32] sync seq(thread[8,32](i_adder,jmod32) seq(S1_begin, serial[i_chunk/8] S1_finish), "
            "thread[8,32](0,jmod32) S1_total)))"
        ),
    ),
    "a product and one of another matrix": (
        "int n, int m, double A[n][m], double B[n][m], double x[m], double t[n], double y[m]",
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j]; "
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) y[j] += B[i][j] * t[i];"
        ),
        (
            "seq(kernel(block[i/4] sync seq(thread[1,128](0,j_lane) seq(serial[i] S0_init, serial[j/256] serial[i] "
            "serial[jmod2] S0_update), thread[1,128](0,0) serial[i] S0_fold)), kernel(block[i_chunk,j/32] sync "
            "seq(thread[8,32](i_lane,jmod32) seq(S1_init, serial[i/8] S1_update), thread[8,32](0,jmod32) S1_fold)), "
            "kernel(block[j/32] sync seq(thread[8,32](i_adder,jmod32) seq(S1_begin, serial[i_chunk/8] S1_finish), "
            "thread[8,32](0,jmod32) S1_total)))"
        ),
    ),
    "a maximum of all": (
        "int n, int m, float A[n][m], float *s",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) *s = A[i][j] > *s ? A[i][j] : *s;",
        (
            "seq(kernel(block[i_chunk] sync seq(thread[1,256](i_lane,j_lane) seq(S0_init, serial[i] serial[j/1024] "
            "serial[jmod4] S0_update), thread[1,256](0,0) S0_fold)), kernel(sync seq(thread[128](i_adder) "
            "seq(S0_begin, serial[i_chunk/128] S0_finish), thread[128](0) S0_total)))"
        ),
    ),
}
IN_ORDER = ("rows", "columns, with what starts and follows", "sums in time")


def tree_of(compiled: Any) -> isl.Schedule:
    """The tree of a saved schedule, without the lines on partial results."""
    return isl.Schedule("\n".join(line for line in compiled.schedule.splitlines() if not line.startswith("#")))


@pytest.mark.slow(but="rows")
@pytest.mark.parametrize("name", PROGRAMS)
def test_structure(name: str, compiled: Callable[..., Any], shape: Callable[..., str]) -> None:
    arguments, body, expected = PROGRAMS[name]
    made = compiled(arguments, body, schedule="superposed")
    assert (shape(tree_of(made), threads=True) if made.schedule else "host") == expected


@pytest.mark.parametrize("name", IN_ORDER)
def test_strict_keeps_the_order_of_sums(name: str, compiled: Callable[..., Any]) -> None:
    made = compiled(*PROGRAMS[name][:2], schedule="superposed", strict=True)
    assert not made.compilation.scop.privatised
    assert made.compilation.schedule.strategy == "superposed (reductions in order)"


@pytest.mark.slow(but="35-rows")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", [name for name in PROGRAMS if PROGRAMS[name][2] != "host"])
@pytest.mark.parametrize("size", [0, 35])
def test_values(name: str, size: int, compiled: Callable[..., Any]) -> None:
    made = compiled(*PROGRAMS[name][:2], schedule="superposed")
    sizes = {p.name: min(size, 5) if p.name == "T" else size for p in made.scop.parameters}
    assert made.validate(on="emulator", parameters=sizes, sanitize="address,undefined,race,uninitialised")


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("size", [1, 7, 30])
def test_tiles_smaller_than_blocks(size: int, compiled: Callable[..., Any]) -> None:
    body = "for (int i = 0; i < n; i++) for (int j = i; j < n; j += 3) A[j][i] = A[0][j];"
    made = compiled("int n, int A[n][n + 1]", body, schedule="superposed", tile=(4, 2), block=(4,))
    assert made.validate(on="emulator", parameters={"n": size}, sanitize="address,race")
    sums = compiled(*PROGRAMS["rows"][:2], schedule="superposed", tile=(3, 7), block=(4, 16))
    assert sums.validate(on="emulator", parameters={"n": size, "m": 41}, sanitize="address,race")


def test_auto_says_what_it_compared(compiled: Callable[..., Any]) -> None:
    arguments, body, _ = PROGRAMS["rows"]
    text = compiled(arguments, body, parameters={"n": 3000, "m": 3000}).compilation.explain()
    for part in ("block level: ", "thread level: ", "derivatives by i ", "sectors per request: ", "(chosen)"):
        assert part in text
    assert "superposed: estimated " in text and "classic (fused): estimated " in text


def test_a_proof_that_fails_leaves_the_classic_schedule(
    compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def proof(claim: Claim, operations: int) -> Proof:
        if claim.run.schedule.strategy == "superposed":
            raise InternalError("isl lost a value")
        return prove_all(claim, operations)

    monkeypatch.setattr(place_data, "prove_all", proof)
    made = compiled(*PROGRAMS["rows"][:2], schedule="superposed")
    assert made.compilation.schedule.strategy.startswith("classic")
    assert made.compilation.options.schedule == "superposed"
    assert any("isl lost a value" in remark.message for remark in made.compilation.remarks)
