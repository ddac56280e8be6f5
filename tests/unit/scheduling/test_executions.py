"""Executions: what runs in place of a Scop's instances, and that no proof takes from what it proves."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest

import polytile
from polytile.compilation import Compilation
from polytile.diagnostics import InternalError
from polytile.scheduling.analysis.dependences import array_values
from polytile.scheduling.analysis.executions import Executions, each_once, itself
from polytile.scheduling.proof.prove import Claim, prove_all

SCALED = """void f(int n, double A[n], double B[n]) {
#pragma scop
for (int i = 0; i < n; i++)
    B[i] = 2 * A[i];
#pragma endscop
}
"""
SUMS = SCALED.replace("B[i] = 2 * A[i];", "for (int j = 0; j < n; j++) B[i] += A[j] * A[i];")
BELOW = ("polytile.dataclass", "polytile.diagnostics", "polytile.ir", "polytile.options")  # they judge nothing
ROOMS = {"proof": (*BELOW, "polytile.scheduling.analysis"), "analysis": BELOW}


@pytest.fixture(scope="module")
def scaled() -> Compilation:
    return polytile.compile(SCALED, name="f.c").scops[0].compilation


def proven(state: Compilation, run: Executions) -> None:
    assert state.dependences is not None
    claim = Claim(state.source, state.scop, state.dependences, run, state.kernel_plans, state.transfers)
    assert prove_all(claim).proven


def test_instances_run_once_where_no_threads_combine(scaled: Compilation) -> None:
    assert scaled.dependences is not None and scaled.executions is not None
    assert scaled.run.is_each_once(scaled.scop, scaled.dependences)
    assert scaled.run.instances.is_equal(itself(scaled.scop))
    proven(scaled, scaled.run)


def test_lanes_are_parts_of_instances() -> None:
    state = polytile.compile(SUMS, name="f.c", schedule="superposed").scops[0].compilation
    assert state.dependences is not None and state.schedule is not None
    assert not state.run.is_each_once(state.scop, state.dependences)
    assert state.run.instances.domain().is_subset(state.run.scop.domain)
    assert state.run.instances.range().is_subset(state.scop.domain)
    proven(state, state.run)
    with pytest.raises(InternalError):  # what is not said to be a part is none
        proven(state, replace(state.run, instances=itself(state.run.scop)))


@pytest.mark.parametrize(
    "instances", ["[n] -> { S0[i] -> S0[n - 1 - i] : 0 <= i < n }", "[n] -> { S0[i] -> S0[i] : 0 <= i < n - 1 }"]
)
def test_instances_of_others_are_refused(scaled: Compilation, instances: str) -> None:
    """The same statements, of which it is said that they carry out others, or nothing."""
    with pytest.raises(InternalError):
        proven(scaled, replace(scaled.run, instances=isl.UnionMap(instances)))


def test_another_program_is_refused(scaled: Compilation) -> None:
    assert scaled.dependences is not None and scaled.schedule is not None
    writes = tuple(a for a in scaled.scop.statements[0].accesses if a.writes)
    other = replace(scaled.scop, statements=(replace(scaled.scop.statements[0], accesses=writes),))
    with pytest.raises(InternalError, match="do not make the accesses to A"):
        proven(scaled, each_once(other, scaled.dependences, scaled.schedule))


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_nothing_that_they_judge(room: str) -> None:
    folder = Path(polytile.__file__).parent / "scheduling" / room
    own = f"polytile.scheduling.{room}"
    modules = sorted(folder.glob("*.py"))
    assert len(modules) > 5
    for path in modules:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in (n for n in names if n.startswith("polytile")):
                assert name.startswith((own, *ROOMS[room])), f"{path.name} imports {name}"


PURPOSES = """void f(int n, double A[n], double B[n]) {
double w;
#pragma scop
for (int i = 0; i < n; i++) {
    w = 0;
    for (int j = 0; j < n; j++)
        w = 0.5 * w + A[j];
    B[i] = w;
}
w = B[0];
for (int i = 0; i < n; i++)
    w = 0.5 * w + A[i];
B[0] = w;
#pragma endscop
}
"""


def test_conflicts_of_a_part_of_an_array_prove_nothing() -> None:
    """w serves two purposes and becomes two arrays. Where isl gives up on the values of one, all pairs of its accesses
    count, which are fewer than those of w in the source."""
    state = polytile.compile(PURPOSES, name="f.c").scops[0].compilation
    assert state.dependences is not None and len([a for a in state.scop.arrays if a.root == "w"]) == 2
    claim = Claim(state.source, state.scop, state.dependences, state.run, state.kernel_plans, state.transfers)
    assert prove_all(claim).proven
    given_up = tuple(
        replace(array_values(state.scop, d.array, exact=False), anti=d.anti, output=d.output) if d.array == "w" else d
        for d in state.dependences.by_array
    )
    assert not prove_all(replace(claim, dependences=replace(state.dependences, by_array=given_up))).proven
