"""Mapped schedules: isl schedule trees whose marks say where each part runs.

Marks, from the root down (positions are found by them, never by depth):

- `kernel`: the subtree is one kernel, launched once for each iteration of the serial bands above it (the host's loops).
- `block`: directly below a kernel mark; the band below gives the block coordinates, one member per grid dimension (the
  last is x). Blocks of one launch are unordered.
- `thread[8,32]`: the band below gives points, which are mapped to threads: thread coordinate = point modulo the
  size, and one thread runs its points in order. Every thread mark of a kernel has the same sizes, those of the block.
- `sync`: directly above a serial band or a sequence inside a kernel, outside thread bands: a barrier ends each
  iteration, or stands between the children.
- `loop[k0]`: directly above a serial band, or above the sync mark of one: names the loop, once in a kernel, for plans
  (plan.py). It changes nothing.

Bands that no mark claims are serial: on the host above a kernel, in each thread inside one. A statement below no thread
mark runs in thread 0 of its block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from functools import cache
from math import prod
from typing import Any

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.ir.isl_util import mark_name, readable_schedule
from polytile.machine import MAX_BLOCK, MAX_BLOCK_THREADS

KERNEL = "kernel"
BLOCK = "block"
SYNC = "sync"
REGISTER_TILE = "register_tile"  # the label of the band of points that a thread has all at once
_THREAD = re.compile(r"thread\[(\d+(?:,\s*\d+){0,2})\]")
_LOOP = re.compile(r"loop\[([A-Za-z_]\w*)\]")

# Nodes that add or repeat instances, or that claim something about the parameters.
UNPROVEN = (
    isl.schedule_node_type.context,
    isl.schedule_node_type.expansion,
    isl.schedule_node_type.extension,
    isl.schedule_node_type.guard,
)

Path = tuple[int, ...]  # child positions from the root


def thread_mark(sizes: tuple[int, ...]) -> str:
    return f"thread[{','.join(map(str, sizes))}]"


def thread_sizes(node: isl.ScheduleNode) -> tuple[int, ...] | None:
    """Return the sizes of a thread mark, outermost first; None for any other node."""
    name = mark_name(node)
    return None if name is None else _sizes_of(name)


@cache
def _sizes_of(mark: str) -> tuple[int, ...] | None:
    match = _THREAD.fullmatch(mark)
    return tuple(int(s) for s in match.group(1).split(",")) if match else None


def loop_mark(label: str) -> str:
    return f"loop[{label}]"


def loop_label(node: isl.ScheduleNode) -> str | None:
    """Return the label of a loop mark; None for any other node."""
    name = mark_name(node)
    match = _LOOP.fullmatch(name) if name else None
    return match.group(1) if match else None


@dataclass(frozen=True, slots=True)
class MappedSchedule:
    """A mapped tree, the strategy that made it, and what a user should know about the choice.

    `relaxed` names the reductions (statements `x op= e`) whose instances may run in any order among themselves: their
    kernels must combine partial results. `remembered` is what was found out about the tree, by what it is.
    """

    tree: isl.Schedule = field(compare=False)
    strategy: str
    notes: tuple[str, ...] = ()
    relaxed: tuple[str, ...] = ()
    remembered: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def kernels(self) -> int:
        return sum(1 for node in nodes(self.tree) if mark_name(node) == KERNEL)

    def to_text(self) -> str:
        """Return the tree in isl's block style, which `--save-schedule` writes."""
        return readable_schedule(self.tree)


def nodes(tree: isl.Schedule) -> Iterator[isl.ScheduleNode]:
    """Yield all nodes of a tree, parents first."""
    return nodes_below(tree.get_root())


