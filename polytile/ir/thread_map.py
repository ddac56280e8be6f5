"""Which thread of its block runs each instance of a kernel."""

from __future__ import annotations

import islpy as isl

from polytile.ir.schedule import nodes_below, thread_sizes


def thread_map(kernel: isl.ScheduleNode) -> isl.MultiUnionPwAff:
    """The thread that runs each instance of a kernel: the point of its thread band modulo the sizes; 0 for
    statements below no thread mark."""
    marked = [node for node in nodes_below(kernel) if thread_sizes(node)]
    rank = len(thread_sizes(marked[0]) or ()) if marked else 1
    everything = kernel.get_domain()
    total = isl.UnionMap.empty(everything.get_space())
    for mark in marked:
        total = total.union(_turns(mark))
    rest = everything.subtract(total.domain())
    zero = isl.UnionSet(f"{{ [{', '.join('0' for _ in range(rank))}] }}")
    total = total.union(isl.UnionMap.from_domain_and_range(rest, zero))
    return isl.MultiUnionPwAff.from_union_map(total)


def _turns(mark: isl.ScheduleNode) -> isl.UnionMap:
    """The threads of the instances below a thread mark, `{ S[i, j] -> [i mod 8, j mod 32] }`."""
    band, sizes = mark.child(0), thread_sizes(mark) or ()
    points = band.band_get_partial_schedule().intersect_domain(band.get_domain())
    if points.dim(isl.dim_type.out) != len(sizes):  # a schedule file's mistake, which the proof reports
        return isl.UnionMap.empty(points.get_space())
    for k, size in enumerate(sizes):
        points = points.set_at(k, points.get_at(k).mod_val(isl.Val(size)))
    return isl.UnionMap.from_multi_union_pw_aff(points)
