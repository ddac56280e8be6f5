"""Tiled schedules of products, convolutions and contractions: their trees, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile import pipeline
from polytile.compilation import Compilation
from polytile.frontend.program import read_program
from polytile.ir.scop import Scop
from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.tiled.strategy import propose
from polytile.tuning import TileTuning

# The trees and plans below are of these tiles, whatever measurements say of others.
POINTS = (((1,),), ((4, 4),))
TILES = TileTuning(threads=((128,), (16, 16)), points=POINTS, further_points=(), serial_bytes=128)
MACHINE = replace(machine_of("sm_90"), tuning=replace(machine_of("sm_90").tuning, tiles=TILES))

SUITE = Path(__file__).resolve().parents[4] / "polybench/polybench"
MATRICES = "int n, double A[n][n], double B[n][n], double C[n][n]"
SQUARE = "int n, int m, int l, double A[n][l], double B[l][m], double C[n][m]"


def loops(*names: str, n: str = "n") -> str:
    return " ".join(f"for (int {i} = 0; {i} < {n}; {i}++)" for i in names)


PROGRAMS = {
    "product": (
        SQUARE,
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { C[i][j] *= 2;"
        " for (int k = 0; k < l; k++) C[i][j] += A[i][k] * B[k][j]; }",
    ),
    "transposed": (
        "int n, int m, int l, double A[l][n], double B[m][l], double C[n][m]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " for (int k = 0; k < l; k++) C[i][j] += A[k][i] * B[j][k];",
    ),
    "result by columns": (
        "int n, int m, int l, double A[n][l], double B[l][m], double C[m][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " for (int k = 0; k < l; k++) C[j][i] += A[i][k] * B[k][j];",
    ),
    "serial loop outside": (MATRICES, f"{loops('k', 'i', 'j')} C[i][j] += A[i][k] * B[k][j];"),
    "triangle": (MATRICES, f"{loops('i')} for (int j = 0; j <= i; j++) {loops('k')} C[i][j] += A[i][k] * A[j][k];"),
    "triangular operand": (
        MATRICES,
        f"{loops('i', 'j')} for (int k = i; k < n; k++) C[i][j] += A[i][k] * B[k][j];",
    ),
    "steps": (
        MATRICES,
        "for (int i = 1; i < n; i += 2) for (int j = i; j < n; j += 3) for (int k = n - 1; k >= 2; k -= 3)"
        " C[i][j] += A[i][k] * B[k][j];",
    ),
    "greatest sums": (
        MATRICES,
        f"{loops('i', 'j', 'k')} C[i][j] = C[i][j] > A[i][k] + B[k][j] ? C[i][j] : A[i][k] + B[k][j];",
    ),
    "values in a serial loop": (
        MATRICES,
        f"{loops('i', 'j', 'k')} {{ double t = A[i][k] * B[k][j]; C[i][j] += t * C[i][j]; C[i][j] = 0.5 * t; }}",
    ),
    "batch": (
        "int b, int n, double A[b][n][n], double B[b][n][n], double C[b][n][n]",
        f"{loops('t', n='b')} {loops('i', 'j')} {{ C[t][i][j] = 0;"
        f" {loops('k')} C[t][i][j] += A[t][i][k] * B[t][k][j]; }}",
    ),
    "batch of two": (
        "int a, int b, int n, double A[a][b][n][n], double B[a][b][n][n], double C[a][b][n][n]",
        f"{loops('s', n='a')} {loops('t', n='b')} {loops('i', 'j', 'k')}"
        " C[s][t][i][j] += A[s][t][i][k] * B[s][t][k][j];",
    ),
    "batch of three": (
        "int a, int b, int n, double A[a][b][a][n][n], double B[a][b][a][n][n], double C[a][b][a][n][n]",
        f"{loops('r', n='a')} {loops('s', n='b')} {loops('t', n='a')} {loops('i', 'j', 'k')}"
        " C[r][s][t][i][j] += A[r][s][t][i][k] * B[r][s][t][k][j];",
    ),
    "contraction": (
        "int n, int m, double A[n][n][m], double B[m][n][n], double C[n][n][n][n]",
        f"{loops('a', 'b', 'c', 'd')} {{ C[a][b][c][d] = 0;"
        f" {loops('k', n='m')} C[a][b][c][d] += A[a][c][k] * B[k][b][d]; }}",
    ),
    "contraction over two": (
        "int n, int m, double A[n][m][n][m], double B[m][n][n][m], double C[n][n][n][n]",
        f"{loops('a', 'b', 'c', 'd')} {loops('k', 'l', n='m')} C[a][b][c][d] += A[a][k][c][l] * B[k][b][d][l];",
    ),
    "three channels": (
        "int n, int m, double A[n][m], double B[m][n][3], double C[n][n][3]",
        f"{loops('i', 'j')} {loops('c', n='3')} {loops('k', n='m')} C[i][j][c] += A[i][k] * B[k][j][c];",
    ),
    "filter of constants": (
        "int n, int m, double X[n + 2][m + 2], double F[3][3], double Y[n][m]",
        f"{loops('i')} {loops('j', n='m')} {{ Y[i][j] = 0;"
        f" {loops('r', 's', n='3')} Y[i][j] += X[i + r][j + s] * F[r][s]; }}",
    ),
    "filter of any size": (
        "int n, int m, int p, int q, double X[n + p][m + q], double F[p][q], double Y[n][m]",
        f"{loops('i')} {loops('j', n='m')} {{ Y[i][j] = 0;"
        f" {loops('r', n='p')} {loops('s', n='q')} Y[i][j] += X[i + r][j + s] * F[r][s]; }}",
    ),
    "convolution": (
        "int b, int c, int f, int n, double X[b][c][n + 2][n + 2], double F[f][c][3][3], double Y[b][f][n][n]",
        f"{loops('t', n='b')} {loops('o', n='f')} {loops('i', 'j')} {{ Y[t][o][i][j] = 0;"
        f" {loops('e', n='c')} {loops('r', 's', n='3')} Y[t][o][i][j] += X[t][e][i + r][j + s] * F[o][e][r][s]; }}",
    ),
    "strided convolution": (
        "int c, int f, int n, double X[c][2 * n + 7][2 * n + 7], double F[f][c][7][7], double Y[f][n][n]",
        f"{loops('o', n='f')} {loops('i', 'j')} {loops('e', n='c')} {loops('r', 's', n='7')}"
        " Y[o][i][j] += X[e][2 * i + r][2 * j + s] * F[o][e][r][s];",
    ),
    "all pairs": ("int n, double x[n], double f[n]", f"{loops('i', 'j')} f[i] += x[i] * x[j];"),
    "one after the other": (
        MATRICES + ", double D[n][n]",
        f"{loops('t', n='3')} {{ {loops('i', 'j')} {{ D[i][j] = 0; {loops('k')} D[i][j] += A[i][k] * B[k][j]; }}"
        f" {loops('i', 'j')} {{ B[i][j] = C[i][j]; {loops('k')} B[i][j] += A[i][k] * D[k][j]; }} }}",
    ),
    "attention": (
        "int h, int n, int d, double Q[h][n][d], double K[h][n][d], double V[h][n][d], double S[h][n][n],"
        " double O[h][n][d]",
        f"{loops('t', n='h')} {loops('i')} {{"
        f" {loops('j')} {{ S[t][i][j] = 0; {loops('e', n='d')} S[t][i][j] += Q[t][i][e] * K[t][j][e]; }}"
        f" double m = 0; {loops('j')} m += S[t][i][j] * S[t][i][j];"
        f" {loops('j')} S[t][i][j] = S[t][i][j] / (1 + m);"
        f" {loops('e', n='d')} {{ O[t][i][e] = 0; {loops('j')} O[t][i][e] += S[t][i][j] * V[t][j][e]; }} }}",
    ),
}
UNTILED = {
    "nothing read by many": (MATRICES, f"{loops('i', 'j')} C[i][j] = A[i][j] + B[i][j];"),
    "no sum": ("int n, double x[n], double A[n][n]", f"{loops('i', 'j')} A[i][j] = x[i] * x[j];"),
    "one value for all": (
        "int n, double x[n], double A[n][n], double C[n][n]",
        f"{loops('i', 'j', 'k')} C[i][j] += A[i][j] * x[i];",
    ),
    "nothing parallel": ("int n, double x[n]", f"{loops('i', 'j')} x[0] = x[0] * x[j] + x[i];"),
    "steps that read the last one's row and column": (
        MATRICES,
        f"{loops('k', 'i', 'j')} A[i][j] += A[i][k] * A[k][j];",
    ),
}


# Trees ----------------------------------------------------------------------------------------------------------------
def threads(y: str, x: str, inside: str, statement: str = "S0", rows: int = 4, number: int = 1) -> str:
    """What 16 x 16 threads run: `inside`, and in it a statement for all points."""
    label = "points" if number == 1 else f"points_{number}"
    turns = f"serial[{y}/16-{rows}*{y}/{16 * rows},{x}/16-4*{x}/64]"
    return f"thread[16,16]({y}mod16,{x}mod16) {inside}loop[{label}] {turns} {statement}"


def summed(y: str, x: str, k: str, statement: str = "S0", rows: int = 4, number: int = 1) -> str:
    """A sum over k in tiles of 16."""
    return f"loop[{k}0] serial[{k}/16] " + threads(y, x, f"loop[{k}] serial[{k}mod16] ", statement, rows, number)


TREES = {
    "product": f"kernel(block[i/64,j/64] seq({threads('i', 'j', '')}, {summed('i', 'j', 'k', 'S1', number=2)}))",
    "transposed": f"kernel(block[i/64,j/64] {summed('i', 'j', 'k')})",
    "result by columns": f"kernel(block[j/64,i/64] {summed('j', 'i', 'k')})",
    "serial loop outside": f"kernel(block[i/64,j/64] {summed('i', 'j', 'k')})",
    "batch": (
        f"kernel(block[t,i/64,j/64] seq({threads('i', 'j', '')}, "
        f"{summed('i', 'j', 'k', 'S1', number=2)}))"
    ),
    "batch of three": (
        f"kernel(block[r,i/64,j/64] loop[s] serial[s] loop[t] serial[t] {summed('i', 'j', 'k')})"
    ),
    "contraction": (  # over b and d the same operand has both loops
        f"kernel(block[a,c/64,d/64] loop[b] serial[b] seq({threads('c', 'd', '')}, "
        f"{summed('c', 'd', 'k', 'S1', number=2)}))"
    ),
    "contraction over two": (
        f"kernel(block[a,c/64,d/64] loop[b] serial[b] loop[k] serial[k] {summed('c', 'd', 'l')})"
    ),
    "three channels": (
        "kernel(block[j/64,i/64] loop[k0] serial[k/16] thread[16,16](jmod16,imod16) loop[k] serial[kmod16] "
        "loop[points] serial[c,j/16-4*j/64,i/16-4*i/64] S0)"
    ),
    "filter of constants": (
        f"kernel(block[i/64,j/64] seq({threads('i', 'j', '')}, "
        f"{threads('i', 'j', 'loop[r] serial[r] loop[s] serial[s] ', 'S1', number=2)}))"
    ),
    "filter of any size": (
        f"kernel(block[i/64,j/64] seq({threads('i', 'j', '')}, "
        f"loop[r] serial[r] {summed('i', 'j', 's', 'S1', number=2)}))"
    ),
    "convolution": (
        f"kernel(block[t,o/64,j/64] loop[i] serial[i] seq({threads('o', 'j', '')}, loop[e] serial[e] "
        f"{threads('o', 'j', 'loop[r] serial[r] loop[s] serial[s] ', 'S1', number=2)}))"
    ),
    "all pairs": "kernel(block[i/128] loop[j0] serial[j/16] thread[128](imod128) loop[j] serial[jmod16] S0)",
    "values in a serial loop": (
        "kernel(block[i/64,j/64] loop[k0] serial[k/16] thread[16,16](imod16,jmod16) loop[k] serial[kmod16] seq("
        + ", ".join(threads("i", "j", "", f"S{n - 1}", number=n).split(" ", 1)[1] for n in (1, 2, 3))
        + "))"
    ),
    "attention": (
        f"seq(kernel(block[t,i/64,j/64] seq({threads('i', 'j', '')}, "
        f"{summed('i', 'j', 'e', 'S1', number=2)})), "
        "kernel(block[t/8,i/32] thread[8,32](tmod8,imod32) seq(S2, serial[j] S3)), "
        "kernel(block[t/2,i/4,j/32] thread[2,4,32](tmod2,imod4,jmod32) S4), "
        f"kernel(block[t,i/64,e/64] seq({threads('i', 'e', '', 'S5')}, "
        f"{summed('i', 'e', 'j', 'S6', number=2)})))"
    ),
}


def proposed(scop: Scop) -> isl.Schedule:
    """The strategy's first tree, still without tiles of data."""
    options = Options()
    state = Compilation(scop, options, MACHINE, scop)
    for _, stage in pipeline.ANALYSIS:
        state = stage(state)
    assert state.dependences is not None
    problem = Problem(
        state.scop, state.dependences, options, state.machine, notes=state.notes, unexpanded=state.unexpanded
    )
    found = next(propose(problem))
    assert found.schedule is not None and found.schedule.strategy.startswith("tiled")
    return found.schedule.tree


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("name", TREES)
def test_trees(name: str, c_file: Callable[..., str], shape: Callable[..., str]) -> None:
    assert shape(proposed(read_program("test.c", c_file(*PROGRAMS[name])).scops[0]), threads=True) == TREES[name]


