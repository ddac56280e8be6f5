"""Numbers that a program spells, exactly: `0.1f` is a tenth, `1.0 / 3.0` a third."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from polytile.ir.expr import Binary, CType, Expr, Literal, Unary

_RANGE = {4: (1e-37, 1e38), 8: (1e-307, 1e308)}  # of full precision, by the size of a type


def exact_value(value: Expr) -> Fraction | None:
    """Return the exact value of literals, their negatives, products and quotients; None for whatever else."""
    match value:
        case Literal(text=text):
            return _parsed(text)
        case Unary(op="-", operand=operand) if operand.type.kind == "float":
            found = exact_value(operand)
            return None if found is None else -found
        case Binary(op="*" | "/" as op, left=left, right=right) if value.type.kind == "float":
            one, other = exact_value(left), exact_value(right)
            if one is None or other is None or (op == "/" and not other):
                return None
            return one * other if op == "*" else one / other
    return None


@lru_cache(maxsize=10_000)
def _parsed(text: str) -> Fraction | None:
    plain = text.lower().rstrip("ulf")
    octal = plain.isdigit() and plain.startswith("0") and plain != "0"
    if plain.startswith("0x") or octal:
        return None
    try:
        return Fraction(plain)
    except ValueError:
        return None  # a character, or no number at all


@lru_cache(maxsize=10_000)
def spelt(value: Fraction, ctype: CType) -> Literal | None:
    """Return a number of at least 0 as a literal of a type; None where the type does not hold it in full precision."""
    least, most = _RANGE.get(ctype.size, (1.0, 0.0))
    if ctype.kind != "float" or (value and not least < value < most):
        return None
    text = repr(float(value))
    return Literal(f"{text}f" if ctype.size == 4 else text, ctype)
