"""From a mapped tree to trees that isl can generate: coordinates become parameters, barriers become statements.

before: band [t] { kernel { block band [i/8] { thread[8] band [i mod 8] } } }
after:  on the host, band [t] of launch0[t]; in the kernel, with t a parameter,
        filter { S[t, i] : floor(i/8) = bi } { filter { S[t, i] : i mod 8 = ti } {} }

coordinate_bands.py says which bands stay.

A `sync` mark adds an instance sync0[] at the end of each iteration of its band, or behind all but the last child of its
sequence. Its domain does not mention threads, so every thread of the block reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import reduce
from itertools import count

import islpy as isl

from polytile.codegen.lowering.coordinate_bands import can_be_left_out, is_around_all_threads, one_each
from polytile.codegen.lowering.copy_barriers import copy_reasons
from polytile.codegen.lowering.cyclic_distribution import thread_labels
from polytile.codegen.lowering.grid_ranges import ends, hull_of, range_of
from polytile.codegen.lowering.known_quotients import chosen, coordinates_around, with_coordinates
from polytile.codegen.lowering.placed_accesses import PlacedCopy
from polytile.dataclass import dataclass
from polytile.ir.isl_util import (
    band_members,
    mark_name,
    reduce_quotients,
    sets,
    times_at,
    transform_node,
)
from polytile.ir.name_supply import Names
from polytile.ir.schedule import BLOCK, KERNEL, SYNC, Path, loop_label, loop_mark, nodes, path_of, thread_sizes
from polytile.ir.scop import Scop

AXES = "xyz"


@dataclass(frozen=True, slots=True)
class BlockCoordinate:
    """A grid dimension: its name in the kernel, and its values, first to last, over the host's iterators."""

    name: str
    axis: str
    values: isl.Map = field(compare=False)
    first: isl.PwAff = field(compare=False)
    last: isl.PwAff = field(compare=False)


@dataclass(frozen=True, slots=True)
class LabelledBand:
    """A serial band of a kernel, the mark above it, and what its loops are called: one label for each member, from the
    `depth` of the first one in the schedule on. The members of a thread band may be here, too: their loops, `cyclic`
    later, are over all the band's values."""

    mark: str
    depth: int
    labels: tuple[str, ...]
    cyclic: bool = False


@dataclass(frozen=True, slots=True)
class KernelShape:
    """What annotation found out about one kernel.

    `host` names the iterators of the host's loops around it, which are parameters of its `tree`; `where` holds what is
    known of them at a launch, `context` what is known of the coordinates too.
    """

    number: int
    launch: str  # the name of its instances in the host's tree
    host: tuple[str, ...]
    where: isl.Set = field(compare=False)
    context: isl.Set = field(compare=False)
    tree: isl.Schedule = field(compare=False)
    blocks: tuple[BlockCoordinate, ...]
    threads: tuple[tuple[str, str], ...]  # (name, axis), outermost first
    block: tuple[int, int, int]  # threads along x, y, z
    statements: tuple[str, ...]
    loops: tuple[LabelledBand, ...] = ()
    left_out: int = 0  # members of bands around all loops that the tree does not have


