"""Combinations spread over the threads that hold the partial results.

before: sync sequence { {U[i, j] -> thread [i, j]; adds to part[i][j mod 32]} {C[i] -> thread [i, 0]; reads 32 parts} }
after:  sequence { {U[i, j] -> thread [i, j]} {C[i, lane] -> thread [i, lane]; reads part[i][lane], and they shuffle} }

Where a block's warps, or lanes that are not neighbours, combine, a statement before C hands over what each has. Every
instance that the new Scop adds is a part of one of C's; a barrier goes where all dependences are kept without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import maps, mark_name, transform_node
from polytile.ir.memory import Space, Storage
from polytile.ir.schedule import KERNEL, SYNC, Path, node_at, nodes, path_of, thread_sizes
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.analysis.source_loops import statement_names
from polytile.scheduling.promotion.array_contraction import contract, same_private_home
from polytile.scheduling.promotion.barrier_elimination import without_barriers
from polytile.scheduling.promotion.cooperative_reductions.choose import CombineMethod, CooperationPlan, plans
from polytile.scheduling.promotion.cooperative_reductions.fuse_combination import fuse_combination
from polytile.scheduling.promotion.cooperative_reductions.part_dependences import parted
from polytile.scheduling.promotion.cooperative_reductions.statements import Made, made
from polytile.scheduling.proof.legality import unordered


@dataclass(frozen=True, slots=True)
class Cooperation:
    """What runs in place of a Scop with combinations. `private` are the homes of partial results that were looked at:
    in registers, or None."""

    run: Executions
    private: Mapping[str, Storage | None] = field(default_factory=dict, compare=False)


def cooperate(run: Executions) -> Cooperation | None:
    """Spread all combinations whose lanes are threads; None where there are none."""
    found = plans(run.scop, run.schedule)
    spread = _spread(run, found)
    if spread is None:
        return None
    arrays = frozenset(p.combine.array for p in found)
    best, registers = _with_registers(spread, arrays)
    for plan in (p for p in found if p.way is CombineMethod.SHUFFLE and p.combine.array not in registers):
        nearer = fuse_combination(run.scop, run.schedule, plan.combine.array)
        if nearer is None or plans(run.scop, nearer) != found:
            continue
        moved, array = replace(run, schedule=nearer), plan.combine.array
        again = _spread(moved, found, like=best.run)
        if again is None:
            continue
        alone, now = _with_registers(again, frozenset((array,)))
        if array in now and _in_order(again):
            known = {**_still_known(best, again), **alone.private}
            run, (best, registers) = moved, _with_registers(again, arrays, known)
    worth = [p for p in found if p.way in (CombineMethod.SHUFFLE, CombineMethod.WARPS) or p.combine.array in registers]
    if worth == found:
        return best
    fewer = _spread(run, worth)
    return None if fewer is None else Cooperation(fewer)


def _in_order(run: Executions) -> bool:
    return not unordered(run.schedule.tree, run.dependences.all.intersect_params(run.scop.context))


def _still_known(before: Cooperation, after: Executions) -> dict[str, Storage | None]:
    """Return the known storage of the arrays whose facts have not changed."""
    return {array: home for array, home in before.private.items() if same_private_home(array, before.run, after)}


def _with_registers(
    run: Executions, arrays: frozenset[str], known: Mapping[str, Storage | None] | None = None
) -> tuple[Cooperation, set[str]]:
    """Add the storage of arrays to executions, partly `known` from before.

    Also returns the names of the arrays that one thread has in registers.
    """
    found = contract(run, 0, arrays, known)
    homes = {name: home for kernel in found.values() for name, home in kernel.items() if home.space is Space.PRIVATE}
    return Cooperation(run, {name: homes.get(name) for name in arrays}), set(homes)


def _spread(run: Executions, found: list[CooperationPlan], *, like: Executions | None = None) -> Executions | None:
    """Apply the plans to executions, or return None; `like` has the same result under another schedule."""
    scop, tree = run.scop, run.schedule.tree
    taken = {a.name for a in scop.arrays} | {p.name for p in scop.parameters} | {s.name for s in scop.statements}
    taken |= {i for s in scop.statements for i in s.iterators}
    new: list[Made] = []
    for plan in found:
        one = made(scop, plan, taken)
        changed = _changed_tree(scop, tree, plan, one)
        if changed is not None:
            tree, new = changed, [*new, one]
    if not new:
        return None
    after, parts = _changed_scop(scop, new), _parts(scop, new)
    if like is not None and like.scop.statements == after.statements:
        everything: Dependences | None = like.dependences
    else:
        everything = parted(scop, run.dependences, after, parts)
    if everything is None:
        return None
    tree = without_barriers(tree, everything.all.intersect_params(scop.context))
    reductions = tuple(m for one in new for m in one.reductions)
    return Executions(after, everything, replace(run.schedule, tree=tree), parts, reductions)


def _parts(scop: Scop, new: list[Made]) -> isl.UnionMap:
    """Return the relation from all instances of the new Scop to those of the old one."""
    names = {s.name for one in new for s in one.statements}
    total = isl.UnionMap.empty(scop.context.get_space())
    for one in new:
        total = total.union(one.parts)
    for statement in scop.statements:
        if statement.name not in names:
            total = total.union(isl.UnionSet.from_set(statement.domain).identity())
    return total


def _changed_scop(scop: Scop, new: list[Made]) -> Scop:
    by_name = {one.statements[-1].name: one for one in new}
    statements: list[Statement] = []
    for statement in scop.statements:
        statements += by_name[statement.name].statements if statement.name in by_name else [statement]
    tree = _pulled_back(scop.schedule, _parts(scop, new))
    for one in new:
        if len(one.statements) > 1:
            tree = _first_before(tree, one)
    arrays = tuple(one.array for one in new if one.array is not None)
    return replace(scop, statements=tuple(statements), arrays=(*scop.arrays, *arrays), schedule=tree, privatised=())


def _pulled_back(tree: isl.Schedule, parts: isl.UnionMap) -> isl.Schedule:
    """Rewrite a tree to run parts of its instances, each where the whole instance was."""
    plain = isl.UnionMap.empty(parts.get_space())
    for m in maps(parts):  # without bounds, which would end up in the tree
        plain = plain.union(isl.UnionMap.from_map(_unbounded(m)))
    pulled = tree.pullback_union_pw_multi_aff(isl.UnionPwMultiAff.from_union_map(plain))
    return pulled.intersect_domain(parts.domain())


def _unbounded(part: isl.Map) -> isl.Map:
    """Return `{ C[i, l] -> C[i] }` for all i and l."""
    rank = part.dim(isl.dim_type.out)
    total = isl.Map.universe(part.get_space())
    for k in range(rank):
        total = total.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    return total


def _first_before(tree: isl.Schedule, new: Made) -> isl.Schedule:
    """Return the original order with each instance's parts one after the other."""
    own = isl.UnionSet(f"{{ {new.statements[0].name}[{_dims(new.statements[0])}] }}")
    for node in nodes(tree):
        if node.get_type() == isl.schedule_node_type.leaf and not node.get_domain().is_disjoint(own):
            return _in_sequence(node, own).get_schedule()
    return tree


