"""The copies of placements, and the loops of a mapped tree at which they run, as certificates name them.

A loop is named by its mark, `loop[k0]`, or `kernel` for all of a kernel. Its place are the values of all band members
from the root down to its own; for cells of a thread also the thread, unless the loop is inside one.

    kernel / block [bi, bj] / loop[k0] / sync / band [k0] / thread[16,16] / ...
    the place of k0 is [bi, bj, k0], for cells of a thread [bi, bj, k0, ty, tx]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import islpy as isl

from polytile.check.relations import Check, dimensions
from polytile.check.tree import LOOP, NODE, THREADS, blocks, kernels, mark, thread_of
from polytile.dataclass import dataclass

WHOLE = "kernel"
Key = tuple[int, str]  # the number of a kernel, the label of a loop


@dataclass(frozen=True, slots=True)
class Loop:
    """A labelled loop: `iterations` are `{ S[i] -> [host.., block.., loops..] }`, `around` the labels around it, its
    own included, `threads` the positions in its place of the thread that it is inside of."""

    kernel: Kernel
    around: tuple[str, ...]
    iterations: isl.UnionMap = field(compare=False)
    rank: int
    members: int
    threads: tuple[int, ...]

    def units(self, owner: str) -> int:
        """Return the number of coordinates of a thread after those of the loops."""
        return len(self.kernel.sizes) if owner == "thread" and not self.threads else 0

    def places(self, owner: str) -> isl.UnionMap:
        """Return `{ S[i] -> [place] }`."""
        return self.iterations.flat_range_product(self.kernel.threads) if self.units(owner) else self.iterations


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel: its thread sizes (none: one thread), and where its instances run."""

    sizes: tuple[int, ...]
    blocks: isl.UnionMap = field(compare=False)
    threads: isl.UnionMap = field(compare=False)
    rank: int = 0  # of blocks

    def owners(self, owner: str) -> isl.UnionMap:
        """Return who has the cells that instances use, `{ S[i] -> [host.., block.., thread..] }`."""
        return self.blocks.flat_range_product(self.threads) if owner == "thread" and self.sizes else self.blocks


def labelled_loops(tree: isl.Schedule) -> Iterator[tuple[Key, Loop]]:
    """Yield the labelled loops of a tree; a label that occurs twice is yielded twice."""
    for number, node in enumerate(kernels(tree)):
        place = blocks(node)
        rank = dimensions(place)
        kernel = Kernel(_sizes(node), place, thread_of(node), rank)
        yield (number, WHOLE), Loop(kernel, (WHOLE,), place, rank, 0, ())
        outer = _Outer(number, kernel, (WHOLE,), node.get_prefix_schedule_union_map(), "", "", ())
        for label, loop in _below(node.child(0), outer):
            yield (number, label), loop


@dataclass(frozen=True, slots=True)
class _Outer:
    """What is around a node: `role` is the mark above, `label` that of a loop whose band comes next."""

    number: int
    kernel: Kernel
    around: tuple[str, ...]
    values: isl.UnionMap
    role: str
    label: str
    threads: tuple[int, ...]


def _below(node: isl.ScheduleNode, outer: _Outer) -> Iterator[tuple[str, Loop]]:
    role, label, around, values, threads = "", "", outer.around, outer.values, outer.threads
    name = mark(node)
    if name:
        role, label = name, outer.label if name == "sync" else name[5:-1] if LOOP.fullmatch(name) else ""
    elif node.get_type() == NODE.band and (members := int(node.band_n_member())):
        values = values.intersect_domain(node.get_domain()).flat_range_product(band_values(node))
        rank = dimensions(values)
        if THREADS.fullmatch(outer.role):
            threads = tuple(range(rank - members, rank))
        if outer.label:
            around = (*around, outer.label)
            yield outer.label, Loop(outer.kernel, around, values, rank, members, threads)
    inner = _Outer(outer.number, outer.kernel, around, values, role, label, threads)
    for i in range(node.n_children()):
        yield from _below(node.child(i), inner)


def band_values(node: isl.ScheduleNode) -> isl.UnionMap:
    return isl.UnionMap.from_multi_union_pw_aff(node.band_get_partial_schedule()).intersect_domain(node.get_domain())


def _sizes(node: isl.ScheduleNode) -> tuple[int, ...]:
    match = THREADS.fullmatch(mark(node))
    if match:
        return tuple(int(size) for size in match[1].split(","))
    return next((s for i in range(node.n_children()) if (s := _sizes(node.child(i)))), ())