@dataclass
class Annotation:
    """The annotation of a mapped tree. `syncs` maps the name of each barrier instance to its mark's path, and `reasons`
    says what those around `copies` are for. Loops of kernels in `tiled` are named by their labels alone."""

    scop: Scop
    names: Names
    iterator: str  # prefix of the host's loops
    tiled: frozenset[int] = frozenset()
    kernels: list[KernelShape] = field(default_factory=list)
    launches: list[isl.Set] = field(default_factory=list)  # of each kernel, by the bands above it
    syncs: dict[str, Path] = field(default_factory=dict)
    copies: Mapping[str, PlacedCopy] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def annotate(self, tree: isl.Schedule) -> isl.Schedule:
        """Find all kernels; returns the host's tree, over launch instances."""
        for node in nodes(tree):
            if mark_name(node) == KERNEL:
                self.kernels.append(self._kernel(node, len(self.kernels)))
        host = self._host(tree.get_root(), iter(self.kernels))
        return isl.Schedule.empty(tree.get_domain().get_space()) if host is None else host

    def _host(self, node: isl.ScheduleNode, kernels: Iterator[KernelShape]) -> isl.Schedule | None:
        """Return the part of the tree above the kernels, in the same order.

        None where there is no kernel, below a filter that leaves nothing.
        """
        if mark_name(node) == KERNEL:
            kernel = next(kernels)
            launches = self.launches[kernel.number].set_tuple_id(isl.Id(kernel.launch))
            return isl.Schedule.from_domain(isl.UnionSet.from_set(launches))
        found = [self._host(node.child(i), kernels) for i in range(node.n_children())]
        parts = [part for part in found if part is not None]
        if not parts:
            return None
        tree = reduce(lambda before, after: before.sequence(after), parts)
        if node.get_type() == isl.schedule_node_type.band and node.band_n_member() > 0:
            partial = _dimensions(tree.get_domain(), int(node.get_schedule_depth()), int(node.band_n_member()))
            tree = tree.insert_partial_schedule(partial)
        return tree

    def _kernel(self, mark: isl.ScheduleNode, number: int) -> KernelShape:
        times = times_at(mark)
        launches = isl.Set.from_union_set(times.range())
        self.launches.append(launches)
        below = [n for n in descendants(mark) if n.get_type() == isl.schedule_node_type.mark]
        block_mark = next((n for n in below if mark_name(n) == BLOCK), None)
        thread_marks = [n for n in below if thread_sizes(n)]
        blocks = self._block_coordinates(block_mark)
        sizes = (thread_sizes(thread_marks[0]) or ()) if thread_marks else ()
        threads = self._thread_coordinates(thread_marks, sizes)
        x, y, z = (*reversed(sizes), 1, 1, 1)[:3]
        statements = tuple(s.get_tuple_name() for s in sets(mark.get_domain()))
        host = tuple(f"{self.iterator}{i}" for i in range(int(mark.get_schedule_depth())))
        labels = frozenset(label for n in below if (label := loop_label(n)))
        coordinates = coordinates_around(mark, block_mark, (*host, *(b.name for b in blocks)))
        meet = any(mark_name(n) == SYNC for threaded in thread_marks for n in descendants(threaded))
        plain = not meet and coordinates.occur(chosen(mark))
        left_out = len(blocks) if block_mark is not None and can_be_left_out(block_mark.child(0)) else 0
        single = number in self.tiled and not meet
        if block_mark is not None and left_out and not (meet or single) and is_around_all_threads(block_mark, sizes):
            left_out, single = left_out + len(sizes), True
        rewriting = _Inside(self, blocks, threads, sizes, labels, plain, left_out, single)
        if plain:
            tree = rewriting.visit(with_coordinates(mark, coordinates).child(0)).get_schedule()
        else:
            inside = rewriting.visit(mark.child(0)).get_schedule()
            tree = inside.intersect_domain(_fixed(times, host))
        where = as_parameters(launches, host)
        context = as_parameters(_context(launches, blocks, threads, sizes), host)
        launch = self.names.fresh(f"launch{number}")
        return KernelShape(
            number,
            launch,
            host,
            where,
            context.intersect(_convex(where) if plain else where),
            tree,
            blocks,
            threads,
            (x, y, z),
            statements,
            tuple(rewriting.loops),
            left_out,
        )

    def _block_coordinates(self, mark: isl.ScheduleNode | None) -> tuple[BlockCoordinate, ...]:
        if mark is None:
            return ()
        members = band_members(mark.child(0))
        coordinates: list[BlockCoordinate] = []
        for i, member in enumerate(members):
            ranges = range_of(mark, member)
            name = self._coordinate("b", {_iterator(self.scop, member, str(i))}, i, [c.name for c in coordinates])
            axis = AXES[len(members) - 1 - i]
            first, last = (reduce_quotients(bound) for bound in ends(ranges))
            coordinates.append(BlockCoordinate(name, axis, ranges, first, last))
        return tuple(coordinates)

    def _thread_coordinates(self, marks: list[isl.ScheduleNode], sizes: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        for i in range(len(sizes)):
            hints = {_iterator(self.scop, band_members(m.child(0))[i], str(i)) for m in self._of_statements(marks)}
            name = self._coordinate("t", hints, i, [n for n, _ in found])
            found.append((name, AXES[len(sizes) - 1 - i]))
        return tuple(found)

    def _of_statements(self, marks: list[isl.ScheduleNode]) -> list[isl.ScheduleNode]:
        """Return the thread marks above more than copies."""
        names = {id(m): {s.get_tuple_name() for s in sets(m.get_domain())} for m in marks}
        return [m for m in marks if not names[id(m)] <= set(self.copies)]

    def _coordinate(self, prefix: str, hints: set[str], i: int, others: list[str]) -> str:
        """Return `bi` where member `i` of a band runs through iterator i alone, and no other member does; else `b0`."""
        wanted = self.names.shared(f"{prefix}{hints.pop() if len(hints) == 1 else i}")
        return wanted if wanted not in others else self.names.shared(f"{prefix}{i}")


@dataclass
class _Inside:
    """The rewriting of one kernel's subtree. A mark above each serial band names its `loops`; with `whole_loops`, above
    thread bands too, which keep the instances of all threads. So many members around all loops are `left_out`, of the
    blocks' band all or none; with `single`, thread bands are, too, where a thread has one of their values."""

    owner: Annotation
    blocks: tuple[BlockCoordinate, ...]
    threads: tuple[tuple[str, str], ...]
    sizes: tuple[int, ...]
    given: frozenset[str]  # labels that the tree has
    whole_loops: bool = False
    left_out: int = 0
    single: bool = False
    loops: list[LabelledBand] = field(default_factory=list)

    def visit(self, node: isl.ScheduleNode, threaded: bool = False, label: str = "") -> isl.ScheduleNode:
        """Rewrite the subtree at `node`, a band with this `label`, perhaps; returns the node at the same position."""
        name = mark_name(node)
        if given := loop_label(node):
            return self.visit(node.child(0), threaded, given).parent().delete()
        if name == BLOCK:
            here = _equal(node.child(0), [b.name for b in self.blocks], None)
            return self._filtered(node, here, threaded, band=not self.left_out)
        if thread_sizes(node):
            return self._threaded(node)
        if name == SYNC:
            return self._sync(node, threaded, label)
        if node.get_type() == isl.schedule_node_type.leaf:
            return node if threaded or self._all_run(node) else node.insert_filter(self._first_thread(node))
        return self._labelled(self._inside(node, threaded), label)

    def _threaded(self, mark: isl.ScheduleNode) -> isl.ScheduleNode:
        """Replace the mark of a thread band by a filter, or by another mark that keeps the instances of all threads."""
        band = mark.child(0)
        if self.whole_loops and not one_each(band, self.sizes):
            return self._cyclic(self._inside(band, True)).parent().delete()
        here = _equal(band, [t for t, _ in self.threads], self.sizes)
        left_out = self.single and not band.is_subtree_anchored() and one_each(band, self.sizes)
        return self._filtered(mark, here, True, band=not left_out)

    def _filtered(
        self, mark: isl.ScheduleNode, here: isl.UnionSet, threaded: bool, *, band: bool
    ) -> isl.ScheduleNode:
        """Replace a mark by a filter for the instances at which the band below it has the values of coordinates.

        The `band` itself stays or is left out.
        """
        if band:
            return self._inside(mark.child(0), threaded).insert_filter(here).parent().delete()
        below = mark.child(0).insert_filter(here).child(0).delete()
        return self.visit(below, threaded).parent().parent().delete()

    def _inside(self, node: isl.ScheduleNode, threaded: bool) -> isl.ScheduleNode:
        return transform_node(node, lambda child: self.visit(child, threaded))

    def _labelled(self, node: isl.ScheduleNode, label: str) -> isl.ScheduleNode:
        """Insert a mark above a serial band, with a label of its own in the kernel for each of its members."""
        if node.get_type() != isl.schedule_node_type.band or not node.band_n_member():
            return node
        taken = self.given | {label for band in self.loops for label in band.labels}
        labels: list[str] = []
        for i, member in enumerate(band_members(node)):
            wanted = f"{label}_{i}" if label else _iterator(self.owner.scop, member, f"loop{i}")
            numbers = (f"{wanted}_{n}" if n > 1 else wanted for n in count(1))
            labels.append(label if label and i == 0 else next(n for n in numbers if n not in taken | set(labels)))
        band = LabelledBand(loop_mark(labels[0]), self._depth(node), tuple(labels))
        self.loops.append(band)
        return node.insert_mark(isl.Id(band.mark))

    def _depth(self, node: isl.ScheduleNode) -> int:
        return self.left_out + int(node.get_schedule_depth())

    def _cyclic(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """Insert a mark above a thread band, whose loops have a cyclic distribution over the threads."""
        depth = self._depth(node)
        band = LabelledBand(f"threads@{depth}", depth, thread_labels(len(self.threads)), cyclic=True)
        if all(band.mark != other.mark for other in self.loops):
            self.loops.append(band)
        return node.insert_mark(isl.Id(band.mark))

    def _all_run(self, leaf: isl.ScheduleNode) -> bool:
        """Return whether all threads come to a leaf that no thread band is around.

        They do where there is one thread, or they share copies.
        """
        names = self._names(leaf)
        return not self.sizes or (bool(names) and all(name in self.owner.copies for name in names))

    def _names(self, node: isl.ScheduleNode) -> list[str]:
        return [s.get_tuple_name() for s in sets(node.get_domain())]

    def _first_thread(self, leaf: isl.ScheduleNode) -> isl.UnionSet:
        names = ", ".join(t for t, _ in self.threads)
        zero = isl.Set(f"[{names}] -> {{ : {' and '.join(f'{t} = 0' for t, _ in self.threads)} }}")
        return leaf.get_domain().intersect_params(zero)

    def _sync(self, mark: isl.ScheduleNode, threaded: bool, label: str) -> isl.ScheduleNode:
        path = path_of(mark)
        reasons = copy_reasons(mark.child(0), self.owner.copies)
        node = self._inside(mark.child(0), threaded)
        if node.get_type() == isl.schedule_node_type.band:
            node = self._labelled(self._barrier_behind(node.child(0), path, reasons[0]).parent(), label)
        else:
            for i in range(node.n_children() - 1):
                node = self._barrier_behind(node.child(i).child(0), path, reasons[i]).parent().parent()
        return node.parent().delete()

    def _barrier_behind(self, node: isl.ScheduleNode, path: Path, reason: str) -> isl.ScheduleNode:
        name = self.owner.names.fresh(f"sync{len(self.owner.syncs)}")
        self.owner.syncs[name] = path
        if reason:
            self.owner.reasons[name] = reason
        when = _prefix_range(node)
        instance = isl.Set(f"{{ {name}[] }}").align_params(when.get_space())
        extension = isl.UnionMap.from_map(isl.Map.from_domain_and_range(when, instance))
        position = node.get_tree_depth()
        node = node.graft_after(isl.ScheduleNode.from_extension(extension))
        while node.get_tree_depth() > position:
            node = node.parent()
        return node


def descendants(node: isl.ScheduleNode) -> list[isl.ScheduleNode]:
    """Return the node and all below it, parents first."""
    found = [node]
    for i in range(node.n_children()):
        found += descendants(node.child(i))
    return found


def as_parameters(points: isl.Set, names: tuple[str, ...]) -> isl.Set:
    """Convert a set over dimensions to parameters: `{ [t] : 0 <= t < T }` becomes `[t] -> { : 0 <= t < T }`."""
    first = points.dim(isl.dim_type.param)
    moved = isl.Map.from_range(points)
    moved = moved.move_dims(isl.dim_type.param, first, isl.dim_type.out, 0, len(names))
    for i, name in enumerate(names):
        moved = moved.set_dim_name(isl.dim_type.param, first + i, name)
    return moved.params()


def _convex(points: isl.Set) -> isl.Set:
    """Return a convex superset without divisions.

    Where instances have none, those of the launches only slow isl down.
    """
    return isl.Set.from_basic_set(points.remove_divs().simple_hull())


def _fixed(times: isl.UnionMap, host: tuple[str, ...]) -> isl.UnionSet:
    """Return the instances of one launch, whose host iterations are the parameters `host`, by the times of all."""
    dims = [f"p{i}" for i in range(len(host))]
    equal = " and ".join(f"{d} = {h}" for d, h in zip(dims, host, strict=True))
    now = isl.UnionSet(f"[{', '.join(host)}] -> {{ [{', '.join(dims)}] : {equal} }}")
    return times.intersect_range(now).domain()


def _dimensions(launches: isl.UnionSet, first: int, count: int) -> isl.MultiUnionPwAff:
    """Select `count` dimensions of every launch instance, from the one at `first`."""
    total = isl.UnionMap.empty(launches.get_space())
    for launch in sets(launches):
        pick = isl.Map.identity(launch.get_space().map_from_set()).reset_tuple_id(isl.dim_type.out)
        rank = pick.dim(isl.dim_type.out)
        pick = pick.project_out(isl.dim_type.out, first + count, rank - first - count)
        pick = pick.project_out(isl.dim_type.out, 0, first).intersect_domain(launch)
        total = total.union(isl.UnionMap.from_map(pick))
    return isl.MultiUnionPwAff.from_union_map(total)


def _prefix_range(node: isl.ScheduleNode) -> isl.Set:
    """Return the iterations of the bands above `node`, as a set over the schedule dimensions."""
    prefix = times_at(node)
    return isl.Set.from_union_set(prefix.range())


def _equal(node: isl.ScheduleNode, names: list[str], sizes: tuple[int, ...] | None) -> isl.UnionSet:
    """Return the instances of the band at `node` whose members equal the named coordinates (modulo the sizes)."""
    dims = [f"p{i}" for i in range(len(names))]
    folded = dims if sizes is None else [f"{d} mod {s}" for d, s in zip(dims, sizes, strict=True)]
    terms = [f"{point} = {name}" for point, name in zip(folded, names, strict=True)]
    where = isl.UnionSet(f"[{', '.join(names)}] -> {{ [{', '.join(dims)}] : {' and '.join(terms)} }}")
    values = isl.UnionMap.from_multi_union_pw_aff(node.band_get_partial_schedule())
    return values.intersect_range(where).domain()


def _context(
    launches: isl.Set, blocks: tuple[BlockCoordinate, ...], threads: tuple[tuple[str, str], ...], sizes: tuple[int, ...]
) -> isl.Set:
    """Return what holds of the coordinates wherever the kernel runs.

    It is a convex set, as every block of the grid is launched.
    """
    context = isl.Set.universe(launches.get_space())
    for coordinate in blocks:
        hull = hull_of(coordinate.values)
        hull = hull.move_dims(isl.dim_type.param, hull.dim(isl.dim_type.param), isl.dim_type.out, 0, 1)
        hull = hull.set_dim_name(isl.dim_type.param, hull.dim(isl.dim_type.param) - 1, coordinate.name)
        context = context.intersect(hull.domain().align_params(context.get_space()))
    for (name, _), size in zip(threads, sizes, strict=True):
        context = context.intersect_params(isl.Set(f"[{name}] -> {{ : 0 <= {name} < {size} }}"))
    return context


def _iterator(scop: Scop, member: isl.UnionPwAff, fallback: str) -> str:
    """Return the source iterator that a band member is made of, when it is the same one for every statement.

    Otherwise `fallback` is returned.
    """
    found: set[str] = set()

    def piece(values: isl.PwAff) -> None:
        name = values.get_domain_space().get_tuple_name(isl.dim_type.set)
        statement = next((s for s in scop.statements if s.name == name), None)
        if statement is None:  # a copy
            return
        found.update(name for i, name in enumerate(statement.iterators) if values.involves_dims(isl.dim_type.in_, i, 1))

    member.foreach_pw_aff(piece)
    return found.pop() if len(found) == 1 else fallback
