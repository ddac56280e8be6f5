"""The plans of kernels, from what the promotions found: where arrays live, and what blocks forward."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polytile.ir.isl_util import maps
from polytile.ir.memory import Space, Storage
from polytile.ir.placed_storage import Homes, forwarding_placement, home_placement
from polytile.ir.plan import KernelPlan, Owner, Placement
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.analysis.instance_map import KernelPlace, places


def kernel_plans(run: Executions, homes: Homes, forwarded: Homes) -> tuple[KernelPlan, ...]:
    """A plan for each kernel that has placements: `homes` of arrays that live there alone, and `forwarded` copies."""
    if not any(homes.values()) and not any(forwarded.values()):
        return ()
    found = []
    for place in places(run.schedule):
        own, copies = homes.get(place.kernel, {}), forwarded.get(place.kernel, {})
        placements = (*_placements(run, place, own, through=False), *_placements(run, place, copies, through=True))
        if placements:
            found.append(KernelPlan(place.kernel, placements))
    return tuple(found)


def _placements(
    run: Executions, place: KernelPlace, found: Mapping[str, Storage], through: bool
) -> tuple[Placement, ...]:
    make = forwarding_placement if through else home_placement
    return tuple(
        make(storage, run.scop.array(name).rank, place_coordinates(place, _owner(storage)))
        for name, storage in found.items()
    )


def _owner(storage: Storage) -> Owner:
    return Owner.BLOCK if storage.space is Space.SHARED else Owner.THREAD


def place_coordinates(place: KernelPlace, owner: Owner) -> int:
    """How many coordinates tell the owners of cells in a kernel apart: host loops, blocks, threads."""
    launches = max((int(m.dim(isl.dim_type.out)) for m in maps(place.block)), default=0)
    return launches + (len(place.threads) if owner is Owner.THREAD else 0)
