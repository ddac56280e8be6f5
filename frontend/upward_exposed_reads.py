"""Whether all reads of an array find what stood there before the SCoP.

holds for b:  for (i < n) { if (b[i]) a[i] = 1; b[i] = 0; }
not:          for (i < n) { if (b[i]) a[i] = 1; b[i + 1] = 0; }
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.frontend.accesses import RawAccess
from polytile.ir.expr import Access, Assign, For, Stmt, While
from polytile.ir.expr_trees import walk
from polytile.ir.scop import AccessKind, Statement


def reads_what_was_there(
    array: str, statements: Sequence[Statement], within: Sequence[Sequence[RawAccess]], schedule: isl.Schedule
) -> bool:
    """Whether no statement reads an element of an array that an earlier one, or the same one before, may have written.

    `within` are the accesses of each statement, in the order in which it makes them.
    """
    reads = isl.UnionMap("{ }")
    writes = isl.UnionMap("{ }")
    for statement, accesses in zip(statements, within, strict=True):
        own = [a for a in accesses if a.access.array == array]
        if not _reads_first([a.kind is AccessKind.READ for a in own], looped=_written_in_loop(array, statement.body)):
            return False
        for access in statement.accesses:
            if access.array == array:
                relation = isl.UnionMap.from_map(access.relation.intersect_domain(statement.domain))
                if access.kind is AccessKind.READ:
                    reads = reads.union(relation)
                else:
                    writes = writes.union(relation)
    order = schedule.get_map()
    return bool(writes.apply_range(reads.reverse()).intersect(order.lex_lt_union_map(order)).is_empty())


def _reads_first(reads: Sequence[bool], *, looped: bool) -> bool:
    """Whether reads (True) stand before all writes (False), and none of these is in a loop with reads."""
    if all(reads) or not any(reads):
        return True
    return not looped and not any(reads[reads.index(False) :])


def _written_in_loop(array: str, body: Sequence[Stmt]) -> bool:
    loops = (loop for statement in body for loop in walk(statement) if isinstance(loop, For | While))
    assigned = (n.target for loop in loops for n in walk(loop) if isinstance(n, Assign))
    return any(isinstance(target, Access) and target.array == array for target in assigned)
