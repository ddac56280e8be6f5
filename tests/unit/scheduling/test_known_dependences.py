"""Dependences that are kept from before a rewriting are those that would be found anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import islpy as isl
import pytest

from polytile.ir.scop import Scop
from polytile.scheduling.analysis import dependences as module
from polytile.scheduling.analysis.dependences import Dependences, analyse, array_dependences
from polytile.scheduling.transform.array_expansion import expand
from polytile.scheduling.transform.live_range_splitting import split_live_ranges

ARGUMENTS = "int n, int m, double A[n][m], double B[n][m], double s[m]"
PROGRAMS = {
    "one purpose": (
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { t = A[i][j]; B[i][j] = t * t; }",
        "double t;",
    ),
    "two purposes": (
        """for (int i = 0; i < n; i++) { t = 0; for (int j = 0; j < m; j++) { B[i][j] = t; t = A[i][j]; } }
        for (int j = 0; j < m; j++) { t = s[j]; for (int i = 0; i < n; i++) { t += A[i][j]; B[i][j] += t; } }""",
        "double t;",
    ),
    "a visible row": (
        """for (int i = 0; i < n; i++) {
            for (int j = 0; j < m; j++) { s[j] = 0; for (int k = 0; k < m; k++) s[j] += A[i][k] * B[k][j]; }
            for (int j = 0; j < m; j++) A[i][j] = s[j];
        }""",
        "",
    ),
}


def rewritten(scop: Scop) -> list[Scop]:
    """The Scop, with split live ranges, and expanded in both ways: each made from the one before."""
    split = split_live_ranges(scop, analyse(scop))
    known = analyse(split)
    return [scop, split, *(expand(split, known, serial_loops=serial_loops)[0] for serial_loops in (False, True))]


def same(one: Dependences, other: Dependences) -> bool:
    """Whether all relations agree, array by array."""
    if not one.reductions.is_equal(other.reductions):
        return False
    for a, b in zip(one.by_array, other.by_array, strict=True):
        for field in fields(a):
            x, y = getattr(a, field.name), getattr(b, field.name)
            if not (x.is_equal(y) if isinstance(x, isl.UnionMap) else x == y):
                return False
    return True


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_kept_is_what_would_be_found(scop: Callable[..., Scop], name: str) -> None:
    versions = rewritten(scop(ARGUMENTS, *PROGRAMS[name]))
    for before in versions:
        for after in versions:
            assert same(analyse(after, known=(before, analyse(before))), analyse(after))


def test_only_what_changed_is_analysed(scop: Callable[..., Scop], monkeypatch: pytest.MonkeyPatch) -> None:
    _, split, after, _ = rewritten(scop(ARGUMENTS, *PROGRAMS["two purposes"]))
    known = (split, analyse(split))
    asked = []

    def watched(program: Scop, array: str, operations: int = 0, *, exact: bool = True) -> object:
        asked.append(array)
        return array_dependences(program, array, operations, exact=exact)

    monkeypatch.setattr(module, "array_dependences", watched)
    analyse(after, known=known)
    assert asked == ["t", "t_2"]


def test_another_order_keeps_nothing(scop: Callable[..., Scop]) -> None:
    before = scop(ARGUMENTS, *PROGRAMS["one purpose"])
    statements = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, 2)
    for statement in reversed(before.statements):
        statements = statements.add(isl.UnionSet.from_set(statement.domain))
    apart = isl.Schedule.from_domain(before.domain).get_root().child(0).insert_sequence(statements).get_schedule()
    after = replace(before, schedule=apart)
    found = analyse(after, known=(before, analyse(before)))
    assert same(found, analyse(after)) and not same(found, analyse(before))


def test_another_domain_keeps_nothing(scop: Callable[..., Scop]) -> None:
    before = scop(ARGUMENTS, *PROGRAMS["one purpose"])
    first = before.statements[0]
    fewer = replace(first, domain=first.domain.lower_bound_val(isl.dim_type.set, 0, isl.Val(1)))
    after = replace(before, statements=(fewer, *before.statements[1:]))
    found = analyse(after, known=(before, analyse(before)))
    assert same(found, analyse(after)) and not same(found, analyse(before))
