"""The box around the elements of an array that a program uses: device memory has all of it.

before: { A[i, j] : 0 < i < n - 1 and 0 <= j < n } and { A[i, j] : 0 <= i < n and 0 < j < n - 1 }, without corners
after:  { A[i, j] : 0 <= i < n and 0 <= j < n }
"""

from __future__ import annotations

import islpy as isl

SET = isl.dim_type.set


def bounding_box(used: isl.Set) -> isl.Set:
    """Return the elements each of whose subscripts is between two that are used."""
    total = isl.Set.universe(used.get_space())
    for k in range(used.dim(SET)):
        total = total.intersect(_along(used, k))
    return total.coalesce()


def _along(used: isl.Set, k: int) -> isl.Set:
    rank = used.dim(SET)
    column = used.project_out(SET, k + 1, rank - k - 1).project_out(SET, 0, k).reset_tuple_id().coalesce()
    above, below = (column.apply(isl.Map(f"{{ [a] -> [e] : {order} }}")) for order in ("a <= e", "e <= a"))
    between = above.intersect(below).coalesce()
    wide = isl.Map.from_range(between).insert_dims(isl.dim_type.out, 1, rank - k - 1)
    found = wide.insert_dims(isl.dim_type.out, 0, k).range()
    return found.set_tuple_id(used.get_tuple_id()) if used.has_tuple_id() else found
