"""What of an array is copied back to the host as it is.

Other threads of the program may change elements that the SCoP does not use, also those between its own. So what is
copied back as it is are boxes of rows of which the SCoP reads or writes each element for certain: another thread that
changed one would be an error of the program.

    for (i = 1; i < n - 1; i++)             A[1][1] to A[n - 2][m - 2]: what lies between is read at least
        for (j = 1; j < m - 1; j++)
            A[i][j] += A[i][j - 1] + A[i][j + 1];
    for (i = 0; i < n; i++)                 n rows of one element, m elements apart
        A[i][j] = 0;
    for (i = 0; i < n; i++)                 no box: what the kernels have changed
        for (j = 0; j <= i; j++)
            A[i][j] = 0;
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import reduce

import islpy as isl

from polytile.ir.bounding_box import bounding_box
from polytile.ir.certain_accesses import accesses_in, certain_accesses
from polytile.ir.expr import Address, Expr, Invoke
from polytile.ir.expr_trees import walk
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.polynomial import linear
from polytile.ir.scop import AccessKind, Array, Scop, Statement

OPERATIONS = 200_000  # of isl's: the copy of what has changed is right, too
SET = isl.dim_type.set


def written_elements(scop: Scop, array: Array) -> isl.Set:
    """Return the elements that the SCoP may write, without their fields."""
    kinds = (AccessKind.WRITE, AccessKind.MAY_WRITE)
    found = _elements(scop, array, [m for s in scop.statements for _, m in s.united(*kinds, arrays=_only(array))])
    return without_fields(array, found)


def without_fields(array: Array, elements: isl.Set) -> isl.Set:
    """Project the fields out of elements of structs, which relations name."""
    if not array.fields:
        return elements
    return elements.project_out(SET, array.rank, 1).set_tuple_name(array.name)


def is_within(scop: Scop, array: Array, elements: isl.Set, certain: isl.Set | None) -> bool:
    """Return whether all of some elements, with all of their fields, are accessed by the SCoP for certain."""
    if certain is None or array.members:
        return False
    try:
        with budget(OPERATIONS):
            if array.fields:
                fields = isl.Set(f"{{ [f] : 0 <= f < {len(array.fields)} }}")
                elements = elements.flat_product(fields).set_tuple_name(array.name)
            return bool(elements.intersect_params(scop.context).is_subset(certain))
    except (OverBudgetError, isl.Error):
        return False


def rows_up_to(array: Array, touched: isl.Set) -> isl.Set | None:
    """Return all rows from the first of the array to the last touched one, or None where their length is not known."""
    inside = _inside_rows(array, touched, 1)
    if inside is None:
        return None
    first = touched.project_out(SET, 1, array.rank - 1).reset_tuple_id()
    rows = isl.Map.from_range(first.apply(isl.Map("{ [a] -> [e] : 0 <= e <= a }")))
    whole = rows.insert_dims(isl.dim_type.out, 1, array.rank - 1).range().set_tuple_name(array.name)
    return whole.intersect(inside)


def rows_between(scop: Scop, array: Array, written: isl.Set, depth: int) -> isl.Set | None:
    """Return all that lies in memory between the first and last written element of each prefix of `depth` subscripts.

    Each prefix counts as if it had the written elements of all prefixes: the result is a box of rows. None where the
    length of inner rows is not known, or subscripts may leave them.
    """
    inside = _inside_rows(array, written, depth + 1)
    try:
        with budget(OPERATIONS):
            if inside is None or not written.is_subset(inside):
                return None
            box = bounding_box(written).intersect_params(scop.context)
            head = box.project_out(SET, depth, array.rank - depth).reset_tuple_id()
            first, last = (_last_coordinates(end, depth) for end in (box.lexmin(), box.lexmax()))
            order = isl.Map.lex_le(first.get_space())
            between = first.apply(order).intersect(last.apply(order.reverse()))
            return head.flat_product(between).set_tuple_name(array.name).intersect(inside)
    except (OverBudgetError, isl.Error):
        return None


def _last_coordinates(corner: isl.Set, depth: int) -> isl.Set:
    return corner.project_out(SET, 0, depth).reset_tuple_id()


def _inside_rows(array: Array, like: isl.Set, first: int) -> isl.Set | None:
    """Return the elements whose subscripts from number `first` on are in their extents.

    None where these extents are not linear.
    """
    inside = isl.Set.universe(like.get_space())
    for k in range(first, array.rank):
        extent = array.extents[k]
        least = isl.Constraint.inequality_alloc(isl.LocalSpace.from_space(like.get_space()))
        most = None if extent is None else _below(least, extent)
        if most is None:
            return None
        inside = inside.add_constraint(least.set_coefficient_val(SET, k, isl.Val(1)))
        inside = inside.add_constraint(most.set_coefficient_val(SET, k, isl.Val(-1)))
    return inside


def _below(constraint: isl.Constraint, extent: Expr) -> isl.Constraint | None:
    """Build the constraint `extent - 1 >= 0`, or None where the extent is not linear."""
    form = linear(extent)
    for name, factor in (form or {}).items():
        if not name:
            constraint = constraint.set_constant_val(isl.Val(factor - 1))
            continue
        at = constraint.get_space().find_dim_by_name(isl.dim_type.param, name)
        if at < 0:
            return None
        constraint = constraint.set_coefficient_val(isl.dim_type.param, at, isl.Val(factor))
    if form is not None and "" not in form:
        constraint = constraint.set_constant_val(isl.Val(-1))
    return None if form is None else constraint


def certain_elements(scop: Scop, array: Array) -> isl.Set | None:
    """Return the elements that the SCoP accesses whatever the data are, or None where they are not found in time."""
    found = [m for s in scop.statements for _, m in s.united(AccessKind.WRITE, arrays=_only(array))]
    try:
        with budget(OPERATIONS):
            for statement in scop.statements:
                if _reads_for_certain(statement, array):
                    found += _of_one_element(statement, array)
            return _elements(scop, array, found)
    except (OverBudgetError, isl.Error):
        return None


def _reads_for_certain(statement: Statement, array: Array) -> bool:
    """Return whether no condition on data stands in front of its reads."""
    if any(isinstance(node, Invoke | Address) for node in walk(*statement.body)):
        return False
    every, certain = (
        Counter(a for a in accesses if a.array == array.name)
        for accesses in (accesses_in(statement), certain_accesses(statement))
    )
    return every == certain


def _of_one_element(statement: Statement, array: Array) -> Iterator[isl.Map]:
    """Yield the reads of one element each, not those where data choose among several."""
    reads = [a.relation for a in statement.relations(AccessKind.READ) if a.array == array.name]
    if all(relation.is_single_valued() for relation in reads):
        yield from (m for _, m in statement.united(AccessKind.READ, arrays=_only(array)))
        return
    yield from (r.intersect_domain(statement.domain) for r in reads if r.is_single_valued())


def _elements(scop: Scop, array: Array, relations: list[isl.Map]) -> isl.Set:
    names = ", ".join(f"i{k}" for k in range(array.access_rank))
    nothing = isl.Set(f"{{ [{names}] : false }}").set_tuple_name(array.name)  # isl reads no `$` in names
    touched = reduce(lambda a, b: a.union(b), (m.range() for m in relations), nothing)
    return touched.intersect_params(scop.context).coalesce()


def _only(array: Array) -> frozenset[str]:
    return frozenset((array.name,))
