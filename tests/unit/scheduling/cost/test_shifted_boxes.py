"""Lines of shifted boxes, against the lines that their elements are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import inf

import pytest

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.affine_references import references
from polytile.scheduling.analysis.reference_groups import ReferenceGroup, groups_along
from polytile.scheduling.cost.shifted_boxes import group_lines, lines_of_union

STAR = [(0, 0, 0), *(tuple(far * (k == axis) for k in range(3)) for axis in range(3) for far in (-4, -1, 1, 4))]
CORNERS = list(product((0, 3), repeat=3))


def elements(offsets: Sequence[Sequence[int]], extents: Sequence[int]) -> int:
    inside = list(product(*map(range, extents)))
    return len({tuple(a + b for a, b in zip(o, e, strict=True)) for o in offsets for e in inside})


@pytest.mark.parametrize("offsets", [STAR, CORNERS, [(0, 0, 0)], [(0, 0, 0), (0, 0, 50), (9, 9, 9)]])
@pytest.mark.parametrize("extents", [(1, 1, 1), (2, 4, 8), (3, 1, 5), (9, 2, 40)])
def test_elements_of_boxes(offsets: list[tuple[int, ...]], extents: tuple[int, ...]) -> None:
    assert lines_of_union(frozenset(offsets), extents, 1) == elements(offsets, extents)


def test_lines_of_intervals() -> None:
    assert lines_of_union(frozenset([(0,), (1,)]), (4,), 4) == 2  # five neighbours
    assert lines_of_union(frozenset([(-1,), (1,)]), (4,), 4) == 3  # six, of three lines
    assert lines_of_union(frozenset([(0,), (8,)]), (4,), 4) == 2
    assert lines_of_union(frozenset([(0,), (4,)]), (4,), 4) == 2
    assert lines_of_union(frozenset([()]), (), 4) == 1


def group(scop: Callable[..., Scop], *reads: str) -> ReferenceGroup:
    body = "for (int i = 4; i < n; i++) for (int j = 4; j < n; j++) x[i][j] = 0.0" + "".join(f" + {r}" for r in reads)
    program = scop("int n, double A[2 * n][2 * n], double x[n][n]", f"{body};")
    read = [r for r in references(program, program.statements[0]) if not r.access.writes]
    (found,) = groups_along(read, [(1, 0), (0, 1)])
    return found


def test_a_star_has_fewer_lines_than_the_box_around_it(scop: Callable[..., Scop]) -> None:
    star = group(scop, "A[i][j]", "A[i - 4][j]", "A[i + 4][j]", "A[i][j - 4]", "A[i][j + 4]")
    assert group_lines(star, (4, 32), 32) == 4 * 10 + 2 * 4 * 8
    assert group_lines(star, (1, 1), 32) == 2 * 1 + 3
    assert group_lines(star, (0.5, 8), 32) >= 0  # a mean of less than an iteration


def test_what_is_no_union_of_boxes(scop: Callable[..., Scop]) -> None:
    assert group_lines(group(scop, "A[i][j]"), (4, 32), 32) == inf
    assert group_lines(group(scop, "A[i][i]", "A[i][i + 1]"), (4, 32), 32) == inf
    assert group_lines(group(scop, "A[i + j][j]", "A[i + j][j + 1]"), (4, 32), 32) == inf
