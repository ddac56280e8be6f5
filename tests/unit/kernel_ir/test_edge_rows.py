"""Rows that warps share: each has a place of its own, where the warps beside find it."""

from __future__ import annotations

from itertools import product

import pytest

from polytile.ir.edge_rows import EdgeRows, columns_at_once


@pytest.mark.parametrize(("warps", "rows"), [(1, 1), (4, 1), (3, 2), (8, 4), (2, 7)])
def test_warps_find_what_others_show(warps: int, rows: int) -> None:
    for above, below in product(range(4), range(4)):
        if not above and not below:
            continue
        edges = EdgeRows(warps, rows, above, below)
        places = {
            w * rows + row: w * len(edges.shown) + edges.number(row) for w in range(warps) for row in edges.shown
        }
        assert len(set(places.values())) == len(places)
        for w, row in product(range(warps), edges.fetched):
            place = w * len(edges.shown) + edges.number(row)
            assert 0 <= place < edges.height
            if 0 <= w * rows + row < warps * rows:
                assert places[w * rows + row] == place
            else:
                assert place not in places.values()
        assert max(places.values()) < edges.height


def test_only_edges_are_shown() -> None:
    edges = EdgeRows.of(8, 4, (-1, 0, 1))
    assert (edges.shown, edges.fetched, edges.height) == ((0, 3), (-1, 4), 18)
    assert EdgeRows.of(8, 4, (2,)).shown == (0, 1)
    assert EdgeRows.of(8, 2, (-3, 1)).shown == (0, 1)


def test_columns_that_are_accessed_at_once() -> None:
    assert [columns_at_once(n, 8) for n in (1, 2, 3, 4)] == [1, 2, 1, 2]
    assert [columns_at_once(n, 4) for n in (1, 2, 3, 4, 6, 8)] == [1, 2, 1, 4, 2, 4]
