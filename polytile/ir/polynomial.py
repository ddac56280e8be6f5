"""Indices as polynomials in their names, so that what two of them differ by can be told.

before: (i + 1) * m + j  and  i * m + j
after:  {(i, m): 1, (m): 1, (j): 1}  and  {(i, m): 1, (j): 1}, which differ by {(m): 1}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import gcd, prod
from typing import TypeVar

from polytile.ir.arith import add, known, lift, mul, sub
from polytile.ir.expr import Access, Binary, Cast, CType, Expr, Name, Unary
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import Advance, Pointer
from polytile.ir.kernel import Kernel

Monomial = tuple[str, ...]  # names in order; () for the constant
Polynomial = Mapping[Monomial, int]  # without zeros
Linear = Mapping[str, int]  # one without products: name -> factor; the constant has the name ""
_Key = TypeVar("_Key")
_OPAQUE = "?"  # begins the name of a value that is no polynomial


def terms(expr: Expr) -> Polynomial:
    """Return an integer expression as a polynomial in names and in such parts of it as are no polynomials."""
    match expr:
        case Name(name=name):
            return {(name,): 1}
        case Binary(op="+", left=left, right=right):
            return total(terms(left), terms(right))
        case Binary(op="-", left=left, right=right):
            return total(terms(left), terms(right), -1)
        case Binary(op="*", left=left, right=right):
            return times(terms(left), terms(right))
        case Cast(type=ctype, operand=operand) if ctype.kind == "int" and ctype.size >= operand.type.size:
            return terms(operand)
    value = known(expr)
    if value is not None:
        return {(): value} if value else {}
    if isinstance(expr, Unary) and expr.op == "-":
        return total({}, terms(expr.operand), -1)
    return {(_opaque(expr),): 1}


@lru_cache(maxsize=1000)
def _opaque(expr: Expr) -> str:
    """Return a name for a value that is no polynomial, from its text, which is printed once for equal values."""
    return f"{_OPAQUE}{expr!r}"


def polynomial(expr: Expr) -> Polynomial | None:
    """Return an integer expression as a polynomial in its names alone, or None."""
    return _plain(terms(expr))


def linear(expr: Expr) -> Linear | None:
    """Return `2 * i + n - 1` as {"i": 2, "n": 1, "": -1}; None for what is not linear in its names."""
    found = polynomial(expr)
    return None if found is None or degree(found) > 1 else {"".join(key): factor for key, factor in found.items()}


def have_other_remainders(a: Expr, b: Expr) -> bool:
    """Return whether two expressions are different remainders of one division, as `t % 2` and `(t + 1) % 2`.

    Equal remainders, of whatever sign, come from numbers that a multiple of the divisor is between.
    """
    match without_casts(a), without_casts(b):
        case Binary(op="%", left=x, right=divisor), Binary(op="%", left=y, right=other):
            apart = difference(terms(x), terms(y))
            modulus = known(divisor)
            if modulus and modulus == known(other) and not apart.keys() - {()} and _is_signed(x) and _is_signed(y):
                return apart.get((), 0) % modulus != 0
    return False


def _is_signed(expr: Expr) -> bool:
    """Return whether no part of a value wraps around: -1 as an unsigned number has another remainder."""
    return all(part.type.signed for part in walk(expr) if isinstance(part, Cast | Binary | Name))


def without_casts(expr: Expr) -> Expr:
    """Strip the conversions of an integer expression to types that hold all of its values."""
    while isinstance(expr, Cast) and expr.type.kind == "int" and expr.type.size >= expr.operand.type.size:
        expr = expr.operand
    return expr


def index_polynomial(kernel: Kernel, access: Access) -> Polynomial | None:
    """Return the linear position of an element in its array, or None where it is no polynomial."""
    return _plain(_index(kernel, access))


def _plain(a: Polynomial) -> Polynomial | None:
    return None if any(name.startswith(_OPAQUE) for key in a for name in key) else a


def _index(kernel: Kernel, access: Access) -> Polynomial:
    return index_of(kernel.subscripts(access), kernel.storage_of(access.array).extents)


def index_of(subscripts: Sequence[Expr], extents: Sequence[Expr | None]) -> Polynomial:
    """Return the linear position of an element in an array of these extents."""
    return IndexTerms(extents).of(subscripts)


class IndexTerms:
    """The positions of elements in an array of these extents: what a subscript adds to them is found once."""

    def __init__(self, extents: Sequence[Expr | None]) -> None:
        strides: list[Polynomial] = [{(): 1}] if extents else []
        for extent in reversed(extents[1:]):
            strides.append(times(strides[-1], {(_OPAQUE,): 1} if extent is None else terms(extent)))
        self._strides = strides[::-1]
        self._known: dict[tuple[int, Expr], Polynomial] = {}

    def of(self, subscripts: Sequence[Expr]) -> Polynomial:
        """Return the linear position of an element."""
        index: Polynomial = {}
        for position, (subscript, stride) in enumerate(zip(subscripts, self._strides, strict=True)):
            key = position, subscript
            if key not in self._known:
                self._known[key] = times(terms(subscript), stride)
            index = total(index, self._known[key])
        return index


# Arithmetic ---------------------------------------------------------------------------------------
def total(a: Mapping[_Key, int], b: Mapping[_Key, int], by: int = 1, of: int = 1) -> dict[_Key, int]:
    """Return `of * a + by * b`, of polynomials or linear forms."""
    found = dict(a) if of == 1 else {key: of * factor for key, factor in a.items()}
    for key, factor in b.items():
        found[key] = found.get(key, 0) + by * factor
    return found if all(found.values()) else {key: factor for key, factor in found.items() if factor}


def difference(a: Mapping[_Key, int], b: Mapping[_Key, int]) -> dict[_Key, int]:
    """Return `a - b`, of polynomials or linear forms."""
    return total(a, b, -1)


def constant_difference(a: Linear, b: Linear) -> int | None:
    """Return `a - b` of linear forms where that is a constant, else None."""
    found = difference(a, b)
    return found.get("", 0) if found.keys() <= {""} else None


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    """Return the product of two polynomials."""
    found: dict[Monomial, int] = {}
    for (x, p), (y, q) in product(a.items(), b.items()):
        key = tuple(sorted(x + y)) if x and y else x or y
        found[key] = found.get(key, 0) + p * q
    return {key: factor for key, factor in found.items() if factor}


def slope(a: Polynomial, name: str) -> Polynomial | None:
    """Return the growth of a polynomial with `name`; None where it is not linear in it."""
    with_name = {key: factor for key, factor in a.items() if name in key}
    if any(key.count(name) > 1 for key in with_name):
        return None
    return {tuple(n for n in key if n != name): factor for key, factor in with_name.items()}


def without(a: Polynomial, names: Collection[str]) -> Polynomial:
    """Return the terms that have none of `names`."""
    return {key: factor for key, factor in a.items() if not set(key).intersection(names)}


def degree(a: Polynomial) -> int:
    return max((len(key) for key in a), default=0)


def size(a: Polynomial) -> int:
    """Return how much it takes to compute a polynomial: constants are part of an instruction."""
    return sum(2 * abs(factor) * len(key) if key else 1 for key, factor in a.items())


def divisor(a: Polynomial, of: Callable[[str], int] = lambda name: 1) -> int:
    """Return what divides a polynomial, given what divides each name; 0 for 0, which everything divides."""
    return gcd(*(factor * prod(map(of, key)) for key, factor in a.items()))


def residue(parts: Sequence[Polynomial], modulus: int) -> int | None:
    """Return the sum of polynomials modulo a number, where constants alone decide that, else None."""
    decided = all(factor % modulus == 0 or not key for part in parts for key, factor in part.items())
    return sum(part.get((), 0) for part in parts) % modulus if decided else None


def expression(a: Polynomial, types: Mapping[str, CType]) -> Expr:
    """Return the polynomial as an expression, positive terms first."""
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


# Memory -------------------------------------------------------------------------------------------
class Places:
    """Where the accesses of a kernel are, from the beginning of the arrays that they or their pointers are of.

    A place is several polynomials that add up: those of pointers, and of each way that these move, an unknown number
    of times. The same name may have another value in another one.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._starts: dict[str, list[Polynomial]] = {}
        self._moves: dict[str, list[Polynomial]] = {}
        for node in kernel.nodes:
            if isinstance(node, Advance):
                self._moves.setdefault(node.pointer, []).append(_sometimes(terms(node.by)))
        for node in kernel.nodes:
            if isinstance(node, Pointer):
                start, other = self(node.target), self._starts.get(node.name)
                self._starts[node.name] = start if other is None else [_sometimes(a) for a in (*start, *other)]

    def __call__(self, access: Access) -> list[Polynomial]:
        array = access.array
        return [_index(self._kernel, access), *self._starts.get(array, ()), *self._moves.get(array, ())]


def _sometimes(a: Polynomial) -> Polynomial:
    return times({(_OPAQUE,): 1}, a)
