"""Sums and extremes that few iterations leave out, as one piece.

before: if (j != i) s += A[i][j];    { S[i, j] : j < i or j > i }
after:  S = { if (j != i) s += A[i][j]; } for all i and j

What takes isl seconds for two pieces takes it a tenth of that for one, and reductions of more than one matrix took too
long to be split. An iteration that is left out may have no element to add to, and then stays out.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.frontend.affine import Evaluator
from polytile.frontend.not_affine import NotAffineError
from polytile.frontend.relations import lift_domain, lift_relation, lowered
from polytile.ir.expr import Access


def is_thin(points: isl.Set, before: isl.Set) -> bool:
    """Whether points are few of those before: lines of a plane, such as those with j = i."""
    known = min((_equations(part) for part in before.get_basic_sets()), default=0)
    return all(_equations(part) > known for part in points.get_basic_sets())


def _equations(points: isl.BasicSet) -> int:
    found = points.detect_equalities()  # which may need fewer divisions
    remainders = found.dim(isl.dim_type.div)
    return sum(
        c.is_equality() and not c.involves_dims(isl.dim_type.div, 0, remainders) for c in found.get_constraints()
    )


def with_same_elements(
    target: Access, points: isl.Set, around: isl.Set, iterators: Sequence[str], evaluator: Evaluator
) -> isl.Set | None:
    """All of the points `around` at which an element is one that it is at some of `points`, or a scalar; None where it
    is not affine."""
    if not target.subscripts:
        return around
    before = evaluator.state()
    try:
        found = [evaluator.pw_aff(s, around) for s in (*target.subscripts, *target.inside)]
    except NotAffineError:
        evaluator.restore(before)
        return None
    element = lift_relation(found, target.array, around, "", iterators)
    used = element.intersect_domain(lift_domain(points, "", iterators)).range()
    return lowered(element.intersect_range(used).domain()).coalesce()
