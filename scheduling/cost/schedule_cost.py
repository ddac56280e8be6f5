"""An estimate of the time that a mapped schedule takes on a GPU, in microseconds, kernel by kernel.

A launch takes as long as the slowest of what it waits for:

- `requests`: L1 serves a warp's request line by line, and hands out 64 bytes a cycle;
- `l2`: the bytes that blocks fetch beyond L1, each block its own footprint;
- `memory`: the bytes that the launch touches, once, from device memory or, where they fit there, from L2;
- `arithmetic`: operations at the machine's rate;
- `latency`: what one thread does one after the other, times the number of turns in which blocks get their place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polytile.ir.placed_storage import forwarded, homes, tile_plans
from polytile.ir.plan import KernelPlan
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.machine import Machine
from polytile.scheduling.cost.estimate import Estimate, KernelTime
from polytile.scheduling.cost.kernel_cost import KernelCost
from polytile.scheduling.cost.mapped_loops import MappedStatement, Role, band_depths, kernels, statements
from polytile.scheduling.cost.point_count import at, fix_parameters, range_of_box, samples
from polytile.scheduling.cost.statement_cost import Work, in_time
from polytile.scheduling.cost.tiled_kernel_cost import TiledKernelCost

_SAME = 0.02  # the extents of two launches are alike


def timed(
    scop: Scop,
    schedule: MappedSchedule,
    plans: Collection[KernelPlan],
    machine: Machine,
    parameters: Mapping[str, int] | None = None,
) -> Estimate:
    """Estimate the time of a mapped schedule with data where `plans` say. Parameters without a value are taken large,
    but for what L2 keeps.

    Where launches differ, as in a triangular nest, three of them stand for all (Gauss's nodes of the host's loop).
    """
    values = fix_parameters(scop.context, parameters or {})
    known = all(p.name in (parameters or {}) for p in scop.parameters)
    found: list[KernelTime] = []
    placed, copied = homes(plans, scop), forwarded(plans, scop)
    tiles = {plan.kernel: plan for plan in tile_plans(plans)}
    for number, mark in enumerate(kernels(schedule.tree)):
        own = [Work(scop, mapped, values) for mapped in statements(mark)]
        tiled = any(not work.empty and work.updates_a_tile(placed.get(number, {})) for work in own)
        for weight, works in _moments([replace(work, tiled=tiled) for work in own]):
            inside, copies = placed.get(number, {}), copied.get(number, {})
            cost = KernelCost(number, works, inside, machine, copies, layered=known)
            if number in tiles:
                cost = TiledKernelCost(**vars(cost), plan=tiles[number], depths=band_depths(mark))
            time = cost.time()
            found.append(replace(time, launches=weight * time.launches))
    return Estimate(tuple(found), tuple(sorted(values.items())))


def _moments(works: Sequence[Work]) -> list[tuple[float, list[Work]]]:
    """Return the sampled launches of a kernel, each with how many others it stands for."""
    works = [work for work in works if not work.empty]
    if not works:
        return []
    if _run_alike(works):
        return [(1.0, works)]
    bounds = _host_range(works)
    if bounds is None or bounds[1] - bounds[0] < 3:
        return [(1.0, works)]
    found = [(weight, _at_host(works, round(value))) for value, weight in samples(*bounds)]
    kept = [(weight, there) for weight, there in found if there]
    if not kept:  # a loop of few iterations far apart
        return [(1.0, works)]
    first, last = kept[0][1], kept[-1][1]
    if len(kept) == len(found) and len(first) == len(last) and all(map(_alike, first, last)):
        return [(1.0, works)]
    return kept


def _run_alike(works: Sequence[Work]) -> bool:
    """Return whether all iterations of the outermost loop run the same: as many others of each statement, which are in
    all."""
    if not all(work.mapped.loops for work in works):
        return False
    ranges = {range_of_box(in_time(work.mapped), work.values, 0) for work in works}
    return len(ranges) == 1 and None not in ranges


def _alike(one: Work, other: Work) -> bool:
    pairs = zip(one.extents, other.extents, strict=True)
    return all(abs(a - b) <= _SAME * max(a, b) for a, b in pairs)


def _host_range(works: Sequence[Work]) -> tuple[float, float] | None:
    """Return the least and the largest value of the host's outermost loop, or None without a plain one."""
    lows, highs = [], []
    for work in works:
        host = work.mapped.loops[0].part(Role.HOST) if work.mapped.loops else None
        if host is None or host.tile > 1:
            return None
        time = at(in_time(work.mapped), work.values)
        low, high = time.dim_min_val(0), time.dim_max_val(0)
        if not low.is_int() or not high.is_int():
            return None
        lows.append(float(low.to_python()))
        highs.append(float(high.to_python()))
    return min(lows), max(highs)


def _at_host(works: Sequence[Work], value: int) -> list[Work]:
    """Return the works in one iteration of the host's outermost loop."""
    there = [replace(work, mapped=_fixed(work.mapped, value)) for work in works]
    return [work for work in there if not work.mapped.domain.is_empty() and not work.empty]


def _fixed(mapped: MappedStatement, value: int) -> MappedStatement:
    space = isl.LocalSpace.from_space(mapped.domain.get_space())
    plane = isl.Constraint.equality_alloc(space).set_constant_val(isl.Val(-value))
    for i, coefficient in enumerate(mapped.loops[0].form):
        plane = plane.set_coefficient_val(isl.dim_type.set, i, isl.Val(coefficient))
    return replace(mapped, domain=mapped.domain.add_constraint(plane))
