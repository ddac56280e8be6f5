"""Scalars that a SCoP sets to sums of iterators and sizes, and that stand for these from then on.

before: t = i * m + j;  A[t] = 0;
after:  A[i * m + j] = 0;
"""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl
from pycparser import c_ast

from polytile.frontend.affine import Evaluator
from polytile.frontend.conditional_subscripts import choice
from polytile.frontend.name_binding import Names, Variable
from polytile.frontend.not_affine import NotAffineError
from polytile.ir.expr import Cast, Expr


def assigned_once(
    node: c_ast.Node, names: Names, declared: Mapping[int, tuple[str, ...]], around: tuple[str, ...]
) -> Variable | None:
    """The scalar whose only value an assignment in the loops `around` is: whoever reads it comes behind, in the same
    iteration of these. `declared` has the loops around declarations without a value, by the id of the variable."""
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID() as target):
            found = names.uses[id(target)]
        case _:
            return None
    if not isinstance(found, Variable) or found.iterates or found.is_name or len(found.assignments) != 1:
        return None
    if found.symbol is None:
        return found if declared.get(id(found)) == around else None
    return None if found.symbol.read_first or found.symbol.live_after else found


def known_value(variable: Variable, value: Expr, evaluator: Evaluator, points: isl.Set) -> Expr | None:
    """What a scalar that is set to `value` stands for; None where that is not known."""
    if variable.type.kind != "int" or variable.extents:
        return None
    converted = value if value.type == variable.type else Cast(variable.type, value)
    before = evaluator.state()
    if _is_known(converted, evaluator, points):
        return converted
    evaluator.restore(before)
    return None


def is_affine(value: Expr, evaluator: Evaluator, points: isl.Set) -> bool:
    """Whether a value is a sum of products of iterators and sizes; nothing is asked of sizes for one that is not."""
    before = evaluator.state()
    try:
        with evaluator.asking_for_periods(False):
            evaluator.used(value, points)
    except NotAffineError:
        evaluator.restore(before)
        return False
    return True


def _is_known(value: Expr, evaluator: Evaluator, points: isl.Set) -> bool:
    """Whether a value is a sum of products of iterators and sizes, and of what is left when sizes divide these, or a
    choice between such."""
    try:
        with evaluator.asking_for_periods(False):
            evaluator.used(value, points)
    except NotAffineError as problem:
        if problem.periods and not evaluator.reads_data(value):
            return True
        found = choice(value)
        if found is None:
            return False
        try:
            with evaluator.asking_for_periods(False):
                holds = evaluator.condition(found.condition, points)
        except NotAffineError:
            return False
        then, otherwise = points.intersect(holds), points.subtract(holds)
        return _is_known(found.then, evaluator, then) and _is_known(found.otherwise, evaluator, otherwise)
    return True
