"""Trees with the copies of placements in them, as executions of their own.

before: loop[k0] / sync / band [k0] / rest
after:  loop[k0] / sync / band [k0], fills at k0 - ahead /
          sequence: early fills; (sync) sequence: other fills; rest; drains

Copies of cells that a block has are dealt out to its threads: barriers keep them from the rest of the iteration. Fills
that run early need none there, as those between iterations keep them; but the loop then has iterations before its
first, which run nothing but fills, and end with a barrier where the loop has one. An asynchronous fill that runs early
has a second execution, its landing, at the end of the iteration before the one that it is for: between the two the
copy may happen at any time. Generated code must have these executions and barriers, as the proof is about this tree.
For it the elements of a copy are one execution, `name[place..]`, in each iteration that there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.gpu_ops import require
from polytile.ir.isl_util import sets
from polytile.ir.loop_places import BLOCK_LOOP, HOST_LOOP, THREAD_LOOP, LabelledLoop, labelled_loops, unit_of
from polytile.ir.plan import Copy, KernelPlan, Owner, Placement, relation
from polytile.ir.schedule import SYNC, Path, path_of, thread_mark

FILL, LANDING, DRAIN = "fill", "landing", "drain"


@dataclass(frozen=True, slots=True)
class CopyRun:
    """The executions of a copy, `name[place.., element..]`, at a loop; `kind` is FILL, LANDING or DRAIN. They run
    `early` by so much in the values of the loop. Those of a `whole` copy are `name[place..]`."""

    name: str
    kind: str
    placement: Placement
    copy: Copy
    loop: LabelledLoop
    early: int
    domain: isl.UnionSet = field(compare=False)
    whole: bool = False

    @property
    def place(self) -> list[str]:
        """Return names for the coordinates of the place."""
        return self._place

    @property
    def _place(self) -> list[str]:
        return [f"p{k}" for k in range(len(self.loop.roles) + self.loop.units(self.placement.owner))]

    @property
    def _element(self) -> list[str]:
        if self.whole:
            return []
        return [f"e{k}" for k in range(relation(self.copy.elements).dim(isl.dim_type.out))]

    def _map(self, values: Iterable[str], name: str = "") -> isl.UnionMap:
        into = f"{name}[{', '.join(values)}]"
        text = f"{{ {self.name}[{', '.join([*self._place, *self._element])}] -> {into} }}"
        return isl.UnionMap(text).intersect_domain(self.domain)

    @property
    def elements(self) -> isl.UnionMap:
        """Return the element of each copy, `{ A_tile_fill[bi, bj, k0, i, k] -> A[i, k] }`."""
        return self._map(self._element, self.placement.array)

    def reaches(self, loop: LabelledLoop) -> bool:
        """Return whether the copy runs below a loop, or at it."""
        return self.loop.kernel.number == loop.kernel.number and self.loop.path[: len(loop.path)] == loop.path

    def places(self, loop: LabelledLoop, owner: Owner) -> isl.UnionMap:
        """Return the place of each copy in a loop that it is in, for cells of some owner."""
        own = self._place[: len(loop.roles)]
        return self._map([*own, *(self._unit(owner) if loop.units(owner) else ())])

    def iterations(self, loop: LabelledLoop) -> isl.UnionMap:
        """Return the iteration of a loop around that the copies run in, which may be one before the first."""
        values = self._place[: len(loop.roles)]
        return self._map(self._shifted(values) if loop.path == self.loop.path else values)

    def _shifted(self, values: list[str]) -> list[str]:
        return [*values[:-1], f"{values[-1]} - {self.early}"] if self.early else values

    def owned(self, owner: Owner) -> isl.UnionMap:
        """Return the owner (blocks, then thread or warp) of the cells that each copy uses."""
        blocks = sum(role in (HOST_LOOP, BLOCK_LOOP) for role in self.loop.roles)
        return self._map([*self._place[:blocks], *self._unit(owner)])

    def _unit(self, owner: Owner) -> list[str]:
        """Return the coordinates of the thread or warp that runs the copies.

        They come from the points of the thread band around, or from the coordinates at the end of the place.
        """
        sizes = self.loop.kernel.sizes
        if owner is Owner.BLOCK or not sizes:
            return []
        if self.loop.in_threads:
            points = [p for p, role in zip(self._place, self.loop.roles, strict=False) if role == THREAD_LOOP]
            return unit_of(owner, [f"({p} mod {size})" for p, size in zip(points, sizes, strict=True)], sizes)
        own = self._place[len(self.loop.roles) :]
        if self.placement.owner is owner:
            return own
        known = self.placement.owner is Owner.THREAD
        require(known, f"{self.name} runs in no one {owner.value}, but uses cells of one")
        return unit_of(owner, own, sizes)

    def times(self, first: int, members: int) -> isl.MultiUnionPwAff:
        """Return the values of the members of a band around the copies, or of the loop's own."""
        values = self._place[first : first + members]
        own = first + members == len(self.loop.roles)
        return isl.MultiUnionPwAff.from_union_map(self._map(self._shifted(values) if own else values))

    @property
    def in_own_threads(self) -> bool:
        """Return whether the copies need a thread band of their own."""
        return bool(self.placement.owner is Owner.THREAD and self.loop.units(Owner.THREAD))

    @property
    def dealt_out(self) -> bool:
        """Return whether any thread of a block or warp may run them."""
        return self.placement.owner is not Owner.THREAD


