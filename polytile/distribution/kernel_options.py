"""Options that kernels of ranks are compiled with: phases, several steps at once, and copies of halos.

Estimates take the sizes of a part in the middle, as large as one GPU's program would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polytile.choices import CLASSIC, Choices
from polytile.distribution.plan import DistributionPlan
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Name
from polytile.ir.expr_trees import walk
from polytile.machine import machine_of
from polytile.options import Options
from polytile.scheduling.cost.assumed_sizes import assumed_sizes

UNKNOWN = 2000  # positions along an axis whose size nobody knows


def steps_options(plan: DistributionPlan, options: Options) -> Options:
    """Return the options that several steps at once are compiled with: the program's, for the sizes of a part."""
    elements = machine_of(options.arch).tuning.tiles.assumed_elements
    sizes = {**assumed_sizes(plan.scop, elements, least_rank=2), **options.parameters}
    return replace(options, parameters=assumed_part(plan, sizes), specialize=False, load_schedule=None, tuned=None)


def phase_options(plan: DistributionPlan, options: Options) -> Options:
    """Return the options that one step on a box is compiled with: schedules of the whole program and tiles over time
    are left out."""
    schedule = options.schedule if options.schedule == CLASSIC else "auto"
    plain = replace(steps_options(plan, options), schedule=schedule, min_compute=0)
    return replace(plain, sizes=None, time_tile=Choices().time_tile)


def copy_options(options: Options) -> Options:
    """Return the options that packing and unpacking are compiled with."""
    return Options(cflags=options.cflags, strict=options.strict, arch=options.arch, schedule=CLASSIC)


def combination_options(options: Options) -> Options:
    """Return the options that terms of global reductions are combined with: in any order, as each gives the same."""
    return Options(arch=options.arch)


def assumed_part(plan: DistributionPlan, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return values of the parameters of a phase's SCoP, for its estimates.

    `sizes` are those of the program on one GPU, as far as they are known or assumed: a rank owns as many positions, and
    the whole index space has four times as many along each axis.
    """
    found = {p.name: sizes.get(p.name, UNKNOWN) for p in plan.scop.parameters}
    for axis, box, (below, above) in zip(plan.axes, plan.boxes, plan.halo, strict=True):
        own = max(1, evaluate(axis.extent, {**found, **sizes}))
        found |= {box.first: below, box.end: below + own, box.offset: own, box.extent: below + own + above}
    whole = {n.name for axis in plan.axes for n in walk(axis.extent) if isinstance(n, Name)}
    first = evaluate(plan.time.first, found)
    found |= {name: 4 * found[name] for name in whole}
    return found | ({plan.step: first, plan.count: max(1, plan.steps - 1)} if plan.step else {})
