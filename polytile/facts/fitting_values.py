"""Values of parameters with which a statement certainly leaves its arrays: others are needed to run the SCoP.

before: while (k < row[i + 1]) ... of int row[n + 1], a SCoP inside of a loop over i: i = 13, n = 2
after:  with i=13, n=2 the program accesses row at index 14, but its extent is 3
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import islpy as isl

from polytile.diagnostics import PolytileError, UserError
from polytile.facts.certain_accesses import certain_accesses, element_of
from polytile.ir.evaluate import evaluate
from polytile.ir.scop import Array, Scop, Statement
from polytile.runtime.parameters import point

Values = Mapping[str, int]
_SET = isl.dim_type.set


def check_fit(scop: Scop, values: Values) -> None:
    """Raise UserError where the first or the last instance of a statement leaves an array whatever the data are."""
    found = {r.array for r in scop.reached} | {a.array for a in scop.allocated}  # the host asks how many there are
    for statement in scop.statements:
        for instance in _ends(statement, values):
            here = {**values, **instance}
            for access in certain_accesses(statement):
                if access.array in found:
                    continue
                array = scop.array(access.array)
                element, extents = element_of(access, here), _extents(array, here)
                for index, extent in zip(element or (), extents, strict=False):
                    if extent is not None and not 0 <= index < extent:
                        given = ", ".join(f"{name}={value}" for name, value in values.items())
                        raise UserError(
                            f"with {given} the program accesses {array.name} at index {index}, "
                            f"but its extent is {extent}",
                            location=statement.location,
                            hint="give sizes with --param for which the sequential C is defined",
                        )


def _ends(statement: Statement, values: Values) -> Iterator[Values]:
    """The first and the last instance, in the order of their iterators; any one where isl does not find them, as it
    may not where iterators have steps: it fails, or says that there is none (isl 0.27, sets modulo 2, 3 and 4)."""
    domain = statement.domain.intersect_params(point(values))
    if domain.is_empty() or not domain.is_bounded():
        return
    try:
        ends = domain.lexmin(), domain.lexmax()
    except isl.Error:
        ends = domain, domain
    for end in ends:
        place = (domain if end.is_empty() else end).sample_point()
        if place.is_void():
            return
        yield {name: int(place.get_coordinate_val(_SET, k).to_python()) for k, name in enumerate(statement.iterators)}


def _extents(array: Array, values: Values) -> tuple[int | None, ...]:
    """None where an extent is not known."""
    found: list[int | None] = []
    for extent in array.extents:
        try:
            found.append(None if extent is None else evaluate(extent, values))
        except PolytileError:
            found.append(None)
    return tuple(found)
