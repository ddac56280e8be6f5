"""Errors where isl loses last writes, as conditions have several remainders: neither the proof nor the checker, which
share no code, takes what isl says of it."""

from __future__ import annotations

import json
from typing import Any

import islpy as isl
import pytest

import polytile
from polytile.check.checker import problems
from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import PolytileError
from polytile.ir.isl_memoization import memoizing
from polytile.ir.isl_util import OverBudgetError
from polytile.ir.scop import Scop
from polytile.scheduling.analysis import checked_flow
from polytile.scheduling.analysis.last_writers import last_writers
from polytile.scheduling.proof.locations import MAY_WRITE, READ, WRITE, Locations
from polytile.scheduling.proof.placements import _Flow, _times
from polytile.scheduling.proof.storage import Realisation, wrong_values
from polytile.scheduling.transform import array_expansion

PROGRAM = """void f(int m, int k, int n, double w[n], const double B[m + 1], double C[m + 1][n])
{{
#pragma scop
    for (int i = 0; i < m; i++)
        if ({condition}) {{
            for (int j = 0; j < n; j++)
                w[j] = B[i] + j;
            for (int j = 0; j < n; j++)
                C[i][j] = w[j] * w[n - 1 - j];
        }}
#pragma endscop
}}
"""
CONDITIONS = {
    "k <= m && m == 7 && i % 2 == 1 && i % 4 != 3": {"m": 7, "k": 3, "n": 5},
    "k <= m && k == 2 && i % 2 >= 1 && i % 6 < 2": {"m": 9, "k": 2, "n": 5},
    "k < n && m == 6 && k == 2 && i % 3 < 2 && i % 2 != 0": {"m": 6, "k": 2, "n": 5},
}


def compiled(condition: str) -> CompiledScop:
    (scop,) = polytile.compile(PROGRAM.format(condition=condition), name="f.c", schedule="classic", strict=True).scops
    return scop


def certificate(condition: str) -> dict[str, Any]:
    text = polytile.compile(PROGRAM.format(condition=condition), schedule="classic", strict=True).certificate
    found: dict[str, Any] = json.loads(text)["scops"][0]
    return found


def trusting(*_: object) -> bool:
    return False


@pytest.mark.slow(but=2)
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_last_values_of_an_expanded_array_are_restored(condition: str) -> None:
    """w is expanded over i, if it is, and copied back from the last iteration."""
    assert compiled(condition).validate(on="emulator", parameters=CONDITIONS[condition])


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_certificates_are_accepted(condition: str) -> None:
    assert list(problems(certificate(condition))) == []


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_checker_refuses_an_expansion_that_loses_last_values(
    monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    """polytile believes isl here: w is expanded, its last values are not copied back, and the proof agrees."""
    monkeypatch.setattr(checked_flow, "are_doubted", trusting)
    found = certificate(condition)
    assert any(root == "w" != array for array, root in found["program"]["arrays"].items())
    assert "the scheduled program does not pass on the source's values of w" in list(problems(found))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_proof_refuses_an_expansion_that_loses_last_values(
    monkeypatch: pytest.MonkeyPatch, condition: str
) -> None:
    """The expansion alone believes isl, whose answers to it nobody else sees."""

    def believed(scop: Scop, array: str) -> isl.UnionMap:
        with monkeypatch.context() as patch, memoizing():
            patch.setattr(checked_flow, "are_doubted", trusting)
            return last_writers(scop, array)

    monkeypatch.setattr(array_expansion, "last_writers", believed)
    with pytest.raises(PolytileError, match="is not proven"):
        compiled(condition)


BOX = "0 <= i < m and 0 <= j < m and k <= m and m = 6 and k = 2"
READS = isl.UnionMap("[m, k] -> { T[x] -> A[x] : 0 <= x < m }")
NOTHING = isl.UnionMap("[m, k] -> { }")
TIMES = isl.MultiUnionPwAff(
    "[m, k] -> [{ F[x] -> [(0)]; S[i, j] -> [(1)]; T[x] -> [(2)] }, "
    "{ F[x] -> [(x)]; S[i, j] -> [(i)]; T[x] -> [(x)] }]"
)


def written(condition: str) -> isl.UnionMap:
    """F writes all elements, and S writes some anew."""
    where = BOX.replace(" and m = 6", f" and {condition} and m = 6")
    return isl.UnionMap(f"[m, k] -> {{ F[x] -> A[x] : 0 <= x < m; S[i, j] -> A[j] : {where} }}")


def ordered(writes: isl.UnionMap) -> isl.Schedule:
    return isl.Schedule.from_domain(writes.union(READS).domain()).insert_partial_schedule(TIMES)


def test_the_proof_of_storage_does_not_believe_isl() -> None:
    writes = written("(i + j) mod 6 = 2 and j mod 4 != 1")
    same = isl.UnionSet.identity(writes.union(READS).domain())
    found = Realisation(ordered(writes), same, READS, writes, NOTHING, alone=True)
    wrong = wrong_values("A", isl.UnionMap("[m, k] -> { F[x] -> T[x] : 0 <= x < m }"), found)
    lost = next(one.pairs for one in wrong if one.why == "a value does not arrive")
    anew = isl.UnionMap("[m, k] -> { F[x] -> T[x] : m = 6 and k = 2 and (x = 0 or 2 <= x <= 4) }")
    assert lost.is_equal(anew)


@pytest.mark.parametrize("condition", ["i mod 2 = 0 and (-i) mod 6 < 5", "(-i) mod 2 = 1 and (-i) mod 4 != 0"])
def test_the_proof_of_placements_does_not_believe_isl(condition: str) -> None:
    writes, none = written(condition), isl.UnionSet("{ }")
    routes = {READ: READS.range_map(), WRITE: writes.range_map(), MAY_WRITE: NOTHING}
    used = Locations(routes, none, none, NOTHING, none, none, READS.range(), none)
    with pytest.raises(OverBudgetError, match="loses sources"):
        _Flow.over(used, _times(ordered(writes)))
