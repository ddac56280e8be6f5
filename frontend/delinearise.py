"""Recovering the dimensions of arrays that are indexed by hand.

before: A[i * n + j]   with 0 <= j < n proven wherever it runs
after:  A[i][j]        with extents (?, n)

Every access of the array must fit the same strides, and every inner subscript must be proven to stay within its
extent: then the split is unique, and two accesses touch the same element exactly when all their subscripts agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.accesses import RawAccess
from polytile.frontend.affine import Evaluator
from polytile.frontend.c_types import usual
from polytile.frontend.data_subscripts import linear, reads_data
from polytile.frontend.describe import describe
from polytile.frontend.polynomial import Monomial, Polynomial, divide
from polytile.ir.def_use import mentioned_names
from polytile.ir.expr import INT, Binary, CType, Expr, Literal, Unary

_SHIFTS = (0, 1, -1)


@dataclass(frozen=True, slots=True)
class Strides:
    """The strides of an array, largest first: (("m", "n"), ("n",)) for A[i*m*n + j*n + k]."""

    monomials: tuple[Monomial, ...]

    @property
    def sizes(self) -> tuple[Monomial, ...]:
        """The extents of all dimensions but the outermost."""
        inner = self.monomials
        quotients = [divide(a, b) for a, b in itertools.pairwise(inner)]
        return (*(q for q in quotients if q is not None), *inner[-1:])

    def finer(self) -> tuple[Strides, ...]:
        """These with one more, a factor of the smallest."""
        smallest = self.monomials[-1]
        return tuple(Strides((*self.monomials, (f,))) for f in dict.fromkeys(smallest) if len(smallest) > 1)


def needs_splitting(accesses: Sequence[RawAccess], evaluator: Evaluator, *, gathered: bool) -> bool:
    """Whether some access multiplies an iterator by a size, or data, if the array is `gathered` from."""
    if any(p is not None and not evaluator.is_affine(p) for a in accesses for p in a.subscripts):
        return True
    return gathered and any(None in a.subscripts and linear(a, evaluator).degree > 1 for a in accesses)


def find_strides(accesses: Sequence[RawAccess], evaluator: Evaluator, array: str) -> tuple[Strides, ...]:
    """The strides that the accesses agree on, and others to try where they do not split the subscripts: finer ones, so
    that `s * i * m + j` is [i][0][j] where j < m. Where sizes alone are multiplied, `i * m + j` in a loop over j, each
    size that all products share may be the length of a row."""
    found: set[Monomial] = set()
    for access in accesses:
        for monomial in linear(access, evaluator).terms:
            if len(monomial) > 1:
                stride: Monomial = tuple(a for a in monomial if evaluator.atoms[a].parametric)
                others = [a for a in monomial if not evaluator.atoms[a].parametric]
                if len(others) > 1:
                    a, b = (describe(evaluator.atoms[o].expr) for o in others[:2])
                    raise refusal(access, array, f"it multiplies `{a}` by `{b}`")
                if others:
                    found.add(stride)
    if not found:
        bad = next(a for a in accesses if linear(a, evaluator).degree > 1)
        products = {m for a in accesses for m in linear(a, evaluator).terms if len(m) > 1}
        written = [name for a in accesses for s in a.access.subscripts for name in mentioned_names(s)]
        chains = _chains(products, {name: place for place, name in enumerate(written)})
        if not chains:
            raise refusal(bad, array, "it multiplies two sizes")
        return tuple(map(Strides, chains))
    chain = tuple(sorted(found, key=lambda m: (-len(m), m)))
    for large, small in itertools.pairwise(chain):
        if divide(large, small) is None:
            spelt = " and ".join("*".join(describe(evaluator.atoms[x].expr) for x in m) for m in (large, small))
            raise refusal(accesses[0], array, f"the accesses of the array use unrelated strides: {spelt}")
    strides = Strides(chain)
    return strides, *strides.finer()


def _chains(products: Collection[Monomial], places: Mapping[str, int]) -> list[tuple[Monomial, ...]]:
    """The strides, largest first, with which products of sizes are multiples of rows: b*t*c and t*c of (t*c, c). What
    is named last is the length of a row first, as people write it."""
    shared = set.intersection(*(set(p) for p in products))
    found: list[tuple[Monomial, ...]] = []
    for row in sorted(shared, key=lambda name: (-places.get(name, -1), name)):
        left = {q for p in products if (q := divide(p, (row,))) is not None and len(q) > 1}
        outer = _chains(left, places) if left else [()]
        found += [(*(tuple(sorted((*stride, row))) for stride in chain), (row,)) for chain in outer]
    return found


def split(access: RawAccess, strides: Strides, evaluator: Evaluator, array: str) -> tuple[Polynomial, ...]:
    """The separate subscripts of one linear access; refused when they cannot be proven to stay in range. Whoever calls
    has those checked that read data."""
    rest = linear(access, evaluator)
    subscripts: list[Polynomial] = []
    for stride in strides.monomials:
        quotient, rest = rest.split(stride)
        subscripts.append(quotient)
    subscripts.append(rest)
    for k in range(len(strides.sizes), 0, -1):
        if reads_data(subscripts[k]):
            continue
        size = Polynomial({strides.sizes[k - 1]: 1})
        shift = _provable_shift(access, subscripts[k], size, evaluator)
        if shift is None and _require_range(access, subscripts[k], size, evaluator):
            shift = 0
        if shift is None:
            inner = describe(to_expr(subscripts[k], evaluator))
            extent = describe(to_expr(size, evaluator))
            raise refusal(access, array, f"`{inner}` is not provably in [0, {extent})", provable=True)
        subscripts[k] = subscripts[k] + size.scale(shift)
        subscripts[k - 1] = subscripts[k - 1] - Polynomial.of(shift)
    if subscripts[0].degree > 1:
        raise refusal(access, array, "it does not fit the strides of the other accesses")
    return tuple(subscripts)


def _provable_shift(access: RawAccess, subscript: Polynomial, size: Polynomial, evaluator: Evaluator) -> int | None:
    if not (evaluator.is_affine(subscript) and evaluator.is_affine(size)):
        return None
    expr = access.access
    extent = evaluator.of_polynomial(size, expr)
    for shift in _SHIFTS:
        value = evaluator.of_polynomial(subscript + size.scale(shift), expr)
        if evaluator.proves(access.points, value.nonneg_set().intersect(value.lt_set(extent))):
            return shift
    return None


def _require_range(access: RawAccess, subscript: Polynomial, size: Polynomial, evaluator: Evaluator) -> bool:
    """Keep a subscript in [0, size) by a condition on the sizes, which is checked when the program runs."""
    if not (evaluator.is_affine(subscript) and evaluator.is_affine(size)):
        return False
    value, extent = (evaluator.of_polynomial(p, access.access) for p in (subscript, size))
    return evaluator.require(access.points, in_range(value, extent))


def to_expr(polynomial: Polynomial, evaluator: Evaluator) -> Expr:
    """A polynomial as an expression tree: 2*i + n - 1."""
    total: Expr | None = None
    for monomial, coefficient in sorted(polynomial.terms.items(), key=lambda t: (-len(t[0]), t[0])):
        factors = [evaluator.atoms[a].expr for a in monomial]
        size = abs(coefficient)
        if size != 1 or not factors:
            factors.insert(0, Literal(str(size), INT))
        term = factors[0]
        for factor in factors[1:]:
            term = Binary("*", term, factor, _common(term, factor))
        if total is None:
            total = Unary("-", term, _common(term, term)) if coefficient < 0 else term
        else:
            total = Binary("-" if coefficient < 0 else "+", total, term, _common(total, term))
    return total if total is not None else Literal("0", INT)


def _common(a: Expr, b: Expr) -> CType:
    return usual(a.type, b.type)


def outer_extent(
    extent: Polynomial | None, strides: Strides, evaluator: Evaluator, *, padded: bool
) -> tuple[Expr | None, Polynomial | None]:
    """The outermost extent of an array declared as `A[n * m]` whose largest stride is m; where m does not divide the
    size one that has room for all of it (`padded`), or None, as such rows would reach beyond memory of others. Where it
    is a polynomial, that, too."""
    if extent is None:
        return None, None
    stride = strides.monomials[0]
    quotient, rest = extent.split(stride)
    if not rest.terms:
        return to_expr(quotient, evaluator), quotient
    if not padded:
        return None, None
    divisor = to_expr(Polynomial({stride: 1}), evaluator)
    whole = to_expr(extent + Polynomial({stride: 1}) - Polynomial.of(1), evaluator)
    return Binary("/", whole, divisor, _common(whole, divisor)), None


def refusal(access: RawAccess, array: str, reason: str, *, provable: bool = False) -> UserError:
    """Why the linear accesses of an array cannot be split."""
    subscript = describe(access.access.subscripts[0])
    location: Location = access.location
    hint = "declare the array with its dimensions, and write one subscript per dimension"
    if provable:
        hint = (
            "promise what is missing with `#pragma polytile assume(...)`, a condition on the sizes, "
            "or declare the array with its dimensions"
        )
    return UserError(f"the subscript `{subscript}` of `{array}` is not affine: {reason}", location=location, hint=hint)


def in_range(subscript: isl.PwAff, extent: isl.PwAff) -> isl.Set:
    """Where 0 <= subscript < extent."""
    return subscript.nonneg_set().intersect(subscript.lt_set(extent))
