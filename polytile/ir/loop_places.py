"""The labelled loops of a mapped tree: where their iterations stand, and who runs what in them.

before: kernel / block [bi, bj] / loop[k0] / sync / band [k0] / thread[16,16] / band [i, j] / ...
after:  k0 stands at [bi, bj, k0]; for cells of threads at [bi, bj, k0, ty, tx], as no thread band is above it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from math import prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_util import mark_name, sets, times_at
from polytile.ir.plan import WHOLE_KERNEL, Owner
from polytile.ir.schedule import BLOCK, KERNEL, SYNC, Path, loop_label, nodes_below, path_of, thread_sizes
from polytile.ir.thread_map import thread_map
from polytile.machine import WARP_SIZE

HOST_LOOP, BLOCK_LOOP, THREAD_LOOP, SERIAL_LOOP = "host", "block", "thread", "serial"  # roles of band members


@dataclass(frozen=True, slots=True)
class KernelParts:
    """The instances of one kernel, in threads of a block of `sizes` (none where the kernel has no thread band: all of a
    block is one thread). What isl has to find is found once it is asked for: many ask for the loops alone."""

    number: int
    sizes: tuple[int, ...]
    mark: isl.ScheduleNode = field(compare=False, repr=False)
    found_blocks: list[isl.UnionMap] = field(default_factory=list, compare=False, repr=False)
    found_units: dict[Owner, isl.UnionMap] = field(default_factory=dict, compare=False, repr=False)
    found_owned: dict[Owner, isl.UnionMap] = field(default_factory=dict, compare=False, repr=False)

    @property
    def domain(self) -> isl.UnionSet:
        return self.mark.get_domain()

    @property
    def blocks(self) -> isl.UnionMap:
        """Return the block of each instance, `{ S[i] -> [host.., block..] }`."""
        if not self.found_blocks:
            self.found_blocks.append(_blocks(self.mark))
        return self.found_blocks[0]

    def unit(self, owner: Owner) -> isl.UnionMap:
        """Return the coordinates in its block of each instance: none, its thread, or the number of its warp."""
        if owner not in self.found_units:
            names = [f"t{k}" for k in range(len(self.sizes))]
            parts = ", ".join(unit_of(owner, names, self.sizes))
            who = isl.UnionMap(f"{{ [{', '.join(names or ['t0'])}] -> [{parts}] }}")
            threads = isl.UnionMap.from_multi_union_pw_aff(thread_map(self.mark))
            self.found_units[owner] = threads.apply_range(who)
        return self.found_units[owner]

    def owned(self, owner: Owner) -> isl.UnionMap:
        """Return the owner of the cells that each instance uses, `{ S[i] -> [host.., block.., thread or warp] }`."""
        if owner not in self.found_owned:
            self.found_owned[owner] = self.blocks.flat_range_product(self.unit(owner))
        return self.found_owned[owner]


@dataclass(frozen=True, slots=True)
class LabelledLoop:
    """A loop of a kernel, or the whole kernel: the roles of the band members around it, itself included. Copies at the
    loop stand below the node at `path`, which is its `band`."""

    label: str
    kernel: KernelParts
    path: Path
    roles: tuple[str, ...]
    band: isl.ScheduleNode | None = field(default=None, compare=False, repr=False)  # None for the whole kernel
    members: int = 0  # of its own band
    found_iterations: list[isl.UnionMap] = field(default_factory=list, compare=False, repr=False)
    found_places: dict[Owner, isl.UnionMap] = field(default_factory=dict, compare=False, repr=False)
    # of a statement in full tiles, by who owns a place there (scheduling/promotion/reference_tiles.py)
    executions: dict[tuple[Owner, str], isl.Map] = field(default_factory=dict, compare=False, repr=False)

    @property
    def iterations(self) -> isl.UnionMap:
        """Return the iterations that its instances run in; many ask for the places of loops alone."""
        if self.band is None:
            return self.kernel.blocks
        if not self.found_iterations:
            self.found_iterations.append(times_at(self.band.child(0)))
        return self.found_iterations[0]

    @property
    def in_threads(self) -> bool:
        """Return whether a thread band is around the loop."""
        return THREAD_LOOP in self.roles

    @property
    def coordinates(self) -> list[str]:
        """Return names for the values of the members around."""
        return [f"p{k}" for k in range(len(self.roles))]

    def units(self, owner: Owner) -> int:
        """Return the number of coordinates of a place after those of the loops."""
        if self.in_threads or owner is Owner.BLOCK:
            return 0
        return len(unit_of(owner, [""] * len(self.kernel.sizes), self.kernel.sizes))

    def places(self, owner: Owner) -> isl.UnionMap:
        """Return the place of each instance, `{ S[i] -> [host.., block.., loops.., thread or warp] }`."""
        if not self.units(owner):
            return self.iterations
        if owner not in self.found_places:  # each choice of a placement asks again
            unit = self.kernel.unit(owner).intersect_domain(self.iterations.domain())
            self.found_places[owner] = self.iterations.flat_range_product(unit)
        return self.found_places[owner]

    def stride(self) -> int:
        """Return the distance between the values of neighbouring iterations."""
        found = sets(self.iterations.range())
        return int(found[0].get_stride(len(self.roles) - 1).to_python()) if found else 1


def unit_of(owner: Owner, threads: list[str], sizes: tuple[int, ...]) -> list[str]:
    """Return what identifies the owner of cells inside its block, from the coordinates of a thread."""
    if owner is Owner.BLOCK or not sizes:
        return []
    if owner is Owner.THREAD:
        return threads
    if sizes[-1] % WARP_SIZE:
        return [f"floor(({_linear(threads, sizes)})/{WARP_SIZE})"]
    whole = sizes[-1] // WARP_SIZE  # of a row; isl does not see that rows are whole warps
    row = f"{whole}*({_linear(threads[:-1], sizes[:-1])})"
    return [row if whole == 1 else f"{row} + floor(({threads[-1]})/{WARP_SIZE})"]


def _linear(threads: list[str], sizes: tuple[int, ...]) -> str:
    factors = [prod(sizes[k + 1 :]) for k in range(len(sizes))]
    return " + ".join(f"{factor}*({thread})" for factor, thread in zip(factors, threads, strict=True)) or "0"


@memoized
def labelled_loops(tree: isl.Schedule) -> dict[tuple[int, str], LabelledLoop]:
    """Return the loops of a tree by kernel and label."""
    marks = [node for node in nodes_below(tree.get_root()) if mark_name(node) == KERNEL]
    return {(number, loop.label): loop for number, mark in enumerate(marks) for loop in _loops(mark, number)}


def _loops(mark: isl.ScheduleNode, number: int) -> Iterator[LabelledLoop]:
    kernel = kernel_parts(mark, number)
    host = (HOST_LOOP,) * int(mark.get_schedule_depth())
    below = mark.child(0)
    if mark_name(below) == BLOCK:
        band = below.child(0)
        roles = host + (BLOCK_LOOP,) * int(band.band_n_member())
        yield LabelledLoop(WHOLE_KERNEL, kernel, path_of(band), roles)
    else:
        yield LabelledLoop(WHOLE_KERNEL, kernel, path_of(mark), host)
    yield from _labelled(mark, kernel, host, "")


def _labelled(
    node: isl.ScheduleNode, kernel: KernelParts, roles: tuple[str, ...], above: str
) -> Iterator[LabelledLoop]:
    """Yield the labelled loops below a node; `above` is the label of the mark above, if the node belongs to it."""
    if node.get_type() == isl.schedule_node_type.band:
        members = int(node.band_n_member())
        roles = roles + (_role(node),) * members
        if above:
            yield LabelledLoop(above, kernel, path_of(node), roles, node, members)
    label = above if mark_name(node) == SYNC else loop_label(node) or ""
    for i in range(node.n_children()):
        yield from _labelled(node.child(i), kernel, roles, label)


def _role(band: isl.ScheduleNode) -> str:
    mark = band.parent()
    if mark_name(mark) == BLOCK:
        return BLOCK_LOOP
    return THREAD_LOOP if thread_sizes(mark) else SERIAL_LOOP


def kernel_parts(mark: isl.ScheduleNode, number: int) -> KernelParts:
    """Return the instances of the kernel below a kernel mark."""
    return KernelParts(number, next((found for node in nodes_below(mark) if (found := thread_sizes(node))), ()), mark)


def _blocks(mark: isl.ScheduleNode) -> isl.UnionMap:
    blocks, below = times_at(mark), mark.child(0)
    if mark_name(below) != BLOCK:
        return blocks
    coordinates = isl.UnionMap.from_multi_union_pw_aff(below.child(0).band_get_partial_schedule())
    return blocks.flat_range_product(coordinates)