@dataclass(frozen=True, slots=True)
class CopyTree:
    """A tree with copies, and the labelled loops of the tree without."""

    tree: isl.Schedule = field(compare=False)
    runs: tuple[CopyRun, ...]
    loops: dict[tuple[int, str], LabelledLoop] = field(compare=False)

    def loop(self, plan: KernelPlan, label: str) -> LabelledLoop:
        return _loop(self.loops, plan, label)


def with_copies(tree: isl.Schedule, plans: Sequence[KernelPlan], *, whole: bool = False) -> CopyTree:
    """Insert the copies of all placements into the tree, by element or `whole`.

    Raises InternalError where one cannot be where its plan has it.
    """
    loops = labelled_loops(tree)
    runs = [
        run
        for plan in plans
        for placement in plan.placements
        for kind, copy in ((FILL, placement.fill), (DRAIN, placement.drain))
        if copy is not None
        for run in _runs(plan, placement, kind, copy, loops, whole)
        if not run.domain.is_empty()
    ]
    return CopyTree(_Growth(tuple(runs)).tree(tree), tuple(runs), loops)


def with_more_instances(tree: isl.Schedule, more: isl.UnionSet) -> isl.Schedule:
    """Return the tree with more instances of statements that are below one leaf each."""
    return _Growth((), more).tree(tree)


def _loop(loops: dict[tuple[int, str], LabelledLoop], plan: KernelPlan, label: str) -> LabelledLoop:
    found = loops.get((plan.kernel, label))
    require(found is not None, f"kernel {plan.kernel} has no loop {label}")
    assert found is not None
    return found


def _runs(
    plan: KernelPlan,
    placement: Placement,
    kind: str,
    copy: Copy,
    loops: dict[tuple[int, str], LabelledLoop],
    whole: bool,
) -> list[CopyRun]:
    loop, level = _loop(loops, plan, copy.at), _loop(loops, plan, placement.level)
    name = f"{placement.name}_{kind}" + (f"_k{plan.kernel}" if plan.kernel else "")
    require(loop.path[: len(level.path)] == level.path, f"{name} is outside of the level of {placement.name}")
    shared = placement.owner is not Owner.BLOCK or not loop.in_threads
    require(shared, f"{name} is below a thread band, where not all threads of a block pass")
    require(copy.ahead == 0 or loop.members == 1, f"{name} is early in a loop of {loop.members} members")
    step = loop.stride() if copy.ahead else 0
    domain = _executed(name, placement, copy, loop, whole)
    found = CopyRun(name, kind, placement, copy, loop, copy.ahead * step, domain, whole)
    if kind == FILL and copy.mode == "async" and copy.ahead:
        landing = f"{name}_{LANDING}"
        domain = _executed(landing, placement, copy, loop, whole)
        return [found, CopyRun(landing, LANDING, placement, copy, loop, step, domain, whole)]
    return [found]


