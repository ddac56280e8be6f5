"""Typed expressions -> isl: quasi-affine values and conditions over iterators and parameters.

Iterators and parameters alike are isl parameters here, known by their names; `lift` in relations.py turns iterators
into the dimensions of a statement. C's integer arithmetic is exact, apart from overflow, which is undefined for
signed types; where unsigned sums may wrap around, the host asks for sizes with which they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.frontend import remainders
from polytile.frontend.comparisons import (
    COMPARISONS,
    Extreme,
    Form,
    Quotient,
    constant_of,
    distance,
    extreme_of,
    not_negative,
    unconverted,
)
from polytile.frontend.describe import describe
from polytile.frontend.domain_complexity import combined
from polytile.frontend.index_width import wide_parts
from polytile.frontend.math_functions import is_known
from polytile.frontend.not_affine import LARGEST, NotAffineError, held, literal, must_not_wrap
from polytile.frontend.polynomial import Monomial, Polynomial
from polytile.frontend.scop_region import SizeProduct
from polytile.frontend.value_ranges import ValueRanges
from polytile.ir.def_use import mentioned_names
from polytile.ir.expr import (
    DOUBLE,
    FLOAT,
    Access,
    Binary,
    Call,
    Cast,
    CType,
    Expr,
    Literal,
    Name,
    Ternary,
    Unary,
    includes,
)
from polytile.ir.expr_trees import walk


@dataclass(frozen=True, slots=True)
class Atom:
    """What an atom of a polynomial stands for; `parametric` when no iterator occurs in it."""

    value: isl.PwAff
    expr: Expr
    parametric: bool
    form: Form | None = None  # the values that it is made of, where comparisons may look at these


@dataclass(slots=True)
class Evaluator(ValueRanges):
    """Evaluates expressions; collects the integer scalars that are used as parameters on the way.

    `eligible` gives the type of a scalar that may be a parameter, and for any other name the reason why not.
    """

    eligible: Callable[[str], CType | str]
    atoms: dict[str, Atom] = field(default_factory=dict)
    products: Mapping[str, SizeProduct] = field(default_factory=dict)  # parameters that are products of others
    asks_periods: bool = True
    compared: list[tuple[isl.PwAff, isl.Set]] = field(default_factory=list)  # what C compares in 64 bits, and where

    # Values ---------------------------------------------------------------------------------------------------------
    def pw_aff(self, expr: Expr, known: isl.Set) -> isl.PwAff:
        """The value of an integer expression where `known` holds."""
        return self.of_polynomial(self.polynomial(expr, known), expr)

    def of_polynomial(self, polynomial: Polynomial, expr: Expr) -> isl.PwAff:
        total = isl.PwAff(f"{{ [({polynomial.terms.get((), 0)})] }}")
        for monomial, coefficient in polynomial.terms.items():
            if monomial:
                atom = monomial[0] if len(monomial) == 1 else self._product(monomial, expr)
                total = total.add(self.atoms[atom].value.scale_val(isl.Val(coefficient)))
        return total

    def is_affine(self, polynomial: Polynomial) -> bool:
        """Whether `of_polynomial` has its value."""
        known = {product.names for product in self.products.values()}
        return all(len(monomial) < 2 or monomial in known for monomial in polynomial.terms)

    def _product(self, monomial: Monomial, expr: Expr) -> str:
        for name, product in self.products.items():
            if product.names == monomial:
                self._parameter(name, expr)
                return name
        a, b = (describe(self.atoms[m].expr) for m in monomial[:2])
        raise NotAffineError(expr, f"it multiplies `{a}` by `{b}`")

    def polynomial(self, expr: Expr, known: isl.Set) -> Polynomial:
        """The value as a polynomial in which products of iterators and parameters may occur."""
        match expr:
            case Literal():
                return literal(expr)
            case Name(name=name, type=ctype):
                return self._name(name, ctype, expr)
            case Access():
                return self._access(expr)
            case Unary(op="-", operand=operand):
                return self.polynomial(operand, known).scale(-1)
            case Unary(op="+", operand=operand):
                return self.polynomial(operand, known)
            case Unary(op="~", operand=operand):
                return Polynomial.of(-1) - self.polynomial(operand, known)
            case Cast(type=ctype, operand=operand):
                return self._cast(expr, ctype, operand, known)
            case Binary(op="+" | "-" | "*"):
                return held(self._arithmetic(expr, known), expr)
            case Binary(op="/" | "%" | "<<" | ">>" | "&"):
                return held(self._by_constant(expr, known), expr)
            case Call():
                return self._call(expr, known)
            case Ternary() | Unary(op="!"):
                return self._choice(expr, known)
            case Binary(op=op) if op in COMPARISONS or op in ("&&", "||"):
                return self._choice(expr, known)
        raise NotAffineError(expr, f"`{describe(expr)}` is not affine")

    def reads_data(self, expr: Expr) -> bool:
        """Whether the value depends on an element, or on a scalar that is no parameter."""
        return any(
            (isinstance(n, Access) and (n.subscripts or n.field or isinstance(self.eligible(n.array), str)))
            or (isinstance(n, Name) and n.name not in self.iterators and isinstance(self.eligible(n.name), str))
            for n in walk(expr)
        )

    def used(self, expr: Expr, known: isl.Set) -> Polynomial:
        """The value where C looks at it as a whole number: one that may wrap around must not have done so."""
        value = self.polynomial(expr, known)
        must_not_wrap(value, expr, 6 * expr.type.size)
        if self.wraps(expr.type) and value.degree <= 1:
            self.must_not_wrap(self.of_polynomial(value, expr), expr, known)
        return value

    def _name(self, name: str, ctype: CType, expr: Expr) -> Polynomial:
        if name in self.iterators:
            self._define(name, expr, parametric=False)
            return Polynomial.of(name)
        return self._parameter(name, expr)

    def _access(self, expr: Access) -> Polynomial:
        if expr.subscripts or expr.field:
            raise NotAffineError(expr, f"it reads `{describe(expr)}`", data=True)
        return self._parameter(expr.array, expr)

    def _parameter(self, name: str, expr: Expr) -> Polynomial:
        found = self.eligible(name)
        if isinstance(found, str):
            raise NotAffineError(expr, found, data=True)
        if name not in self.parameters:
            self.parameters[name] = found
            for factor in mentioned_names(self.products[name].value) if name in self.products else ():
                self._parameter(factor, expr)
            self._define(name, Name(name, found), parametric=True)
            if not found.signed:
                self.context = self.context.intersect(self.atoms[name].value.nonneg_set())
        return Polynomial.of(name)

    def _define(self, name: str, expr: Expr, *, parametric: bool) -> None:
        if name not in self.atoms:
            self.atoms[name] = Atom(isl.PwAff(f"[{name}] -> {{ [({name})] }}"), expr, parametric)

    def _opaque(self, value: isl.PwAff, expr: Expr, form: Form | None = None) -> Polynomial:
        if value.is_cst() and value.n_piece() == 1:
            return Polynomial.of(constant_of(value))
        key = f"{describe(expr)} = {value}"
        names = {value.get_dim_name(isl.dim_type.param, k) for k in range(value.dim(isl.dim_type.param))}
        self.atoms[key] = Atom(value, expr, not names & set(self.iterators), form)
        return Polynomial.of(key)

    # Arithmetic -----------------------------------------------------------------------------------------------------
    def _operand(self, operand: Expr, common: CType, known: isl.Set) -> Polynomial:
        """An operand after its conversion to the common type of the operation."""
        if self.wraps(operand.type) and operand.type.size < common.size:
            return self.used(operand, known)
        return self.polynomial(operand, known)

    def _arithmetic(self, expr: Binary, known: isl.Set) -> Polynomial:
        left = self._operand(expr.left, expr.type, known)
        right = self._operand(expr.right, expr.type, known)
        if expr.op == "+":
            return left + right
        if expr.op == "-":
            return left - right
        if left.constant is not None or right.constant is not None:
            return left * right
        if self._is_parametric(right):
            return left * self._stride(right, expr.right)
        if self._is_parametric(left):
            return self._stride(left, expr.left) * right
        return left * right

    def _is_parametric(self, value: Polynomial) -> bool:
        return all(self.atoms[a].parametric for a in value.atoms())

    def _stride(self, value: Polynomial, expr: Expr) -> Polynomial:
        """A factor such as `n + 2` as one atom, so that `i * (n + 2) + j` still shows its stride."""
        if value.degree != 1 or list(value.terms.values()) == [1]:
            return value
        pw_aff = self.of_polynomial(value, expr)
        key = f"[{pw_aff}]"
        self.atoms.setdefault(key, Atom(pw_aff, expr, parametric=True))
        return Polynomial.of(key)

    def _by_constant(self, expr: Binary, known: isl.Set) -> Polynomial:
        if expr.type.kind != "int":
            raise NotAffineError(expr, f"`{describe(expr)}` is not an integer")
        if expr.op != "<<":
            must_not_wrap(self.polynomial(expr.left, known), expr.left, 4 * expr.type.size)
        left = self.used(Cast(expr.type, expr.left) if expr.op in "/%" else expr.left, known)
        divisor = self.polynomial(expr.right, known)
        right = divisor.constant
        if right is None and expr.op in "/%":
            return self._by_size(expr, left, divisor, known)
        if right is None or abs(right) > LARGEST:
            raise NotAffineError(expr, f"the right side of `{expr.op}` is not a constant of 64 bits")
        if expr.op == "<<" and 0 <= right < 63:
            return left.scale(2**right)
        value = self.of_polynomial(left, expr.left)
        if expr.op == ">>" and 0 <= right < 63:
            return self._opaque(remainders.floor_div(value, 2**right), expr)
        if expr.op == "&" and right >= 0 and right & (right + 1) == 0:
            return self._opaque(value.mod_val(isl.Val(str(right + 1))), expr)
        if expr.op in "/%" and right:
            return self._truncating(expr, value, right, known)
        raise NotAffineError(expr, f"`{describe(expr)}` is not affine")

    def _by_size(self, expr: Binary, left: Polynomial, divisor: Polynomial, known: isl.Set) -> Polynomial:
        """C's `/` and `%` by a size, where the quotient is one of a few (remainders.py)."""
        if not self._is_parametric(divisor):
            raise NotAffineError(expr, f"`{describe(expr.right)}` is neither a constant nor a size")
        self.used(expr.right, known)
        value, size = self.of_polynomial(left, expr.left), self.of_polynomial(divisor, expr.right)
        tried = range(2, remainders.MOST + 1)
        periods = next((k for k in tried if self.proves(known, remainders.within(value, size, k))), None)
        if periods is None and not (
            expr.op == "%"
            and (self.asks_periods or self._varies_within(left, size, known))
            and self.require(known, remainders.within(value, size, 2))
        ):
            size_text = describe(expr.right)
            raise NotAffineError(
                expr,
                f"the right side of `{expr.op}` is not a constant, and `{describe(expr.left)}` is not provably "
                f"above -({size_text}) and below {remainders.MOST} * ({size_text})",
                hint="bound it, or promise what is missing with `#pragma polytile assume(...)`; "
                "the right side may also be a constant",
                periods=True,
            )
        return self._opaque(remainders.by_size(expr.op, value, size, periods or 2), expr)

    def _varies_within(self, value: Polynomial, size: isl.PwAff, known: isl.Set) -> bool:
        """Whether the iterators of a sum stay within a period: those of i + k where 0 <= i < size, whatever k is."""
        terms = {m: f for m, f in value.terms.items() if any(not self.atoms[atom].parametric for atom in m)}
        varying = self.of_polynomial(Polynomial(terms), Literal("0"))
        return bool(terms) and self.proves(known, remainders.within(varying, size, 1))

    @contextmanager
    def asking_for_periods(self, asks: bool) -> Iterator[None]:
        """Have the host ask that remainders by sizes have few periods, even where iterators alone have more."""
        before, self.asks_periods = self.asks_periods, asks
        try:
            yield
        finally:
            self.asks_periods = before

    def _truncating(self, expr: Binary, value: isl.PwAff, divisor: int, known: isl.Set) -> Polynomial:
        natural = self.proves(known, value.nonneg_set())
        return self._opaque(remainders.by_constant(expr.op, value, divisor, natural=natural), expr)

    def _cast(self, expr: Expr, ctype: CType, operand: Expr, known: isl.Set) -> Polynomial:
        if ctype.kind == "struct" or ctype == FLOAT:
            raise NotAffineError(expr, f"`{describe(expr)}` is not an integer")
        value = self.polynomial(operand, known)
        if ctype.kind == "int" and operand.type.kind == "int" and ctype != operand.type:
            self.used(operand, known)
            if not ctype.signed and value.degree <= 1:
                self.must_be_natural(self.of_polynomial(value, expr), expr, known)
            narrow = not includes(ctype, operand.type) and value.degree <= 1
            if narrow and not self.ask_to_fit(self.of_polynomial(value, expr), ctype, self.known_ranges(known)):
                raise NotAffineError(expr, f"the cast `{describe(expr)}` may change the value")
        return value

    def _call(self, expr: Call, known: isl.Set) -> Polynomial:
        name, arguments = expr.function.removesuffix("f"), expr.arguments
        match name if is_known(expr.function) else "":
            case "min" | "max" | "fmin" | "fmax":
                return self._extreme(expr, (arguments[0], arguments[1], name.endswith("max")), known)
            case "abs" | "labs" | "llabs" | "fabs" | "fab":
                a = self.of_polynomial(self.used(arguments[0], known), arguments[0])
                return self._opaque(a.max(a.neg()), expr)
            case "floord":
                return self._floor_of(Binary("/", arguments[0], arguments[1], DOUBLE), expr, known, up=False)
            case "floor" | "ceil":
                return self._floor_of(unconverted(arguments[0]), expr, known, up=name == "ceil")
        raise NotAffineError(expr, f"it calls `{expr.function}`", data=not is_known(expr.function))

    def _floor_of(self, quotient: Expr, expr: Expr, known: isl.Set, *, up: bool) -> Polynomial:
        if quotient.type.kind == "int":
            return self.used(quotient, known)
        if not (isinstance(quotient, Binary) and quotient.op == "/"):
            raise NotAffineError(expr, f"`{describe(expr)}` is not affine")
        divisor = self.polynomial(quotient.right, known).constant
        if divisor is None or not 0 < divisor <= LARGEST:
            raise NotAffineError(expr, f"`{describe(quotient.right)}` is not a positive constant")
        numerator = self.used(quotient.left, known)
        value = self.of_polynomial(numerator, quotient.left).scale_down_val(isl.Val(divisor))
        return self._opaque(value.ceil() if up else value.floor(), expr, Quotient(numerator, divisor, up))

    def _extreme(self, expr: Expr, parts: tuple[Expr, Expr, bool], known: isl.Set) -> Polynomial:
        first, second, largest = parts
        values = self.used(first, known), self.used(second, known)
        a, b = self.of_polynomial(values[0], first), self.of_polynomial(values[1], second)
        return self._opaque(a.max(b) if largest else a.min(b), expr, Extreme(*values, largest))

    def _choice(self, expr: Expr, known: isl.Set) -> Polynomial:
        """`c ? a : b`, and comparisons used as 0 or 1."""
        if (extreme := extreme_of(expr)) is not None:
            return self._extreme(expr, extreme, known)
        if isinstance(expr, Ternary):
            condition, then, otherwise = expr.condition, expr.then, expr.otherwise
        else:
            condition, then, otherwise = expr, Literal("1"), Literal("0")
        holds = self.condition(condition, known)
        fails = holds.complement()
        a = self.of_polynomial(self.used(then, known.intersect(holds)), then)
        b = self.of_polynomial(self.used(otherwise, known.intersect(fails)), otherwise)
        return self._opaque(a.intersect_params(holds).union_add(b.intersect_params(fails)).coalesce(), expr)

    # Conditions -----------------------------------------------------------------------------------------------------
    def condition(self, expr: Expr, known: isl.Set) -> isl.Set:
        """Where an expression is not 0, for points at which `known` holds."""
        match expr:
            case Unary(op="!", operand=operand):
                return self.condition(operand, known).complement()
            case Binary(op="&&", left=left, right=right):
                first = self.condition(left, known)
                return combined(first.intersect(self.condition(right, known.intersect(first))), expr)
            case Binary(op="||", left=left, right=right):
                first = self.condition(left, known)
                return combined(first.union(self.condition(right, known.subtract(first))).coalesce(), expr)
            case Binary(op=op, left=left, right=right) if op in COMPARISONS:
                return self.compare(op, *self._compared(left, right, known), (left, right))
        value = self.of_polynomial(self.polynomial(expr, known), expr)
        return value.ne_set(isl.PwAff("{ [(0)] }"))

    def compare(self, op: str, a: Polynomial, b: Polynomial, exprs: tuple[Expr, Expr]) -> isl.Set:
        """Where `a op b` holds, the values of two expressions."""
        forms = {name: atom.form for name, atom in self.atoms.items() if atom.form is not None}
        if op in ("==", "!=") or forms.keys().isdisjoint((a - b).atoms()):
            return COMPARISONS[op](self.of_polynomial(a, exprs[0]), self.of_polynomial(b, exprs[1]))
        return not_negative(distance(op, a, b), forms, lambda value: self.of_polynomial(value, exprs[0]))

    def _compared(self, left: Expr, right: Expr, known: isl.Set) -> tuple[Polynomial, Polynomial]:
        values = []
        for operand, other in ((left, right), (right, left)):
            value = self.used(operand, known)
            self._note_width(operand, known)
            converts = operand.type.signed and not other.type.signed and other.type.size >= max(operand.type.size, 4)
            if converts and other.type.kind == operand.type.kind == "int":
                self.must_be_natural(self.of_polynomial(value, operand), operand, known)
            values.append(value)
        return values[0], values[1]

    def _note_width(self, operand: Expr, known: isl.Set) -> None:
        for part in wide_parts(operand):
            with suppress(NotAffineError):
                self.compared.append((self.pw_aff(part, known), known))
