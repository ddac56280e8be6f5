"""Whether 32 bits hold the iterators of a SCoP, and what its conditions and bounds compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import islpy as isl

from polytile.ir.expr import INT, Binary, Expr
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Parameter

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set
_LARGEST = 2**31 - 1
_MODERATE = 2**20


def with_declared_sizes(context: isl.Set, parameters: Collection[Parameter]) -> isl.Set:
    """The context in which each `int` has a value that an `int` can have."""
    return _within(context, parameters, _LARGEST)


def with_moderate_sizes(context: isl.Set, parameters: Collection[Parameter]) -> isl.Set:
    """The context in which sizes are so small that only a constant makes an iterator large."""
    return _within(context, parameters, _MODERATE)


def _within(context: isl.Set, parameters: Collection[Parameter], largest: int) -> isl.Set:
    for p in parameters:
        position = context.find_dim_by_name(_PARAM, p.name)
        if position >= 0 and p.type.size <= INT.size:
            context = context.lower_bound_val(_PARAM, position, -largest - 1)
            context = context.upper_bound_val(_PARAM, position, largest)
    return context


def leaves_int(points: isl.Set, dimensions: Iterable[int], known: isl.Set) -> bool:
    """Whether one of these dimensions takes a value outside the range of `int` where `known` holds."""
    points = points.intersect_params(known)
    inside = points
    for k in dimensions:
        inside = inside.lower_bound_val(_SET, k, -_LARGEST - 1).upper_bound_val(_SET, k, _LARGEST)
    return not points.is_subset(inside)


def wide_parts(expr: Expr) -> Iterator[Binary]:
    """The sums and products that C computes in more than an `int` has: `(long)i * 100000` of `(long)i * 100000 < m`."""
    for node in walk(expr):
        match node:
            case Binary(op="+" | "-" | "*" | "<<", type=ctype) if ctype.kind == "int":
                if ctype.size > INT.size or not ctype.signed:
                    yield node


def leave_int(values: Iterable[tuple[isl.PwAff, isl.Set]], known: isl.Set) -> bool:
    """Whether one of these values, each at its points, is outside the range of `int` where `known` holds."""
    return any(leaves_int(isl.Set.from_pw_aff(v).intersect_params(points), [0], known) for v, points in values)
