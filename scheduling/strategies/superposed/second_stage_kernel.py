"""The tree of a kernel that adds up the partial results of blocks (second_stage.py).

One thread adds up the chunks of a result where there are many results:

    kernel { block [floor(i/8), floor(j/32)] { thread[8,32] [i mod 8, j mod 32] { y = 0; [c] F } } }

and several lanes do where there are few results, whose threads would mostly wait for memory:

    kernel { block [floor(i/32)] { sequence {
        thread[8,32] [l, i mod 32] { B; [floor(c/8)] F }                                  l is c mod 8 for F
        thread[8,32] [0, i mod 32] { y = 0; T } } } }

Sums that have nothing to do with one another are made by blocks of their own: block [0, ...] and block [1, ...].
"""

from __future__ import annotations

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.schedule import BLOCK, KERNEL, thread_mark
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Row, time_of
from polytile.scheduling.strategies.superposed.reduction_statements import Part, Parts, modulo, quotient
from polytile.scheduling.strategies.superposed.second_stage import Tail, apart
from polytile.scheduling.strategies.superposed.tree_building import in_order, leaf, marked, under_band
from polytile.tuning import BlockTuning

Values = list[isl.PwAff]


def tail_kernel(parts: Parts, tail: Tail, blocks: BlockTuning) -> isl.Schedule:
    """Build the kernel of a second stage."""
    made = _TailKernel(parts, tail, blocks)
    return marked(made.by_lanes() if made.gathered else made.by_threads(), KERNEL)


@dataclass(frozen=True, slots=True)
class _TailKernel:
    parts: Parts
    tail: Tail
    sizes: BlockTuning

    @property
    def gathered(self) -> list[Part]:
        """Return the sums whose chunks are added up by several threads."""
        return [part for part in self.tail.parts if part.made is not None and part.made.gathering is not None]

    def by_threads(self) -> isl.Schedule:
        """Map the last iterators that index results to blocks and threads; each thread adds up chunks in order."""
        taken = range(max(0, self.tail.rank - MAX_DIMENSIONS), self.tail.rank)
        schedule = in_order([self._serially(part, taken) for part in self.tail.parts])
        if not taken:
            return schedule
        sizes = self.sizes.serial if len(taken) == 1 else self.sizes.of_rank(len(taken))
        whose = self._whose() if len(taken) < MAX_DIMENSIONS else {}
        names = [part.statement for part in self.tail.parts]
        threads = {name: self._threads(name, taken, sizes) for name in names}
        blocks = {name: [*self._number(name, whose.get(name)), *self._blocks(name, taken, sizes)] for name in names}
        schedule = marked(under_band(schedule, threads, parallel=True), thread_mark(sizes))
        return marked(under_band(schedule, blocks, parallel=True), BLOCK)

    def by_lanes(self) -> isl.Schedule:
        """Map the first dimension of threads to the chunks of each result, the next ones to results."""
        sizes, results, whose = self.sizes.combining[self.tail.rank], range(self.tail.rank), self._whose()
        phases = [self._loop(part, sizes) for part in self.gathered]
        plain = in_order([self._serially(part, results) for part in self.tail.parts])
        names = [part.statement for part in self.tail.parts]
        first = {name: [self._time(name), *self._threads(name, results, sizes[1:])] for name in names}
        schedule = in_order([*phases, marked(under_band(plain, first, parallel=True), thread_mark(sizes))])
        groups = {name: whose.get(part.statement) for part in self.tail.parts for name in _statements(part)}
        blocks = {n: [*self._number(n, k), *self._blocks(n, results, sizes[1:])] for n, k in groups.items()}
        return marked(under_band(schedule, blocks, parallel=True), BLOCK) if any(blocks.values()) else schedule

    def _loop(self, part: Part, sizes: tuple[int, ...]) -> isl.Schedule:
        """Start the partial results of each result, and add up chunks in turns."""
        begin, adds, _ = _statements(part)
        rank, (lanes, *side) = self.tail.rank, sizes
        made, results = part.made, range(rank)
        assert made is not None and made.gathering is not None
        chunks = range(rank, len(self.parts.scop.statement(adds).iterators))
        shared, chunk = made.gathering.shared, self._time(adds, made.gathering.shared)
        rows = [quotient(chunk, lanes) if k == shared else self._time(adds, k) for k in chunks]
        turns = under_band(leaf(self.parts.scop, adds), {adds: rows})
        threads = {
            begin: [self._time(begin, rank), *self._threads(begin, results, side)],
            adds: [modulo(chunk, lanes), *self._threads(adds, results, side)],
        }
        schedule = in_order([leaf(self.parts.scop, begin), turns])
        return marked(under_band(schedule, threads, parallel=True), thread_mark(sizes))

    def _serially(self, part: Part, taken: range) -> isl.Schedule:
        """Return the iterators that no thread or block takes, as loops of one thread."""
        rank = len(self.parts.scop.statement(part.statement).iterators)
        rows = [self._time(part.statement, i) for i in range(rank) if i not in taken]
        return under_band(leaf(self.parts.scop, part.statement), {part.statement: rows})

    # Times -----------------------------------------------------------------------------------------------------------
    def _time(self, statement: str, iterator: int = CONSTANT, shift: int = 0) -> isl.PwAff:
        return time_of(self.parts.scop.statement(statement), Row(statement, iterator, shift=shift))

    def _threads(self, statement: str, taken: range, sizes: tuple[int, ...] | list[int]) -> Values:
        return [modulo(self._time(statement, i), size) for i, size in zip(taken, sizes, strict=True)]

    def _blocks(self, statement: str, taken: range, sizes: tuple[int, ...]) -> Values:
        return [quotient(self._time(statement, i), size) for i, size in zip(taken, sizes, strict=True)]

    def _number(self, statement: str, group: int | None) -> Values:
        return [] if group is None else [self._time(statement, shift=group)]

    def _whose(self) -> dict[str, int]:
        """Return the group that each statement belongs to, where there are several that share nothing."""
        groups = apart(self.tail)
        return {p.statement: k for k, parts in enumerate(groups) for p in parts} if len(groups) > 1 else {}


def _statements(part: Part) -> tuple[str, ...]:
    """Return the statements that a part of a second stage stands for, in order."""
    gathering = part.made.gathering if part.made is not None else None
    if gathering is None or part.made is None or part.made.finish is None:
        return (part.statement,)
    return gathering.initial, part.made.finish, gathering.total
