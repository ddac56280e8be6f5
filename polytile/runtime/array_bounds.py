"""Values of parameters with which a SCoP certainly leaves its arrays: others are needed to run it.

before: for (j = 0; j < n; j++) s += x[j] of double x[m]: n = 13, m = 5
after:  with n=13, m=5 the program accesses x at index 12, but its extent is 5

before: while (k < row[i + 1]) ... of int row[n + 1], a SCoP inside of a loop over i: i = 13, n = 2
after:  with i=13, n=2 the program accesses row at index 14, but its extent is 3

What conditions on data guard may never be accessed. The relations of a statement with such conditions do not tell what
is certain, nor do those that were cut to the array where data end a loop: bodies are asked at their first and their
last instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import islpy as isl

from polytile.diagnostics import Location, PolytileError, UserError
from polytile.ir.certain_accesses import certain_accesses, element_of
from polytile.ir.evaluate import evaluate
from polytile.ir.lexicographic import lexmax, lexmin
from polytile.ir.scop import Array, Scop, Statement
from polytile.runtime.accessed_elements import accessed_elements, beyond_the_end
from polytile.runtime.parameters import point

Values = Mapping[str, int]
_SET = isl.dim_type.set


def check_bounds(scop: Scop, values: Values) -> None:
    """Raise UserError where the C is undefined for these parameters, since it leaves an array whatever the data are."""
    for array in scop.external_arrays:
        if array.rank:
            _check_relations(scop, array, values)
    for statement in scop.statements:
        for instance in _ends(statement, values):
            _check_instance(scop, statement, values, {**values, **instance})


def _check_relations(scop: Scop, array: Array, values: Values) -> None:
    """Check the accesses of an array in all instances of statements without conditions on data."""
    here = point(values)
    touched = list(accessed_elements(scop, array.name, here, certain=True))
    for dimension, extent in enumerate(array.extents):
        if extent is not None:
            size = max(0, evaluate(extent, values))
            low, high = _range(scop, array.name, touched, dimension)
            if low < 0 or high >= size:
                raise _leaves(array, values, low if low < 0 else high, size, array.location)
    beyond = beyond_the_end(scop, array, values, here)
    if beyond is not None:
        raise _leaves(array, values, *beyond, array.location)


def _check_instance(scop: Scop, statement: Statement, values: Values, here: Values) -> None:
    """Check the accesses in the body of a statement in one instance."""
    found = {r.array for r in scop.reached} | {a.array for a in scop.allocated}  # the host asks how many there are
    for access in certain_accesses(statement):
        if access.array not in found:
            array = scop.array(access.array)
            for index, extent in zip(element_of(access, here) or (), _extents(array, here), strict=False):
                if extent is not None and not 0 <= index < extent:
                    raise _leaves(array, values, index, extent, statement.location)


def _leaves(array: Array, values: Values, index: int, extent: int, location: Location) -> UserError:
    sizes = ", ".join(f"{name}={value}" for name, value in values.items())
    return UserError(
        f"with {sizes} the program accesses {array.name} at index {index}, but its extent is {extent}",
        location=location,
        hint="give sizes with --param for which the sequential C is defined",
    )


def index_range(
    scop: Scop, array: str, values: Mapping[str, int], dimension: int = 0, *, certain: bool = False
) -> tuple[int, int]:
    """Return the least (at most 0) and the largest index with which `array` is accessed; (0, -1) when it is not.

    `certain` leaves out statements with data-dependent conditions, which may never come to their accesses.
    """
    return _range(scop, array, accessed_elements(scop, array, point(values), certain=certain), dimension)


def _range(scop: Scop, array: str, touched: Iterable[isl.Set], dimension: int) -> tuple[int, int]:
    low, high = 0, -1
    for elements in touched:
        low = min(low, _bound(scop, array, elements.dim_min_val(dimension)))
        high = max(high, _bound(scop, array, elements.dim_max_val(dimension)))
    return low, high


def _bound(scop: Scop, array: str, value: isl.Val) -> int:
    if not value.is_int():
        raise UserError(f"the indices of {array} in {scop.name} have no bound", location=scop.array(array).location)
    return int(value.to_python())


def _ends(statement: Statement, values: Values) -> Iterator[Values]:
    """Yield the first and the last instance of a statement, in the order of their iterators."""
    domain = statement.domain.intersect_params(point(values))
    if domain.is_empty() or not domain.is_bounded():
        return
    for end in (lexmin(domain), lexmax(domain)):
        place = end.sample_point()
        yield {name: int(place.get_coordinate_val(_SET, k).to_python()) for k, name in enumerate(statement.iterators)}


def _extents(array: Array, values: Values) -> tuple[int | None, ...]:
    """Evaluate the extents of an array; None where an extent is not known."""
    found: list[int | None] = []
    for extent in array.extents:
        try:
            found.append(None if extent is None else evaluate(extent, values))
        except PolytileError:
            found.append(None)
    return tuple(found)
