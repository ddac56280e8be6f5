"""What two nests of a common loop nest would both touch: the locality that their fusion gains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.ir.scop import Scop
from polytile.scheduling.cost.references import Form, Number, Reference, references
from polytile.scheduling.superposed.nest import CONSTANT, Row

Rows = dict[str, Row]  # of one loop, by statement
Slopes = tuple[Number, ...]


def arrays_of(scop: Scop, statements: Sequence[str]) -> frozenset[str]:
    """The arrays that these statements reach in memory."""
    return frozenset(r.array.name for name in statements for r in references(scop, scop.statement(name)))


def shared_rank(
    scop: Scop, around: Sequence[Rows], loops: Sequence[Rows], first: Sequence[str], second: Sequence[str]
) -> int:
    """How many of the loops a reference follows that statements of both groups make: they reuse what it reaches within
    one iteration of these loops, and of those around them. 0 when there is no such reference.

    Example: A[r][q][s] and A[r][q][p] share 2 of the loops r, q; A[i][j] and A[j][i] share 2 of i ~ j, j ~ i.
    """
    nest = (*around, *loops)
    own = list(_steps(scop, nest, first))
    followed = (_followed(a, b) for a in own for b in _steps(scop, nest, second))
    return max((sum(loop >= len(around) for loop in loops) for loops in followed), default=0)


class _Steps:
    """A reference as the loops see it: by subscript, its slopes along each; None where others than these move it."""

    def __init__(self, reference: Reference, loops: Sequence[Row]) -> None:
        self.array = reference.array.name
        self.field = reference.field
        self.slopes = [_slopes(form, loops) for form in reference.subscripts]


def _steps(scop: Scop, loops: Sequence[Rows], statements: Sequence[str]) -> Iterator[_Steps]:
    for name in statements:
        for reference in references(scop, scop.statement(name)):
            yield _Steps(reference, [rows[name] for rows in loops])


def _slopes(form: Form | None, loops: Sequence[Row]) -> Slopes | None:
    if form is None:
        return None
    slopes = form.slopes
    known = {row.iterator for row in loops}
    if any(slope and i not in known for i, slope in enumerate(slopes)):
        return None
    return tuple(0 if r.iterator == CONSTANT else r.sign * slopes[r.iterator] for r in loops)


def _followed(a: _Steps, b: _Steps) -> frozenset[int]:
    """The loops that two references follow alike; none where they follow them differently."""
    if (a.array, a.field) != (b.array, b.field):
        return frozenset()
    followed: set[int] = set()
    for first, second in zip(a.slopes, b.slopes, strict=True):
        if first is None or second is None:
            continue
        if first != second:
            return frozenset()
        followed.update(i for i, slope in enumerate(first) if slope)
    return frozenset(followed)
