"""Divisions by floating constants as multiplications by reciprocals, folded into the weights of a weighted sum.

before: B[i] = (5.0 * A[i - 1] + 12.0 * A[i]) / 118.0;      C[i] = x[i] / 3.0;
after:  B[i] = 0.0423.. * A[i - 1] + 0.1016.. * A[i];       C[i] = x[i] * 0.3333..;

A double is divided in some 20 instructions and multiplied in one. The last digit of a quotient may change, as with the
order of additions; by powers of two it does not, so that these are multiplied by even where results are to be exact.
"""

from __future__ import annotations

import math
import struct
import sys
from dataclasses import replace
from fractions import Fraction

from polytile.dataclass import dataclass
from polytile.ir.expr import Binary, Cast, CType, Expr, Literal, Unary
from polytile.ir.scop import Scop
from polytile.scheduling.transform.rewritten_bodies import with_rewritten_bodies

_LIMITS = {4: (2.0**-126, (2 - 2.0**-23) * 2.0**127), 8: (sys.float_info.min, sys.float_info.max)}  # of full precision
_DIGITS = 9  # which tell all floats of 4 bytes apart


def multiply_by_reciprocals(scop: Scop, exact: bool) -> Scop:
    """Replace divisions by floating constants by products; if `exact`, only where no result changes.

    A constant whose reciprocal is too large or too small for full precision stays a divisor.
    """
    return with_rewritten_bodies(scop, lambda node: _multiplied(node, exact) if isinstance(node, Binary) else node)


def _multiplied(node: Binary, exact: bool) -> Expr:
    """Rewrite a quotient by a constant as a product."""
    if node.op != "/" or node.type.kind != "float" or constant(node.left) is not None:
        return node
    divisor = constant(node.right)
    if divisor is None or not divisor or (exact and not _is_power_of_two(divisor)):
        return node
    factor = _literal(1 / divisor, node.type)
    if factor is None:
        return node
    weighted = None if exact else _weighted(node.left, 1 / divisor, node.type)
    return weighted or Binary("*", node.left, factor, node.type)


def constant(value: Expr) -> Fraction | None:
    """Return the exact value of a constant as its type holds it, or None.

    Constants are literals, their negatives and conversions.
    """
    match value:
        case Literal(text=text, type=ctype):
            return _held(_parsed(text), ctype)
        case Unary(op="-", operand=operand) if operand.type.kind == "float":
            found = constant(operand)
            return None if found is None else -found
        case Cast(type=ctype, operand=operand):
            return _held(constant(operand), ctype)
    return None


def _parsed(text: str) -> Fraction | None:
    """Parse C's text of a number, or return None."""
    plain = text.lower()
    try:
        if plain.startswith("0x"):
            return Fraction(float.fromhex(plain.rstrip("ul" if "p" not in plain else "fl")))
        plain = plain.rstrip("ulf")
        if plain.isdigit() and plain.startswith("0"):
            return Fraction(int(plain, 8))
        return Fraction(plain)
    except (ValueError, OverflowError):
        return None  # a character, or no number at all


def _held(value: Fraction | None, ctype: CType) -> Fraction | None:
    if value is None or ctype.kind == "int":
        return value if value is not None and value.denominator == 1 else None
    rounded = _rounded(value, ctype)
    return None if rounded is None else Fraction(rounded)


def _rounded(value: Fraction, ctype: CType) -> float | None:
    """Round to a floating type; None unless that holds the value in full precision."""
    if ctype.size not in _LIMITS:
        return None
    least, most = _LIMITS[ctype.size]
    if value and not least <= abs(value) <= most:
        return None
    return _single(float(value)) if ctype.size == 4 else float(value)


def _single(value: float) -> float:
    """Round to the nearest float of 4 bytes."""
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf
    return found


def _literal(value: Fraction, ctype: CType) -> Expr | None:
    rounded = _rounded(value, ctype)
    if rounded is None:
        return None
    size = abs(rounded)
    texts = (f"{size:.{digits}g}" for digits in range(1, _DIGITS))
    text = repr(size) if ctype.size == 8 else next((t for t in texts if _single(float(t)) == size), f"{size:.9g}")
    point = "" if "." in text or "e" in text else ".0"
    found = Literal(f"{text}{point}{'f' if ctype.size == 4 else ''}", ctype)
    return Unary("-", found, ctype) if rounded < 0 else found


def _is_power_of_two(value: Fraction) -> bool:
    a, b = abs(value.numerator), value.denominator
    return a & (a - 1) == 0 and b & (b - 1) == 0


def _weighted(value: Expr, factor: Fraction, ctype: CType) -> Expr | None:
    """Multiply a sum of products with constants by a factor.

    Returns None where a term has no constant, or sums round in between.
    """
    return _Weights(factor, ctype).scaled(value)


@dataclass(frozen=True, slots=True)
class _Weights:
    factor: Fraction
    ctype: CType

    def scaled(self, value: Expr) -> Expr | None:
        if value.type != self.ctype:
            return None
        match value:
            case Binary(op="+" | "-", left=left, right=right):
                a, b = self.scaled(left), self.scaled(right)
                return None if a is None or b is None else replace(value, left=a, right=b)
            case Unary(op="-", operand=operand):
                inner = self.scaled(operand)
                return None if inner is None else replace(value, operand=inner)
            case Binary(op="*", left=left, right=right):
                if (weight := self._weight(left)) is not None:
                    return replace(value, left=weight)
                if (weight := self._weight(right)) is not None:
                    return replace(value, right=weight)
        return None

    def _weight(self, value: Expr) -> Expr | None:
        known = constant(value)
        return None if known is None else _literal(known * self.factor, self.ctype)
