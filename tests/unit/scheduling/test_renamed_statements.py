"""Arrays of which nothing but the names of statements has changed are known to be used alike, others are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import islpy as isl
import pytest

from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.analysis.renamed_statements import renaming
from polytile.scheduling.proof import prove
from polytile.scheduling.transform.statement_fusion import fuse_locals

ARGUMENTS = "int n, double A[n + 1], double B[n + 1]"
BODY = """for (int i = 1; i < n; i++) { double t = B[i]; A[i] = t * t; A[i + 1] = A[i - 1] + 1; }
    for (int i = 1; i < n; i++) { double t = A[i]; B[i] = t + 1; }"""


@pytest.fixture(scope="module")
def pair(scop: Callable[..., Scop]) -> tuple[Scop, Scop]:
    """A Scop, and the one in which statements that share a local are one."""
    source = scop(ARGUMENTS, BODY)
    program = fuse_locals(source)
    assert len(program.statements) < len(source.statements)
    return source, program


def changed(program: Scop, name: str, change: Callable[[Statement], Statement]) -> Scop:
    return replace(program, statements=tuple(change(s) if s.name == name else s for s in program.statements))


def test_names_of_statements_are_all_that_differs(pair: tuple[Scop, Scop]) -> None:
    source, program = pair
    for array in ("A", "B"):
        names = renaming(source, program, array)
        assert names is not None
        known = analyse(program).of(array).renamed(names.reverse())
        wanted = analyse(source).of(array)
        for pairs in ("flow", "anti", "output", "uninitialised"):
            assert getattr(known, pairs).is_equal(getattr(wanted, pairs))


def test_other_elements_instances_or_orders_are_no_renaming(pair: tuple[Scop, Scop]) -> None:
    source, program = pair
    names = renaming(source, program, "A")
    assert names is not None
    first, *_, last = (s.name for s in program.statements)
    for name in (first, last):
        fewer = changed(program, name, lambda s: replace(s, domain=s.domain.lower_bound_val(isl.dim_type.set, 0, 5)))
        assert renaming(source, fewer, "A") is None
        shifted = changed(program, name, _shifted)
        assert renaming(source, shifted, "A") is None
    own = isl.UnionSet.from_set(program.statement(last).domain)
    rest = program.domain.subtract(own)
    reordered = program.schedule.intersect_domain(own).sequence(program.schedule.intersect_domain(rest))
    assert renaming(source, replace(program, schedule=reordered), "A") is None


def _shifted(statement: Statement) -> Statement:
    """With accesses of A one element on."""
    step = isl.Map("{ A[i] -> A[i + 1] }")
    accesses = (
        replace(a, relation=a.relation.apply_range(step)) if a.array == "A" and a.kind is not AccessKind.KILL else a
        for a in statement.accesses
    )
    return replace(statement, accesses=tuple(accesses))


def test_values_of_renamed_statements_are_not_found_anew(
    compiled: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, analysed = [], prove.array_values

    def noted(scop: Scop, array: str, *rest: object, **more: object) -> object:
        found.append(array)
        return analysed(scop, array, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(prove, "array_values", noted)
    compiled(ARGUMENTS, BODY)
    assert found
    assert not {"A", "B"} & set(found)
