"""Answers of isl that a compilation keeps: found once for the same question, and for no other one."""

from __future__ import annotations

import islpy as isl
import pytest

import polytile
from polytile.ir.isl_memoization import memoized, memoizing
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.thread_map import thread_map
from polytile.scheduling.analysis import checked_flow

ASKED: list[str] = []


Arguments = tuple[isl.UnionMap, tuple[isl.UnionMap, ...], isl.Schedule, isl.MultiUnionPwAff, int]


@memoized
def joined(
    first: isl.UnionMap, others: tuple[isl.UnionMap, ...], tree: isl.Schedule, at: isl.MultiUnionPwAff, size: int
) -> isl.UnionMap:
    ASKED.append(str(first))
    for other in others:
        first = first.union(other)
    return first.eq_at_multi_union_pw_aff(at).intersect_domain(tree.get_domain())


def arguments(
    first: str = "{ S[i] -> T[i] }",
    others: tuple[str, ...] = ("{ S[i] -> S[i] : i > 3; T[i] -> S[i] }",),
    band: str = "S[i] -> [(i)]",
    at: str = "S[i] -> [(0)]; T[i] -> [(1)]",
    size: int = 8,
) -> Arguments:
    tree = isl.Schedule(f'{{ domain: "{{ S[i] : 0 <= i < 9 }}", child: {{ schedule: "[{{ {band} }}]" }} }}')
    return isl.UnionMap(first), tuple(map(isl.UnionMap, others)), tree, isl.MultiUnionPwAff(f"[{{ {at} }}]"), size


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    ASKED.clear()


def test_the_same_question_is_memoized() -> None:
    with memoizing():
        found = joined(*arguments())
        assert joined(*arguments()) is found
        assert joined(*arguments("{ S[j] -> T[j] }")) is found
    assert len(ASKED) == 1


@pytest.mark.parametrize(
    "other",
    [
        arguments(first="{ S[i] -> T[i + 1] }"),
        arguments(first="[n] -> { S[i] -> T[i] }"),
        arguments(others=()),
        arguments(others=("{ S[i] -> S[i] : i > 4; T[i] -> S[i] }",)),
        arguments(others=("{ S[i] -> S[i] : i > 3 }", "{ T[i] -> S[i] }")),
        arguments(band="S[i] -> [(-i)]"),
        arguments(at="S[i] -> [(0)]; T[i] -> [(0)]"),
        arguments(size=16),
    ],
)
def test_another_question_is_another(other: Arguments) -> None:
    with memoizing():
        joined(*arguments())
        given = joined(*other)
    assert len(ASKED) == 2
    assert given.is_equal(joined(*other))


def test_answers_are_kept_for_one_compilation() -> None:
    joined(*arguments())
    with memoizing():
        joined(*arguments())
        with memoizing():
            joined(*arguments())
        joined(*arguments())
    joined(*arguments())
    assert len(ASKED) == 4


def test_what_raises_is_asked_again() -> None:
    accesses = isl.UnionMap("[n] -> { S[i, j] -> A[i + j] : 0 <= i < j < n and (i mod 3) = (j mod 5) }")
    times = isl.UnionMap("{ S[i, j] -> [j, i] }")
    with memoizing():
        with pytest.raises(OverBudgetError), budget(10):
            checked_flow.flow(accesses, accesses, isl.UnionMap("{ }"), times)
        found = checked_flow.flow(accesses, accesses, isl.UnionMap("{ }"), times)
    assert not found.get_may_dependence().is_empty()


def test_threads_of_another_kernel_are_others() -> None:
    def kernel(size: int) -> isl.ScheduleNode:
        tree = f'mark: "thread[{size}]", child: {{ schedule: "[{{ S[i] -> [(i)] }}]" }}'
        tree = f'{{ domain: "{{ S[i] : 0 <= i < 99 }}", child: {{ mark: "kernel", child: {{ {tree} }} }} }}'
        return isl.Schedule(tree).get_root().child(0)

    with memoizing():
        eight, sixteen = thread_map(kernel(8)), thread_map(kernel(16))
        assert thread_map(kernel(8)) is eight
    assert str(eight) != str(sixteen)


def test_candidates_and_their_proof_share_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flow through partial results is found for the candidate and its proof together; the kernels are the same."""
    text = """
void f(int n, int m, double a[n][m], double x[m], double y[n])
{
#pragma scop
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int j = 0; j < m; j++)
      y[i] += a[i][j] * x[j];
  }
#pragma endscop
}
"""
    analysed = []
    real = isl.UnionAccessInfo.compute_flow
    monkeypatch.setattr(isl.UnionAccessInfo, "compute_flow", lambda info: analysed.append(info) or real(info))
    together, few = polytile.compile(text, name="f.c").cuda, len(analysed)
    monkeypatch.setattr("polytile.ir.isl_memoization._is_same", lambda one, other: False)
    assert polytile.compile(text, name="f.c").cuda == together
    assert len(analysed) > 2 * few


@memoized
def counted(relation: isl.Map, points: isl.Set) -> isl.Map:
    ASKED.append(str(relation))
    return relation.intersect_domain(points)


def test_questions_of_single_relations_are_memoized() -> None:
    relation, points = "[n] -> { S[i] -> A[i + 1] }", "[n] -> { S[i] : 0 <= i < n }"
    with memoizing():
        found = counted(isl.Map(relation), isl.Set(points))
        assert counted(isl.Map(relation), isl.Set(points)) is found
        assert not counted(isl.Map(relation), isl.Set("[n] -> { S[i] : 0 <= i <= n }")).is_equal(found)
        assert not counted(isl.Map("[n] -> { S[i] -> A[i] }"), isl.Set(points)).is_equal(found)
    assert len(ASKED) == 3
