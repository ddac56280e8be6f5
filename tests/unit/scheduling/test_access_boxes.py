"""Accesses that are united into boxes of offsets: exactly the union of the single ones."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytile.frontend.program import read_program
from polytile.ir.access_boxes import Box, boxes, moved, taken_apart, united
from polytile.ir.access_numbers import access_numbers
from polytile.ir.expr import Access
from polytile.ir.expr_trees import walk
from polytile.ir.scop import AccessKind, Scop

PROGRAMS = sorted((Path(__file__).parents[3] / "polybench").glob("*/*.c"))
SUBSCRIPTS = (
    "i + {a}, j + {b}",
    "j + {a}, i + {b}",
    "2i + {a}, i + j + {b}",
    "floor((i + {a})/2), j + {b}",
    "(i mod 3) + {a}, j + {b}",
    "n - i + {a}, {b}",
)
WHOLE = ("o, p] : i + {a} <= o <= i + {a} + 1 and p = {b}", "o, p] : o = {a} and 0 <= p <= j + {b}")
OFFSETS = st.tuples(st.integers(-2, 2), st.integers(-2, 2))
FORMS = st.sampled_from((*(f"{s}]" for s in SUBSCRIPTS), *(f"{s}] : i >= 1" for s in SUBSCRIPTS), *WHOLE))


def points(box: Box) -> set[tuple[int, ...]]:
    return set(product(*(range(low, high + 1) for low, high in box)))


def plain(relations: list[isl.Map]) -> isl.Map:
    total = relations[0]
    for relation in relations[1:]:
        total = total.union(relation)
    return total


@given(st.sets(st.tuples(*[st.integers(-2, 2)] * 3), max_size=60))
def test_boxes_hold_exactly_the_offsets_once(offsets: set[tuple[int, ...]]) -> None:
    found = boxes(offsets)
    assert sum(len(points(box)) for box in found) == len(offsets)
    assert set().union(*map(points, found)) == offsets
    assert boxes(sorted(offsets, reverse=True)) == found


@pytest.mark.parametrize("radius", [1, 4])
def test_boxes_and_stars_are_few(radius: int) -> None:
    cube = set(product(range(-radius, radius + 1), repeat=3))
    assert boxes(cube) == [((-radius, radius),) * 3]
    star = {offset for offset in cube if sum(map(bool, offset)) < 2}
    assert len(boxes(star)) == 5


def test_single_elements_and_scalars() -> None:
    assert boxes([]) == []
    assert boxes([()]) == [()]
    assert boxes([(3, 4), (3, 4)]) == [((3, 3), (4, 4))]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(FORMS, OFFSETS), min_size=1, max_size=14))
def test_united_accesses_are_the_union(accesses: list[tuple[str, tuple[int, int]]]) -> None:
    texts = [f"[n] -> {{ S[i, j] -> A[{form.format(a=a, b=b)} }}" for form, (a, b) in accesses]
    relations = [isl.Map(text) for text in texts]
    assert united(relations).is_equal(plain(relations))


def test_neighbours_are_one_piece() -> None:
    relations = [isl.Map(f"{{ S[t, i, j] -> A[t mod 2, i + {a}, j + {b}] }}") for a, b in product(range(9), repeat=2)]
    assert united(relations).n_basic_map() == 1
    assert united([*relations, isl.Map("{ S[t, i, j] -> A[(t + 1) mod 2, i, j] }")]).n_basic_map() == 2


def test_a_relation_alone_stays_as_it_is() -> None:
    relation = isl.Map("{ S[i] -> A[2i + 1] }")
    assert str(united([relation])) == str(relation)


def _plain_accesses(scop: Scop, kind: AccessKind) -> isl.UnionMap:
    total = isl.UnionMap.empty(scop.context.get_space().params())
    for statement in scop.statements:
        for access in statement.relations(kind):
            total = total.union(isl.UnionMap.from_map(access.relation.intersect_domain(statement.domain)))
    return total


@pytest.mark.slow(but="j3d17pt")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_the_accesses_of_programs_are_the_unions_of_the_single_ones(program: Path) -> None:
    for scop in read_program(str(program)).scops:
        for kind in AccessKind:
            assert scop.accesses(kind).is_equal(_plain_accesses(scop, kind))


def test_functions_and_their_constants() -> None:
    one, other = isl.Map("{ S[i, j] -> A[i - 1, 2j + 3] }"), isl.Map("{ S[i, j] -> A[i, 2j] }")
    assert taken_apart(one) == (*(taken_apart(other) or ("", ()))[:1], (-1, 3))
    assert moved(other, (-1, 3)).is_equal(one)
    assert taken_apart(isl.Map("{ S[i] -> A[i] : i > 2 }")) is None
    assert taken_apart(isl.Map("{ S[i] -> A[j] : 0 <= j < 3 }")) is None


TURNS = """void f(int m, int n, double A[2][n], double B[n]) {
#pragma scop
for (int t = 0; t < m; t++) for (int i = 2; i < n - 2; i++)
    A[(t + 1) % 2][i] = A[t % 2][i - 2] + A[t % 2][i + 2 - 1] + A[t % 2][1 + i] + B[i - 1] * B[1];
#pragma endscop
}"""


@pytest.mark.parametrize("diagonal", [False, True])
def test_numbers_of_accesses(diagonal: bool) -> None:
    """Each access has the relations that are equal to it in all instances, and no others."""
    text = TURNS.replace("int i = 2; i < n - 2", "int i = 2 * t + 2; i < 2 * t + 3") if diagonal else TURNS
    text = text.replace("B[i - 1]", "B[i - 1] * B[2 * t + 1]") if diagonal else text
    (scop,) = read_program("f.c", text).scops
    (statement,) = scop.statements
    relations = [a.relation.intersect_domain(statement.domain) for a in statement.accesses]
    found = [access_numbers(statement, node) for node in walk(*statement.body) if isinstance(node, Access)]
    assert len(set(found)) == 5
    for numbers in found:
        assert list(numbers) == [k for k, r in enumerate(relations) if r.is_equal(relations[numbers[0]])]
