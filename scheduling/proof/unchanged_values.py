"""Values from before a SCoP that only copies pass on, found without a look at which copies these were.

before: A_before[i] -> A_tile_fill[b, i]; A_tile_fill[b, i] -> A_frag_fill[b, w, i]; A_frag_fill[b, w, i] -> S0[i, j]
after:  A_before[i] -> A_tile_fill[b, i]; A_before[i] -> A_frag_fill[b, w, i]; A_before[i] -> S0[i, j]

Where all that a statement reads comes from such copies, each of the very element, it reads the first value of each.
To put the relations one after the other says the same, but takes isl minutes where tiles lie in tiles.
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_util import maps, sets
from polytile.scheduling.proof.locations import READ, Locations

IN, OUT = isl.dim_type.in_, isl.dim_type.out


def unchanged(values: isl.UnionMap, used: Locations) -> isl.UnionMap:
    """Return the flow `{ writer -> [reader -> A[i]] }` in which those who read first values read them directly."""
    into: dict[str, list[isl.Map]] = {}
    for m in maps(values):
        into.setdefault(_reader(m), []).append(m)
    reads = {str(s.get_space().unwrap().get_tuple_name(IN)): s for s in sets(used.routes[READ].domain())}
    copies = {str(s.get_tuple_name()) for s in sets(used.copies)}
    first = {str(s.get_tuple_name()) for s in sets(used.before)}
    passing, left = set(first), set(into)
    while found := {r for r in left if all(_writer(m) in passing and _of_same_element(m) for m in into[r])}:
        left -= found
        passing |= found & copies
        for reader in found:
            into[reader] = [_from(reads[reader], name) for name in first]
    total = isl.UnionMap("{ }")
    for m in (m for flow in into.values() for m in flow):
        total = total.union(isl.UnionMap.from_map(m))
    return total


def _writer(m: isl.Map) -> str:
    return str(m.get_tuple_name(IN))


def _reader(m: isl.Map) -> str:
    return str(m.get_space().range().unwrap().get_tuple_name(IN))


def _from(reads: isl.Set, writer: str) -> isl.Map:
    """Return `{ A_before[i] -> [reader -> A[i]] }` for all reads."""
    return reads.unwrap().range_map().reverse().set_tuple_name(IN, writer)


def _of_same_element(m: isl.Map) -> bool:
    """Return whether the last dimensions of the writer, those of an element, are those of the element that is read."""
    read = m.get_space().range().unwrap()
    reader, element = ([f"{x}{k}" for k in range(read.dim(kind))] for x, kind in (("r", IN), ("e", OUT)))
    place = [f"w{k}" for k in range(m.dim(IN) - len(element))]
    writer = f"{_writer(m)}[{', '.join(place + element)}]"
    names = _reader(m), str(read.get_tuple_name(OUT))
    same = f"{{ {writer} -> [{names[0]}[{', '.join(reader)}] -> {names[1]}[{', '.join(element)}]] }}"
    return bool(isl.UnionMap.from_map(m).is_subset(isl.UnionMap(same)))
