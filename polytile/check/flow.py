"""Who wrote what each use of an element finds.

isl's access analysis tells it, but where conditions have remainders by several numbers: there its `lexmax` may miss the
last write, or all of them, in sets that are not empty (islpy 2026.2.2). Then it is told by what a last write is, with
differences of relations alone:

    pairs of a write and a later use of its element, without those between which a certain write, or a kill, stands
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass

SEVERAL = 2  # remainders of one relation
NOTHING = isl.UnionMap("{ }")


@dataclass(frozen=True, slots=True)
class Flow:
    """`values`: from each write to the uses that find it. `unset`: uses that no write certainly comes before, and
    `untouched`: those that none comes before, of those that no kill comes before."""

    values: isl.UnionMap = field(compare=False)
    unset: isl.UnionMap = field(compare=False)
    untouched: isl.UnionMap = field(compare=False)


def flow(
    uses: isl.UnionMap,
    writes: isl.UnionMap,
    times: isl.UnionMap,
    may: isl.UnionMap = NOTHING,
    kills: isl.UnionMap = NOTHING,
    conditions: Sequence[isl.UnionMap] = (),
) -> Flow:
    """Compute what uses `{ S[i] -> A[x] }` find at the times of instances, `{ S[i] -> [0, i] }`. `conditions` are the
    accesses of the program that these are made from, where cells and places have quotients of their own."""
    if have_several_remainders(conditions or (uses, writes, may, kills)):
        return _by_differences(uses, writes, may, kills, times)
    info = isl.UnionAccessInfo.from_sink(uses).set_must_source(writes).set_may_source(may)
    info = info if kills.is_empty() else info.set_kill(kills)
    found = info.set_schedule_map(times).compute_flow()
    return Flow(found.get_may_dependence(), found.get_may_no_source(), found.get_must_no_source())


def have_several_remainders(relations: Iterable[isl.UnionMap]) -> bool:
    """Return whether isl may lose elements of these."""
    parts: list[isl.BasicMap] = []
    for relation in relations:
        relation.foreach_map(lambda m: parts.extend(m.get_basic_maps()))
    return any(part.dim(isl.dim_type.div) >= SEVERAL for part in parts)


def _by_differences(
    uses: isl.UnionMap, writes: isl.UnionMap, may: isl.UnionMap, kills: isl.UnionMap, times: isl.UnionMap
) -> Flow:
    user, element = uses.domain_map().reverse(), uses.range_map().reverse()

    def before(first: isl.UnionMap, then: isl.UnionMap) -> isl.UnionMap:
        early, late = (times.intersect_domain(accesses.domain()) for accesses in (first, then))
        return early.lex_lt_union_map(late)

    def earlier(some: isl.UnionMap) -> isl.UnionMap:
        """Return `{ S[i] -> [T[j] -> A[x]] }`: who came to the element of a use before it."""
        return some.apply_range(element).intersect(before(some, uses).apply_range(user))

    sources, ends = writes.union(may), writes.union(kills)
    every, ended = earlier(sources), earlier(ends)
    found = every.subtract(before(sources, ends).apply_range(ended))
    unset, untouched = (uses.subtract(some.range().unwrap()) for some in (ended, every.union(ended)))
    return Flow(found.range_factor_domain(), unset, untouched)
