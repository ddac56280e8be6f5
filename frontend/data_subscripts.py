"""Subscripts that read data, in arrays that are indexed by hand.

before: x[p[i] * m + j]        where other accesses say that rows have m elements
after:  x[p[i]][j]

The parts that read data are atoms of a polynomial of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import islpy as isl

from polytile.diagnostics import UserError
from polytile.frontend.accesses import RawAccess
from polytile.frontend.affine import Atom, Evaluator
from polytile.frontend.describe import describe
from polytile.frontend.not_affine import NotAffineError
from polytile.frontend.polynomial import Polynomial
from polytile.ir.expr import Binary, Expr, Unary

T = TypeVar("T")
_DATA = "data "


class UnknownSizeError(UserError):
    """Data decide which elements of `array` are used, and how many it has is not known; `others` are those of further
    arrays of the SCoP."""

    array = ""
    others: tuple[UnknownSizeError, ...] = ()


def of_each(arrays: Iterable[str], ask: Callable[[str], T]) -> list[T]:
    """What `ask` says of each array. Raises the UnknownSizeError of the first array that has one, with those of all
    others, so that the SCoP is extracted again once; another UserError is raised unless one of these is met first."""
    found: list[T] = []
    unknown: list[UnknownSizeError] = []
    for array in arrays:
        try:
            found.append(ask(array))
        except UnknownSizeError as problem:
            unknown.append(problem)
        except UserError:
            if not unknown:
                raise
            break
    if unknown:
        unknown[0].others = tuple(unknown[1:])
        raise unknown[0]
    return found


def unknown_size(access: RawAccess, dimension: int, array: str) -> UnknownSizeError:
    """The refusal of a subscript that a known size would make acceptable."""
    made = UnknownSizeError(
        f"the subscript `{describe(access.access.subscripts[dimension])}` of `{array}` is not affine: it reads data, "
        "and how large the array is is not known",
        location=access.location,
        hint=f"declare the array with its size, such as `{array}[n]`",
    )
    made.array = array
    return made


def reads_data(polynomial: Polynomial) -> bool:
    """Whether a polynomial has parts that read data."""
    return any(atom.startswith(_DATA) for atom in polynomial.atoms())


def linear(access: RawAccess, evaluator: Evaluator) -> Polynomial:
    """The first subscript of an access, where it reads data too."""
    found = access.subscripts[0]
    return found if found is not None else _polynomial(access.access.subscripts[0], access.points, evaluator)


def _polynomial(expr: Expr, known: isl.Set, evaluator: Evaluator) -> Polynomial:
    try:
        return evaluator.polynomial(expr, known)
    except NotAffineError:
        pass
    match expr:
        case Binary(op="+" | "-" | "*" as op, left=left, right=right) if expr.type.signed:
            one, other = (_polynomial(side, known, evaluator) for side in (left, right))
            return one * other if op == "*" else one + other if op == "+" else one - other
        case Unary(op="-", operand=operand) if expr.type.signed:
            return _polynomial(operand, known, evaluator).scale(-1)
    for key, atom in evaluator.atoms.items():
        if key.startswith(_DATA) and atom.expr == expr:
            return Polynomial.of(key)
    key = f"{_DATA}{len(evaluator.atoms)}"
    evaluator.atoms[key] = Atom(isl.PwAff("{ [(0)] }"), expr, parametric=False)
    return Polynomial.of(key)
