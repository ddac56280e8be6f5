"""Blocks of kernels without loops that move less between device memory and L2 than the default ones.

    B[i][j][k] from 9 arrays at i - 2 .. i + 2, each plane 0.7 MB, blocks of 2 x 4 x 32: a layer of blocks touches 40
    MB, too much for L2, and two thirds of it are the next layer's, too; blocks of 8 x 1 x 32: one third

More along the outermost dimension is less along the others, where blocks fetch their neighbours' elements from L2.
Blocks in between are no better than the better one of these two (H100, ms):

    blocks              2 x 4 x 32   4 x 2   8 x 1
    derivative, double        2.85    2.50    2.19
    derivative, float         1.63    1.48    1.50
    hypterm, double           2.17    2.35    1.99
    rhs4th3fort, double       2.62    2.85    2.63
    3d27pt, double            0.93    1.18    1.03

A thread of a large body takes 128 registers, so that a multiprocessor holds 512 threads. As four blocks these go on
better than as two, one of which begins or ends at most times; and rows of 16 elements of 8 bytes are whole lines, too,
and leave fewer lanes idle at the end of a dimension. Double, constant sizes (H100, ms):

    blocks              2 x 4 x 32   8 x 1 x 32   16 x 1 x 16   2 x 4 x 16   4 x 1 x 32   8 x 1 x 16
    derivative                2.65         2.25          2.27                      2.28         2.15
    rhs4th3fort               2.75         2.65          2.60         2.57         2.59         2.48
    hypterm (80 registers)    2.14         1.86          1.81                      2.23         1.95

Estimates are means over parts of one architecture, whose memories differ; they count neither.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.schedule import Path, node_at, path_of
from polytile.ir.scop import Scop
from polytile.machine import CACHE_LINE_BYTES, Machine
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.estimate import KernelTime
from polytile.scheduling.cost.kernel_cost import KernelCost
from polytile.scheduling.cost.mapped_loops import kernels, statements
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.cost.statement_cost import Work
from polytile.scheduling.strategies.points_per_thread import point_kernel, with_points
from polytile.tuning import BlockTuning


@dataclass(frozen=True, slots=True)
class _Block:
    """A kernel with blocks of some sizes, and one launch of it by estimate, in microseconds."""

    sizes: tuple[int, ...]
    tree: isl.Schedule
    time: KernelTime
    mean: float  # of the times on all parts of the architecture, whose memories differ

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.sizes))
        return f"blocks of {shape}: {self.time.each:.3g} us, memory {self.time.memory:.3g}"


def with_layered_blocks(problem: Problem, candidate: Candidate, placed: Callable[[], frozenset[int]]) -> Candidate:
    """Give kernels of three dimensions flat blocks where the estimate says that these are faster, for known sizes.

    `placed` returns the kernels with arrays that are placed inside of them alone; it is called where a kernel may
    change.
    """
    options = problem.options
    known = all(p.name in options.parameters for p in problem.scop.parameters)
    if candidate.schedule is None or options.block or options.sizes or not known:
        return candidate
    choice = _Choice(problem, candidate.scop, cache(placed))
    tree, lines = candidate.schedule.tree, []
    for number, path in enumerate([path_of(mark) for mark in kernels(tree)]):
        default = choice.default(number, tree, path)
        best = choice.flat(number, default, path) if default else None
        if best is not None:
            tree = best.tree
            lines.append(f"kernel {number} ({candidate.schedule.strategy}): {best}; {default}")
    if not lines:
        return candidate
    return replace(candidate, schedule=replace(candidate.schedule, tree=tree), reasons=(*candidate.reasons, *lines))


@dataclass(frozen=True)
class _Choice:
    """The blocks of the kernels of one schedule."""

    problem: Problem
    scop: Scop
    placed: Callable[[], frozenset[int]]

    @property
    def tuning(self) -> BlockTuning:
        return self.problem.machine.tuning.blocks

    def default(self, number: int, tree: isl.Schedule, path: Path) -> _Block | None:
        """Return the kernel's present block, or None if no other block may move less."""
        found = point_kernel(node_at(tree, path))
        if found is None or found.sizes != self.tuning.of_rank(3) or found.blocks[0] != 0:
            return None
        cost = self._cost(number, tree, path, self.problem.machine)
        if cost is None or not cost.layers_fetch or number in self.placed():
            return None
        return self._block(found.sizes, number, tree, path)

    def flat(self, number: int, default: _Block, path: Path) -> _Block | None:
        """Try as many threads along the outermost dimension and x alone; None if that does not take less time."""
        *outer, last = default.sizes
        mark = node_at(default.tree, path)
        kernel = point_kernel(mark)
        assert kernel is not None  # as by default
        shapes = [((prod(outer), 1, last), self.tuning.clearly)]
        if (line := self._line_of_large_body(mark)) is not None and line < last:
            shapes.insert(0, ((prod(outer), 1, line), self.tuning.fewer_threads))
        for sizes, most in shapes:
            tree = with_points(mark, replace(kernel, sizes=sizes), (1, 1, 1)).get_schedule()
            block = self._block(sizes, number, tree, path)
            if block is not None and block.mean <= most * default.mean:
                return block
        return None

    def _line_of_large_body(self, mark: isl.ScheduleNode) -> int | None:
        """Count the elements in a line of memory for a statement that reads very many."""
        for name in statements(mark):
            reads = [a for a in self.scop.statement(name.name).accesses if not a.writes]
            if len(reads) >= self.tuning.large_body:
                return CACHE_LINE_BYTES // max(self.scop.array(a.array).element.size for a in reads)
        return None

    def _block(self, sizes: tuple[int, ...], number: int, tree: isl.Schedule, path: Path) -> _Block | None:
        machine = self.problem.machine
        slow = replace(machine, speed=machine.speed.with_slow_memory)
        here, there = (self._cost(number, tree, path, one) for one in (machine, slow))
        if here is None or there is None:
            return None
        return _Block(sizes, tree, here.time(), (here.time().each + there.time().each) / 2)

    def _cost(self, number: int, tree: isl.Schedule, path: Path, machine: Machine) -> KernelCost | None:
        values = fix_parameters(self.scop.context, self.problem.options.parameters)
        works = [Work(self.scop, one, values) for one in statements(node_at(tree, path))]
        empty = not works or any(work.empty for work in works)
        return None if empty else KernelCost(number, works, {}, machine, {})
