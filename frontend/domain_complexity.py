"""Conditions of more alternatives or remainders than dependences, schedules and proofs can work with.

A domain has a piece for each way in which its conditions may hold, and eight of two alternatives hold in 256 ways. What
isl does with n pieces takes n^2 steps or more, and with many remainders much longer. Beyond a few of them a condition
is left where it is, like one on data:

before: if ((i < p || j > q) && (i > r || j < s) && ...) v[i][j] += 1;        { S[i, j] : i < p and i > r ... or ... }
after:  S = { if (...) v[i][j] += 1; } for all i and j, with a write that may not happen
"""

from __future__ import annotations

import islpy as isl

from polytile.frontend.not_affine import NotAffineError
from polytile.ir.expr import Expr

MOST_ALTERNATIVES = 8  # of a domain; none of polybench/ has two
MOST_REMAINDERS = 2  # of each of them; none of polybench/ has two
MOST_COMBINED = 64  # alternatives of a condition alone, most of which may hold nowhere


def are_few(points: isl.Set, before: isl.Set) -> bool:
    """Whether the points that a condition leaves of those before have few alternatives, or no more than they had."""
    if points.n_basic_set() > max(MOST_ALTERNATIVES, before.n_basic_set()):
        return False
    return _remainders(points) <= max(MOST_REMAINDERS, _remainders(before))


def _remainders(points: isl.Set) -> int:
    return max((part.dim(isl.dim_type.div) for part in points.get_basic_sets()), default=0)


def combined(condition: isl.Set, expr: Expr) -> isl.Set:
    """A condition of others. Raises NotAffineError where it has too many alternatives to look at any further."""
    if condition.n_basic_set() > MOST_COMBINED:
        raise NotAffineError(expr, f"it has more than {MOST_COMBINED} alternatives", data=True)
    return condition
