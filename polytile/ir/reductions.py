"""Reductions `x op= e` as statements: how they are spelt, and what is neutral to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from math import inf, isinf

from polytile.dataclass import dataclass
from polytile.ir.evaluate import integer_range, wrap
from polytile.ir.expr import (
    DOUBLE,
    FLOAT,
    INT,
    LLONG,
    LONG,
    UINT,
    ULLONG,
    ULONG,
    Access,
    Assign,
    Binary,
    Call,
    Cast,
    CType,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Stmt,
    Ternary,
    Unary,
)
from polytile.ir.expr_trees import walk
from polytile.ir.partial_results import Combination

COMPOUND = {"+": "+", "-": "+", "*": "*", "&": "&", "|": "|", "^": "^"}
_CALLS = {"min": "min", "fmin": "min", "fminf": "min", "max": "max", "fmax": "max", "fmaxf": "max"}
_LESS, _GREATER = ("<", "<="), (">", ">=")
_UNSIGNED = {INT: UINT, LONG: ULONG, LLONG: ULLONG}
_SUFFIXES = {UINT: "u", LONG: "l", ULONG: "ul", LLONG: "ll", ULLONG: "ull"}


@dataclass(frozen=True, slots=True)
class Accumulation:
    """`target op= value`, however it was spelt. `made(x, e)` is the same for another target and value; `inverse` says
    that it was `target -= value`; `within` is the type that it computes in."""

    target: Access
    op: str
    value: Expr
    within: CType
    made: Callable[[Access, Expr], Assign] = field(compare=False)
    inverse: bool = False


def accumulation(statement: Stmt) -> Accumulation | None:
    """Return the accumulation that a statement is, or None.

    `x += e`, `x -= e`, `x = x * e`, `x = e + x`, `x = x + e - f`, `x = fmax(x, e)`, `x = x > e ? x : e`,
    `if (e > x) x = e;`, `if (c) x += e;`
    """
    match statement:
        case Assign(target=Access() as x, op="", value=value):
            found = _plain(x, value)
        case Assign(target=Access() as x, op=op, value=value) if op in COMPOUND:
            found = _compound(x, op, value, x.type)
        case If(condition=condition, then=(Assign(target=Access() as x, op="", value=e),), otherwise=()):
            found = _choice(x, condition, e, x)
            found = found or _conditional(condition, statement.then[0])
        case If(condition=condition, then=(Assign() | If() as inner,), otherwise=()):
            found = _conditional(condition, inner)
        case _:
            return None
    if found is None or any(isinstance(n, Access) and n.array == found.target.array for n in walk(found.value)):
        return None
    return found


def _conditional(condition: Expr, inner: Stmt) -> Accumulation | None:
    """Return `if (c) x += e;` as `x += c ? e : 0`, which adds what is neutral where the condition does not hold.

    Of `x &= e`, minimum and maximum it is that of the type in which e meets x: INT_MIN is greater than some longs.
    """
    found = accumulation(inner)
    if found is None:
        return None
    value = found.value
    computed = value.type if value.type.size >= INT.size else INT
    if found.op in ("&", "min", "max") and _wider(found.target.type, computed):
        computed = found.target.type
    if computed.kind not in ("int", "float"):
        return None
    return replace(found, value=Ternary(condition, value, identity(found.op, computed), computed))


def _wider(ctype: CType, other: CType) -> bool:
    """Return whether values of the other type are converted to this one where the two meet."""
    if ctype.kind != other.kind:
        return ctype.kind == "float"
    return ctype.size > other.size or (ctype.size == other.size and other.signed and not ctype.signed)


def _compound(x: Access, op: str, e: Expr, within: CType) -> Accumulation:
    def made(target: Access, value: Expr) -> Assign:
        return Assign(target, op, value)

    return Accumulation(x, COMPOUND[op], e, within, made, op == "-")


def _plain(x: Access, value: Expr) -> Accumulation | None:
    match value:
        case Binary(op="-", left=left, right=right) if left == x:
            return _compound(x, "-", right, value.type)
        case Binary(op=op, left=left, right=right) if op in COMPOUND and op != "-" and x in (left, right):
            return _compound(x, op, right if left == x else left, value.type)
        case Binary(op=op) if op in COMPOUND:
            return _chain(x, value)
        case Call(function=function, arguments=(a, b)) if function in _CALLS and x in (a, b):
            return _call(x, value, b if a == x else a)
        case Ternary(condition=condition, then=a, otherwise=b) if x in (a, b):
            return _choice(x, condition, a, b)
    return None


def _chain(x: Access, value: Binary) -> Accumulation | None:
    """Return `x = x + e - f` as `x += e - f`, where all is computed in one type.

    That is the type of the whole, which narrower terms are converted to, or its unsigned one, as `e - f` may overflow
    where `x + e - f` does not.
    """
    op, within = COMPOUND[value.op], _UNSIGNED.get(value.type, value.type)
    terms = list(_terms(value, op, value.type, inverse=False))
    own = [term for term in terms if term == (x, False)]
    if len(own) != 1:
        return None
    terms.remove(own[0])
    terms.sort(key=lambda term: term[1])  # what is subtracted, after what is added
    (total, inverse), *rest = [(term if term.type == within else Cast(within, term), sign) for term, sign in terms]
    for term, subtracted in rest:
        total = Binary("-" if subtracted and not inverse else op, total, term, within)
    return _compound(x, "-" if inverse else op, total, value.type)


def _terms(value: Expr, op: str, within: CType, *, inverse: bool) -> Iterator[tuple[Expr, bool]]:
    """Yield the terms of a sum, and whether they are subtracted, or the factors of a product.

    A sum or product is split as far as it is of one type.
    """
    if not isinstance(value, Binary) or COMPOUND.get(value.op) != op or value.type != within:
        yield value, inverse
        return
    yield from _terms(value.left, op, within, inverse=inverse)
    yield from _terms(value.right, op, within, inverse=inverse != (value.op == "-"))


def _call(x: Access, call: Call, e: Expr) -> Accumulation:
    def made(target: Access, value: Expr) -> Assign:
        return Assign(target, "", Call(call.function, (target, value), call.type))

    return Accumulation(x, _CALLS[call.function], e, call.type, made)


def _choice(x: Access, condition: Expr, then: Expr, otherwise: Expr) -> Accumulation | None:
    """Return the accumulation `x = condition ? then : otherwise`, where one of the two is x, or None.

    The condition compares the two.
    """
    op = _chosen(condition, then, otherwise)
    if op is None or x not in (then, otherwise):
        return None
    assert isinstance(condition, Binary)
    comparison, first, taken = condition.op, condition.left == x, then == x

    def made(target: Access, value: Expr) -> Assign:
        left, right = (target, value) if first else (value, target)
        chosen, other = (target, value) if taken else (value, target)
        return Assign(target, "", Ternary(Binary(comparison, left, right), chosen, other, target.type))

    return Accumulation(x, op, otherwise if then == x else then, x.type, made)


def _chosen(condition: Expr, then: Expr, otherwise: Expr) -> str | None:
    """Return "min" or "max" where `condition` compares exactly the two values: `a < b ? a : b` is min; else None."""
    if not (isinstance(condition, Binary) and condition.op in _LESS + _GREATER):
        return None
    if (condition.left, condition.right) == (then, otherwise):
        return "min" if condition.op in _LESS else "max"
    if (condition.left, condition.right) == (otherwise, then):
        return "max" if condition.op in _LESS else "min"
    return None


def identity_value(op: str, ctype: CType) -> int | float:
    """Return the neutral element of `op` in a type, as a number: the greatest or an infinity for minima."""
    if op not in ("min", "max"):
        return wrap(-1, ctype) if op == "&" else int(op == "*")
    least, most = (-inf, inf) if ctype.kind == "float" else integer_range(ctype)
    return most if op == "min" else least


def identity(op: str, ctype: CType) -> Expr:
    """Return the neutral element of `op`, in a type that is computed in (int or wider).

    Infinities are spelt as products: they need no header, and compilers fold them without a warning.
    """
    if op == "&":
        return Unary("~", _integer("0", ctype), ctype)
    value = identity_value(op, ctype)
    if ctype.kind != "float":
        return _least(value, ctype) if value < 0 else _integer(str(value), ctype)
    if not isinf(value):
        return Literal(f"{value}.0f" if ctype == FLOAT else f"{value}.0", ctype)
    big, ten = ("3e38f", "10.0f") if ctype == FLOAT else ("1e308", "10.0")
    infinity = Binary("*", Literal(big, ctype), Literal(ten, ctype), ctype)
    return infinity if value > 0 else Unary("-", infinity, ctype)


def _least(value: int | float, ctype: CType) -> Expr:
    """C has no literal for the least number of a type."""
    above = Unary("-", _integer(str(-1 - value), ctype), ctype)
    return Binary("-", above, _integer("1", ctype), ctype)


def _integer(digits: str, ctype: CType) -> Literal:
    kind = ctype if ctype.size >= INT.size else INT
    return Literal(digits + _SUFFIXES.get(kind, ""), kind)


def combined(op: str, left: Expr, right: Expr, ctype: CType) -> Expr:
    """Return `left op right`; of minimum and maximum, NaNs on the right are left out."""
    if op in ("min", "max"):
        return Ternary(Binary("<" if op == "min" else ">", right, left), right, left, ctype)
    return Binary(op, left, right, ctype)


def fold(given: Combination, lanes: Sequence[str]) -> tuple[Stmt, ...]:
    """Return `double v = 0; for (l < 32) v = v + part[i][l];`, with a loop for each name in `lanes`."""
    value = Name(given.value, given.type)
    element = Access(given.array, (*given.subscripts, *(Name(lane) for lane in lanes)), given.type)
    step: Stmt = Assign(value, "", combined(given.op, value, element, given.type))
    for lane, size in reversed(list(zip(lanes, given.sizes, strict=True))):
        step = For(lane, Literal("0"), Binary("<", Name(lane), Literal(str(size))), 1, (step,))
    return Declare(given.value, given.type, identity(given.op, given.type)), step


def partial_type(found: Accumulation) -> CType | None:
    """Return the type for partial results of an accumulation; None where they would not add up to the same.

    Sums and products of integers are modulo 2^n in C's unsigned types, and so are defined in whichever order, even
    where another order would overflow a signed type; conversion back to a signed type of as many or fewer bits is
    modulo 2^n too, as all compilers have it. Truth values saturate, but for `|` and `&`, and integers that are
    truncated at each step do not add up. Floating-point sums and products are taken to be reorderable. Minimum and
    maximum need a conversion of the value to the accumulator's type that keeps the order.
    """
    target, value = found.target.type, found.value.type
    if target.kind == "struct" or value.kind == "struct" or found.target.field is not None:
        return None
    return _partial_type(found, target, value)


def can_reorder(found: Accumulation) -> bool:
    """Return whether the steps of an accumulation may come in any order, up to rounding.

    Those of `s += 0.5 * x` where `s` is an integer may not: it truncates at each.
    """
    target, value = found.target.type, found.value.type
    return target.kind != "int" or value.kind == "struct" or _partial_type(found, target, value) is not None


def _partial_type(found: Accumulation, target: CType, value: CType) -> CType | None:
    if target.kind == "float":
        exact = found.within.kind == "float" and found.within.size >= target.size
        return target if target in (FLOAT, DOUBLE) and (exact or found.op not in ("min", "max")) else None
    if value.kind == "float" or found.within.kind == "float":
        return None
    if target.name == "_Bool":
        return None if found.op not in ("|", "&") else ULLONG if value.size > INT.size else UINT
    if found.op in ("min", "max"):
        return target if _holds(target, value) and _holds(found.within, target) else None
    return {1: UINT, 2: UINT, 4: UINT, 8: ULLONG}[target.size]


def _holds(ctype: CType, other: CType) -> bool:
    """Return whether an integer type has all values of another one."""
    bits = (8 * t.size - t.signed for t in (ctype, other))
    return next(bits) >= next(bits) and (ctype.signed or not other.signed)

