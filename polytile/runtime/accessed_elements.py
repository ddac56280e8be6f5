"""Which elements of an array a SCoP uses for given parameters, and whether one indexed by hand has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import islpy as isl

from polytile.ir.evaluate import evaluate
from polytile.ir.scop import AccessKind, Array, Scop


def accessed_elements(scop: Scop, array: str, here: isl.Set, *, certain: bool) -> Iterator[isl.Set]:
    """Yield the elements that each access uses, if any.

    `certain` leaves out statements with data-dependent conditions, which may never execute their accesses.
    """
    for statement in scop.statements:
        if certain and any(a.kind is AccessKind.MAY_WRITE for a in statement.accesses):
            continue
        for access in statement.accesses:
            if access.array == array:
                touched = access.relation.intersect_domain(statement.domain).intersect_params(here).range()
                if not touched.is_empty():
                    yield touched


def beyond_the_end(scop: Scop, array: Array, values: Mapping[str, int], here: isl.Set) -> tuple[int, int] | None:
    """Find an element used past the end of an array whose rows need not divide it; return it and the array's length.

    before: a[i * inc + j] of a[160], that is a[i][j] of a[][inc], where i <= 159, j <= 0 and inc = 2
    after:  318 of 160
    """
    if array.elements is None:
        return None
    count, pitches = evaluate(array.elements, values), [1]
    for extent in reversed(array.extents[1:]):
        pitches.insert(0, pitches[0] * (evaluate(extent, values) if extent is not None else 1))
    subscripts = [f"x{k}" for k in range(array.access_rank)]  # the last may be the number of a field
    offset = " + ".join(f"{pitch} * {x}" for pitch, x in zip(pitches, subscripts, strict=False))
    flat = isl.Map(f"{{ {array.name}[{', '.join(subscripts)}] -> [{offset}] }}")
    for touched in accessed_elements(scop, array.name, here, certain=True):
        last = touched.apply(flat).dim_max_val(0)
        if last.is_int() and last.to_python() >= count:
            return int(last.to_python()), count
    return None
