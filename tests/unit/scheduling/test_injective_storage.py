"""Cells that hold one element at a time have the flow of the elements: compared with the flow over cells itself."""

from __future__ import annotations

import random

import islpy as isl
import pytest

from polytile.scheduling.analysis.checked_flow import flow
from polytile.scheduling.analysis.injective_storage import holds_one_at_a_time

SIZE = 4
ROUNDS = 15
DOMAIN = f"0 <= i, j, k < {SIZE}"
WRITES = "{ T[i, j, k] -> A[i, j] : k = 0; S[i, j, k] -> A[i, j] }"
READS = "{ S[i, j, k] -> A[i, j]; U[i, j, k] -> A[i, j] }"
OUTSIDE = ("i", "j", "floor(i/2)", "floor(j/2)", "i + j", "i - j", "0")
PLACES = ("i", "j", "i mod 2", "j mod 2", "floor(i/2)", "0")
CELLS = ("a", "b", "a mod 2", "b mod 2", "a + b", "0")


def tree_of(outside: list[str], inside: list[str]) -> isl.Schedule:
    """Loops around all statements, then T, S and U one after the other, each with loops of its own."""

    def band(loops: list[str]) -> str:
        return f"[{', '.join(f'{{ T[i,j,k] -> [{e}]; S[i,j,k] -> [{e}]; U[i,j,k] -> [{e}] }}' for e in loops)}]"

    parts = ", ".join(
        f'{{ filter: "{{ {name}[i, j, k] }}", child: {{ schedule: "{band(inside)}" }} }}' for name in "TSU"
    )
    domain = f"{{ T[i, j, k] : {DOMAIN}; S[i, j, k] : {DOMAIN}; U[i, j, k] : {DOMAIN} and k = 0 }}"
    return isl.Schedule(
        f'{{ domain: "{domain}", child: {{ schedule: "{band(outside)}", child: {{ sequence: [ {parts} ] }} }} }}'
    )


def over(tree: isl.Schedule, cells: isl.UnionMap) -> isl.UnionMap:
    """The flow in the order of the tree through the cells of elements, `{ [S[i] -> A[x]] -> cell }`."""

    def located(accesses: str) -> isl.UnionMap:
        used = isl.UnionMap(accesses).intersect_domain(tree.get_domain())
        return used.domain_map().reverse().intersect_range(cells.domain()).apply_range(cells)

    return flow(located(READS), located(WRITES), isl.UnionMap("{ }"), tree).get_may_dependence()


def cells_of(place: str, cell: str) -> isl.UnionMap:
    text = "; ".join(f"[{s}[i, j, k] -> A[a, b]] -> [{place}, {cell}]" for s in "TSU")
    return isl.UnionMap(f"{{ {text} }}")


def accesses_in(tree: isl.Schedule) -> isl.UnionMap:
    return isl.UnionMap(READS).union(isl.UnionMap(WRITES)).intersect_domain(tree.get_domain())


def is_apart(tree: isl.Schedule, place: str, cell: str) -> bool:
    places = isl.UnionMap("{ " + "; ".join(f"{s}[i, j, k] -> [{place}]" for s in "TSU") + " }")
    cell_map = isl.UnionMap(f"{{ A[a, b] -> [{cell}] }}")
    return holds_one_at_a_time(tree, places, accesses_in(tree), cell_map)


def test_elements_of_one_iteration_share_no_cell_with_others() -> None:
    tree = tree_of(["i"], ["j", "k"])
    assert is_apart(tree, "0", "b")  # row after row in the same cells
    assert not is_apart(tree, "0", "a")  # a row in one cell
    assert not is_apart(tree, "j mod 2", "0")
    assert is_apart(tree_of(["i", "j"], ["k"]), "0", "0")
    assert not is_apart(tree_of(["k"], ["i", "j"]), "0", "b")


def test_an_element_whose_values_live_longer_than_an_iteration_is_no_such_case() -> None:
    tree = tree_of(["k"], ["i", "j"])  # a cell for each element, and each element in all iterations
    assert not is_apart(tree, "i", "b")
    assert not is_apart(tree_of(["i"], ["j", "k"]), "k", "b")  # each thread has its own


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("seed", range(3))
def test_random_cells_have_the_flow_of_elements_where_they_are_apart(seed: int) -> None:
    chosen, apart, others = random.Random(seed), 0, 0
    for _ in range(ROUNDS):
        tree = tree_of(chosen.sample(OUTSIDE, chosen.randint(1, 2)), ["i", "j", "k"])
        place, cell = chosen.choice(PLACES), chosen.choice(CELLS)
        elements = over(tree, cells_of("0", "a, b"))
        if is_apart(tree, place, cell):
            apart += 1
            assert over(tree, cells_of(place, cell)).is_equal(elements), (str(tree), place, cell)
        else:
            others += not over(tree, cells_of(place, cell)).is_equal(elements)
    assert apart and others
