"""The flow through an array of which no value leaves an iteration of the loops that all its accesses are in.

    for (i) for (j) { s = 0; for (k) for (l) if (..) s += A[..] * w[k][l]; B[i][j] = s; }       s is set in each (i, j)

isl's access analysis compares all loops around two accesses, and may need longer than there is time for conditions on
many of these. Here accesses are asked as if the array had an element for each iteration, s[i][j]: others are not
compared. Where every read has a certain source then, no earlier iteration can be one, and the answer is that of the
array as it is.
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_util import maps, union_of
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.checked_flow import flow
from polytile.scheduling.analysis.source_loops import nest_of

OUT = isl.dim_type.out
_KINDS = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE, AccessKind.KILL)


def private_flow(scop: Scop, array: str) -> isl.UnionMap | None:
    """Return the flow through an array, `{ S[i, j, k] -> T[i, j] }`.

    Returns None where an iteration may read what it has not set.
    """
    users = [s.name for s in scop.accessing(array)]
    shared = len(nest_of(scop).shared(*users))
    if not shared:
        return None
    own = frozenset((array,))
    reads, must, may, kills = (_with_elements(scop.accesses(kind, arrays=own), shared) for kind in _KINDS)
    order = scop.schedule.intersect_domain(reads.union(must).union(may).union(kills).domain())
    found = flow(reads, must, may, order, kills)
    return found.get_may_dependence() if found.get_may_no_source().is_empty() else None


def _with_elements(accesses: isl.UnionMap, shared: int) -> isl.UnionMap:
    """Return `{ S[i, j, k] -> s[i, j] }` of `{ S[i, j, k] -> s[] }`."""
    return union_of((isl.UnionMap.from_map(_with_element(m, shared)) for m in maps(accesses)), accesses.get_space())


def _with_element(access: isl.Map, shared: int) -> isl.Map:
    domain = access.get_space().domain()
    iteration = isl.Map.identity(domain.map_from_set()).reset_tuple_id(OUT)
    iteration = iteration.project_out(OUT, shared, iteration.dim(OUT) - shared)
    return iteration.flat_range_product(access).set_tuple_name(OUT, access.get_tuple_name(OUT))
