"""Loops that carry nothing but results of reductions, the other way round.

before: for (i) { S0: w = 0; for (j < n) S1: w += x[j]; }
after:  for (i) { S0: w = 0; for (j = n - 1 .. 0) S1: w += x[j]; }
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import islpy as isl

from polytile.ir.isl_util import band_members, functions, pieces_of, transform_node
from polytile.ir.partial_results import Reversed
from polytile.ir.schedule import node_at, path_of
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.analysis.chains import projection
from polytile.scheduling.analysis.dependences import ArrayDependences, Dependences
from polytile.scheduling.analysis.source_loops import Loop, carried, nest_of
from polytile.scheduling.transform.reductions.privatise import result_group

IN = isl.dim_type.in_


def turned(scop: Scop, dependences: Dependences, wanted: Sequence[Reversed]) -> Scop | None:
    """Reverse the Scop's order in those loops of these reductions that carry nothing else, or return None."""
    around = nest_of(scop).around
    free = _free_loops(scop, dependences, wanted)
    found = (replace(m, loops=tuple(k for k in m.loops if set(around[m.update][k : k + 1]) & free)) for m in wanted)
    kept = tuple(made for made in found if made.loops)
    if not kept:
        return None
    tree = _with_loops_turned(scop.schedule.get_root(), free).get_schedule()
    return replace(scop, schedule=tree, backwards=(*scop.backwards, *kept))


def upwards(scop: Scop, dependences: Dependences, names: Iterable[str]) -> Scop:
    """Run these reductions of the Scop upwards through loops that carry nothing else.

    Where they are split, the order of their steps does not matter.
    """
    around, wanted = nest_of(scop).around, list[Reversed]()
    for name in names:
        statement = scop.statement(name)
        down = [k for k, loop in enumerate(around[name]) if _runs_down(scop, loop, statement)]
        group = result_group(scop, statement) if down else None
        if group is not None and statement.reduction is not None:
            wanted.append(Reversed(name, statement.reduction.op, group, tuple(k for k in down if k not in group)))
    free = _free_loops(scop, dependences, wanted) if wanted else ()
    if not free:
        return scop
    return replace(scop, schedule=_with_loops_turned(scop.schedule.get_root(), free).get_schedule())


def _runs_down(scop: Scop, loop: Loop, statement: Statement) -> bool:
    path, member = loop
    own = isl.UnionSet.from_set(statement.domain)
    values = functions(band_members(node_at(scop.schedule, path))[member].intersect_domain(own))
    forms = [aff for value in values for _, aff in pieces_of(value)]
    return any(aff.get_coefficient_val(IN, k).is_neg() for aff in forms for k in range(aff.dim(IN)))


def _free_loops(scop: Scop, dependences: Dependences, wanted: Iterable[Reversed]) -> set[Loop]:
    """Return the loops of these reductions that carry nothing but their results."""
    nest, sums = nest_of(scop), list(wanted)
    others = [_without_results(scop, found, sums) for found in dependences.by_array]
    around = {made.update: nest.around[made.update] for made in sums}
    loops = {around[made.update][k] for made in sums for k in made.loops if k < len(around[made.update])}
    return {loop for loop in loops if not any(carried(pairs, nest, loop) for pairs in others)}


def _without_results(scop: Scop, found: ArrayDependences, sums: Iterable[Reversed]) -> isl.UnionMap:
    """Return the dependences through an array, except between steps of one result of reductions into it."""
    pairs = found.all
    for made in sums:
        statement = scop.statement(made.update)
        if any(a.writes and a.array == found.array for a in statement.accesses):
            result = isl.UnionMap.from_map(projection(statement.domain, made.group, "x"))
            pairs = pairs.subtract(result.apply_range(result.reverse()))
    return pairs


def _with_loops_turned(node: isl.ScheduleNode, loops: Collection[Loop]) -> isl.ScheduleNode:
    path = path_of(node)
    turned_here = [member for where, member in loops if where == path]
    if turned_here:
        partial = node.band_get_partial_schedule()
        for k in turned_here:
            partial = partial.set_at(k, partial.get_at(k).neg())
        node = node.delete().insert_partial_schedule(partial)
    return transform_node(node, lambda child: _with_loops_turned(child, loops))
