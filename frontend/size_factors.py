"""Products of sizes as lists of their factors, told apart by their text: what `k / (m * l)` and `k / l % m` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polytile.frontend.trees import copied, text_of
from polytile.ir.integer_constants import integer_value

FEW_ROWS = 4  # for which a quotient is a sum for each
Factors = list[c_ast.Node]


def factor_texts(factors: Sequence[c_ast.Node]) -> Counter[str]:
    """How often each factor occurs."""
    return Counter(map(text_of, factors))


def common_factors(divisors: Sequence[Factors]) -> Factors:
    """The factors that all divisors have."""
    if not divisors:
        return []
    shared = factor_texts(divisors[0])
    for other in divisors[1:]:
        shared &= factor_texts(other)
    by_text = {text_of(f): f for f in divisors[0]}
    return [by_text[text] for text in shared.elements()]


def without_factors(factors: Factors, columns: Factors) -> Factors | None:
    """The factors but for some, or None where not all of these are there."""
    left = factor_texts(factors)
    if factor_texts(columns) - left:
        return None
    left -= factor_texts(columns)
    by_text = {text_of(f): f for f in factors}
    return [by_text[text] for text in left.elements()]


def are_many(rows: Factors) -> bool:
    """Whether there may be more rows than quotients are sums for."""
    number = 1
    for factor in rows:
        value = integer_value(factor.value) if isinstance(factor, c_ast.Constant) else None
        if value is None:
            return True
        number *= value
    return number > FEW_ROWS


def product_of(factors: Factors, at: Any) -> c_ast.Node:
    """The product of some factors, one at least, as C at a place."""
    first, *others = map(copied, factors)
    for other in others:
        first = c_ast.BinaryOp("*", first, other, at)
    return first
