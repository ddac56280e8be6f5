"""Blocks of kernels without loops that move less between device memory and L2 than the default ones.

    B[i][j][k] from 9 arrays at i - 2 .. i + 2, each plane 0.7 MB, blocks of 2 x 4 x 32: a layer of blocks touches 40
    MB, too much for L2, and two thirds of it are the next layer's, too; blocks of 8 x 1 x 32: one third

More along the outermost dimension is less along the others, where blocks fetch their neighbours' elements from L2. What
that costs is estimated too high for flat blocks: of those that are clearly faster by estimate than the default ones,
the ones that move least take least (derivative, 304^3, H100: 2.8 ms with 2 x 4 x 32, 2.46 with 4 x 2, 2.17 with 8 x 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import islpy as isl

from polytile.ir.placed_storage import Homes
from polytile.ir.schedule import Path, node_at, path_of
from polytile.ir.scop import Scop
from polytile.options import POINTS
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
    """A kernel with blocks of some sizes, and one launch of it by estimate."""

    sizes: tuple[int, ...]
    tree: isl.Schedule
    time: KernelTime

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.sizes))
        return f"blocks of {shape}: {self.time.each:.3g} us, memory {self.time.memory:.3g}"


def with_layered_blocks(problem: Problem, candidate: Candidate, homes: Callable[[], Homes]) -> Candidate:
    """The candidate whose kernels of three dimensions have the blocks that move least, where these are clearly faster
    by estimate than the default ones, for sizes that are known. `homes` are asked for where some may be."""
    options = problem.options
    known = all(p.name in options.parameters for p in problem.scop.parameters)
    if candidate.schedule is None or options.block or options.sizes or not known:
        return candidate
    choice = _Choice(problem, candidate.scop, homes)
    tree, lines = candidate.schedule.tree, []
    for number, path in enumerate([path_of(mark) for mark in kernels(tree)]):
        default = choice.default(number, tree, path)
        best = choice.best(number, default, path) if default else None
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
    homes: Callable[[], Homes]

    @cached_property
    def placed(self) -> Homes:
        return self.homes()

    @property
    def tuning(self) -> BlockTuning:
        return self.problem.machine.tuning.blocks

    def default(self, number: int, tree: isl.Schedule, path: Path) -> _Block | None:
        """The kernel as it is, if other blocks may move less."""
        found = point_kernel(node_at(tree, path))
        if found is None or found.sizes != self.tuning.of_rank(3) or found.blocks[0] != 0:
            return None
        cost = self._cost(number, tree, path)
        if cost is None or not cost.layers_fetch or self.placed.get(number):
            return None
        return _Block(found.sizes, tree, cost.time())

    def best(self, number: int, default: _Block, path: Path) -> _Block | None:
        most = self.tuning.clearly * default.time.each
        better = [one for one in self._others(number, default, path) if one.time.each <= most]
        return min(better, key=lambda one: (one.time.memory, one.time.each), default=None)

    def _others(self, number: int, default: _Block, path: Path) -> Iterator[_Block]:
        """The kernel with as many threads that are more along the outermost dimension."""
        *outer, last = default.sizes
        for first in (n for n in POINTS if n > outer[0] and prod(outer) % n == 0):
            mark = node_at(default.tree, path)
            sizes = (first, prod(outer) // first, last)
            kernel = point_kernel(mark)
            assert kernel is not None  # as by default
            tree = with_points(mark, replace(kernel, sizes=sizes), (1, 1, 1)).get_schedule()
            cost = self._cost(number, tree, path)
            if cost is not None:
                yield _Block(sizes, tree, cost.time())

    def _cost(self, number: int, tree: isl.Schedule, path: Path) -> KernelCost | None:
        values = fix_parameters(self.scop.context, self.problem.options.parameters)
        works = [Work(self.scop, one, values) for one in statements(node_at(tree, path))]
        empty = not works or any(work.empty for work in works)
        return None if empty else KernelCost(number, works, {}, self.problem.machine, {})
