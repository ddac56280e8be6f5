"""The arrays of a SCoP: extents, liveness, origin.

Variables declared inside the SCoP are dead around it, and no statement kills them: C gives them no value when they
are declared, so in a valid program each read follows a write of the same lifetime, and value-based analysis finds
that write. Only a write that happens on some data-dependent paths leaves a dependence on an earlier lifetime.
"""

from __future__ import annotations

from dataclasses import field

from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.frontend.affine import Evaluator
from polytile.frontend.c_types import where
from polytile.frontend.expressions import Translator
from polytile.frontend.name_binding import Names, Variable
from polytile.frontend.not_affine import NotAffineError
from polytile.frontend.polynomial import Polynomial
from polytile.ir.expr import Expr, Literal
from polytile.ir.scop import Array, Origin

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Shape:
    """One variable with its extents as expressions and as polynomials (None: not given)."""

    variable: Variable
    extents: tuple[Expr | None, ...]
    polynomials: tuple[Polynomial | None, ...]
    width: Polynomial | None = None  # see Array.width

    @property
    def is_own(self) -> bool:
        """Whether nothing sees it after the SCoP; it is no struct."""
        variable, symbol = self.variable, self.variable.symbol
        unseen = symbol is None or not (symbol.live_after or symbol.pointer or symbol.scope == "global")
        return unseen and variable.type.kind != "struct"


@dataclass(slots=True)
class Shapes:
    """Collects the shape of every variable that the SCoP names."""

    names: Names
    translator: Translator
    evaluator: Evaluator
    found: dict[str, Shape] = field(default_factory=dict)

    def add_outer(self) -> None:
        """Take in the variables declared around the SCoP, in the order of their declarations."""
        for name in self.names.region.symbols:
            variable = self.names.outer.get(name)
            if variable is not None and not variable.iterates:
                self._add(variable)

    def add_local(self, variable: Variable) -> None:
        """Take in a variable declared inside the SCoP."""
        if variable.type.kind == "struct" and not variable.fields:
            raise UserError(
                f"the struct `{variable.source}` is declared inside the SCoP",
                location=variable.location,
                hint="declare it before the SCoP, or use scalars",
            )
        if None in variable.extents:
            raise UserError(
                f"the array `{variable.source}` has no size", location=variable.location, hint="give its extents"
            )
        self._add(variable)

    def forget(self, variable: Variable) -> None:
        """Leave a variable out: its value is known."""
        self.found.pop(variable.name, None)

    def sources(self) -> dict[str, str]:
        """How the user calls each array."""
        return {name: shape.variable.source for name, shape in self.found.items()}

    def only_read(self) -> frozenset[str]:
        """The arrays that nothing in the SCoP writes."""
        variables = {name: shape.variable for name, shape in self.found.items()}
        return frozenset(name for name, v in variables.items() if v.symbol is not None and not v.written)

    def _add(self, variable: Variable) -> None:
        extents: list[Expr | None] = []
        polynomials: list[Polynomial | None] = []
        for k, node in enumerate(variable.extents):
            if node is None:
                if k:
                    raise UserError(
                        f"only the first extent of `{variable.source}` may be missing",
                        location=variable.location,
                        hint="give the other extents: they say where a row ends",
                    )
                extents.append(None)
                polynomials.append(None)
                continue
            expr = self.translator.value(node)
            polynomial = self._extent(expr, variable, where(node).line)
            extents.append(expr if polynomial.constant is None else Literal(str(polynomial.constant)))
            polynomials.append(polynomial)
        shape = Shape(variable, tuple(extents), tuple(polynomials), self._width(variable))
        _check_size(shape)
        self.found[variable.name] = shape

    def _width(self, variable: Variable) -> Polynomial | None:
        if variable.symbol is None or variable.symbol.width is None:
            return None
        expr = self.translator.value(variable.symbol.width)
        return self._extent(expr, variable, variable.location.line)

    def _extent(self, expr: Expr, variable: Variable, line: int) -> Polynomial:
        try:
            polynomial = self.evaluator.polynomial(expr, self.evaluator.context)
        except NotAffineError as problem:
            raise UserError(
                f"the size of `{variable.source}` cannot be used: {problem.reason}",
                location=variable.location,
                hint="sizes of arrays are made of constants and of integers that do not change inside the SCoP",
            ) from None
        if not all(self.evaluator.atoms[a].parametric for a in polynomial.atoms()):
            raise UserError(
                f"the size of `{variable.source}` depends on an iterator",
                location=variable.location,
                hint="declare it with its largest size",
            )
        if polynomial.degree == 1 and variable.symbol is not None:
            value = self.evaluator.of_polynomial(polynomial, expr)
            self.evaluator.context = self.evaluator.context.intersect(value.nonneg_set())
        return polynomial


def _check_size(shape: Shape) -> None:
    total = shape.variable.type.size
    for polynomial in shape.polynomials:
        constant = polynomial.constant if polynomial is not None else None
        total *= 1 if constant is None else max(constant, 0)
    if total > _LARGEST:
        raise UserError(
            f"the size of `{shape.variable.source}` overflows: {total} bytes",
            location=shape.variable.location,
            hint="an object can have at most 2^63 - 1 bytes: use smaller extents",
        )


def to_array(shape: Shape, extents: tuple[Expr | None, ...], elements: Expr | None) -> Array:
    """The `Array` of a shape whose final extents are given."""
    variable, symbol = shape.variable, shape.variable.symbol
    if symbol is None:
        return Array(
            variable.name,
            variable.type,
            extents,
            Origin.LOCAL,
            live_in=False,
            live_out=False,
            fields=variable.fields,
            location=variable.location,
        )
    private = not (symbol.live_before or symbol.live_after or symbol.pointer or None in extents)
    return Array(
        variable.name,
        variable.type,
        extents,
        Origin.LOCAL if private else Origin.EXTERNAL,
        symbol.live_before,
        symbol.live_after,
        symbol.pointer and not symbol.restrict,
        variable.fields,
        variable.location,
        rows_apart=symbol.table,
        elements=elements,
        width="" if symbol.width is None else str(symbol.width.name),
        members=symbol.members,
        offsets=symbol.offsets,
        may_interleave=symbol.may_interleave,
    )
