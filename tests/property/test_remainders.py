"""Random conditions with several remainders: first and last elements, and the flow of values, against all instances.

isl itself is wrong for some of these (polytile/ir/lexicographic.py); what is asked of it here may refuse to answer, but
not be wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product

import islpy as isl
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from polytile.check.flow import flow as checker_flow
from polytile.ir.isl_util import OverBudgetError
from polytile.ir.lexicographic import lexmax, lexmin
from polytile.scheduling.analysis.checked_flow import flow
from tests.random_examples import drawn, examples

M, K = 6, 2
Instance = tuple[int, int]
SPACES = ("0 <= i < m and 0 <= j < m and k <= m", "0 <= i < m and 0 <= j <= k <= m", "0 <= i < m and i <= j < m")
TERMS = ("i", "i", "-i", "-i", "2 * i", "j", "i + j")
OPERATORS: dict[str, Callable[[int, int], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
}


def condition(source: random.Random) -> tuple[str, frozenset[Instance]]:
    """A condition on i and j with two or three remainders, and what it is true for at the sizes."""
    space = source.choice(SPACES)
    parts, found = [space], set(product(range(M), repeat=2))
    found = {(i, j) for i, j in found if ("j <= k" not in space or j <= K) and ("i <= j" not in space or i <= j)}
    signs = ("=", source.choice(("!=", "<", ">=")), source.choice(tuple(OPERATORS)))
    for sign in signs[: source.choice((2, 2, 3))]:
        term, divisor = source.choice(TERMS), source.choice((2, 3, 4, 6))
        limit = source.randrange(divisor)
        parts.append(f"({term}) mod {divisor} {sign} {limit}")
        found = {(i, j) for i, j in found if OPERATORS[sign](_value(term, i, j) % divisor, limit)}
    return " and ".join((*parts, f"m = {M}", f"k = {K}")), frozenset(found)


def _value(term: str, i: int, j: int) -> int:
    return {"i": i, "j": j, "-i": -i, "2 * i": 2 * i, "i + j": i + j}[term]


def points(elements: isl.Set) -> set[tuple[int, ...]]:
    found: list[isl.Point] = []
    elements.foreach_point(found.append)
    size = range(elements.dim(isl.dim_type.set))
    return {tuple(p.get_coordinate_val(isl.dim_type.set, k).to_python() for k in size) for p in found}


@pytest.mark.quick
@drawn(examples(200))
@given(st.randoms(use_true_random=False))
def test_first_and_last_elements(source: random.Random) -> None:
    text, instances = condition(source)
    note(text)
    found = isl.Set(f"[m, k] -> {{ [i, j] : {text} }}")
    assert points(lexmin(found)) == ({min(instances)} if instances else set())
    assert points(lexmax(found)) == ({max(instances)} if instances else set())
    columns = isl.Map(f"[m, k] -> {{ [j] -> [i, j] : {text} }}")
    assert points(lexmax(columns).range()) == {max(p for p in instances if p[1] == j) for _, j in instances}


@drawn(examples(200))
@given(st.randoms(use_true_random=False))
def test_values_come_from_the_last_write(source: random.Random) -> None:
    """First all elements are written, then some by instances S[i, j], some perhaps, and read in the end."""
    texts = [condition(source) for _ in range(2)]
    note("\n".join(text for text, _ in texts))
    (sure, written), (maybe, perhaps) = texts
    reads = isl.UnionMap(f"[m, k] -> {{ T[x] -> A[x] : 0 <= x < m and m = {M} and k = {K} }}")
    must = isl.UnionMap(
        f"[m, k] -> {{ S[i, j] -> A[j] : {sure}; F[x] -> A[x] : 0 <= x < m and x mod 2 = 0 and m = {M} and k = {K} }}"
    )
    may = isl.UnionMap(f"[m, k] -> {{ P[i, j] -> A[j] : {maybe} }}") if source.random() < 0.5 else isl.UnionMap("{ }")
    ends = "F[x] -> [0, x, 0, 0]; T[x] -> [2, x, 0, 0]"
    times = isl.UnionMap(f"{{ {ends}; S[i, j] -> [1, i, j, 0]; P[i, j] -> [1, i, j, 1] }}")
    wanted = {pair for x in range(M) for pair in _sources(x, written, frozenset() if may.is_empty() else perhaps)}
    known = isl.Set(f"[m, k] -> {{ : m = {M} and k = {K} }}")
    expected = isl.UnionMap(f"{{ {'; '.join(sorted(wanted))} }}").intersect_params(known)
    assert checker_flow(reads, must, times, may).values.is_equal(expected)
    try:
        found = flow(reads, must, may, times)
    except OverBudgetError:
        return
    assert found.get_may_dependence().is_equal(expected)


def _sources(x: int, written: frozenset[Instance], perhaps: frozenset[Instance]) -> Iterator[str]:
    """The last write of an element, and those behind it that may happen."""
    last = max((i for i, j in written if j == x), default=-1)
    if last >= 0 or x % 2 == 0:
        yield f"S[{last}, {x}] -> T[{x}]" if last >= 0 else f"F[{x}] -> T[{x}]"
    yield from (f"P[{i}, {j}] -> T[{x}]" for i, j in perhaps if j == x and i >= last)
