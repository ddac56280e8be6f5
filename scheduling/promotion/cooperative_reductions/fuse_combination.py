"""Partial results that a thread starts and combines at once, where it adds one value to each.

before: for (i = t; i < 64; i += 8) part[i] = 0;                   in lane l = j mod 32 of a tile of 32 columns
        for (i = t; i < 64; i += 8) part[i] += A[i][j];
        barrier; for (i = t; i < 64; i += 8) combine part[i];
after:  for (i = t; i < 64; i += 8) { part = 0; part += A[i][j]; combine part; }

That is so where the chunks of a reduction are as large as its lanes: each lane of a chunk adds one value. The three
statements then are one leaf of the tree, in the order of their values, and what they need is a register.
"""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polytile.ir.partial_results import Privatised
from polytile.ir.schedule import MappedSchedule, nodes
from polytile.ir.scop import Scop

MOST_VALUES = 4  # that a lane adds before lanes combine


def fuse_combination(scop: Scop, schedule: MappedSchedule, array: str) -> MappedSchedule | None:
    """Move the statements that start and combine the partial results in `array` to where these are made.

    Returns None where threads add several values each. The schedule's order is right where the threads of a warp
    combine their partial results, not for one thread.
    """
    made = next((p for p in scop.privatised if p.partial == array), None)  # none: what adds up chunks
    places = _places(scop, made) if made else None
    if made is None or places is None:
        return None
    domain = schedule.tree.get_domain()
    moved = isl.UnionMap(places).intersect_domain(domain)
    rest = domain.subtract(moved.domain())
    plain = isl.UnionMap(places).union(_everything(rest))
    tree = _without_bounds(schedule.tree.intersect_domain(rest))
    tree = tree.pullback_union_pw_multi_aff(isl.UnionPwMultiAff.from_union_map(plain)).intersect_domain(domain)
    leaf = next(n for n in nodes(tree) if _is_leaf(n) and not n.get_domain().is_disjoint(moved.domain()))
    tree = _in_turn(_innermost_loop(leaf), made).get_schedule()
    return replace(schedule, tree=tree) if tree.get_domain().is_equal(domain) else None


def _places(scop: Scop, made: Privatised) -> str | None:
    """Return which update each initial value and each combination belongs to: `{ I[i, c, l] -> U[i, 32c + l] }`."""
    chunks, lanes = ([s for s in made.splits if s.lanes is kind] for kind in (False, True))
    sizes = {s.iterator: s.size for s in chunks}
    update = scop.statement(made.update)
    others = set(range(len(update.iterators))) - set(made.group)
    if made.combine is None or set(sizes) != others or {s.iterator for s in lanes} != others:
        return None
    if any(sizes[s.iterator] % (s.size * s.unit) or sizes[s.iterator] > MOST_VALUES * s.size for s in lanes):
        return None
    groups = {position: f"g{k}" for k, position in enumerate(made.group)}
    counts = {s.iterator: f"c{k}" for k, s in enumerate(chunks)}
    own = {s.iterator: f"l{k}" for k, s in enumerate(lanes)}
    units = {s.iterator: f"{s.unit} l{k}" for k, s in enumerate(lanes)}
    key = [*groups.values(), *counts.values()]

    def at(lane: dict[int, str]) -> str:
        steps = {k: f"{sizes[k]} {counts[k]} + {lane.get(k, '0')}" for k in sizes}
        return f"{update.name}[{', '.join({**groups, **steps}[k] for k in range(len(update.iterators)))}]"

    first = f"{made.initial}[{', '.join([*key, *own.values()])}] -> {at(units)}"
    return f"{{ {first}; {made.combine}[{', '.join(key)}] -> {at({})} }}"


def _without_bounds(tree: isl.Schedule) -> isl.Schedule:
    """Extend a tree to all instances that there could be: threads without an update have a place, too."""
    universe = _everything(tree.get_domain()).domain()
    above, _, below = MappedSchedule(tree, "").to_text().partition("\n")
    assert above.startswith("domain:")
    return isl.Schedule(f'domain: "{universe}"\n{below}')


def _everything(instances: isl.UnionSet) -> isl.UnionMap:
    """Map each statement's instances to themselves, without bounds."""
    total = isl.UnionMap.empty(instances.get_space())
    found: list[isl.Set] = []
    instances.foreach_set(found.append)
    for part in found:
        total = total.union(isl.UnionMap.from_map(isl.Map.identity(part.get_space().map_from_set())))
    return total


def _is_leaf(node: isl.ScheduleNode) -> bool:
    return bool(node.get_type() == isl.schedule_node_type.leaf)


def _innermost_loop(leaf: isl.ScheduleNode) -> isl.ScheduleNode:
    """Return the node below the innermost band that is not unrolled.

    Other statements there share the guards of the updates, so they stay beside them.
    """
    node = leaf
    while _is_within(node.parent()):
        node = node.parent()
    return node


def _is_within(node: isl.ScheduleNode) -> bool:
    """Return whether what runs below a node is part of what one iteration of a loop around it does."""
    if node.get_type() == isl.schedule_node_type.band:
        kinds = (node.band_member_get_ast_loop_type(i) for i in range(node.band_n_member()))
        return all(kind == isl.ast_loop_type.unroll for kind in kinds)
    return node.get_type() in (isl.schedule_node_type.filter, isl.schedule_node_type.sequence)


def _in_turn(node: isl.ScheduleNode, made: Privatised) -> isl.ScheduleNode:
    """Order the statements below a node: initial values, then the original statements, then combinations."""
    found: list[isl.Set] = []
    node.get_domain().foreach_set(found.append)
    ranks = {made.initial: 0, made.combine: 2}
    filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, 3)
    for rank in range(3):
        group = [s for s in found if ranks.get(s.get_tuple_name(), 1) == rank]
        total = isl.UnionSet.from_set(group[0])
        for part in group[1:]:
            total = total.union(isl.UnionSet.from_set(part))
        filters = filters.add(total)
    return node.insert_sequence(filters)