def nodes_below(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    """Yield a node and all below it, parents first."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.child(i) for i in reversed(range(node.n_children())))


def has_sets(tree: isl.Schedule) -> bool:
    """Return whether a tree leaves the order of some children open."""
    return any(node.get_type() == isl.schedule_node_type.set for node in nodes(tree))


def path_of(node: isl.ScheduleNode) -> Path:
    """Return the position of a node, as child positions from the root."""
    steps: list[int] = []
    while node.has_parent():
        steps.append(node.get_child_position())
        node = node.parent()
    return tuple(reversed(steps))


def node_at(tree: isl.Schedule, path: Path) -> isl.ScheduleNode:
    node = tree.get_root()
    for step in path:
        node = node.child(step)
    return node


def is_mapped(tree: isl.Schedule) -> bool:
    """Return whether a tree carries kernel marks."""
    return any(mark_name(node) == KERNEL for node in nodes(tree))


def check_marks(tree: isl.Schedule) -> None:
    """Check the invariant at the top of this file; raises UserError (a loaded file may break it)."""
    _check(tree.get_root(), None, False)
    _check_labels(tree.get_root(), set())


def _check(node: isl.ScheduleNode, kernel: list[tuple[int, ...]] | None, thread: bool) -> None:
    """Check the marks of a node and of all below it; raises UserError for a wrong one.

    `kernel` collects the thread sizes of the kernel around, if any; `thread` says that a thread mark is above.
    """
    kind, name = node.get_type(), mark_name(node)
    _require(
        kind not in UNPROVEN,
        "a schedule file holds domain, band, filter, sequence, set, mark and leaf nodes only",
        "start from a file that --save-schedule wrote",
    )
    if kind == isl.schedule_node_type.leaf:
        empty = kernel is None and node.get_domain().is_empty()
        _require(kernel is not None or empty, "a statement is outside every kernel", "put it below a `kernel` mark")
    elif name == KERNEL:
        _require(kernel is None, "a kernel mark stands inside another kernel", "one kernel mark above each statement")
        kernel = []
    elif name == BLOCK:
        _check_block(node)
    elif thread_sizes(node):
        _check_thread(node, kernel if not thread else None)
        thread = True
    elif name == SYNC:
        _check_sync(node, kernel is not None and not thread)
    elif loop_label(node):
        _check_loop(node)
    else:
        known = "kernel, block, thread[sizes], sync or loop[NAME]"
        _require(name is None, f"unknown mark {name!r} in a schedule", known)
    for i in range(node.n_children()):
        _check(node.child(i), kernel, thread)


def _require(holds: bool, message: str, hint: str) -> None:
    if not holds:
        raise UserError(message, hint=hint)


def _check_block(mark: isl.ScheduleNode) -> None:
    _require(
        mark_name(mark.parent()) == KERNEL,
        "a block mark belongs directly below a kernel mark",
        "blocks of one launch are unordered: loops around them need a kernel mark inside",
    )
    _check_band(mark, "block")


def _check_thread(mark: isl.ScheduleNode, kernel: list[tuple[int, ...]] | None) -> None:
    """Check a thread mark; `kernel` is None outside kernels and inside another thread band."""
    name, sizes = mark_name(mark), thread_sizes(mark) or ()
    if kernel is None:
        raise UserError(
            "a thread mark belongs inside a kernel, and not inside another thread band",
            hint="one thread mark below a kernel mark",
        )
    members = _check_band(mark, "thread")
    _require(
        members == len(sizes), f"{name} stands above a band with another number of members", "one size for each member"
    )
    _require(
        kernel in ([], [sizes]), "the thread marks of one kernel differ in their sizes", "a block has one size"
    )
    _require(
        min(sizes) > 0 and prod(sizes) <= MAX_BLOCK_THREADS and (len(sizes) < 3 or sizes[0] <= MAX_BLOCK[2]),
        f"{name}: a block has 1 to {MAX_BLOCK_THREADS} threads, of which at most {MAX_BLOCK[2]} along z",
        "smaller sizes: one thread runs all points that are equal modulo them",
    )
    kernel[:] = [sizes]


def _check_sync(mark: isl.ScheduleNode, reached_by_all: bool) -> None:
    below = mark.child(0).get_type()
    _require(
        reached_by_all and below in (isl.schedule_node_type.band, isl.schedule_node_type.sequence),
        "a sync mark stands above a serial band or a sequence of a kernel, outside thread bands",
        "all threads of a block must reach a barrier",
    )


def _check_loop(mark: isl.ScheduleNode) -> None:
    below = mark.child(0)
    below = below.child(0) if mark_name(below) == SYNC else below
    _require(
        below.get_type() == isl.schedule_node_type.band and loop_label(mark) != KERNEL,
        f"{mark_name(mark)} names no loop",
        "a loop mark stands directly above a serial band, or above the sync mark of one",
    )


def _check_labels(node: isl.ScheduleNode, seen: set[str]) -> None:
    """Check that the labels of a kernel, and those of the host around kernels, are distinct."""
    label = loop_label(node)
    if mark_name(node) == KERNEL:
        seen = set()
    if label is not None:
        _require(label not in seen, f"two loops of a kernel are called {label}", "one label for each loop")
        seen.add(label)
    for i in range(node.n_children()):
        _check_labels(node.child(i), seen)


def _check_band(mark: isl.ScheduleNode, what: str) -> int:
    band = mark.child(0)
    _require(
        band.get_type() == isl.schedule_node_type.band,
        f"a {what} mark stands directly above a band",
        "put the band below the mark",
    )
    members = int(band.band_n_member())
    _require(
        1 <= members <= 3,
        f"the band of a {what} mark has 1 to 3 members, not {members}",
        "split the band, and leave the other members serial",
    )
    return members
