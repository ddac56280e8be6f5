"""A subscript of C as the sum that delinearisation makes of it, one part for each dimension.

before: (p[i] + 1) * m + j      by the stride m
after:  p[i] + 1, j
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pycparser import c_ast

from polytile.frontend.polynomial import Monomial
from polytile.frontend.trees import copied

_Term = tuple[int, tuple[c_ast.Node, ...]]  # a sign and factors
_MOST_TERMS = 200


def linear_parts(subscript: c_ast.Node, strides: Sequence[Monomial]) -> list[c_ast.Node]:
    """The multiples of each of `strides`, products of names and the largest first, and what is left."""
    parts: list[list[_Term]] = [[] for _ in range(len(strides) + 1)]
    for sign, factors in _terms(subscript):
        for k, stride in enumerate(strides):
            rest = _divided(factors, stride)
            if rest is not None:
                parts[k].append((sign, rest))
                break
        else:
            parts[-1].append((sign, factors))
    return [_sum(part) for part in parts]


def _terms(node: c_ast.Node) -> list[_Term]:
    match node:
        case c_ast.BinaryOp(op="+", left=left, right=right):
            return _terms(left) + _terms(right)
        case c_ast.BinaryOp(op="-", left=left, right=right):
            return _terms(left) + [(-sign, factors) for sign, factors in _terms(right)]
        case c_ast.UnaryOp(op="-", expr=inner):
            return [(-sign, factors) for sign, factors in _terms(inner)]
        case c_ast.BinaryOp(op="*", left=left, right=right):
            one, other = _terms(left), _terms(right)
            if len(one) * len(other) <= _MOST_TERMS:
                return [(s * t, (*f, *g)) for s, f in one for t, g in other]
    return [(1, (node,))]


def _divided(factors: Sequence[c_ast.Node], stride: Monomial) -> tuple[c_ast.Node, ...] | None:
    """The factors without those of a stride; None where some of these are missing."""
    wanted = Counter(stride)
    rest: list[c_ast.Node] = []
    for factor in factors:
        if isinstance(factor, c_ast.ID) and wanted[factor.name] > 0:
            wanted[factor.name] -= 1
        else:
            rest.append(factor)
    return None if any(wanted.values()) else tuple(rest)


def _sum(terms: Sequence[_Term]) -> c_ast.Node:
    total: c_ast.Node | None = None
    for sign, factors in terms:
        product: c_ast.Node = copied(factors[0]) if factors else c_ast.Constant("int", "1")
        for factor in factors[1:]:
            product = c_ast.BinaryOp("*", product, copied(factor))
        if total is None:
            total = product if sign > 0 else c_ast.UnaryOp("-", product)
        else:
            total = c_ast.BinaryOp("+" if sign > 0 else "-", total, product)
    return total if total is not None else c_ast.Constant("int", "0")
