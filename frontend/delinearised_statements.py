"""Statements whose arrays may still change their shape, and what becomes of their subscripts then.

before: A[i * m + j]      as of one dimension
after:  A[i][j]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import Location, UserError
from polytile.frontend.accesses import RawAccess
from polytile.frontend.affine import Evaluator
from polytile.frontend.data_subscripts import reads_data
from polytile.frontend.delinearise import Strides, refusal, split, to_expr
from polytile.frontend.polynomial import Polynomial
from polytile.frontend.runtime_conditions import RuntimeConditions
from polytile.ir.expr import Access, Stmt
from polytile.ir.expr_trees import rewrite


@dataclass(frozen=True, slots=True)
class Draft:
    """A statement whose arrays may still change their shape."""

    name: str
    iterators: tuple[str, ...]
    points: isl.Set = field(compare=False)
    body: tuple[Stmt, ...]
    accesses: tuple[RawAccess, ...]
    location: Location
    text: str
    loops: tuple[Location, ...] = ()  # around it, outermost first
    merged: tuple[Location, ...] = ()  # its assignments, if many were made one


def split_by_first(
    candidates: Sequence[Strides], drafts: Sequence[Draft], array: str, source: str, evaluator: Evaluator
) -> tuple[Strides, list[Draft]]:
    """Split by the first strides that are proven to fit, or else by those for which the host asks least.

    Raises UserError, of the first strides, where none fit.
    """
    before = evaluator.context, evaluator.checked
    problem: UserError | None = None
    asking: tuple[Strides, list[Draft], isl.Set, RuntimeConditions] | None = None
    for strides in candidates:
        try:
            found = [resubscript(d, array, source, strides, evaluator) for d in drafts]
        except UserError as reason:
            problem = problem or reason
        else:
            if evaluator.checked is before[1]:
                return strides, found
            if asking is None or asking[2].is_strict_subset(evaluator.context):
                asking = strides, found, evaluator.context, evaluator.checked
        evaluator.context, evaluator.checked = before
    if asking is None:
        assert problem is not None
        raise problem
    strides, found, evaluator.context, evaluator.checked = asking
    return strides, found


def resubscript(draft: Draft, array: str, source: str, strides: Strides, evaluator: Evaluator) -> Draft:
    """Split the linear subscripts of one array in a statement."""
    subscripts: dict[Access, tuple[Polynomial, ...]] = {}
    for access in draft.accesses:
        if access.access.array == array:
            found = split(access, strides, evaluator, source)
            if subscripts.setdefault(access.access, found) != found:
                raise refusal(access, source, "it falls into different rows under different conditions")

    def renewed(access: Access) -> Access:
        return replace(access, subscripts=tuple(to_expr(p, evaluator) for p in subscripts[access]))

    def change(node: object) -> object:
        return renewed(node) if isinstance(node, Access) and node in subscripts else node

    accesses = tuple(
        replace(a, access=renewed(a.access), subscripts=_known(subscripts[a.access])) if a.access in subscripts else a
        for a in draft.accesses
    )
    return replace(draft, body=tuple(rewrite(s, change) for s in draft.body), accesses=accesses)


def gathered(draft: Draft, array: str, evaluator: Evaluator) -> Draft:
    """A statement that may read any element of an array where it is not known which: a[i * j]."""

    def known(subscript: Polynomial | None) -> Polynomial | None:
        return None if subscript is None or not evaluator.is_affine(subscript) else subscript

    accesses = tuple(
        replace(a, subscripts=tuple(map(known, a.subscripts))) if a.access.array == array else a for a in draft.accesses
    )
    return replace(draft, accesses=accesses)


def by_data(array: str, drafts: Sequence[Draft]) -> bool:
    """Whether data decide subscripts of an array behind the first one."""
    return any(None in a.subscripts[1:] for d in drafts for a in d.accesses if a.access.array == array)


def _known(subscripts: tuple[Polynomial, ...]) -> tuple[Polynomial | None, ...]:
    """Subscripts that read data may be any of their dimension."""
    return tuple(None if reads_data(p) else p for p in subscripts)
