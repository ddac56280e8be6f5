"""Sizes for validation with which every kernel runs, tiles inside and at the sides among them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile.api import CompiledScop
from polytile.cli.main import main
from polytile.runtime.control_flow import control_flow
from polytile.runtime.covering_sizes import MOST_WORK, covering_sizes, sizes_that_run
from polytile.runtime.launches import launches_of
from polytile.runtime.parameters import choose_parameters

ROD = """
void rod(int steps, int n, double a[2][n]) {
#pragma scop
    for (int t = 0; t < steps; t++)
        for (int i = 1; i < n - 1; i++)
            a[(t + 1) % 2][i] = 0.25 * (a[t % 2][i - 1] + 2 * a[t % 2][i] + a[t % 2][i + 1]);
#pragma endscop
}
"""
PRODUCT = """
void product(int ni, int nj, int nk, double c[ni][nj], double a[ni][nk], double b[nk][nj]) {
#pragma scop
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++)
            for (int k = 0; k < nk; k++)
                c[i][j] += a[i][k] * b[k][j];
#pragma endscop
}
"""


def compiled(text: str, **settings: Any) -> CompiledScop:
    return polytile.compile(text, **settings).scops[0]


def covering(scop: CompiledScop, given: Mapping[str, int]) -> list[Mapping[str, int]]:
    """The small sizes, and those that are run beside them."""
    assert scop.program is not None
    small = choose_parameters(scop.scop, given)
    return [small, *covering_sizes(scop.scop, scop.program, given, small)]


def launched(scop: CompiledScop, sizes: Mapping[str, int]) -> dict[str, int]:
    assert scop.program is not None
    return {k.kernel.removeprefix(f"{scop.name}_"): k.launches for k in launches_of(scop.program, sizes)}


def test_kernels_of_whole_time_tiles_run() -> None:
    scop = compiled(ROD, schedule="overlapped")
    small, *further = covering(scop, {})
    assert launched(scop, small) == {"in": 0, "out": 0, "k0": 13}
    found = [launched(scop, sizes) for sizes in further]
    assert any(one["in"] >= 2 and one["out"] >= 2 and one["k0"] >= 1 for one in found), further
    alone = any(one["in"] >= 2 and one["out"] >= 2 and one["k0"] == 0 for one in found)
    assert alone, "single iterations write over what the last tiles store"


def test_all_that_larger_sizes_reach_is_reached() -> None:
    scop = compiled(PRODUCT)
    assert scop.program is not None
    flow, runs = control_flow(scop.program), covering(scop, {})
    reached = frozenset[Any]().union(*(flow.reach(sizes).parts for sizes in runs))
    assert flow.reach({"ni": 301, "nj": 411, "nk": 205}).parts <= reached
    assert sum(flow.reach(sizes).work for sizes in runs) < MOST_WORK
    assert all(len(set(sizes.values())) == 3 for sizes in runs), "rows taken for columns do not show"


def test_given_sizes_stay() -> None:
    scop = compiled(PRODUCT)
    assert {sizes["nj"] for sizes in covering(scop, {"nj": 40})} == {40}
    assert covering(scop, {"ni": 3, "nj": 40, "nk": 5}) == [{"ni": 3, "nj": 40, "nk": 5}]


def test_nothing_is_asked_of_kernels_where_all_sizes_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making functions of the control flow of large kernels takes longer than running them."""
    scop = compiled(PRODUCT)
    monkeypatch.setattr("polytile.runtime.covering_sizes.control_flow", lambda _: pytest.fail("made for nothing"))
    assert covering(scop, {"ni": 3, "nj": 40, "nk": 5}) == [{"ni": 3, "nj": 40, "nk": 5}]


def test_sizes_that_run_a_kernel() -> None:
    scop = compiled(ROD, schedule="overlapped")
    assert scop.program is not None
    sizes = sizes_that_run(scop.scop, scop.program, f"{scop.name}_in")
    assert sizes is not None and launched(scop, sizes)["in"] == 1
    assert sizes_that_run(scop.scop, scop.program, "another") is None


def test_conditions_are_seen_both_ways() -> None:
    scop = compiled(ROD, schedule="classic")
    assert scop.program is not None
    flow, (kernel,) = control_flow(scop.program), scop.program.kernels
    one, all_ways = flow.reach({"steps": 1, "n": 3}).parts, flow.reach({"steps": 2, "n": 500}).parts
    conditions = {part[1] for part in all_ways if part[0] == kernel.name and isinstance(part[1], int)}
    assert conditions and {(kernel.name, c, way) for c in conditions for way in (True, False)} <= all_ways
    assert (kernel.name, "within", 3) in all_ways and (kernel.name, "within", 3) not in one


def test_the_command_names_kernels_that_have_not_run(
    emulator: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "rod.c"
    source.write_text(ROD)
    words = [str(source), "-o", str(tmp_path), "--schedule", "overlapped", "--validate", "--on", "emulator"]
    assert main([*words, "--param", "steps=5", "--time-tile", "16"]) == 0
    out, err = capsys.readouterr()
    assert "rod_scop0: not validated in full on the emulator (steps=5 n=" in out
    assert "rod_scop0_in has not run: it is not validated" in err
    assert "it runs with --param steps=32" in err


def test_each_size_is_0_once_where_something_runs() -> None:
    """What the loop over `j` leaves in `y` without an iteration shows then alone."""
    text = """
void f(int n, int m, double y[n], double A[n][m])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        y[i] = 3;
        for (int j = 0; j < m; j++)
            y[i] += A[i][j];
    }
#pragma endscop
}
"""
    (scop,) = polytile.compile(text).scops
    assert scop.program is not None
    found = covering_sizes(scop.scop, scop.program, {}, {"n": 13, "m": 17})
    assert {"n": 13, "m": 0} in found
    assert all(sizes["n"] > 0 for sizes in found)
    assert all(sizes["m"] > 0 for sizes in covering_sizes(scop.scop, scop.program, {"m": 17}, {"n": 13, "m": 17}))

