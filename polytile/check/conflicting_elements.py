"""Elements that one instance needs at once, in cells: what passes between instances does not show them.

    S0[i]: { e[0] = x; e[1] = y; }   S1[i]: z = e[0];     with one cell for e, S1 reads y, and from S0, as it should
"""

from __future__ import annotations

import islpy as isl

from polytile.check.relations import IN, Check, maps, union


def read_first(scop: Check, program: Check) -> frozenset[str]:
    """Return the statements that read before they write: certificates say so of single assignments."""
    source = scop["source"]["statements"]
    return frozenset(
        name
        for name, statement in program["statements"].items()
        if statement.get("reads_first")
        and len(statement["parts"]) <= 1
        and all(source[part].get("reads_first") for part in statement["parts"] if part in source)
    )


def conflicting_elements(reads: isl.UnionMap, writes: isl.UnionMap, first: frozenset[str]) -> isl.UnionMap:
    """Return the pairs of different elements in one cell of which an instance writes one and writes or, perhaps
    afterwards, reads the other. Uses are `{ [S[i] -> A[j]] -> cell }`; the statements `first` read before they
    write."""
    written = _by_cell(writes)
    later = [m for m in maps(reads) if m.domain().unwrap().get_tuple_name(IN) not in first]
    used = written.union(_by_cell(union([isl.UnionMap.from_map(m) for m in later], isl.UnionMap)))
    if used.is_single_valued():
        return isl.UnionMap("{ }")
    pairs = written.range_product(used).range().unwrap()
    return pairs.subtract(pairs.domain().identity())


def _by_cell(uses: isl.UnionMap) -> isl.UnionMap:
    """Return `{ [S[i] -> cell] -> A[j] }`."""
    return uses.curry().range_reverse().uncurry()
