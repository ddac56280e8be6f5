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
from polytile.diagnostics import PolytileError
from polytile.ir.device import WarpReduce
from polytile.ir.expr import Literal, rewrite
from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import SYNC, nodes
from polytile.scheduling.lanes.spread import Spread
from polytile.scheduling.proof.prove import Claim, prove_all
from polytile.scheduling.proof.warp_reductions import wrong_meetings

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


def proven(state: Compilation, spread: Spread) -> None:
    assert state.dependences is not None
    assert state.schedule is not None
    prove_all(
        Claim(state.source, state.scop, state.dependences, state.schedule, state.homes, state.transfers, spread)
    )


def changed_statement(spread: Spread, name: str, **changes: Any) -> Spread:
    statements = tuple(replace(s, **changes) if s.name == name else s for s in spread.scop.statements)
    return replace(spread, scop=replace(spread.scop, statements=statements))


def changed_tree(spread: Spread, old: str, new: str) -> Spread:
    text = spread.schedule.to_text()
    assert old in text
    return replace(spread, schedule=replace(spread.schedule, tree=isl.Schedule(text.replace(old, new))))


@pytest.mark.parametrize("name", SHAPES)
def test_right_ones_hold(states: dict[str, Compilation], name: str) -> None:
    state = states[name]
    assert state.spread is not None
    assert state.dependences is not None
    assert list(wrong_meetings(state.scop, state.dependences, state.spread)) == []
    proven(state, state.spread)


def fewer_lanes(spread: Spread) -> Spread:
    """The last lane is not there; its partial result is lost."""
    found = spread.scop.statement("S0_fold")
    last = spread.reductions[-1].width - 1
    domain = found.domain.intersect(isl.Set(f"{{ S0_fold[i, l] : l < {last} }}"))
    parts = spread.parts.subtract_domain(isl.UnionSet.from_set(found.domain.subtract(domain)))
    return replace(changed_statement(spread, "S0_fold", domain=domain), parts=parts)


def narrower(spread: Spread) -> Spread:
    """Segments of half the lanes: the second half's sum is lost."""
    last = spread.reductions[-1]
    half = last.width // 2

    def change(node: Any) -> Any:
        return replace(node, width=max(2, half)) if isinstance(node, WarpReduce) else node

    body = tuple(rewrite(s, change) for s in spread.scop.statement(last.statement).body)
    spread = changed_statement(spread, last.statement, body=body)
    return replace(spread, reductions=(*spread.reductions[:-1], replace(last, width=half)))


def other_threads(spread: Spread) -> Spread:
    """The lanes are one thread further than those that hold the partial results."""
    return changed_tree(spread, "{ S0_fold[i0, l0] -> [(l0)] }", "{ S0_fold[i0, l0] -> [(l0 + 1)] }")


def apart(spread: Spread) -> Spread:
    """Lanes of one row in threads of two rows."""
    return changed_tree(spread, "{ S0_fold[i0, l0] -> [(i0)] }", "{ S0_fold[i0, l0] -> [(i0 + floor(l0/16))] }")


def another_operation(spread: Spread) -> Spread:
    def change(node: Any) -> Any:
        return replace(node, op="fmax") if isinstance(node, WarpReduce) else node

    body = tuple(rewrite(s, change) for s in spread.scop.statement("S0_fold").body)
    return changed_statement(spread, "S0_fold", body=body)


def every_lane_adds(spread: Spread) -> Spread:
    """All lanes add the sum to the result."""

    def change(node: Any) -> Any:
        return Literal("1") if getattr(node, "op", "") == "==" else node

    body = tuple(rewrite(s, change) for s in spread.scop.statement("S0_fold").body)
    return changed_statement(spread, "S0_fold", body=body)


def every_lane_writes(spread: Spread) -> Spread:
    """As above, and the relations say so."""
    statement = spread.scop.statement("S0_fold")
    accesses = tuple(
        replace(a, relation=isl.Map("{ S0_fold[i, l] -> x[i] }").intersect_domain(statement.domain))
        if a.array == "x"
        else a
        for a in statement.accesses
    )
    return changed_statement(spread, "S0_fold", accesses=accesses)


def no_meetings(spread: Spread) -> Spread:
    return replace(spread, reductions=())


def no_barrier(spread: Spread) -> Spread:
    return replace(spread, schedule=replace(spread.schedule, tree=_without_sync(spread.schedule.tree)))


def _without_sync(tree: isl.Schedule) -> isl.Schedule:
    mark = next(n for n in nodes(tree) if mark_name(n) == SYNC)
    return mark.delete().get_schedule()


def handed_to_another(spread: Spread) -> Spread:
    """What a warp hands over goes to the other warp's element, which is then there twice or never."""
    statement = spread.scop.statement("S0_fold_lanes")
    accesses = tuple(
        replace(a, relation=a.relation.fix_val(isl.dim_type.out, 2, isl.Val(0))) if a.writes else a
        for a in statement.accesses
    )
    return changed_statement(spread, "S0_fold_lanes", accesses=accesses)


def stored_elsewhere(spread: Spread) -> Spread:
    """Chunks are handed over one place further on."""
    name = next(s.name for s in spread.scop.statements if s.name.endswith("_store"))
    statement = spread.scop.statement(name)
    accesses = tuple(
        replace(a, relation=a.relation.apply_range(isl.Map("{ x_part_all[c, j] -> x_part_all[c + 1, j] }")))
        if a.writes
        else a
        for a in statement.accesses
    )
    return changed_statement(spread, name, accesses=accesses)


ERRORS: list[tuple[str, Callable[[Spread], Spread]]] = [
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
def test_planted_errors_are_found(states: dict[str, Compilation], name: str, error: Callable[[Spread], Spread]) -> None:
    state = states[name]
    assert state.spread is not None
    with pytest.raises(PolytileError):
        proven(state, error(state.spread))


# Certificates --------------------------------------------------------------------------------------------------------
def checked(state: Compilation, spread: Spread) -> set[str]:
    """What the checker says of a certificate."""
    text = certificate("f.c", "", [], [replace(state, spread=spread)])
    return set(problems(json.loads(text)["scops"][0]))


@pytest.mark.parametrize("name", SHAPES)
def test_certificates_of_right_ones_hold(states: dict[str, Compilation], name: str) -> None:
    state = states[name]
    assert state.spread is not None
    assert checked(state, state.spread) == set()


# Bodies are in no certificate.
IN_RELATIONS = [(n, e) for n, e in ERRORS if e not in (another_operation, every_lane_adds)]


@pytest.mark.parametrize(("name", "error"), IN_RELATIONS, ids=[f"{n}-{e.__name__}" for n, e in IN_RELATIONS])
def test_the_checker_finds_planted_errors(
    states: dict[str, Compilation], name: str, error: Callable[[Spread], Spread]
) -> None:
    state = states[name]
    assert state.spread is not None
    assert checked(state, error(state.spread))
