"""Which updates of elements must be indivisible under a schedule: those whose order it leaves open.

    for (i) h[p[i]] += 1;                  i in different threads: atomic
    for (i) for (j) y[i][p[j]] += x[j];    i in different threads, j in order in each: plain
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_util import maps
from polytile.scheduling.analysis.dependences import unordered_updates
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.proof.legality import unordered


def indivisible(run: Executions) -> frozenset[tuple[str, str]]:
    """Return the (statement, array) whose updates have to be atomic operations.

    The tree runs some of those that commute neither in one thread nor with a barrier between.

    The dependences leave out exactly the pairs of these updates (analysis/dependences.py): all others are in order.
    """
    found: set[tuple[str, str]] = set()
    for through in run.dependences.by_array:
        pairs = unordered_updates(run.scop, through)
        if pairs is None:
            continue
        for violation in unordered(run.schedule.tree, pairs.intersect_params(run.scop.context)):
            for pair in maps(violation.pairs):
                names = (str(pair.get_tuple_name(kind)) for kind in (isl.dim_type.in_, isl.dim_type.out))
                found.update((name, through.array) for name in names)
    return frozenset(found)
