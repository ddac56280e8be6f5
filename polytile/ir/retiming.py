"""Statements that are sums of terms, each of which reads values of a single plane of a stream.

before: B[i][j] = 0.2 * (A[i - 1][j - 1] + A[i - 1][j + 1] + A[i][j] + A[i + 1][j - 1] + A[i + 1][j + 1])
after:  when row p of A arrives, B[p + 1] starts with   0.2 * A[p][j - 1] + 0.2 * A[p][j + 1],
                                 B[p] takes another     0.2 * A[p][j],
                                 B[p - 1] is done with  0.2 * A[p][j - 1] + 0.2 * A[p][j + 1]

So one plane of A is enough, where else three are kept, with what is beside a thread's cells in each: retiming, as of
Stock et al. (PLDI 2014) and section III of Rawat et al. (Proc. IEEE 2018). It changes the order of additions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.access_numbers import access_numbers
from polytile.ir.expr import Access, Assign, Binary, Cast, CType, Expr, Unary
from polytile.ir.expr_trees import walk
from polytile.ir.identity_key import remembered
from polytile.ir.scop import AccessKind, Statement


@dataclass(frozen=True, slots=True)
class PlaneTerms:
    """What a statement assigns: the sum of all terms, divided or multiplied by each of `behind` (the operator, and the
    value). `terms` are by how many planes later than the values that they read the sum is complete."""

    terms: Mapping[int, tuple[Expr, ...]]
    behind: tuple[tuple[str, Expr], ...]

    @property
    def planes(self) -> int:
        """Return how many planes before the last terms the first ones come."""
        return max(self.terms)


def total(terms: Sequence[Expr], before: Expr | None) -> Expr:
    """Return the sum of `before`, if there is one, and terms."""
    first, *more = terms if before is None else (before, *terms)
    for term in more:
        op, value = ("-", term.operand) if isinstance(term, Unary) and term.op == "-" else ("+", term)
        first = Binary(op, first, value, first.type)
    return first


def plane_terms(statement: Statement, late: Mapping[int, int]) -> PlaneTerms | None:
    """Group the terms of a statement by how many planes before its completion they read values.

    Its access number k reads values `late[k]` planes before it is complete. Returns None where it is no such sum, or
    reads other elements of arrays.
    """
    made = _sum_of(statement)
    if made is None or not made.reads <= late.keys():
        return None  # it reads other memory, at places that depend on the plane
    found: dict[int, list[Expr]] = {}
    for term, reads in made.terms:
        planes = {late[k] for k in reads}
        if len(planes) > 1:
            return None
        found.setdefault(min(planes, default=0), []).append(term)
    if 0 not in found or len(found) < 2:
        return None
    return PlaneTerms({k: tuple(terms) for k, terms in found.items()}, made.behind)


@dataclass(frozen=True, slots=True)
class _Sum:
    """What a statement assigns, each term with the numbers of what it reads; `reads` are all of these."""

    terms: tuple[tuple[Expr, frozenset[int]], ...]
    behind: tuple[tuple[str, Expr], ...]
    reads: frozenset[int]


@remembered
def _sum_of(statement: Statement) -> _Sum | None:
    """Return the sum that a statement assigns; None where it does something else.

    Blocks of any iterations ask for it.
    """
    sums = [s for s in statement.body if isinstance(s, Assign)]
    if len(statement.body) != 1 or len(sums) != 1 or sums[0].op or sums[0].value.type.kind != "float":
        return None
    value, target, behind = sums[0].value, sums[0].target.type, list[tuple[str, Expr]]()
    while isinstance(value, Binary) and value.op == "/" and not _reads(statement, value.right):
        behind.insert(0, (value.op, value.right))
        value = value.left
    if not _is_as_exact(value.type, target):
        return None
    terms = tuple((term, _reads(statement, term)) for term in _terms(statement, value, target))
    return _Sum(terms, tuple(behind), frozenset[int]().union(*(reads for _, reads in terms)))


def _terms(statement: Statement, value: Expr, target: CType) -> Iterator[Expr]:
    """Yield the terms of a sum, in its type; factors that read no values are multiplied into each.

    A sum that is less exact than the target stays whole, as do integers, which wrap around.

    before: 0.5f * (x + f * 3 - (u - 1u))                      a double x, a float f, an unsigned u
    after:  0.5f * x, 0.5f * (double)(f * 3), -(0.5f * (double)(u - 1u))
    """
    match value:
        case _ if not _is_as_exact(value.type, target):
            yield value
        case Binary(op="+" | "-"):
            first, behind = _addends(value)
            yield from _converted(_terms(statement, first, target), value.type)
            for op, addend in behind:
                for term in _converted(_terms(statement, addend, target), value.type):
                    yield term if op == "+" else _negative(term)
        case Unary(op="-", operand=operand):
            yield from map(_negative, _terms(statement, operand, target))
        case Binary(op="*", left=left, right=right) if not _reads(statement, left):
            for term in _terms(statement, right, target):
                yield replace(value, right=term)
        case Binary(op="*", left=left, right=right) if not _reads(statement, right):
            for term in _terms(statement, left, target):
                yield replace(value, left=term)
        case _:
            yield value


def _addends(value: Binary) -> tuple[Expr, list[tuple[str, Expr]]]:
    """Split a sum of one type into its first addend and the others with their operators: hundreds, in large boxes."""
    behind: list[tuple[str, Expr]] = []
    first: Expr = value
    while isinstance(first, Binary) and first.op in "+-" and first.type == value.type:
        behind.append((first.op, first.right))
        first = first.left
    return first, behind[::-1]


def _is_as_exact(ctype: CType, target: CType) -> bool:
    """Return whether another order of additions in a type changes no more than the last digits of what is assigned."""
    return ctype.kind == "float" and target.kind == "float" and ctype.size >= target.size


def _converted(terms: Iterable[Expr], ctype: CType) -> Iterator[Expr]:
    return (term if term.type == ctype else Cast(ctype, term) for term in terms)


def _negative(term: Expr) -> Expr:
    return Unary("-", term, term.type)


def _reads(statement: Statement, value: Expr) -> frozenset[int]:
    """Return the numbers of the accesses that an expression reads: an element may be written, too."""
    found = (k for access in _accesses(value) for k in access_numbers(statement, access))
    return frozenset(k for k in found if statement.accesses[k].kind is AccessKind.READ)


def _accesses(value: Expr) -> Iterator[Access]:
    return (node for node in walk(value) if isinstance(node, Access) and node.subscripts)
