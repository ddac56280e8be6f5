"""Cells that no statement makes, such as boundaries: they keep what their elements of the user's arrays have.

before: A[(t + 1) % 2][0][j] is never written, so that every second iteration sees the one value, the others the other
after:  step 1 has it from memory, loaded a plane early; step 2 reads it two iterations before, in the ring of step 0;
        step 3 in the ring of step 1, ...
"""

from __future__ import annotations

from collections.abc import Iterator

from polytile.codegen.lowering.streaming.loads_and_stores import Transfers
from polytile.codegen.lowering.streaming.stream_kernel import Stream, negated
from polytile.ir.arith import both, sub
from polytile.ir.expr import Access, Assign, Expr, Stmt
from polytile.ir.gpu_ops import Load, PrivateArray
from polytile.ir.name_supply import Names
from polytile.ir.stream_plan import StreamStep


class ConstantCells(Transfers):
    """Where each step has the values of such cells; only tiles at sides of space have some."""

    def __init__(self, stream: Stream, names: Names) -> None:
        super().__init__(stream, names)
        self.loaded = [s for s in self.plan.made if self.is_kept(s) and self._same_before(s) is None]
        early = [s.index for s in self.loaded if self.plan.streamed and self.is_roomy and not s.retimed]
        self.early = {k: names.fresh(f"early{k}") for k in early}

    @property
    def is_roomy(self) -> bool:
        """Whether there are registers for addresses of later planes and for what cells at sides need, beside planes."""
        return True

    def is_kept(self, step: StreamStep) -> bool:
        """Whether somebody may read such cells of a step."""
        return self.stream.scop.array(step.array).live_in

    def _same_before(self, step: StreamStep) -> Access | None:
        """The same element in the planes of an earlier step, where it is still there."""
        for before in reversed(self.plan.steps[: step.index]) if self.is_roomy else ():
            ring, late = self.rings[before.index], step.lag - before.lag
            arrived = before.lower[0] <= step.lower[0] or not self.plan.streamed  # the plane, since the stream began
            if arrived and self.stream.same_elements(before, step) and 0 <= late < ring.slots:
                return ring.at(late, self.v)
        return None

    def kept(self, step: StreamStep) -> Stmt:
        """The value of such a cell: what its element had before, in registers, if need be loaded a plane ahead."""
        target = self.rings[step.index].at(0, self.v)
        if step.index in self.early:
            return Assign(target, "", Access(self.early[step.index], self.v, target.type))
        before = self._same_before(step)
        if before is not None:
            return Assign(target, "", before)
        cell = self.cell(self.made_row(step))
        return Load((target,), self.stream.home(step, cell), guard=self.stream.exists(step, cell))

    def first_kept(self, start: Expr) -> Iterator[Stmt]:
        """Those of the first plane of a turn of the loops, that earlier steps do not have."""
        for index, name in self.early.items():
            step = self.plan.steps[index]
            yield PrivateArray(name, self.stream.element(step), self.points)
            yield self.load_kept(step, start, 0)

    def load_kept(self, step: StreamStep, plane: Expr, ahead: int) -> Stmt:
        """The elements of such cells in the plane that is made when one of the inputs arrives, so far ahead of one."""
        cell = self.cell(sub(plane, step.lag - ahead))
        guard = both(self.stream.exists(step, cell), negated(self.is_made(step, cell)))
        target = Access(self.early[step.index], self.v, self.stream.element(step))
        return self.each(Load((target,), self.stream.home(step, cell), guard=guard))

    def at_home(self) -> Iterator[StreamStep]:
        """What planes with tests load from the user's arrays."""
        yield from super().at_home()
        for k, step in enumerate(self.loaded):
            if not any(self.stream.same_elements(before, step) for before in self.loaded[:k]):
                yield step