def _dims(statement: Statement) -> str:
    return ", ".join(f"d{k}" for k in range(len(statement.iterators)))


def _in_sequence(node: isl.ScheduleNode, first: isl.UnionSet) -> isl.ScheduleNode:
    """Duplicate the subtree at a node in a sequence: for the instances in `first`, then for the others."""
    domain = node.get_domain()
    filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, 2)
    for part in (domain.intersect(first), domain.subtract(first)):
        filters = filters.add(part)
    return node.insert_sequence(filters)


# The mapped tree -----------------------------------------------------------------------------------------------------
def _changed_tree(scop: Scop, tree: isl.Schedule, plan: CooperationPlan, new: Made) -> isl.Schedule | None:
    """Insert the new statements into the mapped tree; None where a barrier between them has no place."""
    if plan.way is CombineMethod.STORE:
        return _stored(scop, tree, plan, new)
    others = [s for s in statement_names(tree.get_domain()) if s != plan.statement]
    parts = new.parts
    for name in others:
        own = _named(tree.get_domain(), name)
        parts = parts.union(own.identity())
    pulled = _shifted(_pulled_back(tree, parts), new.shifts)
    if plan.way is CombineMethod.SHUFFLE:
        return pulled
    writers = {s.name for s in scop.statements for a in s.accesses if a.writes and a.array == plan.combine.array}
    path = _apart(pulled, {s.name for s in new.statements}, writers)
    if path is None:
        return None
    first = isl.UnionSet(f"{{ {new.statements[0].name}[{_dims(new.statements[0])}] }}")
    node = _in_sequence(node_at(pulled, path).child(0), first)
    return node.insert_mark(isl.Id(SYNC)).get_schedule()


