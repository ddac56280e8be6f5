"""Instances that access one element and may come in any order: updates by one operation, and what the user promises."""

from __future__ import annotations

from itertools import product

import islpy as isl

from polytile.ir.scop import Origin, Reduction, Scop, Statement


def commuting_pairs(scop: Scop, array: str) -> isl.UnionMap:
    """Return all pairs of instances that update elements of `array` by the same operation alone."""
    total = isl.UnionMap.empty(scop.context.get_space().params())
    for op in {u.op for s in scop.statements for u in s.updates if u.array == array}:
        same = isl.UnionSet.empty(scop.context.get_space().params())
        for statement in scop.statements:
            if Reduction(op, array) in statement.updates:
                same = same.union(isl.UnionSet.from_set(statement.domain))
        total = total.union(isl.UnionMap.from_domain_and_range(same, same))
    return total


def promised_pairs(scop: Scop, array: str) -> isl.UnionMap:
    """Return the pairs of instances in different iterations of a loop whose iterations do not share elements of
    `array`, as the user promises: `{ S[t, i] -> T[t, j] : i != j }` for a loop over i inside one over t."""
    own, total = scop.array(array), isl.UnionMap.empty(scop.context.get_space().params())
    for name, loop in scop.independent:
        if name not in ("", own.root) or (not name and (not own.extents or own.origin is not Origin.EXTERNAL)):
            continue
        inside = [s for s in scop.statements if loop in s.loops and len(s.loops) == len(s.iterators)]
        for first, then in product(inside, inside):
            depth = first.loops.index(loop)
            if first.loops[:depth] == then.loops[: then.loops.index(loop)]:
                total = total.union(isl.UnionMap.from_map(_apart(first, then, depth)))
    return total


def _apart(first: Statement, then: Statement, depth: int) -> isl.Map:
    """Return the instances in different iterations of the loop at a depth, in the same ones of those around it."""
    pairs = isl.Map.from_domain_and_range(first.domain, then.domain)
    for k in range(depth):
        pairs = pairs.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    same = pairs.equate(isl.dim_type.in_, depth, isl.dim_type.out, depth)
    return pairs.subtract(same)
