"""Homes of partial results that were looked at while combinations were spread are those that would be found anew."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import islpy as isl
import pytest

from polytile.api import compile
from polytile.certificate import certificate
from polytile.check.checker import problems
from polytile.diagnostics import InternalError
from polytile.ir.expr import Literal
from polytile.ir.memory import Space, constant_extents
from polytile.scheduling.analysis.executions import each_once
from polytile.scheduling.promotion import array_contraction
from polytile.scheduling.promotion.array_contraction import contract, same_private_home
from polytile.scheduling.promotion.cooperative_reductions.fuse_combination import fuse_combination
from polytile.scheduling.promotion.placements import kernel_plans
from polytile.scheduling.proof.prove import Claim, prove_all
from tests.kernel_storage import homes_of

ROWS = """void f(int n, int m, double A[n][m], double x[m], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { y[i] = 0; for (int j = 0; j < m; j++) y[i] += A[i][j] * x[j]; }
#pragma endscop
}
"""
BOTH = """void f(int n, int m, double A[n][m], double p[m], double q[n], double r[n], double s[m]) {
#pragma scop
  for (int j = 0; j < m; j++) s[j] = 0;
  for (int i = 0; i < n; i++) {
    q[i] = 0;
    for (int j = 0; j < m; j++) { s[j] += r[i] * A[i][j]; q[i] += A[i][j] * p[j]; }
  }
#pragma endscop
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("element", "columns"), [("double", 2), ("float", 4), ("unsigned", 4)])
def test_columns_that_a_thread_takes_in_turns(element: str, columns: int) -> None:
    """s has partial results for every column of a block: a thread has every 32nd."""
    (scop,) = compile(BOTH.replace("double", element), schedule="superposed").scops
    homes = {n: home for kernel in homes_of(scop.compilation).values() for n, home in kernel.items()}
    part = homes["s_part"]
    assert (part.space, part.strides, constant_extents(part)) == (Space.PRIVATE, (32,), (columns,))
    assert homes["q_part"].extents == ()


@pytest.mark.slow
@pytest.mark.parametrize("stride", [64, 16])
def test_other_strides_are_not_proven(stride: int) -> None:
    """With 64, two columns are in one register; with 16, there are more elements than columns, and all is well."""
    state = compile(BOTH, schedule="superposed").scops[0].compilation
    assert state.schedule is not None and state.dependences is not None
    homes = {
        k: {n: replace(h, strides=(stride,), extents=(Literal("4"),)) if h.strides else h for n, h in kernel.items()}
        for k, kernel in homes_of(state).items()
    }
    assert homes != homes_of(state)
    plans = kernel_plans(state.run, homes, {})
    claim = Claim(state.source, state.scop, state.dependences, state.run, plans, state.transfers)
    if stride < 32:
        assert prove_all(claim, 10**8).proven
        return
    with pytest.raises(InternalError, match="s_part"):
        prove_all(claim, 10**8)


@pytest.mark.slow
def test_strides_are_in_the_certificate() -> None:
    """The checker finds what the proof finds."""
    state = compile(BOTH, schedule="superposed").scops[0].compilation
    found = json.loads(certificate("both.c", BOTH, [], [state]))["scops"][0]
    assert list(problems(found)) == []
    (home,) = (p for plan in found["plans"] for p in plan["placements"] if ")/32)" in p["cell"])
    home["cell"] = home["cell"].replace(")/32)", ")/64)")
    assert any("s_part" in problem for problem in problems(found))


@pytest.mark.slow
@pytest.mark.parametrize("text", [ROWS, BOTH])
@pytest.mark.parametrize("shared", [0, 48 * 1024])
def test_known_homes_are_those_found_anew(text: str, shared: int) -> None:
    state = compile(text, schedule="superposed").scops[0].compilation
    assert state.run.warp_reductions and state.known_homes
    anew = contract(state.run, shared)
    assert contract(state.run, shared, known=state.known_homes) == anew
    private = {n for homes in anew.values() for n, home in homes.items() if home.space is Space.PRIVATE}
    assert {n for n, home in state.known_homes.items() if home is not None} <= private


@pytest.mark.slow
def test_the_first_cell_refuses_what_all_cells_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread has partial results for several columns: one register each is too few, which one cell shows. Where cells
    hold one element at a time, nothing else is asked, and nothing else would come out."""
    run, asked = compile(BOTH, schedule="superposed").scops[0].compilation.run, []
    known = contract(run, 0)
    monkeypatch.setattr(array_contraction, "holds_one_at_a_time", lambda *_: False)
    real = array_contraction._loses_flow_of_first

    def loses(used: tuple[isl.UnionMap, ...], *others: Any) -> bool:
        asked.append(real(used, *others))
        return asked[-1]

    monkeypatch.setattr(array_contraction, "_loses_flow_of_first", loses)
    found = contract(run, 0)
    assert True in asked and False in asked and found == known
    monkeypatch.setattr(array_contraction, "_loses_flow_of_first", lambda *_: False)
    assert contract(run, 0) == found


@pytest.mark.slow
def test_what_moves_is_looked_at_anew() -> None:
    """Where the combination of q's partial results moves into the loop, only those are used in another order."""
    state = compile(BOTH, schedule="superposed").scops[0].compilation
    assert state.schedule is not None and state.dependences is not None
    nearer = fuse_combination(state.scop, state.schedule, "q_part")
    assert nearer is not None
    one, other = (each_once(state.scop, state.dependences, schedule) for schedule in (state.schedule, nearer))
    assert not same_private_home("q_part", one, other)
    for array in ("q_part", "s_part"):
        assert same_private_home(array, one, one)
    assert same_private_home("s_part", one, other)


@pytest.mark.slow
def test_other_threads_or_flow_are_looked_at_anew() -> None:
    state = compile(BOTH, schedule="superposed").scops[0].compilation
    run = state.run
    text = run.schedule.to_text()
    wider = replace(run.schedule, tree=isl.Schedule(text.replace("thread[8,32]", "thread[8,64]")))
    assert wider.to_text() != text
    assert not same_private_home("s_part", run, replace(run, schedule=wider))
    empty = isl.UnionMap.empty(run.scop.context.get_space())
    found = tuple(replace(d, flow=empty) if d.array == "s_part" else d for d in run.dependences.by_array)
    other = replace(run, dependences=replace(run.dependences, by_array=found))
    assert not same_private_home("s_part", run, other)
    assert same_private_home("q_part", run, other)
