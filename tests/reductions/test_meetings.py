"""The proof of what threads combine, and the checker of certificates: right ones hold, planted errors are found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import islpy as isl
import pytest

from polytile.certificate import certificate
from polytile.check.checker import problems
from polytile.compilation import Compilation
from polytile.diagnostics import InternalError, PolytileError
from polytile.ir.arith import compare
from polytile.ir.expr import Literal, Name
from polytile.ir.expr_trees import rewrite
from polytile.ir.gpu_ops import WarpReduce
from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import SYNC, nodes
from polytile.ir.warp_reductions import WarpReduction
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.proof.prove import Claim, prove_all
from polytile.scheduling.proof.warp_reductions import wrong_executions

from .trees import Shape, built, columns, rows

BODY = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
ARGUMENTS = "int n, int m, double A[n][m], double x[n + m]"
SHAPES: dict[str, tuple[Shape, str]] = {
    "warp": (rows(32, 8), "x[i] += A[i][j];"),
    "block": (rows(64, 4), "x[i] += A[i][j];"),
    "columns": (columns(8, 64), "x[j] += A[i][j];"),
    "chunks": (columns(1, 64), "x[j] += A[i][j];"),
}


@pytest.fixture(scope="module")
def states() -> dict[str, Compilation]:
    return {name: built("f", ARGUMENTS, f"{BODY} {body}", shape) for name, (shape, body) in SHAPES.items()}


def proven(state: Compilation, run: Executions) -> None:
    assert state.dependences is not None
    prove_all(Claim(state.source, state.scop, state.dependences, run, state.kernel_plans, state.transfers))


def changed_statement(run: Executions, name: str, **changes: Any) -> Executions:
    statements = tuple(replace(s, **changes) if s.name == name else s for s in run.scop.statements)
    return replace(run, scop=replace(run.scop, statements=statements))


def changed_tree(run: Executions, old: str, new: str) -> Executions:
    text = run.schedule.to_text()
    assert old in text
    return replace(run, schedule=replace(run.schedule, tree=isl.Schedule(text.replace(old, new))))


@pytest.mark.slow(but=("block", "columns", "chunks"))
@pytest.mark.parametrize("name", SHAPES)
def test_right_ones_hold(states: dict[str, Compilation], name: str) -> None:
    state = states[name]
    assert state.run.scop is not state.scop
    assert state.dependences is not None
    assert list(wrong_executions(state.scop, state.dependences, state.run)) == []
    proven(state, state.run)


def fewer_lanes(run: Executions) -> Executions:
    """The last lane is not there; its partial result is lost."""
    found = run.scop.statement("S0_fold")
    last = run.warp_reductions[-1].width - 1
    domain = found.domain.intersect(isl.Set(f"{{ S0_fold[i, l] : l < {last} }}"))
    parts = run.instances.subtract_domain(isl.UnionSet.from_set(found.domain.subtract(domain)))
    return replace(changed_statement(run, "S0_fold", domain=domain), instances=parts)


def narrower(run: Executions) -> Executions:
    """Segments of half the lanes: the second half's sum is lost."""
    last = run.warp_reductions[-1]
    half = last.width // 2

    def change(node: Any) -> Any:
        return replace(node, width=max(2, half)) if isinstance(node, WarpReduce) else node

    body = tuple(rewrite(s, change) for s in run.scop.statement(last.statement).body)
    run = changed_statement(run, last.statement, body=body)
    return replace(run, warp_reductions=(*run.warp_reductions[:-1], replace(last, width=half)))


def other_threads(run: Executions) -> Executions:
    """The lanes are one thread further than those that hold the partial results."""
    return changed_tree(run, "{ S0_fold[i0, l0] -> [(l0)] }", "{ S0_fold[i0, l0] -> [(l0 + 1)] }")


def apart(run: Executions) -> Executions:
    """Lanes of one row in threads of two rows."""
    return changed_tree(run, "{ S0_fold[i0, l0] -> [(i0)] }", "{ S0_fold[i0, l0] -> [(i0 + floor(l0/16))] }")


def another_operation(run: Executions) -> Executions:
    def change(node: Any) -> Any:
        return replace(node, op="fmax") if isinstance(node, WarpReduce) else node

    body = tuple(rewrite(s, change) for s in run.scop.statement("S0_fold").body)
    return changed_statement(run, "S0_fold", body=body)


def every_lane_adds(run: Executions) -> Executions:
    """All lanes add the sum to the result."""

    def change(node: Any) -> Any:
        return Literal("1") if getattr(node, "op", "") == "==" else node

    body = tuple(rewrite(s, change) for s in run.scop.statement("S0_fold").body)
    return changed_statement(run, "S0_fold", body=body)


