"""Reads of elements that nothing writes any more: all see who wrote an element last, which is found once.

before: for (i) for (j) for (k < j) S: x[i][j] += x[i][k];     the flow to S's reads of x[i][k], by their times
after:  { S[i, j, k] -> x[i, k] } after { x[i, j] -> S[i, j, j - 1] }

isl looks for the last one of all writers that come before a read. Where the times of a statement fall into pieces, as
when some steps of a reduction come first, it does so for each pair of pieces.
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_util import maps, with_tuple_names
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.last_writers import FINAL, last_writers
from polytile.scheduling.analysis.source_order import SourceOrder, name_of

IN, OUT = isl.dim_type.in_, isl.dim_type.out


@memoized
def finished_reads(reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    """Return the reads, `{ S[i] -> A[x] }`, of the statements that run after all writes of what they read.

    Returns none where each statement's time, `{ S[i] -> [t] }`, is one piece.
    """
    found = isl.UnionMap.empty(reads.get_space())
    if all(m.n_basic_map() == 1 for m in maps(order)):
        return found
    times = SourceOrder.of(order)
    for read in map(isl.UnionMap.from_map, maps(reads)):
        pairs = maps(writes.apply_range(read.reverse()))
        if all(m.is_subset(times.before(name_of(m, IN), name_of(m, OUT))) for m in pairs):
            found = found.union(read)
    return found


def values_of_finished(scop: Scop, array: str, reads: isl.UnionMap) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return the flow to such reads of an array, and those of them that see a value from before the SCoP."""
    return _seen(reads, with_tuple_names(last_writers(scop, array), {FINAL: array}).reverse())


@memoized
def _seen(reads: isl.UnionMap, writers: isl.UnionMap) -> tuple[isl.UnionMap, isl.UnionMap]:
    return reads.apply_range(writers).reverse(), reads.subtract_range(writers.domain())
