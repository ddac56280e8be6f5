"""Which thread of its block runs each instance of a kernel."""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polytile.ir.isl_memoization import memoized
from polytile.ir.schedule import nodes_below, thread_sizes


def thread_map(kernel: isl.ScheduleNode) -> isl.MultiUnionPwAff:
    """Return the thread that runs each instance of a kernel: the point of its thread band modulo the sizes.

    It is 0 for statements below no thread mark.
    """
    marks = ((node.child(0), sizes) for node in nodes_below(kernel) if (sizes := thread_sizes(node)))
    bands = tuple((band.band_get_partial_schedule(), band.get_domain(), sizes) for band, sizes in marks)
    return _threads(kernel.get_domain(), bands)


@memoized
def _threads(
    rest: isl.UnionSet, bands: tuple[tuple[isl.MultiUnionPwAff, isl.UnionSet, tuple[int, ...]], ...]
) -> isl.MultiUnionPwAff:
    """Return the thread of each instance of a kernel, from its thread bands, their instances and sizes."""
    turns = [found for band in bands if (found := _turns(*band)) is not None]
    for own in turns:
        rest = rest.subtract(own.domain())
    if turns and rest.is_empty():
        return reduce(isl.MultiUnionPwAff.union_add, turns)
    rank = len(bands[0][2]) if bands else 1
    zero = isl.MultiVal.zero(rest.get_space().add_unnamed_tuple_ui(rank))
    return reduce(isl.MultiUnionPwAff.union_add, turns, isl.MultiUnionPwAff.multi_val_on_domain(rest, zero))


def _turns(
    points: isl.MultiUnionPwAff, domain: isl.UnionSet, sizes: tuple[int, ...]
) -> isl.MultiUnionPwAff | None:
    """Return the threads of the instances below a thread mark, `{ S[i, j] -> [i mod 8, j mod 32] }`.

    Returns None where a schedule file has another number of sizes, which the proof reports.
    """
    points = points.intersect_domain(domain)
    if points.dim(isl.dim_type.out) != len(sizes):
        return None
    for k, size in enumerate(sizes):
        points = points.set_at(k, points.get_at(k).mod_val(isl.Val(size)))
    return points
