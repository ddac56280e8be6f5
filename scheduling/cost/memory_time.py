"""Choosing among the mapped schedules of one SCoP, by a guess at their time."""

from __future__ import annotations

from collections import Counter

from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import KERNEL, MappedSchedule, nodes
from polytile.ir.scop import Origin, Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.executions import each_once
from polytile.scheduling.cost.strides import mapped_cost
from polytile.scheduling.promotion.array_contraction import contract

CLEARLY = 0.8  # the estimate is rough, and the first schedule is the one that fuses most


def estimate(scop: Scop, dependences: Dependences, schedule: MappedSchedule, shared: int) -> int:
    """Sum the costs of all kernels of a mapped schedule, in no unit, with `shared` bytes of shared memory.

    Arrays that live inside kernels need no memory traffic.
    """
    return _with_placed(scop, dependences, schedule, shared, _costs(scop, schedule))


def _costs(scop: Scop, schedule: MappedSchedule) -> Counter[str]:
    """Sum the costs of all kernels by array."""
    total: Counter[str] = Counter()
    for mark in (node for node in nodes(schedule.tree) if mark_name(node) == KERNEL):
        total.update(mapped_cost(scop, mark))
    return total


def _with_placed(
    scop: Scop, dependences: Dependences, schedule: MappedSchedule, shared: int, costs: Counter[str]
) -> int:
    placed = contract(each_once(scop, dependences, schedule), shared)
    free = {array for kernel in placed.values() for array in kernel}
    return sum(cost for array, cost in costs.items() if array not in free)


def best(scop: Scop, dependences: Dependences, schedules: list[MappedSchedule], shared: int) -> MappedSchedule:
    """Return the first schedule, or a later one that is clearly cheaper."""
    chosen = schedules[0]
    if len(schedules) == 1:
        return chosen
    least = estimate(scop, dependences, chosen, shared)
    own = {array.name for array in scop.arrays if array.origin is not Origin.EXTERNAL}
    for schedule in schedules[1:]:
        costs = _costs(scop, schedule)
        if sum(cost for array, cost in costs.items() if array not in own) >= CLEARLY * least:
            continue  # wherever its arrays may live, which takes longer to find
        cost = _with_placed(scop, dependences, schedule, shared, costs)
        if cost < CLEARLY * least:
            chosen, least = schedule, cost
    return chosen