def _stored(scop: Scop, tree: isl.Schedule, plan: CooperationPlan, new: Made) -> isl.Schedule | None:
    """Insert a store statement after those that make partial results, in the threads that start them.

    Returns None where the mapped tree has no place for it.
    """
    store, domain = new.statements[0], tree.get_domain()
    start = isl.Map.identity(_named(domain, plan.initial).get_set_list().get_at(0).get_space().map_from_set())
    parts = isl.UnionMap.from_map(start.set_tuple_name(isl.dim_type.in_, store.name))
    own = isl.UnionSet.from_set(store.domain.intersect_params(scop.context))
    pulled = _pulled_back(tree, parts.intersect_domain(own).union(domain.identity()))
    writers = {s.name for s in scop.statements for a in s.accesses if a.writes and a.array == plan.combine.array}
    for node in nodes(pulled):
        if node.get_type() == isl.schedule_node_type.sequence and _parts_them(node, plan.initial, writers):
            above = node.parent() if mark_name(node.parent()) == SYNC else node
            return _in_sequence(above, above.get_domain().subtract(own)).get_schedule()
    return None


def _parts_them(sequence: isl.ScheduleNode, initial: str, writers: set[str]) -> bool:
    """Return whether a sequence has the initial statement in another child than some other writer."""
    children = [set(statement_names(sequence.child(k).child(0).get_domain())) for k in range(sequence.n_children())]
    return any(initial in names and not writers <= names for names in children)


def _named(domain: isl.UnionSet, name: str) -> isl.UnionSet:
    found: list[isl.Set] = []
    domain.foreach_set(lambda s: found.append(s) if s.get_tuple_name() == name else None)
    return isl.UnionSet.from_set(found[0])


def _apart(tree: isl.Schedule, names: set[str], writers: set[str]) -> Path | None:
    """Return the outermost filter in a kernel, above the threads, with the named statements without the writers."""

    def below(node: isl.ScheduleNode, *, inside: bool) -> Path | None:
        if thread_sizes(node):
            return None
        inside = inside or mark_name(node) == KERNEL
        if inside and node.get_type() == isl.schedule_node_type.filter:
            here = set(statement_names(node.child(0).get_domain()))
            if names <= here and not here & writers:
                return path_of(node)
        found = (below(node.child(k), inside=inside) for k in range(node.n_children()))
        return next((path for path in found if path is not None), None)

    return below(tree.get_root(), inside=False)


def _shifted(tree: isl.Schedule, shifts: isl.UnionMap) -> isl.Schedule:
    """Move the points of a tree's thread bands, for the statements that `shifts` has."""

    def visit(node: isl.ScheduleNode) -> isl.ScheduleNode:
        if not thread_sizes(node):
            return transform_node(node, visit)
        band = node.child(0)
        points = isl.UnionMap.from_multi_union_pw_aff(band.band_get_partial_schedule())
        total = isl.UnionMap.empty(points.get_space())
        for m in maps(points):
            by = _by_name(shifts, m.get_tuple_name(isl.dim_type.in_))
            total = total.union(isl.UnionMap.from_map(m if by is None else m.sum(by.align_params(m.get_space()))))
        return band.delete().insert_partial_schedule(isl.MultiUnionPwAff.from_union_map(total)).parent()

    return visit(tree.get_root()).get_schedule()


def _by_name(union: isl.UnionMap, name: str) -> isl.Map | None:
    return next((m for m in maps(union) if m.get_tuple_name(isl.dim_type.in_) == name), None)
