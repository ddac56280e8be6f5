"""The relation of an access: from instances of its statement to elements of its array."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.diagnostics import UserError
from polytile.frontend.accesses import RawAccess
from polytile.frontend.affine import Evaluator
from polytile.frontend.describe import describe
from polytile.frontend.polynomial import Polynomial
from polytile.frontend.relations import lift_relation
from polytile.ir.expr import CType
from polytile.ir.struct_fields import positions


def lift(
    raw: RawAccess,
    fields: Sequence[tuple[str, CType]],
    name: str,
    iterators: Sequence[str],
    evaluator: Evaluator,
    sizes: Sequence[Polynomial | None] = (),
) -> isl.Map:
    """The relation of one access; a struct's numbers are a last dimension, all of them when it is used as a whole.

    A subscript that reads data may be any from 0 to below its dimension's size.
    """
    columns: list[isl.PwAff | isl.Set | None] = []
    for k, subscript in enumerate(raw.subscripts):
        size = sizes[k] if subscript is None else None
        value = evaluator.of_polynomial(subscript or size or Polynomial({}), raw.access)
        columns.append(value if subscript is not None else _below(value))
    if fields and raw.access.field is None:
        columns.append(None)
    for inner in raw.inside:
        columns.append(None if inner is None else evaluator.of_polynomial(inner, raw.access))
    relation = lift_relation(columns, raw.access.array, raw.points, name, iterators)
    if fields and raw.access.field is not None:
        relation = numbered(relation, raw, fields, evaluator.context)
    if fields and raw.access.field is None:
        last = relation.dim(isl.dim_type.out) - 1
        relation = relation.lower_bound_val(isl.dim_type.out, last, isl.Val(0))
        relation = relation.upper_bound_val(isl.dim_type.out, last, isl.Val(len(fields) - 1))
    return _within(relation, raw, sizes, evaluator) if raw.loose else relation


def numbered(relation: isl.Map, raw: RawAccess, fields: Sequence[tuple[str, CType]], context: isl.Set) -> isl.Map:
    """The subscripts inside a struct as the number of its field.

    before: S0[i, d] -> p[i, d]    for p[i].v[d], where v[0] is number 1
    after:  S0[i, d] -> p[i, 1 + d]
    """
    first, inside = positions(fields, raw.access.field or "")
    array = raw.access.array
    own = [f"s{k}" for k in range(relation.dim(isl.dim_type.out) - len(inside))]
    at = [f"x{k}" for k in range(len(inside))]
    number = " + ".join([str(first), *(f"{stride}{x}" for x, (_, stride) in zip(at, inside, strict=True))])
    within = " and ".join(f"0 <= {x} < {extent}" for x, (extent, _) in zip(at, inside, strict=True)) or "true"
    step = isl.Map(f"{{ [{', '.join([*own, *at])}] -> [{', '.join([*own, number])}] : {within} }}")
    step = step.set_tuple_name(isl.dim_type.in_, array).set_tuple_name(isl.dim_type.out, array)
    found = relation.apply_range(step)
    certain = None not in raw.inside and not raw.loose
    known = relation.intersect_params(context)
    if certain and not known.is_subset(known.intersect_range(step.domain())):
        raise UserError(
            f"the subscripts of `{describe(raw.access)}` are not known to lie inside its field",
            location=raw.location,
            hint="let loops run to the field's size, or say how large a bound is: `__builtin_assume(n <= 3)`",
        )
    return found


def require_inside_field(raw: RawAccess, fields: Sequence[tuple[str, CType]], evaluator: Evaluator) -> None:
    """Have the host ask for sizes with which subscripts inside a struct lie in their field, where that is not known.

    before: for (d = 0; d < m; d++) p[i].v[d]    where v has 3 elements
    after:  the same where m <= 3
    """
    if not fields or raw.access.field is None or raw.loose or not raw.touched:
        return
    _, inside = positions(fields, raw.access.field)
    for subscript, (extent, _) in zip(raw.inside, inside, strict=True):
        if subscript is not None and evaluator.is_affine(subscript):
            value = evaluator.of_polynomial(subscript, raw.access)
            claim = value.nonneg_set().intersect(
                value.lt_set(evaluator.of_polynomial(Polynomial.of(extent), raw.access))
            )
            if not evaluator.proves(raw.points, claim):
                evaluator.require(raw.points, claim)


def _within(relation: isl.Map, raw: RawAccess, sizes: Sequence[Polynomial | None], evaluator: Evaluator) -> isl.Map:
    """The part of a relation that lies inside its array, where the loops of a body alone do not show that it does."""
    for k, size in enumerate(sizes):
        if size is not None and size.degree <= 1:
            below = _below(evaluator.of_polynomial(size, raw.access))
            relation = relation.intersect_range(_at(below, relation, k))
    return relation


def _at(values: isl.Set, relation: isl.Map, k: int) -> isl.Set:
    """The elements whose subscript number `k` is one of `values`."""
    rank = relation.dim(isl.dim_type.out)
    before = isl.Set(f"{{ [{', '.join(f'b{i}' for i in range(k))}] }}")
    after = isl.Set(f"{{ [{', '.join(f'a{i}' for i in range(rank - k - 1))}] }}")
    return before.flat_product(values).flat_product(after).set_tuple_name(relation.get_tuple_name(isl.dim_type.out))


def _below(size: isl.PwAff) -> isl.Set:
    """`{ [x] : 0 <= x < size }`."""
    return isl.Set.from_pw_aff(size).apply(isl.Map("{ [n] -> [x] : 0 <= x < n }"))
