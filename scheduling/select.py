"""Choosing among the mapped schedules of one SCoP, by a guess at their time."""

from __future__ import annotations

from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import KERNEL, MappedSchedule, nodes
from polytile.ir.scop import Scop
from polytile.scheduling.contract import contract
from polytile.scheduling.dependences import Dependences
from polytile.scheduling.strides import mapped_cost

CLEARLY = 0.8  # the estimate is rough, and the first schedule is the one that fuses most


def estimate(scop: Scop, dependences: Dependences, schedule: MappedSchedule, shared: int) -> int:
    """The sum of the costs of all kernels of a mapped schedule, in no unit, with `shared` bytes of shared memory."""
    homes = contract(scop, dependences, schedule, shared)
    free = frozenset(array for kernel in homes.values() for array in kernel)
    marks = (node for node in nodes(schedule.tree) if mark_name(node) == KERNEL)
    return sum(mapped_cost(scop, mark, free) for mark in marks)


def best(scop: Scop, dependences: Dependences, schedules: list[MappedSchedule], shared: int) -> MappedSchedule:
    """The first schedule, or a later one that is clearly cheaper."""
    chosen = schedules[0]
    if len(schedules) == 1:
        return chosen
    least = estimate(scop, dependences, chosen, shared)
    for schedule in schedules[1:]:
        cost = estimate(scop, dependences, schedule, shared)
        if cost < CLEARLY * least:
            chosen, least = schedule, cost
    return chosen
