"""Sums, minima and maxima over the positions of all ranks: what is split, what is proven, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import islpy as isl
import numpy as np
import pytest

from polytile.check.ranks import rank_problems
from polytile.diagnostics import UserError
from polytile.distribution.explain import explained
from polytile.distribution.plan import DistributionPlan
from polytile.distribution.proof import DistributionError, prove
from polytile.distribution.rank_combinations import bounds_of
from polytile.distribution.transfers import ExchangeMode
from polytile.ir.scop import Scop
from polytile.rank_certificate import ranks_entry
from polytile.scheduling.analysis.dependences import analyse
from tests.unit.distribution.programs import distribute, scop_of

RESIDUAL = """
void residual(int steps, int n, int m, double A[n][m], double B[n][m], double e[steps], int count[1])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        e[t] = 0;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) {
                double d;
                B[i][j] = 0.25 * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
                d = B[i][j] - A[i][j];
                e[t] += d * d;
                if (d > 0.5) count[0] += 1;
            }
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) A[i][j] = B[i][j] * (1 + e[t]);
    }
#pragma endscop
}
"""
Change = Callable[[DistributionPlan], DistributionPlan]


def in_loop(body: str, declared: str = "double s[2], double c[9]") -> Scop:
    return scop_of(f"""
void f(int steps, int n, double A[n], double B[n], {declared})
{{
#pragma scop
    for (int t = 0; t < steps; t++) {{
        for (int i = 1; i < n - 1; i++) B[i] = A[i - 1] + A[i + 1];
        {body}
        for (int i = 1; i < n - 1; i++) A[i] = B[i];
    }}
#pragma endscop
}}""")


def alone(body: str, declared: str) -> Scop:
    return scop_of(f"""
void f(int n, double A[n], double B[n], {declared})
{{
#pragma scop

    {{
        {body}
    }}
#pragma endscop
}}""")


def problems(plan: DistributionPlan, source: Scop) -> list[str]:
    return list(rank_problems(json.loads(json.dumps(ranks_entry(plan, source)))))


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("steps", [1, 3])
def test_terms_are_combined_between_two_phases(steps: int) -> None:
    source = scop_of(RESIDUAL)
    plan = distribute(source, steps)
    nothing = ((0, 0), (0, 0))
    assert [(r.op, r.target, r.reach) for r in plan.reductions] == [("+", "e", nothing), ("+", "count", nothing)]
    assert plan.lead is None and [plan.array(r.terms).axes for r in plan.reductions] == [(0, 1)] * 2
    assert [p.statements for p in plan.phases][2:4] == [(r.combining,) for r in plan.reductions]
    results = [plan.scop.array(r.result) for r in plan.reductions]
    assert [(a.name, a.element.name) for a in results] == [("e_result", "double"), ("count_result", "long long")]
    assert [len(c.bounds) for c in plan.combinations] == [3, 0] and "sets of terms" in plan.proof
    assert problems(plan, source) == []
    told = explained(plan, ExchangeMode.BASIC)
    same = "the sum of all positions, the same on all ranks and for all grids; a step has"
    assert f"  e: {same} 2 MPI_Allreduce for it, 32 bytes a rank\n" in told
    assert f"  count: {same} 1 MPI_Allreduce for it, 8 bytes a rank\n" in told


def test_locals_of_the_function_hold_a_sum() -> None:
    """As in Himeno's benchmark, whose residual a statement of the last step hands on."""
    source = scop_of("""
float himeno(int steps, int n, int m, float omega, float p[n][m], float w[n][m], float a[n][m])
{
    float gosa = 0, s0, ss;
#pragma scop
    for (int t = 0; t < steps; t++) {
        gosa = 0;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) {
                s0 = p[i + 1][j] + p[i][j + 1] + p[i - 1][j] + p[i][j - 1];
                ss = s0 * a[i][j] - p[i][j];
                gosa += ss * ss;
                w[i][j] = p[i][j] + omega * ss;
            }
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) p[i][j] = w[i][j];
    }
#pragma endscop
    return gosa;
}""")
    plan = distribute(source, 2)
    assert [a.name for a in plan.axes] == ["i", "j"] and [r.op for r in plan.reductions] == ["+"]
    assert problems(plan, source) == []


def test_sums_alone_need_no_time_loop() -> None:
    source = scop_of("""
void f(int n, int m, float A[n][m], float B[n][m], float s[1], float most[1])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i && j < m; j++) {
            s[0] -= A[i][j] * B[i][j];
            if (A[i][j] > most[0]) most[0] = A[i][j];
        }
#pragma endscop
}""")
    plan = distribute(source)
    assert [a.name for a in plan.axes] == ["i", "j"] and plan.before == () and problems(plan, source) == []
    assert [r.op for r in plan.reductions] == ["+", "max"]


def test_integers_and_extremes_are_exact() -> None:
    count = in_loop("for (int i = 0; i < n; i++) if (A[i] > 0) k[0]++;", "int k[2]")
    least = in_loop("for (int i = 0; i < n; i++) s[0] = s[0] < B[i] ? s[0] : B[i];")
    assert [distribute(one, strict=True).reductions[0].op for one in (count, least)] == ["+", "min"]


