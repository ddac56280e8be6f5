"""Kernels in front of a time loop and behind it, for parallel statements, as those that copy arrays into two versions.

before: S2[v, i, j] for all v, i, j; the time loop
after:  sequence { kernel / block [floor(i/8), floor(j/32)] / band [v] / thread[8,32] / band [i, j]; the time loop }
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.ir.schedule import BLOCK, KERNEL, thread_mark
from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.loop_nest import Band, Mark, Point, around, to_schedule

SET = isl.dim_type.set


def with_kernels(
    tree: isl.Schedule, first: Sequence[isl.Set], last: Sequence[isl.Set], threads: Sequence[int]
) -> isl.Schedule:
    """Put the tree after a kernel for each of the domains `first`, and before those for `last`."""
    for domain in reversed(first):
        tree = parallel_kernel(domain, threads).sequence(tree)
    for domain in last:
        tree = tree.sequence(parallel_kernel(domain, threads))
    return tree


def parallel_kernel(domain: isl.Set, threads: Sequence[int]) -> isl.Schedule:
    """Build a kernel for a statement of parallel instances, with a thread for each value of its last iterators.

    The thread runs through the other iterators; `threads` are those of a block, along x last.
    """
    space, rank = isl.LocalSpace.from_space(domain.get_space()), domain.dim(SET)
    values = [isl.PwAff.var_on_domain(space, SET, k) for k in range(rank)]
    if not values:  # one instance
        values, rank, threads = [isl.PwAff.from_aff(isl.Aff.zero_on_domain(space))], 1, (1,)
    sizes = tuple(threads[-rank:])
    inner, outer = values[rank - len(sizes) :], values[: rank - len(sizes)]
    tiles = [v.scale_down_val(isl.Val(size)).floor() for v, size in zip(inner, sizes, strict=True)]
    points = Mark(thread_mark(sizes), Band(_members(inner, True), Point(isl.UnionSet.from_set(domain))))
    return to_schedule(Mark(KERNEL, Mark(BLOCK, Band(_members(tiles, True), around(_members(outer, False), points)))))


def _members(values: Sequence[isl.PwAff], parallel: bool) -> tuple[Member, ...]:
    return tuple(Member(isl.UnionPwAff.from_pw_aff(value), parallel) for value in values)