def test_symm_over_expanded_storage(shape: Callable[..., str]) -> None:
    """temp2 is a matrix, so that both products are in one kernel, each with tiles of its own serial loop."""
    (scop,) = read_program(str(SUITE / "symm.c")).scops
    parts = (
        threads("i", "j", ""),
        summed("i", "j", "k", "S2", number=2),
        threads("i", "j", "", "S3", number=3),
        summed("k", "j", "i", "S1", number=4),
    )
    assert shape(proposed(scop), threads=True) == f"kernel(block[i/64,j/64] seq({', '.join(parts)}))"


def test_tiles_are_boxes(shape: Callable[..., str]) -> None:
    """isl fuses this with a loop along i + j - k; the distributed tree, which is as parallel, has no such loop."""
    (scop,) = read_program(str(SUITE.parent / "polyast/symm-3.2.c")).scops
    tree = shape(proposed(scop), threads=True)
    assert summed("i", "j", "k", "S2") in tree and "i+j" not in tree


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", UNTILED)
def test_where_tiles_do_not_pay(name: str, compiled: Callable[..., Any]) -> None:
    state = compiled(*UNTILED[name], schedule="tiled").compilation
    assert state.schedule is None or not state.schedule.strategy.startswith("tiled")
    assert any("the tiled strategy found no schedule" in remark.message for remark in state.remarks)


