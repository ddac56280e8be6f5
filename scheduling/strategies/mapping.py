"""Giving bands to the GPU: which loops become the host's, blocks, threads, or stay serial in a thread.

before: band [i, j, k] with i and j coincident
after:  kernel { block band [i/8, j/32] { thread[8,32] band [i mod 8, j mod 32] { band [k] } } }

Serial outer bands become loops of the host. Where the outermost coincident band is one loop whose threads would not
coalesce and a deeper coincident loop does, blocks take the outer loop and threads the inner one, with barriers.
"""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import CONTEXT, transform_node
from polytile.ir.schedule import BLOCK, KERNEL, SYNC, MappedSchedule, Path, node_at, thread_mark
from polytile.ir.scop import Scop
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.cost.strides import strided_accesses
from polytile.scheduling.proof.legality import missing_barriers
from polytile.scheduling.strategies.band_rewriting import Member, insert_band, members_of, tile
from polytile.scheduling.strategies.pluto import BandTree
from polytile.scheduling.strategies.tile_sizes import SizeChooser

BAND = isl.schedule_node_type.band

# A kernel of another form from a band with coincident members and the kernel's number; None where that has none.
KernelForm = Callable[[isl.ScheduleNode, int], isl.ScheduleNode | None]


@dataclass
class _Mapper:
    """One mapping run; counts kernels so that sizes can be given by number."""

    scop: Scop
    sizes: SizeChooser
    kernels: int = 0
    other_form: KernelForm | None = None

    def visit(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        if not _has_parallelism(node):
            return self._serial_kernel(node)
        if node.get_type() == BAND and any(m.coincident for m in members_of(node)):
            return node if node.get_domain().is_empty() else self._kernel(node)
        return transform_node(_with_serial_runs(node), self.visit)

    def _serial_kernel(self, node: isl.ScheduleNode) -> isl.ScheduleNode:
        """Mark a part without parallelism as a kernel of one thread, so that its data can stay on the device."""
        if node.get_type() in (isl.schedule_node_type.filter, isl.schedule_node_type.domain):
            return transform_node(node, self._serial_kernel)
        if node.get_domain().is_empty():  # what runs of pieces of one statement leave behind
            return node
        self.kernels += 1
        return node.insert_mark(isl.Id(KERNEL))

    def _kernel(self, band: isl.ScheduleNode) -> isl.ScheduleNode:
        """Map a band that has coincident members; returns the node at the band's old position."""
        made = self.other_form(band, self.kernels) if self.other_form else None
        if made is not None:
            self.kernels += 1
            return made
        members = members_of(band)
        coincident = [i for i, m in enumerate(members) if m.coincident]
        costs = strided_accesses(self.scop, band, coincident)
        along_x = min(coincident, key=lambda i: (costs[i], -i))
        inner = _inner_thread_bands(self.scop, band)
        number, self.kernels = self.kernels, self.kernels + 1
        if len(coincident) == 1 and inner is not None and inner.cost < costs[along_x]:
            return self._block_then_thread(band, inner, number)
        outer = [i for i in coincident if i != along_x][: MAX_DIMENSIONS - 1]
        mapped = [*outer, along_x]
        rest = [i for i in range(len(members)) if i not in mapped]
        return self._tiled(band, [members[i] for i in mapped], [members[i] for i in rest], number)

    def _tiled(
        self, band: isl.ScheduleNode, mapped: list[Member], rest: list[Member], number: int
    ) -> isl.ScheduleNode:
        """Map the tiles of `mapped` to blocks and its points to threads.

        `rest` is serial, tiled if sizes are given for it.
        """
        serial = bool(rest) or _has_band(band.child(0))
        sizes = self.sizes.choose(number, len(mapped), len(mapped) + len(rest), serial=serial)
        tiles, points = tile([*mapped, *rest], sizes.tile)
        n = len(mapped)
        node = insert_band(band.delete(), points[n:])
        node = insert_band(node, points[:n]).insert_mark(isl.Id(thread_mark(sizes.block)))
        node = insert_band(node, tiles[n:])
        node = insert_band(node, tiles[:n]).insert_mark(isl.Id(BLOCK))
        return node.insert_mark(isl.Id(KERNEL))

    def _block_then_thread(self, band: isl.ScheduleNode, inner: _Inner, number: int) -> isl.ScheduleNode:
        """Map the outer coincident loop to blocks, one iteration each, and the coincident loops below to threads."""
        sizes = self.sizes.choose(number, 1, 1)
        members = members_of(band)
        parallel = [m for m in members if m.coincident]
        rest = [m for m in members if not m.coincident]
        node = _mark_inner(band, inner.paths, inner.members, sizes.block)
        node = insert_band(node.delete(), rest)
        node = insert_band(node, parallel).insert_mark(isl.Id(BLOCK))
        return node.insert_mark(isl.Id(KERNEL))


@dataclass(frozen=True, slots=True)
class _Inner:
    """Coincident bands below a band, as paths relative to it, with the member for thread.x of each."""

    paths: tuple[Path, ...]
    members: tuple[int, ...]
    cost: int


def _inner_thread_bands(scop: Scop, band: isl.ScheduleNode) -> _Inner | None:
    found: list[tuple[Path, int, int]] = []

    def search(node: isl.ScheduleNode, path: Path) -> bool:
        if node.get_type() == BAND:
            choices = [i for i, m in enumerate(members_of(node)) if m.coincident]
            if choices:
                costs = strided_accesses(scop, node, choices)
                best = min(choices, key=lambda i: (costs[i], -i))
                found.append((path, best, costs[best]))
                return True
        if node.n_children() == 0:
            return False
        covered = [search(node.child(i), (*path, i)) for i in range(node.n_children())]
        return all(covered)

    covered = search(band.child(0), (0,))
    if not found or not covered:
        return None
    return _Inner(tuple(f[0] for f in found), tuple(f[1] for f in found), sum(f[2] for f in found))


def _mark_inner(
    band: isl.ScheduleNode, paths: tuple[Path, ...], chosen: tuple[int, ...], block: tuple[int, ...]
) -> isl.ScheduleNode:
    """Mark the chosen member of each inner band for the threads; its other members stay serial around it."""
    for path, member in zip(paths, chosen, strict=True):
        node = band
        for step in path:
            node = node.child(step)
        members = members_of(node)
        rest = [m for i, m in enumerate(members) if i != member]
        node = insert_band(node.delete(), [members[member]]).insert_mark(isl.Id(thread_mark(block)))
        node = insert_band(node, rest)
        for _ in path:
            node = node.parent()
        band = node
    return band


def _with_serial_runs(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """Merge neighbours of a sequence that have no parallelism into one child, so that one kernel runs them all.

    before: sequence { S0, S1, { band [i] S2 }, S3, S4 } with i parallel
    after:  sequence { { S0, S1 }, { band [i] S2 }, { S3, S4 } }
    """
    if node.get_type() != isl.schedule_node_type.sequence:
        return node
    runs: list[isl.UnionSet] = []
    serial = False
    for i in range(node.n_children()):
        child = node.child(i)
        joined = serial and not _has_parallelism(child)
        serial = not _has_parallelism(child)
        own = child.filter_get_filter()
        runs[-1:] = [runs[-1].union(own)] if joined else [*runs[-1:], own]
    if len(runs) == node.n_children():
        return node
    filters = isl.UnionSetList.alloc(CONTEXT, len(runs))
    for run in runs:
        filters = filters.add(run)
    return node.insert_sequence(filters)


def _has_band(node: isl.ScheduleNode) -> bool:
    if node.get_type() == BAND and node.band_n_member() > 0:
        return True
    return any(_has_band(node.child(i)) for i in range(node.n_children()))


def _has_parallelism(node: isl.ScheduleNode) -> bool:
    if node.get_type() == BAND and any(m.coincident for m in members_of(node)):
        return True
    return any(_has_parallelism(node.child(i)) for i in range(node.n_children()))


def has_parallelism(tree: isl.Schedule) -> bool:
    """Return whether some band of an unmapped tree has a coincident member."""
    return _has_parallelism(tree.get_root())


def map_kernels(
    scop: Scop, tree: isl.Schedule, sizes: SizeChooser, other_form: KernelForm | None = None
) -> isl.Schedule:
    """Map a tree of bands to kernels, blocks and threads, still without barriers.

    Kernels that `other_form` makes are taken as they are.
    """
    return _Mapper(scop, sizes, other_form=other_form).visit(tree.get_root()).get_schedule()


def map_to_gpu(scop: Scop, bands: BandTree, sizes: SizeChooser) -> MappedSchedule:
    """Map a tree of bands to kernels, blocks and threads, still without barriers."""
    strategy = "loaded" if bands.fusion == "loaded" else f"classic ({bands.fusion})"
    return MappedSchedule(map_kernels(scop, bands.tree, sizes), strategy, bands.notes)


def with_barriers(tree: isl.Schedule, dependences: isl.UnionMap) -> isl.Schedule:
    """Insert a `sync` mark wherever dependent instances of one block run in different threads.

    before: band [t] { thread[128] band [i] }, with A[i + 1] of step t - 1 read at step t
    after:  sync { band [t] { thread[128] band [i] } }
    """
    for path in sorted(missing_barriers(tree, dependences), reverse=True):
        node = node_at(tree, path)
        if _outside_thread_bands(node):
            tree = node.insert_mark(isl.Id(SYNC)).get_schedule()
    return tree


def _outside_thread_bands(node: isl.ScheduleNode) -> bool:
    from_mark = node
    while from_mark.has_parent():
        if from_mark.get_type() == isl.schedule_node_type.mark:
            name = str(from_mark.mark_get_id().get_name())
            if name.startswith("thread"):
                return False
        from_mark = from_mark.parent()
    return node.get_type() in (BAND, isl.schedule_node_type.sequence)