@pytest.mark.parametrize(
    ("body", "strict", "said"),
    [
        ("for (int i = 0; i < n; i++) s[0] += A[i];", True, "s adds up floating-point numbers of several ranks"),
        ("for (int i = 0; i < n; i++) s[0] *= A[i];", False, r"s combines by \*, in its type, what several ranks own"),
        ("for (int i = t; i < n; i++) s[0] += A[i];", False, "s combines other positions in each step"),
        ("for (int i = 1; i < n; i++) { s[0] += A[i]; B[i] = s[0]; }", False, "no loop can be cut .* elements of s"),
    ],
)
def test_what_is_refused_is_said_with_its_place(body: str, strict: bool, said: str) -> None:
    with pytest.raises(UserError, match=said) as refused:
        distribute(in_loop(body), strict=strict)
    assert refused.value.location is not None and refused.value.location.line == 7 and refused.value.hint


@pytest.mark.parametrize(
    ("body", "column", "hint"),
    [
        ("for (int i = 0; i < n; i++) k[0] += A[i];", 37, "k is converted to int behind each double that it combines"),
        ("for (int i = 0; i < n; i++) if (A[i] > k[0]) k[0] = A[i];", 54, "k is converted to int behind each double"),
        ("for (int i = 0; i < n; i++) if (A[i] < s[0]) { s[0] = A[i]; k[0] = i; }", 56, "find s alone, as .* behind"),
        ("for (int i = 0; i < n; i++) if (A[i] > s[1]) s[0] += A[i];", 54, "another element of s: let that be another"),
        ("for (int i = 0; i < n; i++) s[0] = 0.9 * s[0] + A[i];", 37, "s \\+= e, of which e does not depend on s"),
        ("for (int i = 0; i < n; i++) { s[0] += A[i]; B[i] = s[0]; }", 39, "combine s in a loop that does not read it"),
        ("for (int i = 0; i < n; i++) s[i % 2] += A[i];", 37, "combine .by \\+. into one element of s in each step"),
    ],
)
@pytest.mark.parametrize("timed", [True, False])
def test_what_to_write_instead(body: str, column: int, hint: str, timed: bool) -> None:
    declared = "double s[2], int k[1], double C[n][n]"
    scop = in_loop(body, declared) if timed else alone(body, declared)
    with pytest.raises(UserError, match="no loop can be cut") as refused:
        distribute(scop)
    at = refused.value.location
    assert at is not None and (at.line, at.column) == (7, column) and re.search(hint, refused.value.hint or "")


def test_elements_of_their_own_are_not_said_to_be_combined() -> None:
    with pytest.raises(UserError, match="no loop can be cut") as refused:
        distribute(in_loop("for (int i = 3; i < n; i += 2) c[i] = A[i - 3] - c[i];", "double c[n]"))
    assert refused.value.hint and refused.value.hint.startswith("ranks cut parallel loops")


def test_a_diagonal_is_named_where_it_is() -> None:
    for value in ("C[i][i]", "C[i][j] * C[j][i]"):
        loops = "for (int i = 0; i < n; i++) for (int j = 0; j < 2; j++) "
        with pytest.raises(UserError, match="two dimensions of C move along it") as refused:
            distribute(alone(f"{loops}C[i][j] += {value};", "double C[n][n]"))
        assert refused.value.location is not None and refused.value.location.line == 7


@pytest.mark.parametrize(
    ("loop", "line"),
    [
        ("while (s[0] > 1e-3) {", 5),
        ("for (int t = 0; t < steps && s[0] > 1e-3; t++) {", 5),
        ("for (int t = 0; t < steps; t++) { if (s[0] < 1e-3) break;", 5),
    ],
)
def test_a_residual_that_ends_the_loop(loop: str, line: int) -> None:
    source = scop_of(f"""
void f(int steps, int n, double A[n], double B[n], double s[1])
{{
#pragma scop
    {loop}
        s[0] = 0;
        for (int i = 1; i < n - 1; i++) B[i] = A[i - 1] + A[i + 1];
        for (int i = 1; i < n - 1; i++) s[0] += B[i] - A[i];
        for (int i = 1; i < n - 1; i++) A[i] = B[i];
    }}
#pragma endscop
}}""")
    with pytest.raises(UserError, match="data decide how often its loop runs") as refused:
        distribute(source)
    at = refused.value.location
    assert at is not None and (at.line, at.column) == (line, 5) and "in a loop outside of it" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("body", "split"),
    [
        ("for (int k = 0; k < 9; k++) s[0] += c[k]; for (int i = 0; i < n; i++) s[1] += A[i];", ["s"]),
        ("for (int k = 0; k < 9; k++) s[0] *= c[k];", []),
        ("for (int i = 0; i < n; i++) s[0] += C[i][i];", []),
        ("for (int i = 0; i < n; i++) { s[0] += A[i]; c[0]++; }", ["s"]),
    ],
)
def test_sums_of_what_all_ranks_have_are_whole_on_each(body: str, split: list[str]) -> None:
    source = in_loop(body, "double s[2], double c[9], double C[n][n]")
    plan = distribute(source)
    assert [r.target for r in plan.reductions] == split and problems(plan, source) == []


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i < n; i++) if (A[i] > 0.5) s[t % 2] += A[i];",
        "if (t % 10 == 0) for (int i = 1; i < n; i++) s[0] += A[i];",
    ],
)
def test_sums_of_some_positions_or_steps(body: str) -> None:
    source = in_loop(body, "float s[2]")
    plan = distribute(source)
    assert [r.op for r in plan.reductions] == ["+"] and problems(plan, source) == []


