"""Distribution of parallel and of serial loops in tiled schedules, on trees in the order of the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import islpy as isl
import pytest

from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.candidate import Problem
from polytile.scheduling.proof.legality import unordered
from polytile.scheduling.strategies.mapping import with_barriers
from polytile.scheduling.strategies.pluto import original_order
from polytile.scheduling.strategies.tiled.tiled_kernels import TiledKernels
from polytile.tuning import TileTuning

# The trees and plans below are of these tiles, whatever measurements say of others.
TILES = TileTuning(threads=((128,), (16, 16)), points=(((1,),), ((4, 4),)), further_points=(), serial_bytes=128)
MACHINE = replace(machine_of("sm_90"), tuning=replace(machine_of("sm_90").tuning, tiles=TILES))

ARGUMENTS = "int n, " + ", ".join(f"double {name}[n][n]" for name in "ABCDE")
J = "for (int j = 0; j < n; j++)"
IJ = f"for (int i = 0; i < n; i++) {J}"
K = "for (int k = 0; k < n; k++)"
S0, S1 = "C[i][j] += A[i][k] * B[k][j];", "D[i][j] += B[i][k] * A[k][j];"
TWO = f"{S0} D[i][j] += C[i][j] * A[i][k];"
POINTS = "serial[i/16-4*i/64,j/16-4*j/64]"


def tiled(body: str, scop: Callable[..., Any]) -> isl.Schedule:
    found = scop(ARGUMENTS, body)
    options = Options()
    problem = Problem(found, analyse(found), options, MACHINE)
    needed = problem.dependences.all.intersect_params(found.context)
    made = with_barriers(TiledKernels(problem, 0).map(original_order(found, problem.dependences)).tree, needed)
    assert not unordered(made, needed)
    return made


def sum_of(*statements: str, number: int = 1, first: int = 1) -> str:
    """A loop over k in tiles around these statements, the numbers of their labels."""
    label = "" if number == 1 else f"_{number}"
    parts = [
        f"loop[points{'' if n == 1 else f'_{n}'}] {POINTS} {name}" for n, name in enumerate(statements, start=first)
    ]
    inside = parts[0] if len(parts) == 1 else f"seq({', '.join(parts)})"
    return f"loop[k0{label}] serial[k/16] thread[16,16] loop[k{label}] serial[kmod16] {inside}"


SERIAL = {
    "independent sums": (f"{K} {{ {S0} {S1} }}", f"seq({sum_of('S0')}, {sum_of('S1', number=2, first=2)})"),
    "a sum of what another one has made": (f"{K} {{ {TWO} }}", sum_of("S0", "S1")),
    "a start and a sum": (
        f"C[i][j] = 0; {K} {S0}",
        f"seq(thread[16,16] loop[points] {POINTS} S0, {sum_of('S1', first=2)})",
    ),
    "two that stay together": (
        f"{K} {{ {TWO} {S1.replace('D', 'E')} }}",
        f"seq({sum_of('S0', 'S1')}, {sum_of('S2', number=2, first=3)})",
    ),
    "the last takes from the first": (
        f"{K} {{ {S0} {S1.replace('D', 'E')} D[i][j] += C[i][j] * A[i][k]; }}",
        sum_of("S0", "S1", "S2"),
    ),
}


@pytest.mark.parametrize("name", SERIAL)
def test_serial_loops(name: str, scop: Callable[..., Any], shape: Callable[..., str]) -> None:
    body, expected = SERIAL[name]
    assert shape(tiled(f"{IJ} {{ {body} }}", scop)) == f"kernel(block[i/64,j/64] {expected})"


PARALLEL = {
    "sums with parallel loops of their own": (
        f"for (int i = 0; i < n; i++) {{ {J} {{ D[i][j] = 0; {K} D[i][j] += A[i][k] * B[k][j]; }}"
        f" {J} A[i][j] = D[i][j]; }}",
        f"seq(kernel(block[i/64,j/64] seq(thread[16,16] loop[points] {POINTS} S0, {sum_of('S1', first=2)})), "
        "kernel(block[i/8,j/32] thread[8,32] S2))",
    ),
    "what has none stays together": (
        f"for (int i = 0; i < n; i++) {{ C[i][0] = 0; C[i][1] = 1; {J} {K} {S1} E[i][0] = 2; }}",
        f"seq(kernel(block[i/128] thread[128] seq(S0, S1)), kernel(block[i/64,j/64] {sum_of('S2')}), "
        "kernel(block[i/128] thread[128] S3))",
    ),
    "nothing to tile": (
        f"for (int i = 0; i < n; i++) {{ {J} C[i][j] = 1; for (int j = 1; j < n; j++) D[i][j] = C[i][j - 1]; }}",
        "kernel(block[i] sync seq(thread[128] S0, thread[128] S1))",
    ),
}


@pytest.mark.parametrize("name", PARALLEL)
def test_parallel_loops(name: str, scop: Callable[..., Any], shape: Callable[..., str]) -> None:
    body, expected = PARALLEL[name]
    assert shape(tiled(body, scop)) == expected