@dataclass(frozen=True, slots=True)
class Run:
    """One execution `name[place]` of a copy in each iteration of its loop, and with it `copied`, the elements:
    `{ name[place] -> A[e] }`. It runs `early` by so much; what `lands` is the end of an asynchronous copy."""

    name: str
    placement: Check
    key: Key
    loop: Loop
    copied: isl.UnionMap = field(compare=False)
    drains: bool = False
    lands: bool = False
    early: int = 0

    @property
    def owner(self) -> str:
        return str(self.placement["owner"])

    @property
    def place(self) -> list[str]:
        return [f"p{k}" for k in range(self.loop.rank + self.loop.units(self.owner))]

    @property
    def of_threads(self) -> bool:
        """Whether the thread is one of its own, below the loop."""
        return self.loop.units(self.owner) > 0

    def into(self, values: Sequence[str]) -> isl.UnionMap:
        return isl.UnionMap(f"{{ {self.name}[{', '.join(self.place)}] -> [{', '.join(values)}] }}")

    def thread(self) -> list[str]:
        """Return the coordinates of the copy's thread; none for copies that any thread of a block may make."""
        loop, place = self.loop, self.place
        if loop.threads:
            sizes = loop.kernel.sizes
            return [f"({place[at]}) mod {size}" for at, size in zip(loop.threads, sizes, strict=True)]
        return place[loop.rank :] if self.owner == "thread" else []

    def owners(self, owner: str) -> isl.UnionMap:
        return self.into([*self.place[: self.loop.kernel.rank], *(self.thread() if owner == "thread" else ())])

    def places(self, level: Loop, owner: str) -> isl.UnionMap:
        """Return the copy's places in a loop around it."""
        return self.into([*self.place[: level.rank], *(self.thread() if level.units(owner) else ())])


def runs(placements: Sequence[Check], loops: dict[Key, Loop]) -> list[Run]:
    """Return the copies of placements, in their order."""
    found = []
    for placement in placements:
        for kind in ("fill", "drain"):
            if copy := placement.get(kind):
                key = (placement["kernel"], copy["at"])
                found += _runs(f"{kind}_{key[0]}_{placement['name']}", placement, copy, key, loops[key])
    return found


def _runs(name: str, placement: Check, copy: Check, key: Key, loop: Loop) -> list[Run]:
    ahead = copy.get("ahead", 0)
    step = _stride(loop) if ahead else 0
    drains = copy is placement.get("drain")
    first = Run(name, placement, key, loop, _copied(name, placement, copy, loop), drains, False, ahead * step)
    if not ahead or copy.get("mode", "plain") == "plain":
        return [first]
    landing = f"landing_{name}"
    return [first, Run(landing, placement, key, loop, _copied(landing, placement, copy, loop), drains, True, step)]


def _stride(loop: Loop) -> int:
    found = isl.Set.from_union_set(loop.iterations.range())
    return int(found.get_stride(loop.rank - 1).to_python())


def _copied(name: str, placement: Check, copy: Check, loop: Loop) -> isl.UnionMap:
    """Return the elements that a copy moves, in the iterations that exist."""
    elements = isl.UnionMap(copy["elements"])
    there = loop.places(placement["owner"]).range().coalesce()
    if not elements.domain().is_subset(there):  # else isl would keep what makes them there beside the same from before
        elements = elements.intersect_domain(there).coalesce()
    place = ", ".join(f"p{k}" for k in range(loop.rank + loop.units(placement["owner"])))
    return elements.apply_domain(isl.UnionMap(f"{{ [{place}] -> {name}[{place}] }}"))


def layers(found: Sequence[Run]) -> list[list[Run]]:
    """Group the copies at a loop, from the outside in. A barrier stands around those of a block, so that they are apart
    from those of threads; and the outer placement of an array is filled before the inner one, which reads it."""
    groups: list[list[Run]] = []
    for run in found:
        own = next((g for g in groups if any(r.placement is run.placement for r in g)), None)
        if own is None and groups and _fit(groups[-1], run):
            own = groups[-1]
        if own is None:
            own = []
            groups.append(own)
        own.append(run)
    return groups


def _fit(group: list[Run], run: Run) -> bool:
    alike = (group[0].owner == "block") == (run.owner == "block")
    return alike and all(r.placement["array"] != run.placement["array"] for r in group)
