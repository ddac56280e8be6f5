"""The relations of a certificate, and what isl computes from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from typing import Any

import islpy as isl

from polytile.check.flow import NOTHING, flow

IN, OUT = isl.dim_type.in_, isl.dim_type.out
BEFORE = "before "  # and an array: who wrote what that held; no statement has such a name
Check = dict[str, Any]  # a part of a certificate, as JSON gives it


def accesses(side: Check, array: str, kind: str) -> isl.UnionMap:
    """Return the accesses of one kind to an array, from instances that run."""
    relations = [
        isl.UnionMap(access["relation"]).intersect_domain(isl.UnionSet(statement["domain"]))
        for statement in side["statements"].values()
        for access in statement["accesses"]
        if (access["array"], access["kind"]) == (array, kind)
    ]
    return _joined(relations)


def dependences(
    order: isl.Schedule,
    reads: isl.UnionMap,
    writes: isl.UnionMap,
    may: isl.UnionMap,
    kills: isl.UnionMap,
    conditions: Sequence[isl.UnionMap] = (),
) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Compute the flow, and the anti and output dependences, of accesses in an order. `conditions` as for flow.flow."""
    others = _sources(order, writes.union(may), writes, may.union(reads), NOTHING, conditions)
    return _sources(order, reads, writes, may, kills, conditions), others


def value_flow(
    order: isl.Schedule, reads: isl.UnionMap, writes: isl.UnionMap, may: isl.UnionMap, kills: isl.UnionMap
) -> isl.UnionMap:
    """Map the writes of the values that are read to their reads, in an order."""
    return _sources(order, reads, writes, may, kills)


def _sources(
    order: isl.Schedule,
    sinks: isl.UnionMap,
    writes: isl.UnionMap,
    may: isl.UnionMap,
    kills: isl.UnionMap,
    conditions: Sequence[isl.UnionMap] = (),
) -> isl.UnionMap:
    """Compute the last accesses before those of `sinks`. isl is given the order as a map of the instances that take
    part: from a tree it takes up to ten times as long for stencils over several dimensions."""
    users = sinks.union(writes).union(may).union(kills).domain()
    return flow(sinks, writes, order.intersect_domain(users).get_map(), may, kills, conditions).values


def conflicts(order: isl.Schedule, reads: isl.UnionMap, writes: isl.UnionMap) -> isl.UnionMap:
    """Return the pairs of instances, in their order, that use one element which one of them writes."""
    times = order.intersect_domain(reads.union(writes).domain()).get_map()
    pairs = writes.apply_range(reads.reverse()).union(reads.union(writes).apply_range(writes.reverse()))
    return pairs.intersect(times.lex_lt_union_map(times))


def seen(side: Check, array: str, root: str, visible: bool) -> isl.UnionMap:
    """Return who wrote what each instance reads; BEFORE and the array wrote what it held, `after` reads what can be
    seen."""
    uses = tuple(
        (str(access["kind"]), str(access["relation"]), str(statement["domain"]))
        for statement in side["statements"].values()
        for access in statement["accesses"]
        if access["array"] == array
    )
    return _seen(uses, side["order"], array, root, visible)


@lru_cache(maxsize=64)
def _seen(uses: tuple[tuple[str, str, str], ...], text: str, array: str, root: str, visible: bool) -> isl.UnionMap:
    """Compute `seen` for (kind, relation, domain) of each access: several checks ask it of one program, and of the
    source, which most often has the same text."""
    reads, writes, may, kills = (
        _joined(isl.UnionMap(how).intersect_domain(isl.UnionSet(who)) for k, how, who in uses if k == one)
        for one in ("read", "write", "may-write", "kill")
    )
    order = isl.Schedule(text)
    for elements in maps(reads.union(writes).union(may).range().coalesce().identity()):
        if array == root:
            before = isl.UnionMap.from_map(elements.set_tuple_name(IN, f"{BEFORE}{root}"))
            writes, order = writes.union(before), isl.Schedule.from_domain(before.domain()).sequence(order)
        if visible:
            after = isl.UnionMap.from_map(elements.set_tuple_name(IN, "after"))
            reads, order = reads.union(after), order.sequence(isl.Schedule.from_domain(after.domain()))
    return value_flow(order, reads, writes, may, kills)


def union(parts: Iterable[Any], kind: Any) -> Any:
    """Return the union of relations or sets, of which some may be text."""
    return reduce(lambda a, b: a.union(b), (kind(p) if isinstance(p, str) else p for p in parts), kind("{ }"))


def dimensions(vectors: isl.UnionMap) -> int:
    """Return the length of the longest vectors."""
    return max((int(m.dim(OUT)) for m in maps(vectors)), default=0)


def _joined(relations: Iterable[isl.UnionMap]) -> isl.UnionMap:
    """Unite accesses in few pieces: 125 reads of a box are one, in a moment; isl would compare each piece with every
    other one in all that follows."""
    found: isl.UnionMap = union(relations, isl.UnionMap)
    return found.coalesce()


def padded(vectors: isl.UnionMap, rank: int) -> isl.UnionMap:
    """Pad the vectors with trailing zeros to one length."""
    total = isl.UnionMap("{ }")
    for m in maps(vectors):
        zeros = isl.UnionSet(f"{{ [{', '.join('0' * (rank - m.dim(OUT)))}] }}")
        one = isl.UnionMap.from_map(m)
        total = total.union(one.flat_range_product(isl.UnionMap.from_domain_and_range(one.domain(), zeros)))
    return total


def maps(relation: isl.UnionMap) -> list[isl.Map]:
    """Return the maps of a union."""
    found: list[isl.Map] = []
    relation.foreach_map(found.append)
    return found


def equal(one: isl.UnionMap, other: isl.UnionMap, context: isl.Set) -> bool:
    """Return whether two relations agree for all parameters of the context. Most often they have the same pieces, which
    is seen at once; isl compares every piece of others with every other one, so those with few pieces come first."""
    one, other = (relation.intersect_params(context) for relation in (one, other))
    pairs = [(m, other.extract_map(m.get_space())) for m in maps(one)]
    others = ((one.extract_map(m.get_space()), m) for m in maps(other))
    pairs += [pair for pair in others if not pair[0].n_basic_map()]
    differing = sorted((pair for pair in pairs if not pair[0].plain_is_equal(pair[1])), key=_piece_count)
    return all(m.coalesce().is_equal(n.coalesce()) for m, n in differing)


def _piece_count(pair: tuple[isl.Map, isl.Map]) -> int:
    return sum(m.n_basic_map() for m in pair)
