"""Schedules put together from two: each component of a SCoP by the one that is faster for it.

before: sequence { kernels of S0, S1 by one; kernels of S2 by one }    and the same by another
after:  sequence { kernels of S0, S1 by one; kernels of S2 by the other }

A component is a least set of statements that share no kernel and no loop of the host with others, in either schedule,
and that others do not come in between of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import reduce
from itertools import pairwise

import islpy as isl

from polytile.ir.digraph import connected
from polytile.ir.isl_util import maps, mark_name, sets, union_of
from polytile.ir.schedule import KERNEL, MappedSchedule, nodes
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.source_order import name_of
from polytile.scheduling.candidate import Candidate
from polytile.scheduling.cost.estimate import Estimate
from polytile.scheduling.cost.memory_time import CLEARLY
from polytile.scheduling.proof.legality import unordered

Statements = frozenset[str]
Part = tuple[isl.Schedule, AbstractSet[str]]  # a tree, and the statements of it that are taken
NOTABLY = 0.999  # of the time: what a schedule put together from two may take
IN, OUT = isl.dim_type.in_, isl.dim_type.out
_LISTS = (isl.schedule_node_type.sequence, isl.schedule_node_type.set)
_PLAIN = (isl.schedule_node_type.domain, isl.schedule_node_type.filter, isl.schedule_node_type.context)


def mixed(plain: Candidate, split: Candidate, best: Candidate) -> Candidate | None:
    """Return the better of two estimated candidates, with the other's schedule for components clearly faster so.

    None where that is not faster. Components whose reductions the second has split can have its schedule alone.
    """
    if plain.schedule is None or split.schedule is None or plain.estimate is None or split.estimate is None:
        return None
    one, two, source = plain.schedule.tree, split.schedule.tree, _sources(split.scop)
    orders = pieces(one), [frozenset(source.get(n, n) for n in piece) for piece in pieces(two)]
    if set().union(*orders[0]) != set().union(*orders[1]):
        return None
    found = components(*orders)
    before, after = _times(one, plain.estimate, found, {}), _times(two, split.estimate, found, source)
    whole = {s.name for s in split.scop.statements if any(s is own for own in plain.scop.statements)}
    kept = [
        component <= whole and (b >= CLEARLY * a if best is plain else a < CLEARLY * b)
        for component, a, b in zip(found, before, after, strict=True)
    ]
    expected = sum(a if keep else b for keep, a, b in zip(kept, before, after, strict=True))
    if expected >= NOTABLY * sum(before if best is plain else after) or all(kept):
        return None
    if not any(kept):
        return split
    parts = [(one, c) if keep else (two, _made_of(c, split.scop)) for c, keep in zip(found, kept, strict=True)]
    return put_together(plain.schedule.strategy, split, parts)


def put_together(strategy: str, split: Candidate, parts: Sequence[Part]) -> Candidate | None:
    """Join the parts of two strategies' trees into one candidate; None where that breaks the order.

    Within a part the order is that of the part's tree.
    """
    assert split.schedule is not None
    tree = joined(parts)
    if unordered(tree, _between([names for _, names in parts], split)):
        return None
    schedule = MappedSchedule(tree, f"{split.schedule.strategy} and {strategy}")
    return replace(split, schedule=schedule, reasons=(), run=None, known_homes={}, plans=None, estimate=None)


def _between(parts: Sequence[AbstractSet[str]], split: Candidate) -> isl.UnionMap:
    """Return the dependences from statements of one part to those of another."""
    part = {name: k for k, names in enumerate(parts) for name in names}
    pairs = (m for m in maps(split.dependences.all) if part[name_of(m, IN)] != part[name_of(m, OUT)])
    found = union_of(map(isl.UnionMap.from_map, pairs), split.scop.context.get_space())
    return found.intersect_params(split.scop.context)


def _sources(scop: Scop) -> dict[str, str]:
    """Return the original names of the statements of split reductions."""
    return {name: p.statement for p in scop.privatised for name in (p.update, *p.added)}


def _made_of(component: Statements, scop: Scop) -> Statements:
    """Return the statements that stand for those of a component."""
    source = _sources(scop)
    return frozenset(s.name for s in scop.statements if source.get(s.name, s.name) in component)


def _times(
    tree: isl.Schedule, time: Estimate, found: Sequence[Statements], source: Mapping[str, str]
) -> list[float]:
    """Sum up the microseconds of the kernels of each component; `source` names statements as the components do."""
    own = [frozenset(source.get(n, n) for n in names) for names in kernels(tree)]
    return [sum(k.microseconds for k in time.kernels if own[k.number] <= component) for component in found]


def pieces(tree: isl.Schedule) -> list[Statements]:
    """List what the host runs in order, each as the statements of a kernel or of a loop around some."""
    return list(_pieces(tree.get_root()))


def _pieces(node: isl.ScheduleNode) -> Iterator[Statements]:
    if node.get_type() in _LISTS:
        for i in range(node.n_children()):
            yield from _pieces(node.child(i))
    elif node.get_type() in _PLAIN:
        yield from _pieces(node.child(0))
    else:
        yield _names(node.get_domain())


def kernels(tree: isl.Schedule) -> list[Statements]:
    """Return the statements of each kernel, by its number."""
    return [_names(node.get_domain()) for node in nodes(tree) if mark_name(node) == KERNEL]


def _names(domain: isl.UnionSet) -> Statements:
    return frozenset(s.get_tuple_name() for s in sets(domain))


def components(one: Sequence[AbstractSet[str]], other: Sequence[AbstractSet[str]]) -> list[Statements]:
    """Group the statements of two schedules' pieces into components, in order; into one where the orders differ.

    Example: [{S0}, {S1}, {S2, S3}] and [{S0, S1}, {S2}, {S3}] have [{S0, S1}, {S2, S3}].
    """
    names = sorted(set().union(*one, *other))
    edges = [edge for piece in (*one, *other) for edge in pairwise(sorted(piece))]
    found = _apart(names, edges, one, other)
    orders = [sorted(found, key=lambda c: _span(c, order)) for order in (one, other)]
    return orders[0] if orders[0] == orders[1] else [frozenset(names)]


def _apart(
    names: Sequence[str], edges: list[tuple[str, str]], *orders: Sequence[AbstractSet[str]]
) -> list[Statements]:
    """Connect statements along the edges, and join components where one begins before another ends."""
    while True:
        found = [frozenset(c) for c in connected(names, edges)]
        joined = False
        for order in orders:
            spans = sorted((*_span(c, order), min(c)) for c in found)
            for (_, last, name), (first, _, then) in pairwise(spans):
                if first <= last:
                    edges.append((name, then))
                    joined = True
        if not joined:
            return found


def _span(component: Statements, order: Sequence[AbstractSet[str]]) -> tuple[int, int]:
    """Return the first and the last piece that has statements of a component."""
    places = [k for k, piece in enumerate(order) if not component.isdisjoint(piece)]
    return min(places), max(places)


def joined(parts: Sequence[Part]) -> isl.Schedule:
    """Join the schedules of these statements of each tree into a sequence."""
    return reduce(lambda before, then: before.sequence(then), (_of(tree, names) for tree, names in parts))


def _of(tree: isl.Schedule, names: AbstractSet[str]) -> isl.Schedule:
    found = isl.UnionSet.empty(tree.get_domain().get_space())
    for statement in sets(tree.get_domain()):
        if statement.get_tuple_name() in names:
            found = found.union(isl.UnionSet.from_set(statement))
    return tree.intersect_domain(found)
