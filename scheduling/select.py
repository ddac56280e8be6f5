"""Choosing among the mapped schedules of one SCoP, by a guess at their time."""

from __future__ import annotations

from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import KERNEL, MappedSchedule, nodes
from polytile.ir.scop import Scop
from polytile.scheduling.strides import mapped_cost


def estimate(scop: Scop, schedule: MappedSchedule) -> int:
    """The sum of the costs of all kernels of a mapped schedule, in no unit."""
    return sum(mapped_cost(scop, node) for node in nodes(schedule.tree) if mark_name(node) == KERNEL)


def best(scop: Scop, schedules: list[MappedSchedule]) -> MappedSchedule:
    """The cheapest schedule; of equals the first."""
    return min(schedules, key=lambda schedule: estimate(scop, schedule)) if len(schedules) > 1 else schedules[0]
