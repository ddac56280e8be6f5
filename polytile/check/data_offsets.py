"""Pairs of instances that use different elements of an array though data choose these, by what a certificate says of
its subscripts: they add different numbers (`adds`) to data that instances choose alike (`chosen_by`).

    for (k) for (i) Y[off[k] + i] = X[k][i];      S[k, i] and S[k, i'] with i != i'
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product

import islpy as isl

from polytile.check.relations import Check, union

_Access = Sequence[Check | None]  # what is known of each subscript


def separate(program: Check, array: str) -> isl.UnionMap:
    """Find all pairs of instances that surely use different elements of an array."""
    users = {
        name: statement
        for name, statement in program["statements"].items()
        if any(access["array"] == array for access in statement["accesses"])
    }
    written = {
        access["array"]
        for statement in program["statements"].values()
        for access in statement["accesses"]
        if access["kind"] != "read"
    }
    total = isl.UnionMap("{ }")
    for first, then in product(users.values(), repeat=2):
        uses = product(first.get("offsets", {}).get(array, ()), then.get("offsets", {}).get(array, ()))
        every = isl.UnionMap.from_domain_and_range(isl.UnionSet(first["domain"]), isl.UnionSet(then["domain"]))
        found = [_apart(one, other, written).intersect(every) for one, other in uses]
        if found:
            total = total.union(reduce(isl.UnionMap.intersect, found))
    return total


def _apart(one: _Access, other: _Access, written: set[str]) -> isl.UnionMap:
    """Return the pairs of instances for which a subscript of two accesses differs."""
    found = []
    for a, b in zip(one, other, strict=True) if len(one) == len(other) else ():
        if a is None or b is None or not a["data"] or a["data"] != b["data"] or a["wraps"] != b["wraps"]:
            continue
        if written & {*a["reads"], *b["reads"]} or (a["wraps"] and not _is_same(a["adds"], b["adds"])):
            continue
        alike, same = (
            isl.UnionMap(a[what]).apply_range(isl.UnionMap(b[what]).reverse()) for what in ("chosen_by", "adds")
        )
        found.append(alike.subtract(same))
    total: isl.UnionMap = union(found, isl.UnionMap)
    return total


def _is_same(one: str, other: str) -> bool:
    """Return whether two formulas are one, of one statement."""
    return bool(isl.UnionMap(one).is_equal(isl.UnionMap(other)))