def test_auto_takes_tiles_of_a_product(compiled: Callable[..., Any]) -> None:
    state = compiled(*PROGRAMS["product"]).compilation
    assert state.schedule is not None and state.schedule.strategy.startswith("tiled")


# Values ---------------------------------------------------------------------------------------------------------------
SUITE_PROGRAMS = (*("2mm", "3mm", "correlation", "covariance", "doitgen", "gemm", "symm", "syr2k", "syrk", "trmm"),)
SHORT = {"a": 2, "b": 3, "c": 2, "f": 5, "h": 2, "p": 4, "q": 5}
CHECKS = "address,undefined,race,uninitialised"


@pytest.mark.slow(but="37-product")
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("size", [0, 1, 37])
def test_values(name: str, size: int, compiled: Callable[..., Any]) -> None:
    made = compiled(*PROGRAMS[name], schedule="tiled", strict=True)
    most = 7 if name.startswith("contraction") else size
    sizes = {p.name: min(size, SHORT.get(p.name, most)) for p in made.scop.parameters}
    assert made.compilation.schedule.strategy.startswith("tiled")
    assert made.validate(on="emulator", parameters=sizes, sanitize=CHECKS)


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", ["product", "steps", "filter of any size", "batch of two"])
@pytest.mark.parametrize(
    "sizes", [((8, 12, 5), (4, 4)), ((5,), ()), ((7, 3, 2), (2, 2)), ((), (4, 8)), ((4, 4), (8, 8))]
)
def test_values_with_tiles_that_divide_nothing(
    name: str, sizes: tuple[tuple[int, ...], tuple[int, ...]], compiled: Callable[..., Any]
) -> None:
    tile, block = sizes
    made = compiled(*PROGRAMS[name], schedule="tiled", tile=tile, block=block)
    parameters = {p.name: min(23, SHORT.get(p.name, 23)) for p in made.scop.parameters}
    assert made.validate(on="emulator", parameters=parameters, sanitize=CHECKS)


@pytest.mark.slow
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("program", SUITE_PROGRAMS)
def test_values_of_benchmark_programs(program: str) -> None:
    for scop in polytile.compile(SUITE / f"{program}.c", schedule="tiled").scops:
        assert scop.compilation.schedule.strategy.startswith("tiled")
        assert scop.validate(on="emulator", parameters={p.name: 21 for p in scop.scop.parameters}, sanitize=CHECKS)
