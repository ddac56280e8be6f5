"""Pairs of instances that use different elements of an array though data choose these.

    for (k) for (i) Y[off[k] + i] = X[k][i];      S[k, i] and S[k, i'] with i != i' share no element

The accesses are to any element, as far as relations tell. What is known beyond that is in ir/data_offsets.py.
"""

from __future__ import annotations

from itertools import product

import islpy as isl

from polytile.ir.data_offsets import Subscript, subscripts
from polytile.ir.scop import AccessKind, Scop, Statement


def separate_pairs(scop: Scop, array: str) -> isl.UnionMap:
    """Return all pairs of instances that surely use different elements of `array`, of those whose subscripts read data.
    """
    total = isl.UnionMap.empty(scop.context.get_space().params())
    users = scop.accessing(array)
    if not any(a.kind is AccessKind.MAY_WRITE and a.array == array for s in users for a in s.accesses):
        return total
    found = {s.name: subscripts(scop, s, array) for s in users}
    if not any(s is not None and s.data for own in found.values() for access in own for s in access):
        return total
    for first, then in product(users, repeat=2):
        apart = None
        for one, other in product(found[first.name], found[then.name]):
            pairs = _apart(first, then, one, other)
            apart = pairs if apart is None else apart.intersect(pairs)
        if apart is not None and not apart.is_empty():
            total = total.union(isl.UnionMap.from_map(apart))
    return total


def _apart(
    first: Statement, then: Statement, one: tuple[Subscript | None, ...], other: tuple[Subscript | None, ...]
) -> isl.Map:
    """Return the pairs for which a subscript of two accesses differs."""
    every = isl.Map.from_domain_and_range(first.domain, then.domain)
    total = isl.Map.empty(every.get_space())
    for a, b in zip(one, other, strict=True) if len(one) == len(other) else ():
        if a is None or b is None or not _are_comparable(a, b):
            continue
        alike = a.choice(first).apply_range(b.choice(then).reverse())
        same = a.added(first).apply_range(b.added(then).reverse())
        total = total.union(every.intersect(alike).subtract(same))
    return total


def _are_comparable(a: Subscript, b: Subscript) -> bool:
    """Return whether both add to the same data, and what they add distinguishes them."""
    if not a.data or a.data != b.data or a.wraps != b.wraps:
        return False
    return not a.wraps or a.rest == b.rest
