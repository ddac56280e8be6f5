"""Indices as polynomials in their names, so that what two of them differ by can be told.

before: (i + 1) * m + j  and  i * m + j
after:  {(i, m): 1, (m): 1, (j): 1}  and  {(i, m): 1, (j): 1}, which differ by {(m): 1}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product

from polytile.ir.arith import add, known, lift, mul, sub
from polytile.ir.expr import Binary, Cast, CType, Expr, Name, Unary
from polytile.ir.memory import Storage

Monomial = tuple[str, ...]  # names in order; () for the constant
Polynomial = Mapping[Monomial, int]  # without zeros


def polynomial(expr: Expr) -> Polynomial | None:
    """The polynomial that an integer expression is, or None."""
    value = known(expr)
    if value is not None:
        return {(): value} if value else {}
    match expr:
        case Name(name=name):
            return {(name,): 1}
        case Unary(op="-", operand=operand):
            return difference({}, polynomial(operand))
        case Cast(type=ctype, operand=operand) if ctype.kind == "int" and ctype.size >= operand.type.size:
            return polynomial(operand)
        case Binary(op="+", left=left, right=right):
            return total(polynomial(left), polynomial(right))
        case Binary(op="-", left=left, right=right):
            return difference(polynomial(left), polynomial(right))
        case Binary(op="*", left=left, right=right):
            return times(polynomial(left), polynomial(right))
    return None


def index_polynomial(subscripts: tuple[Expr, ...], home: Storage) -> Polynomial | None:
    """The linear position of an element, or None where it is no polynomial."""
    kept = subscripts if home.keeps is None else tuple(subscripts[k] for k in home.keeps)
    index: Polynomial | None = {}
    for position, (subscript, extent) in enumerate(zip(kept, home.extents, strict=True)):
        if position:
            index = times(index, None if extent is None else polynomial(extent))
        index = total(index, polynomial(subscript))
    return index


def total(a: Polynomial | None, b: Polynomial | None, sign: int = 1) -> Polynomial | None:
    """The sum."""
    if a is None or b is None:
        return None
    found = {key: a.get(key, 0) + sign * b.get(key, 0) for key in {**a, **b}}
    return {key: factor for key, factor in found.items() if factor}


def difference(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    """`a - b`."""
    return total(a, b, -1)


def times(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    """The product."""
    if a is None or b is None:
        return None
    found: dict[Monomial, int] = {}
    for (x, p), (y, q) in product(a.items(), b.items()):
        key = tuple(sorted(x + y))
        found[key] = found.get(key, 0) + p * q
    return {key: factor for key, factor in found.items() if factor}


def slope(a: Polynomial, name: str) -> Polynomial | None:
    """By how much it grows with `name`; None where it is not linear in it."""
    with_name = {key: factor for key, factor in a.items() if name in key}
    if any(key.count(name) > 1 for key in with_name):
        return None
    return {tuple(n for n in key if n != name): factor for key, factor in with_name.items()}


def without(a: Polynomial, names: Collection[str]) -> Polynomial:
    """The terms that have none of `names`."""
    return {key: factor for key, factor in a.items() if not set(key).intersection(names)}


def degree(a: Polynomial) -> int:
    return max((len(key) for key in a), default=0)


def size(a: Polynomial) -> int:
    """How much it takes to compute it: constants are part of an instruction."""
    return sum(2 * abs(factor) * len(key) if key else 1 for key, factor in a.items())


def expression(a: Polynomial, types: Mapping[str, CType]) -> Expr:
    """The polynomial as an expression, positive terms first."""
    result: Expr | None = None
    for key, factor in sorted(a.items(), key=lambda item: (item[1] < 0, not item[0], item[0])):
        term: Expr = lift(abs(factor))
        for name in key:
            term = mul(term, Name(name, types[name]))
        if result is None:
            result = term if factor > 0 else lift(factor) if not key else Unary("-", term, term.type)
        else:
            result = add(result, term) if factor > 0 else sub(result, term)
    return lift(0) if result is None else result