def _executed(name: str, placement: Placement, copy: Copy, loop: LabelledLoop, whole: bool) -> isl.UnionSet:
    """Return the elements to copy in iterations that exist, `{ A_tile_fill[bi, bj, k0, i, k] }`.

    With `whole` there is one instance for each place instead, `{ A_tile_fill[bi, bj, k0] }`, and more in the hull of
    the places for tiles of whole kernels.
    """
    elements = relation(copy.elements)
    rank, parts = len(loop.roles) + loop.units(placement.owner), elements.dim(isl.dim_type.out)
    given = elements.dim(isl.dim_type.in_)
    require(given == rank, f"{name} has elements by a place of {given} coordinates, and its loop has {rank}")
    there = loop.places(placement.owner).range().coalesce()
    if whole:
        hull = _hull(there)
        there = hull if placement.updated or hull.is_subset(there) else there
        loop_place = [f"p{k}" for k in range(rank)]
        return there.apply(isl.UnionMap(f"{{ [{', '.join(loop_place)}] -> {name}[{', '.join(loop_place)}] }}"))
    copied = isl.UnionMap.from_map(elements)
    if not copied.domain().is_subset(there):  # else each bound of a place would be there twice, in two forms
        copied = copied.intersect_domain(there)
    p, e = [f"p{k}" for k in range(rank)], [f"e{k}" for k in range(parts)]
    flat = f"{{ [[{', '.join(p)}] -> {placement.array}[{', '.join(e)}]] -> {name}[{', '.join([*p, *e])}] }}"
    return copied.wrap().apply(isl.UnionMap(flat)).coalesce()


def _hull(places: isl.UnionSet) -> isl.UnionSet:
    """Return one basic set around the places of each space, as isl makes loops of each of several.

    The proof of such tiles is for all places that the elements of a copy name, whatever else runs there.
    """
    total = isl.UnionSet.empty(places.get_space())
    for own in sets(places):
        total = total.union(isl.UnionSet.from_set(isl.Set.from_basic_set(own.remove_divs().simple_hull())))
    return total


@dataclass(frozen=True, slots=True)
class _Growth:
    """A tree that is built anew, top down, with copies."""

    runs: tuple[CopyRun, ...]
    more: isl.UnionSet = field(default_factory=lambda: isl.UnionSet("{ }"))  # instances of statements of the tree

    def tree(self, old: isl.Schedule) -> isl.Schedule:
        domain = _with_more(old.get_domain(), self.more)
        for run in self.runs:
            domain = domain.union(run.domain)
        new = isl.Schedule.from_domain(domain).get_root().child(0)
        return self._grown(new, old.get_root().child(0)).get_schedule()

    def _below(self, path: Path) -> list[CopyRun]:
        """Return the copies that run below a node."""
        return [run for run in self.runs if run.loop.path[: len(path)] == path]

    def _grown(self, new: isl.ScheduleNode, old: isl.ScheduleNode) -> isl.ScheduleNode:
        """Insert the subtree at `old` at the leaf `new`; returns the node at the same position."""
        kind = old.get_type()
        if kind == isl.schedule_node_type.leaf:
            return new
        if kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
            return self._children(new, old)
        if kind == isl.schedule_node_type.filter:
            new = new.insert_filter(self._filter(old))
        elif kind == isl.schedule_node_type.mark:
            new = new.insert_mark(old.mark_get_id())
        elif kind == isl.schedule_node_type.band and old.band_n_member():
            new = with_properties(new.insert_partial_schedule(self._band(old)), old)
        else:
            return self._around(new, old)
        return self._around(new.child(0), old).parent()

    def _children(self, new: isl.ScheduleNode, old: isl.ScheduleNode) -> isl.ScheduleNode:
        count = old.n_children()
        filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, count)
        for i in range(count):
            filters = filters.add(self._filter(old.child(i)))
        ordered = old.get_type() == isl.schedule_node_type.sequence
        new = new.insert_sequence(filters) if ordered else new.insert_set(filters)
        for i in range(count):
            new = self._grown(new.child(i).child(0), old.child(i).child(0)).parent().parent()
        return new

    def _filter(self, old: isl.ScheduleNode) -> isl.UnionSet:
        found = _with_more(old.filter_get_filter(), self.more.intersect(old.child(0).get_domain().universe()))
        for run in self._below(path_of(old)):
            found = found.union(run.domain)
        return found

    def _band(self, old: isl.ScheduleNode) -> isl.MultiUnionPwAff:
        found, members = old.band_get_partial_schedule(), int(old.band_n_member())
        first = int(old.get_schedule_depth())
        found = found.reset_tuple_id(isl.dim_type.out) if found.has_tuple_id(isl.dim_type.out) else found
        if not self.more.is_empty():
            found = found.gist(old.get_domain())  # a formula for instances beyond these, too
        for run in self._below(path_of(old)):
            found = found.union_add(run.times(first, members))
        return found

    def _around(self, new: isl.ScheduleNode, old: isl.ScheduleNode) -> isl.ScheduleNode:
        """Insert the copies at `old` below `new`, around the subtree below `old`; returns the node at this position."""
        path, depth = path_of(old), new.get_tree_depth()
        for stage in _stages([run for run in self.runs if run.loop.path == path]):
            new = _wrapped(new, stage)
        new = self._grown(new, old.child(0))
        return new.ancestor(new.get_tree_depth() - depth) if new.get_tree_depth() > depth else new


