"""Shapes on a grid of cells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from polytile.drawing.outline import borders, inner_lines, rectangles

cells = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)))


@given(cells)
def test_rectangles_cover_each_cell_once(found: set[tuple[int, int]]) -> None:
    covered = [(x + dx, y + dy) for x, y, w, h in rectangles(found) for dx in range(w) for dy in range(h)]
    assert sorted(covered) == sorted(found)


@given(st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(0, 2)))
def test_each_edge_of_a_cell_is_a_border_or_an_inner_line(groups: dict[tuple[int, int], int]) -> None:
    between, within = ({e for line in lines(groups) for e in edges(line)} for lines in (borders, inner_lines))
    assert not between & within
    assert between | within == {e for x, y in groups for e in around(x, y)}
    assert all((groups[x, y] != groups.get((x + 1, y))) == ((x + 1, y, True) in between) for x, y in groups)


def edges(line: tuple[int, int, int, int]) -> list[tuple[int, int, bool]]:
    """Of one cell's length each: where they begin, and whether they are upright."""
    x, y, to_x, to_y = line
    return [(x, k, True) for k in range(y, to_y)] + [(k, y, False) for k in range(x, to_x)]


def around(x: int, y: int) -> list[tuple[int, int, bool]]:
    return [(x, y, True), (x + 1, y, True), (x, y, False), (x, y + 1, False)]