def test_where_an_extreme_is() -> None:
    """As the hint for both in one loop says."""
    source = in_loop("""
        for (int i = 0; i < n; i++) if (A[i] < s[0]) s[0] = A[i];
        for (int i = 0; i < n; i++) if (A[i] == s[0]) if (i < k[0]) k[0] = i;""", "double s[1], int k[1]")
    plan = distribute(source, strict=True)
    assert [(r.op, r.target) for r in plan.reductions] == [("min", "s"), ("min", "k")]


def _ghosts(plan: DistributionPlan) -> DistributionPlan:
    """Combine positions beyond the part, which others combine, too."""
    first, *others = plan.reductions
    return replace(plan, reductions=(replace(first, reach=((1, 0), (0, 0))), *others))


def _by_rank(plan: DistributionPlan) -> DistributionPlan:
    """Add up what ranks have found in their order, with a rounding for each."""
    first, *others = plan.combinations
    return replace(plan, combinations=(replace(first, largest=None, bounds=()), *others))


def _one_column(plan: DistributionPlan) -> DistributionPlan:
    """Write all terms of a row into one element."""
    return _terms(plan, "{ e_terms[i, j] -> e_terms[i, 1] }")


def _left_out(plan: DistributionPlan) -> DistributionPlan:
    """Write no terms in the first row."""
    return _terms(plan, "{ e_terms[i, j] -> e_terms[i, j] : i > 1 }")


def _terms(plan: DistributionPlan, change: str) -> DistributionPlan:
    def changed(scop: Scop) -> Scop:
        statements = [
            replace(s, accesses=tuple(
                replace(a, relation=a.relation.apply_range(isl.Map(change))) if a.array == "e_terms" else a
                for a in s.accesses
            ))
            for s in scop.statements
        ]
        return replace(scop, statements=tuple(statements))

    return replace(plan, scop=changed(plan.scop), local=tuple(map(changed, plan.local)))


def _too_early(plan: DistributionPlan) -> DistributionPlan:
    """Combine in front of the phase that writes the terms."""
    phases = list(plan.phases)
    phases[1], phases[2] = phases[2], phases[1]
    local = list(plan.local)
    local[1], local[2] = local[2], local[1]
    return replace(plan, phases=tuple(phases), local=tuple(local))


def _not_cut(plan: DistributionPlan) -> DistributionPlan:
    """Let all ranks along the second axis have the same terms."""
    arrays = (replace(a, axes=(0, None)) if a.name == "e_terms" else a for a in plan.arrays)
    return replace(plan, arrays=tuple(arrays))


def _twice(plan: DistributionPlan) -> DistributionPlan:
    """Combine each second step alone, whose terms are those of the other, too."""
    scop = plan.scop
    combining = plan.reductions[0].combining
    even = isl.Set(f"{{ {combining}[t] : t mod 2 = 0 }}")
    statements = (replace(s, domain=s.domain.intersect(even)) if s.name == combining else s for s in scop.statements)
    return replace(plan, scop=replace(scop, statements=tuple(statements)))


PLANTED = (_ghosts, _by_rank, _one_column, _left_out, _too_early, _not_cut, _twice)


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("change", PLANTED)
def test_planted_errors_are_found_twice(change: Change) -> None:
    source = scop_of(RESIDUAL)
    right = distribute(source)
    plan = change(right)
    with pytest.raises(DistributionError):
        prove(plan, analyse(right.scop), source)
    assert problems(plan, source)


@pytest.mark.parametrize("seed", range(20))
def test_parts_add_up_without_rounding(seed: int) -> None:
    """Any order gives the same bits, and those are nearer to the sum than the error of additions one by one."""
    random = np.random.default_rng(seed)
    terms = random.standard_normal(5000) * 10.0 ** random.integers(-20, 20, 5000)
    found = set()
    for order in (np.arange(5000), random.permutation(5000)):
        rest, sums = terms[order], []
        for m in bounds_of(float(abs(terms).max()), terms.size):
            part = (rest + m) - m
            sums.append(sum(part.tolist()))
            rest = rest - part
        found.add((sums[0] + sums[1]) + sums[2])
    (one,) = found
    assert abs(one - float(sum(map(np.longdouble, terms.tolist())))) <= 1e-16 * abs(terms).sum()
    assert bounds_of(0.0, 3) == bounds_of(float("inf"), 3) == (0.0, 0.0, 0.0)
