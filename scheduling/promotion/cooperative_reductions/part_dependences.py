"""The dependences of a Scop whose instances run in parts, from those of the whole.

before: U[i, j] -> C[i] through part[i][l]          C reads 32 elements
after:  U[i, j] -> C[i, j mod 32]                   each part reads one

Where each instance writes one element of an array, the last writer of what a part reads is the one that the whole has
for this element. So the parts' dependences are those pairs of parts of dependent instances that meet in an element.
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_memoization import memoized
from polytile.ir.scop import AccessKind, Scop
from polytile.options import MAX_OPERATIONS
from polytile.scheduling.analysis.dependences import ArrayDependences, Dependences, array_dependences

ARRAY_OPERATIONS = MAX_OPERATIONS // 40


def parted(scop: Scop, dependences: Dependences, after: Scop, parts: isl.UnionMap) -> Dependences | None:
    """Return the dependences of `after`, whose instances are parts of those of `scop`.

    Returns None where they are not exact for an array that its new statements use.
    """
    whole = {s.name: s for s in scop.statements}
    changed = [s for s in after.statements if whole.get(s.name) is not s]
    touched = {a.array for s in changed for a in s.accesses}
    known = {d.array: d for d in dependences.by_array}
    found: list[ArrayDependences] = []
    for array in after.arrays:
        before = known.get(array.name)
        if before is None:
            before = array_dependences(after, array.name, ARRAY_OPERATIONS)
        elif array.name in touched and before.exact:
            before = _of_parts(scop, before, after, parts)
        if array.name in touched and not before.exact:
            return None
        found.append(before)
    return Dependences(tuple(found), isl.UnionMap.empty(scop.context.get_space()))


def _of_parts(scop: Scop, before: ArrayDependences, after: Scop, parts: isl.UnionMap) -> ArrayDependences:
    only = frozenset((before.array,))
    writes = scop.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=only)
    if not writes.is_single_valued():
        return array_dependences(after, before.array, ARRAY_OPERATIONS)
    reads = after.accesses(AccessKind.READ, arrays=only)
    writes = after.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=only)
    back = parts.reverse()
    return ArrayDependences(
        before.array,
        _meeting(before.flow, back, writes, reads),
        _meeting(before.anti, back, reads, writes),
        _meeting(before.output, back, writes, writes),
        parts.apply_range(before.uninitialised).intersect(reads),
    )


@memoized
def _meeting(pairs: isl.UnionMap, back: isl.UnionMap, first: isl.UnionMap, then: isl.UnionMap) -> isl.UnionMap:
    """Return the pairs of parts, which come `back` from wholes, that use a common element.

    One uses it as `first` says, and the other one as `then` does.
    """
    return pairs.apply_domain(back).apply_range(back).intersect(first.apply_range(then.reverse()))
