"""Sums under way of steps that are retimed: one for each plane whose terms have begun to come, the next to be complete
first.

before: x1[0][v] = 0.1 * x0[2][v] + 0.2 * x0[1][v] + 0.3 * x0[0][v];                 3 planes of step 0
after:  sum1[0][v] = sum1[0][v] + 0.3 * x0[0][v]; x1[0][v] = sum1[0][v];             1 plane of step 0, 2 sums
        sum1[1][v] = sum1[1][v] + 0.2 * x0[0][v]; sum1[2][v] = 0.1 * x0[0][v];
        sum1[0][v] = sum1[1][v]; sum1[1][v] = sum1[2][v];
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from polytile.codegen.lowering.time_tiles.overlapped.plane_ages import late
from polytile.codegen.lowering.time_tiles.written_cells import Writer
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.arith import lift
from polytile.ir.expr import Access, Assign, Binary, CType, Expr, Literal, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import PrivateArray
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, StreamStep
from polytile.ir.retiming import PlaneTerms, plane_terms


@dataclass(frozen=True, slots=True)
class PlaneSums:
    """The sums of a step: `element` is their type, `points` the cells of a thread."""

    step: StreamStep
    writer: Writer
    terms: PlaneTerms
    name: str
    element: CType
    points: tuple[int, ...]

    @property
    def planes(self) -> int:
        """Return the number of sums under way in a plane, the one that becomes complete among them."""
        return self.terms.planes + 1

    def declared(self) -> Stmt:
        return PrivateArray(self.name, self.element, (self.planes, *self.points), Literal("0"))

    def at(self, behind: int, cell: Sequence[Expr]) -> Access:
        """Return the sum that is complete so many planes later."""
        return Access(self.name, (lift(behind), *cell), self.element)

    def complete(self, cell: Sequence[Expr]) -> Expr:
        """Return the value that the statement assigns."""
        total: Expr = self.at(0, cell)
        return reduce(lambda value, one: Binary(one[0], value, one[1], self.element), self.terms.behind, total)

    def by_rows(self, reads: Sequence[StreamRead]) -> Iterator[tuple[int, dict[int, list[Expr]]]]:
        """Yield the terms by the last row that they read, first row first, so that few rows are under way at a time.

        With each row, as its distance below the cell, come the terms that had to wait for it, by how much later their
        sums are complete.

        before: sum1[0][u][v] += x0[u - 1][v] + x0[u + 1][v];  sum1[1][u][v] += x0[u - 1][v] + x0[u][v];
        after:  sum1[0][u][v] += x0[u - 1][v];  sum1[1][u][v] += x0[u - 1][v];
                sum1[1][u][v] += x0[u][v];      sum1[0][u][v] += x0[u + 1][v];
        """
        down = {r.access: r.offset[1] if len(r.offset) > 2 else 0 for r in reads}
        rows = sorted(set(down.values()))
        found: dict[int, dict[int, list[Expr]]] = {row: {} for row in rows}
        for planes, terms in self.terms.terms.items():
            for term in terms:
                last = max((down[k] for k in self._accesses(term, down)), default=rows[0])
                found[last].setdefault(planes, []).append(term)
        yield from found.items()

    def _accesses(self, term: Expr, known: Mapping[int, int]) -> Iterator[int]:
        """Yield the numbers of the known accesses of a term."""
        for node in walk(term):
            if isinstance(node, Access) and node in self.writer.numbers:
                yield from (k for k in self.writer.numbers[node] if k in known)

    def ageing(self, cell: Sequence[Expr]) -> Iterator[Stmt]:
        """Move each sum one plane nearer to its end, before the next plane comes."""
        for k in range(1, self.planes):
            yield Assign(self.at(k - 1, cell), "", self.at(k, cell))


def plane_sums(plan: OverlappedTiles, step: StreamStep, writer: Writer, name: str) -> PlaneSums:
    """Return the sums of a step that is retimed."""
    when = {read.access: late(plan, read) for read in plan.reads_of(step.index)}
    terms = plane_terms(writer.statement, when)
    if terms is None:
        raise InternalError(f"step {step.index} is retimed, and {writer.statement.name} is no sum of terms of planes")
    element = terms.terms[0][0].type
    return PlaneSums(step, writer, terms, name, element, plan.points)
