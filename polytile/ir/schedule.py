"""Mapped schedules: isl schedule trees whose marks say where each part runs.

Marks, from the root down (positions are found by them, never by depth):

- `kernel`: the subtree is one kernel, launched once for each iteration of the serial bands above it (the host's loops).
- `block`: directly below a kernel mark; the band below gives the block coordinates, one member per grid dimension (the
  last is x). Blocks of one launch are unordered.
- `thread[8,32]`: the band below gives points that threads share out: thread coordinate = point modulo the size, and
  one thread runs its points in order. Every thread mark of a kernel has the same sizes, those of the block.
- `sync`: directly above a serial band or a sequence inside a kernel, outside thread bands: a barrier ends each
  iteration, or stands between the children.

Bands that no mark claims are serial: on the host above a kernel, in each thread inside one. A statement below no thread
mark runs in thread 0 of its block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

import islpy as isl

from polytile.diagnostics import UserError
from polytile.ir.isl_util import mark_name

KERNEL = "kernel"
BLOCK = "block"
SYNC = "sync"
# isl prints a mark above a leaf without a child, but does not read it so.
_LONE_MARK = re.compile(r'^(( *)mark: "[^"]*")\n(?!\2child:)', re.MULTILINE)
_THREAD = re.compile(r"thread\[(\d+(?:,\s*\d+){0,2})\]")

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
    """The sizes of a thread mark, outermost first; None for any other node."""
    match = _THREAD.fullmatch(mark_name(node) or "")
    return tuple(int(s) for s in match.group(1).split(",")) if match else None


@dataclass(frozen=True, slots=True)
class MappedSchedule:
    """A mapped tree, the strategy that made it, and what a user should know about the choice."""

    tree: isl.Schedule = field(compare=False)
    strategy: str
    notes: tuple[str, ...] = ()

    @property
    def kernels(self) -> int:
        return sum(1 for node in nodes(self.tree) if mark_name(node) == KERNEL)

    def to_text(self) -> str:
        """The tree in isl's block style, which `--save-schedule` writes."""
        printer = isl.Printer.to_str(isl.DEFAULT_CONTEXT).set_yaml_style(isl.yaml_style.BLOCK)
        return _LONE_MARK.sub(r'\1\n\2child: "leaf"\n', str(printer.print_schedule(self.tree).get_str()))


def nodes(tree: isl.Schedule) -> Iterator[isl.ScheduleNode]:
    """All nodes, parents first."""
    stack = [tree.get_root()]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.child(i) for i in reversed(range(node.n_children())))


def path_of(node: isl.ScheduleNode) -> Path:
    """Where a node stands, as child positions from the root."""
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
    """Whether a tree carries kernel marks."""
    return any(mark_name(node) == KERNEL for node in nodes(tree))


def check_marks(tree: isl.Schedule) -> None:
    """Check the invariant at the top of this file; raises UserError (a loaded file may break it)."""
    _check_node(tree.get_root(), None, False)


def _check_node(node: isl.ScheduleNode, kernel: list[tuple[int, ...]] | None, thread: bool) -> None:
    kind, name = node.get_type(), mark_name(node)
    if kind in UNPROVEN:
        raise UserError("a schedule file holds domain, band, filter, sequence, set, mark and leaf nodes only")
    if kind == isl.schedule_node_type.leaf and kernel is None:
        raise UserError("a statement is outside every kernel", hint="put it below a `kernel` mark")
    if name == KERNEL:
        if kernel is not None:
            raise UserError("a kernel mark stands inside another kernel")
        kernel = []
    elif name == BLOCK:
        if mark_name(node.parent()) != KERNEL:
            raise UserError(
                "a block mark belongs directly below a kernel mark",
                hint="blocks of one launch are unordered: loops around them need a kernel mark inside",
            )
        _check_band(node, "block")
    elif sizes := thread_sizes(node):
        if kernel is None or thread:
            raise UserError("a thread mark belongs inside a kernel, and not inside another thread band")
        if _check_band(node, "thread") != len(sizes):
            raise UserError(f"{name} stands above a band with another number of members")
        if kernel and kernel[0] != sizes:
            raise UserError("the thread marks of one kernel differ in their sizes")
        if min(sizes) < 1 or prod(sizes) > 1024 or (len(sizes) == 3 and sizes[0] > 64):
            raise UserError(f"{name}: a block has 1 to 1024 threads, of which at most 64 along z")
        kernel.append(sizes)
        thread = True
    elif name == SYNC:
        below = node.child(0).get_type()
        serial = below in (isl.schedule_node_type.band, isl.schedule_node_type.sequence)
        if kernel is None or thread or not serial:
            raise UserError("a sync mark stands above a serial band or a sequence of a kernel, outside thread bands")
    elif name is not None:
        raise UserError(f"unknown mark {name!r} in a schedule", hint="kernel, block, thread[sizes] or sync")
    for i in range(node.n_children()):
        _check_node(node.child(i), kernel, thread)


def _check_band(mark: isl.ScheduleNode, what: str) -> int:
    band = mark.child(0)
    if band.get_type() != isl.schedule_node_type.band:
        raise UserError(f"a {what} mark stands directly above a band")
    members = int(band.band_n_member())
    if not 1 <= members <= 3:
        raise UserError(f"the band of a {what} mark has 1 to 3 members, not {members}")
    return members
