"""Statements that accumulate into one element of an array and read others of it, in two, for reductions that run
backwards: what becomes of the element is separate from who reads the others.

before: S[i, j] reads x[i], x[j] and writes x[i]
after:  S_reads[i, j] reads x[j]; right behind it, S[i, j] reads and writes x[i]
"""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polytile.check.relations import IN, OUT, Check, maps


def with_reads_apart(side: Check, names: Iterable[str]) -> Check:
    """Split these statements of a side in two. Raises ValueError where one uses its array otherwise."""
    for name in names:
        side = _apart(side, name)
    return side


def _apart(side: Check, name: str) -> Check:
    statement = side["statements"][name]
    claim = statement["in_place"]
    own = [a for a in statement["accesses"] if a["array"] == claim["array"]]
    (write,) = (isl.Map(a["relation"]) for a in own if a["kind"] == "write")
    others = [a for a in own if a["kind"] == "read" and not isl.Map(a["relation"]).is_equal(write)]
    meeting = (isl.Map(a["relation"]).intersect(write).intersect_domain(isl.Set(statement["domain"])) for a in others)
    if any(not m.is_empty() for m in meeting):
        raise ValueError(f"{name} reads the element of {claim['array']} that it adds to")
    reads = f"{name}_reads"
    moved = [{**a, "relation": str(isl.Map(a["relation"]).set_tuple_name(IN, reads))} for a in others]
    domain = str(isl.Set(statement["domain"]).set_tuple_name(reads))
    beside = {**statement, "domain": domain, "accesses": moved, "reduction": None, "parts": [reads]}
    kept = [a for a in statement["accesses"] if a not in others]
    whole = {**statement, "accesses": kept, "reduction": claim}
    statements = {**side["statements"], reads: beside, name: whole}
    return {**side, "statements": statements, "order": _ordered(side["order"], name, reads)}


def _ordered(text: str, name: str, reads: str) -> str:
    """Return the order with what a statement reads right in front of it."""
    total = isl.UnionMap("{ }")
    tree = isl.Schedule(text)
    for time in maps(tree.get_map().intersect_domain(tree.get_domain())):
        last = time.dim(OUT)
        time = time.add_dims(OUT, 1)
        for k, one in enumerate((reads, name) if time.get_tuple_name(IN) == name else (time.get_tuple_name(IN),)):
            own = time.fix_val(OUT, last, isl.Val(k)).set_tuple_name(IN, one)
            total = total.union(isl.UnionMap.from_map(own))
    band = isl.MultiUnionPwAff.from_union_map(total)
    return str(isl.Schedule.from_domain(total.domain()).insert_partial_schedule(band))