def _with_more(few: isl.UnionSet, more: isl.UnionSet) -> isl.UnionSet:
    """Unite both sets, without pieces of the first that the second holds: isl generates code for each piece apart."""
    held = isl.UnionSet("{ }")
    for own in sets(more):
        inside = few.intersect(isl.UnionSet.from_set(own).universe())
        held = held.union(inside) if inside.is_subset(isl.UnionSet.from_set(own)) else held
    return few.subtract(held.universe()).union(more)


def with_properties(band: isl.ScheduleNode, old: isl.ScheduleNode) -> isl.ScheduleNode:
    """Copy the properties of an old band and of its members to a new one."""
    band = band.band_set_permutable(old.band_get_permutable())
    for k in range(int(old.band_n_member())):
        band = band.band_member_set_coincident(k, int(old.band_member_get_coincident(k)))
        band = band.band_member_set_ast_loop_type(k, isl.ast_loop_type(old.band_member_get_ast_loop_type(k)))
    return band


def _stages(runs: list[CopyRun]) -> list[list[CopyRun]]:
    """Group the copies at a loop into stages, from the outside in.

    Those of a block are apart from others, and those of inner placements after those of outer ones of the same array.
    """
    stages: list[list[CopyRun]] = []
    for run in runs:
        same = [s for s in stages if any(r.placement is run.placement for r in s)]
        if same:
            same[0].append(run)
        elif stages and _fit(stages[-1], run):
            stages[-1].append(run)
        else:
            stages.append([run])
    return stages


def _fit(stage: list[CopyRun], run: CopyRun) -> bool:
    owner = stage[0].placement.owner is Owner.BLOCK
    return (run.placement.owner is Owner.BLOCK) == owner and all(
        r.placement.array != run.placement.array for r in stage
    )


def _wrapped(new: isl.ScheduleNode, stage: list[CopyRun]) -> isl.ScheduleNode:
    """Insert the copies of a stage at a leaf; returns the leaf between them at which the body belongs."""
    early = [r for r in stage if r.kind == FILL and r.early]
    fills = [r for r in stage if r.kind == FILL and not r.early]
    drains = [r for r in stage if r.kind == DRAIN]
    landings = [r for r in stage if r.kind == LANDING]
    new = _sequence(new, early, [], False)
    new = _sequence(new, fills, drains, stage[0].placement.owner is Owner.BLOCK)
    return _sequence(new, [], landings, False)


def _sequence(new: isl.ScheduleNode, before: list[CopyRun], after: list[CopyRun], sync: bool) -> isl.ScheduleNode:
    """Insert a sequence of copies before and after a leaf, with barriers if `sync`; returns the leaf between them."""
    if not before and not after:
        return new
    ours = new.get_domain()
    for run in (*before, *after):
        ours = ours.subtract(run.domain)
    parts = [*([_united(before)] if before else []), ours, *([_united(after)] if after else [])]
    filters = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, len(parts))
    for part in parts:
        filters = filters.add(part)
    new = new.insert_sequence(filters)
    for runs, at in ((before, 0), (after, len(parts) - 1)):
        if runs and runs[0].in_own_threads:
            new = _threaded(new.child(at).child(0), runs).parent().parent()
    if sync:
        new = new.insert_mark(isl.Id(SYNC)).child(0)
    return new.child(1 if before else 0).child(0)


def _threaded(leaf: isl.ScheduleNode, runs: list[CopyRun]) -> isl.ScheduleNode:
    """Insert a thread band for copies that each thread makes of its own; returns the node of its mark."""
    points = [run.times(len(run.loop.roles), len(run.loop.kernel.sizes)) for run in runs]
    total = points[0]
    for part in points[1:]:
        total = total.union_add(part)
    return leaf.insert_partial_schedule(total).insert_mark(isl.Id(thread_mark(runs[0].loop.kernel.sizes)))


def _united(runs: Iterable[CopyRun]) -> isl.UnionSet:
    total = isl.UnionSet("{ }")
    for run in runs:
        total = total.union(run.domain)
    return total
