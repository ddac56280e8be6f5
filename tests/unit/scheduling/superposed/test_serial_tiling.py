"""Tiles of the sums that one thread makes: where what a loop brings in is read again by the loop around it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from polytile.certificate import certificate
from polytile.check.checker import problems
from polytile.ir.memory import Space
from tests.kernel_storage import homes_of

SUM = "for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) for (int i = 0; i < k; i++) for (int j = 0; j < l; j++) "
TWO_LOOPS = (
    "int n, int m, int k, int l, double C[n][m], double y[k][m], double z[k][l], double x[l][m]",
    SUM + "C[a][b] += (y[i][b] - a) * z[i][j] * x[j][b];",
)
THREE_LOOPS = (
    "int n, int m, int k, int l, float C[n][m], float x[l][m]",
    SUM + "for (int q = 0; q < l; q++) { float v = x[q][b] * x[i][b] - x[j][b]; C[a][b] = C[a][b] > v ? C[a][b] : v; }",
)
TRIANGLE = (
    "int n, int m, int k, int l, long C[n][m], int y[k][m], int z[k][l], int x[l][m]",
    SUM.replace("j < l", "j <= i && j < l") + "C[a][b] -= y[i][b] * z[i][j] * x[j][b];",
)
TWO_SUMS = (
    "int n, int m, int k, int l, double C[n][m], double D[m][n], double x[l][m], double y[l][n]",
    "for (int a = 0; a < n; a++) for (int b = 0; b < m; b++) { C[a][b] = 1; "
    "for (int i = 0; i < k; i++) for (int j = 0; j < l; j++) C[a][b] *= x[j][b] - i; "
    "for (int i = 1; i <= k; i++) for (int j = 2; j < l; j++) D[b][a] += C[a][b] * x[j][b] * (a - i); }",
)
BACKWARDS = (
    TWO_LOOPS[0],
    SUM.replace("j = 0; j < l; j++", "j = l - 1; j >= 0; j--") + "C[a][b] += (y[i][b] - a) * z[i][j] * x[j][b];",
)
PROGRAMS = {
    "two loops": TWO_LOOPS,
    "three loops": THREE_LOOPS,
    "a triangle": TRIANGLE,
    "two sums": TWO_SUMS,
    "backwards": BACKWARDS,
}
SIZES = [(0, 3, 4, 5), (3, 35, 0, 70), (2, 33, 3, 0), (1, 1, 1, 1), (9, 37, 6, 63), (3, 32, 5, 64), (2, 40, 33, 65)]


def test_structure(compiled: Callable[..., Any], shape: Callable[..., str]) -> None:
    state = compiled(*TWO_LOOPS, schedule="superposed").compilation
    assert shape(state.schedule.tree, threads=True) == (
        "kernel(block[b/32,a/8] thread[8,32](amod8,bmod32) serial[j_chunk] "
        "seq(S0_init, serial[i] serial[j] S0_update, S0_finish))"
    )
    part = homes_of(state)[0]["C_part"]
    assert part.space is Space.PRIVATE and part.extents == ()
    assert any("i, j in tiles of 32; lines per iteration of a warp 2.07 -> 0.127" in line for line in state.considered)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str, compiled: Callable[..., Any], emulator: None) -> None:
    found = compiled(*PROGRAMS[name], schedule="superposed")
    state = found.compilation
    tiled = {made.partial for made in state.scop.privatised}
    homes = [storage for own in homes_of(state).values() for storage in own.values()]
    assert tiled and all(storage.space is Space.PRIVATE for storage in homes)
    assert {storage.array for storage in homes} == tiled
    for n, m, k, length in SIZES:
        sizes = {"n": n, "m": m, "k": min(k, 6) if name == "three loops" else k, "l": length}
        found.validate(on="emulator", parameters=sizes, seed=1, sanitize=("address", "undefined", "race"))


@pytest.mark.slow(but="backwards")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_checker_agrees(name: str, compiled: Callable[..., Any]) -> None:
    state = compiled(*PROGRAMS[name], schedule="superposed").compilation
    (found,) = json.loads(certificate("test.c", "", [], [state]))["scops"]
    assert list(problems(found)) == []
    if name == "two loops":
        assert "floor((j)/32)" in found["mapped"]
        found["mapped"] = found["mapped"].replace("floor((j)/32)", "floor((j)/16)")
        assert list(problems(found))


UNTILED = {
    "nothing is read again": "C[a][b] += z[i][b] * w[i][j][b];",
    "all of it fits": "C[a][b] += z[i][b] * x[j][b];",
    "an order of its own": "C[a][b] = C[a][b] * 0.5 + z[i][b] * x[j][b];",
    "one loop": "C[a][b] += x[i][b];",
    "every second iteration": "if (j % 2 == 0) C[a][b] += z[i][b] * x[j][b];",
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("case", UNTILED)
def test_what_is_not_tiled(case: str, compiled: Callable[..., Any]) -> None:
    arguments = "int n, int m, int k, int l, double C[n][m], double z[k][m + n], double x[l][m + n], double w[k][l][m]"
    loops = SUM.replace("j < l", "j < 20") if case == "all of it fits" else SUM
    if case == "one loop":
        loops = loops[: loops.index("for (int j")]
    state = compiled(arguments, loops + UNTILED[case], schedule="superposed").compilation
    assert state.scop.privatised == ()
    assert not any("in tiles of" in line for line in state.considered)


def test_strict_sums_keep_their_order(compiled: Callable[..., Any]) -> None:
    state = compiled(*TWO_LOOPS, schedule="superposed", strict=True).compilation
    assert state.scop.privatised == ()


def test_sizes_that_are_expected(compiled: Callable[..., Any]) -> None:
    """Loops that are known to be short need no tiles."""
    few = compiled(*TWO_LOOPS, schedule="superposed", parameters={"l": 40}).compilation
    many = compiled(*TWO_LOOPS, schedule="superposed", parameters={"l": 400}).compilation
    assert few.scop.privatised == () and many.scop.privatised != ()


def test_auto_takes_what_fetches_far_less(compiled: Callable[..., Any]) -> None:
    """With tiles in shared memory less still."""
    state = compiled(*TWO_LOOPS, schedule="superposed").compilation
    assert state.schedule.strategy == "superposed" and state.scop.privatised
    assert compiled(*TWO_LOOPS).compilation.schedule.strategy.startswith("tiled")
