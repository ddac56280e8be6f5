"""Elements of an array that one instance needs at once, and that may not share a cell: what passes between instances
does not show them.

before: S0[i]: { e[0] = x; e[1] = y; }   S1[i]: z = e[0];     with one cell for e, S1 would read y, from the right S0
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytile.ir.isl_util import union_of
from polytile.ir.read_order import reads_first
from polytile.ir.scop import AccessKind, Array, Scop, Statement


def same_cell(
    array: Array, keeps: Sequence[int], strides: Sequence[int] = (), moduli: Sequence[int] = ()
) -> isl.UnionMap:
    """Return the pairs of elements that agree in all kept subscripts, as far as cells distinguish these.

    Cells distinguish them by quotients where threads take elements in turns, and by remainders where there is a cell
    for each.
    """
    one, other = ([f"{side}{k}" for k in range(array.rank)] for side in "ab")

    def cell(subscript: str, k: int) -> str:
        if moduli:
            return f"({subscript}) mod {moduli[k]}"
        return f"floor(({subscript})/{strides[k]})" if strides else subscript

    equal = " and ".join(f"{cell(one[d], k)} = {cell(other[d], k)}" for k, d in enumerate(keeps))
    return isl.UnionMap(f"{{ {array.name}[{', '.join(one)}] -> {array.name}[{', '.join(other)}] : {equal} }}")


def conflicting_elements(scop: Scop, array: Array, same: isl.UnionMap) -> isl.UnionMap:
    """Return the pairs of different elements in one cell that conflict.

    Some instance sets one and, perhaps afterwards, uses the other: a statement of one assignment reads before it
    writes.
    """
    own = [s for s in scop.accessing(array.name) if not _sets_one(s, array.name)]
    pairs = [isl.UnionMap.from_map(m) for s in own for m in _used_at_once(scop, s, array.name)]
    found = union_of(pairs, scop.context.get_space()).intersect(same)
    return found.subtract(isl.UnionSet.identity(found.domain()))


def _sets_one(statement: Statement, array: str) -> bool:
    """Return whether a statement reads before it writes, and sets one element at most."""
    writes = [a.relation for a in statement.accesses if a.array == array and a.writes]
    return reads_first(statement) and len(writes) <= 1 and all(bool(w.is_single_valued()) for w in writes)


def _used_at_once(scop: Scop, statement: Statement, array: str) -> list[isl.Map]:
    named, kinds = frozenset((array,)), (AccessKind.WRITE, AccessKind.MAY_WRITE)
    written = [m.intersect_params(scop.context) for _, m in statement.united(*kinds, arrays=named)]
    reads = statement.united(AccessKind.READ, arrays=named) if not reads_first(statement) else ()
    used = [*written, *(m.intersect_params(scop.context) for _, m in reads)]
    return [one.range_product(other).range().unwrap() for one in written for other in used]
