"""The launches of a mapped tree in the order in which they run, and the tile and thread of each instance."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytile.dataclass import dataclass
from polytile.drawing.model import Point
from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import KERNEL, MappedSchedule, nodes
from polytile.scheduling.analysis.instance_map import KernelPlace, places


@dataclass(frozen=True, slots=True)
class MappedKernel:
    """A kernel with the loops and sequences around it, outermost first: how many members a band has (a negative
    number), or the position in a sequence."""

    place: KernelPlace
    around: tuple[int, ...]

    @property
    def host(self) -> int:
        """Count the values of host loops that distinguish its launches."""
        return -sum(n for n in self.around if n < 0)

    def order(self, host: Point) -> Point:
        """Return the key that launches of all kernels are sorted by: host loop values and tree positions."""
        found: list[int] = []
        for n in self.around:
            if n < 0:
                found += host[:-n]
                host = host[-n:]
            else:
                found.append(n)
        return tuple(found)


def mapped_kernels(schedule: MappedSchedule) -> tuple[MappedKernel, ...]:
    marks = [node for node in nodes(schedule.tree) if mark_name(node) == KERNEL]
    return tuple(MappedKernel(p, tuple(_around(m))[::-1]) for p, m in zip(places(schedule), marks, strict=True))


def _around(node: isl.ScheduleNode) -> Iterator[int]:
    """Yield the host loops and positions around a node from the inside out."""
    while node.has_parent():
        position, node = node.get_child_position(), node.parent()
        kind = isl.schedule_node_type(node.get_type())
        if kind == isl.schedule_node_type.band:
            yield -int(node.band_n_member())
        elif kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
            yield position
