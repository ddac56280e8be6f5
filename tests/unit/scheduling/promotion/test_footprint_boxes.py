"""Boxes around elements: corners that are functions of the place, strides, and extents that hold everywhere."""

from __future__ import annotations

import islpy as isl
import pytest

from polytile.scheduling.promotion.footprint_boxes import Box, box_around, box_elements, cell_in, united

BLOCKS = "[n] -> { [b0, b1] -> S[i, j] : floor(i/64) = b0 and floor(j/64) = b1 and 0 <= i, j < n }"
THREADS = BLOCKS.replace("b1]", "b1, t0, t1]").replace("0 <= i", "i mod 16 = t0 and j mod 16 = t1 and 0 <= i")


def box(places: str, access: str) -> Box | None:
    return box_around(isl.Map(places).apply_range(isl.Map(access)))


@pytest.mark.parametrize(
    ("places", "access", "text"),
    [
        (BLOCKS, "{ S[i, j] -> A[i, j] }", "[64b0 + [0, 64), 64b1 + [0, 64)]"),
        (BLOCKS, "{ S[i, j] -> A[i + 1, 3] }", "[1 + 64b0 + [0, 64), 3 + [0, 1)]"),
        (BLOCKS, "{ S[i, j] -> A[2i, j] }", "[128b0 + 2 * [0, 64), 64b1 + [0, 64)]"),
        (BLOCKS, "{ S[i, j] -> A[e] : 2i <= e <= 2i + 2 }", "[128b0 + [0, 129)]"),
        (BLOCKS, "{ S[i, j] -> A[i + j] }", "[64b0 + 64b1 + [0, 127)]"),
        (BLOCKS, "[n] -> { S[i, j] -> A[n - 1 - i] }", "[-64 + n - 64b0 + [0, 64)]"),
        (BLOCKS, "{ S[i, j] -> A[] }", "[]"),
        (THREADS, "{ S[i, j] -> A[i, j] }", "[64b0 + t0 + 16 * [0, 4), 64b1 + t1 + 16 * [0, 4)]"),
        (THREADS, "{ S[i, j] -> A[j, 3i] }", "[64b1 + t1 + 16 * [0, 4), 192b0 + 3t0 + 48 * [0, 4)]"),
        ("[n] -> { [b0] -> S[i, k] : floor(i/64) = b0 and 0 <= i, k < n }", "{ S[i, k] -> A[i, k] }", "None"),
        ("[n] -> { [b0] -> S[i, k] : floor(i/64) = b0 and 0 <= k <= i < n }", "{ S[i, k] -> A[i, k] }", "None"),
        ("{ [b0] -> S[i] : floor(i/64) = b0 and 0 <= i < 100 }", "{ S[i] -> A[i] }", "[64b0 + [0, 64)]"),
    ],
)
def test_boxes(places: str, access: str, text: str) -> None:
    assert str(box(places, access)) == text


@pytest.mark.parametrize("access", ["{ S[i, j] -> A[i, j] }", "{ S[i, j] -> A[e, j] : 2i <= e <= 2i + 2 }"])
@pytest.mark.parametrize("places", [BLOCKS, THREADS])
def test_cells_of_what_is_in_a_box(places: str, access: str) -> None:
    """All elements are in the box, each has a cell of its own, and all cells are within the extents."""
    found = box(places, access)
    assert found is not None
    elements = box_elements(found)
    assert isl.Map(places).apply_range(isl.Map(access)).is_subset(elements)
    cells = cell_in(found).intersect_domain(elements.wrap())
    assert cells.is_single_valued()
    place = elements.domain_map()
    assert cells.range_product(place).is_injective()
    for k, extent in enumerate(found.extents):
        assert int(cells.range().dim_min_val(k).to_python()) == 0
        assert int(cells.range().dim_max_val(k).to_python()) == extent - 1


def test_boxes_that_are_united() -> None:
    """Two at a constant distance are; those of rows and columns are not."""
    one, right, below, across = (
        box(BLOCKS, f"{{ S[i, j] -> A[{e}] }}") for e in ("i, j", "i, j + 1", "i + 64, j - 1", "j, i")
    )
    assert one and right and below and across
    assert str(united(one, right)) == "[64b0 + [0, 64), 64b1 + [0, 65)]"
    assert str(united(below, one)) == "[64b0 + [0, 128), -1 + 64b1 + [0, 65)]"
    assert united(one, across) is None


def test_strides_that_are_united() -> None:
    even, odd, next_even = (box(BLOCKS, f"{{ S[i, j] -> A[2i + {k}] }}") for k in (0, 1, 2))
    assert even and odd and next_even
    assert str(united(even, odd)) == "[128b0 + [0, 128)]"
    assert str(united(even, next_even)) == "[128b0 + 2 * [0, 65)]"