def every_lane_writes(run: Executions) -> Executions:
    """As above, and the relations say so."""
    statement = run.scop.statement("S0_fold")
    accesses = tuple(
        replace(a, relation=isl.Map("{ S0_fold[i, l] -> x[i] }").intersect_domain(statement.domain))
        if a.array == "x"
        else a
        for a in statement.accesses
    )
    return changed_statement(run, "S0_fold", accesses=accesses)


def no_meetings(run: Executions) -> Executions:
    return replace(run, warp_reductions=())


def no_barrier(run: Executions) -> Executions:
    return replace(run, schedule=replace(run.schedule, tree=_without_sync(run.schedule.tree)))


def _without_sync(tree: isl.Schedule) -> isl.Schedule:
    mark = next(n for n in nodes(tree) if mark_name(n) == SYNC)
    return mark.delete().get_schedule()


def handed_to_another(run: Executions) -> Executions:
    """What a warp hands over goes to the other warp's element, which is then there twice or never."""
    statement = run.scop.statement("S0_fold_lanes")
    accesses = tuple(
        replace(a, relation=a.relation.fix_val(isl.dim_type.out, 2, isl.Val(0))) if a.writes else a
        for a in statement.accesses
    )
    return changed_statement(run, "S0_fold_lanes", accesses=accesses)


def stored_elsewhere(run: Executions) -> Executions:
    """Chunks are handed over one place further on."""
    name = next(s.name for s in run.scop.statements if s.name.endswith("_store"))
    statement = run.scop.statement(name)
    accesses = tuple(
        replace(a, relation=a.relation.apply_range(isl.Map("{ x_part_all[c, j] -> x_part_all[c + 1, j] }")))
        if a.writes
        else a
        for a in statement.accesses
    )
    return changed_statement(run, name, accesses=accesses)


ERRORS: list[tuple[str, Callable[[Executions], Executions]]] = [
    ("warp", fewer_lanes),
    ("block", fewer_lanes),
    ("warp", narrower),
    ("block", narrower),
    ("warp", other_threads),
    ("block", other_threads),
    ("warp", apart),
    ("warp", another_operation),
    ("block", another_operation),
    ("warp", every_lane_adds),
    ("warp", every_lane_writes),
    ("warp", no_meetings),
    ("block", no_meetings),
    ("block", no_barrier),
    ("columns", no_barrier),
    ("block", handed_to_another),
    ("columns", handed_to_another),
    ("chunks", stored_elsewhere),
]


@pytest.mark.parametrize(("name", "error"), ERRORS, ids=[f"{n}-{e.__name__}" for n, e in ERRORS])
def test_planted_errors_are_found(
    states: dict[str, Compilation], name: str, error: Callable[[Executions], Executions]
) -> None:
    state = states[name]
    assert state.run.scop is not state.scop
    with pytest.raises(PolytileError):
        proven(state, error(state.run))


@pytest.mark.parametrize("name", ["warp", "block"])
def test_lanes_that_lead_are_found_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof asks every lane, and not the record that the statements were made with."""
    shape, body = SHAPES[name]
    monkeypatch.setattr(WarpReduction, "leads", lambda _, lanes: compare("==", Name(lanes[-1]), 1))
    with pytest.raises(InternalError, match="does not combine what its lanes have"):
        built("f", ARGUMENTS, f"{BODY} {body}", shape)


# Certificates --------------------------------------------------------------------------------------------------------
def checked(state: Compilation, run: Executions) -> set[str]:
    """What the checker says of a certificate."""
    text = certificate("f.c", "", [], [replace(state, executions=run)])
    return set(problems(json.loads(text)["scops"][0]))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", SHAPES)
def test_certificates_of_right_ones_hold(states: dict[str, Compilation], name: str) -> None:
    state = states[name]
    assert state.run.scop is not state.scop
    assert checked(state, state.run) == set()


# Bodies are in no certificate.
IN_RELATIONS = [(n, e) for n, e in ERRORS if e not in (another_operation, every_lane_adds)]


@pytest.mark.slow(but="block-fewer_lanes")
@pytest.mark.parametrize(("name", "error"), IN_RELATIONS, ids=[f"{n}-{e.__name__}" for n, e in IN_RELATIONS])
def test_the_checker_finds_planted_errors(
    states: dict[str, Compilation], name: str, error: Callable[[Executions], Executions]
) -> None:
    state = states[name]
    assert state.run.scop is not state.scop
    assert checked(state, error(state.run))
