"""From constraints on named iterators to sets and maps of a statement."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import islpy as isl

from polytile.ir.isl_util import OverBudgetError, budget

LEAVES_OPERATIONS = 200_000  # isl operations to show that an access leaves its array for all parameters

_PARAM, _IN, _SET = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.set


def lift_domain(points: isl.Set, name: str, iterators: Sequence[str]) -> isl.Set:
    """before: [n, i] -> { : 0 <= i < n },  after: [n] -> { S0[i] : 0 <= i < n }"""
    result = isl.Set.from_params(points)
    for k, iterator in enumerate(iterators):
        position = result.find_dim_by_name(_PARAM, iterator)
        if position < 0:
            result = result.insert_dims(_SET, k, 1).set_dim_name(_SET, k, iterator)
        else:
            result = result.move_dims(_SET, k, _PARAM, position, 1)
    return result.set_tuple_name(name)


def lowered(domain: isl.Set) -> isl.Set:
    """before: [n] -> { S0[i] : 0 <= i < n },  after: [n, i] -> { : 0 <= i < n }"""
    plain = domain.reset_tuple_id()
    return plain.move_dims(_PARAM, plain.dim(_PARAM), _SET, 0, plain.dim(_SET)).params()


def lift_relation(
    subscripts: Sequence[isl.PwAff | isl.Set | None], array: str, points: isl.Set, name: str, iterators: Sequence[str]
) -> isl.Map:
    """The elements that subscripts reach from `points`; a subscript of None stands for every value, a set
    for any of its own.

    before: subscripts [i + 1, n] where 0 <= i < n,  after: [n] -> { S0[i] -> A[i + 1, n] : 0 <= i < n }
    """
    elements = isl.Set("{ [] }")
    for subscript in subscripts:
        if isinstance(subscript, isl.PwAff):
            subscript = isl.Set.from_pw_aff(subscript)
        column = isl.Set("{ [x] }") if subscript is None else subscript
        elements = elements.flat_product(column)
    elements = elements.set_tuple_name(array).intersect_params(points)
    result = isl.Map.from_range(elements)
    for k, iterator in enumerate(iterators):
        position = result.find_dim_by_name(_PARAM, iterator)
        if position < 0:
            result = result.insert_dims(_IN, k, 1).set_dim_name(_IN, k, iterator)
        else:
            result = result.move_dims(_IN, k, _PARAM, position, 1)
    return result.set_tuple_name(_IN, name)


def without(points: isl.Set, names: Collection[str]) -> isl.Set:
    """Project inner iterators out of constraints on named iterators."""
    for name in names:
        position = points.find_dim_by_name(_PARAM, name)
        if position >= 0:
            points = points.project_out(_PARAM, position, 1)
    return points


def bounded_above(context: isl.Set) -> frozenset[str]:
    """The parameters that a context lets have finitely many values above 0."""
    found = []
    for position in range(context.dim(_PARAM)):
        alone = isl.Set.from_params(context).move_dims(isl.dim_type.set, 0, _PARAM, position, 1)
        if alone.project_out_all_params().dim_max_val(0).is_int():
            found.append(str(context.get_dim_name(_PARAM, position)))
    return frozenset(found)


def always_leaves(points: isl.Set, inside: isl.Set, iterators: Collection[str]) -> bool:
    """Whether there are `points`, and some of them are not `inside` for all parameters that there are any for.

    Exact projections over divisions may take minutes: parameters of one point that is inside, for which all others are,
    too, go before, and they have a budget. Where it runs out nothing is shown."""
    outside = points.subtract(inside)
    if outside.is_empty():
        return False
    within = points.intersect(inside)
    if within.is_empty():
        return True
    if _at_parameters_of(within.sample_point(), outside, iterators).is_empty():
        return False
    try:
        with budget(LEAVES_OPERATIONS):
            return bool(without(points, iterators).is_subset(without(outside, iterators)))
    except OverBudgetError:
        return False


def _at_parameters_of(point: isl.Point, points: isl.Set, iterators: Collection[str]) -> isl.Set:
    """The points that have the parameters of one."""
    for k in range(points.dim(_PARAM)):
        name = points.get_dim_name(_PARAM, k)
        if name is not None and name not in iterators:
            found = point.get_space().find_dim_by_name(_PARAM, name)
            points = points.fix_val(_PARAM, k, point.get_coordinate_val(_PARAM, found))
    return points


def at_numbers(points: isl.Set, numbers: Mapping[str, int]) -> isl.Set:
    """The part of a set of parameters where those that are named have these values."""
    for name, number in numbers.items():
        position = points.find_dim_by_name(_PARAM, name)
        if position >= 0:
            points = points.fix_val(_PARAM, position, isl.Val(number))
    return points


def without_in_map(relation: isl.Map, names: Sequence[str]) -> isl.Map:
    """Project inner iterators out of a relation in which they are still parameters."""
    for name in names:
        position = relation.find_dim_by_name(_PARAM, name)
        if position >= 0:
            relation = relation.project_out(_PARAM, position, 1)
    return relation
