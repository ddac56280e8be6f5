"""The plans of kernels, from what the promotions found: where arrays live, and what blocks forward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import islpy as isl

from polytile.diagnostics import UserError
from polytile.ir.external_functions import addressed_arrays
from polytile.ir.isl_util import maps
from polytile.ir.loop_places import labelled_loops
from polytile.ir.memory import Space, Storage, shared_size
from polytile.ir.placed_storage import (
    Homes,
    forwarding_placement,
    home_placement,
    is_tile,
    place_rank,
    storage_of,
)
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, Owner, Placement, relation
from polytile.ir.scop import Scop
from polytile.machine import SHARED_ALIGNMENT
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.analysis.instance_map import KernelPlace, places


def kernel_plans(run: Executions, homes: Homes, forwarded: Homes) -> tuple[KernelPlan, ...]:
    """Plan each kernel that has placements: `homes` of arrays that are stored there alone, and `forwarded` copies."""
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


def merged(plans: Iterable[KernelPlan], more: Iterable[KernelPlan]) -> tuple[KernelPlan, ...]:
    """Merge the plans of kernels: placements and loops of others come after theirs, and their launches."""
    found = {plan.kernel: plan for plan in plans}
    for plan in more:
        own = found.get(plan.kernel, KernelPlan(plan.kernel))
        placements, loops = (*own.placements, *plan.placements), (*own.loops, *plan.loops)
        found[plan.kernel] = replace(own, placements=placements, loops=loops, launch=plan.launch)
    return tuple(found[number] for number in sorted(found))


def place_coordinates(place: KernelPlace, owner: Owner) -> int:
    """Return how many coordinates identify the owners of cells in a kernel: host loops, blocks, threads."""
    launches = max((int(m.dim(isl.dim_type.out)) for m in maps(place.block)), default=0)
    return launches + (len(place.threads) if owner is Owner.THREAD else 0)


def require_placements(run: Executions, plans: Iterable[KernelPlan], shared_memory: int) -> None:
    """Raise UserError for plans that no kernels can be made of; whether they keep values is for the proof."""
    kernels = {place.kernel: place for place in places(run.schedule)}
    for plan in plans:
        if plan.kernel not in kernels:
            hint = f"its kernels are {', '.join(map(str, kernels)) or '(none)'}"
            raise _refused(run, f"there is no kernel {plan.kernel} to have a plan", hint)
        passed = sorted({placement.array for placement in plan.placements} & addressed_arrays(run.scop.statements))
        if passed:
            hint = "leave its placement out"
            raise _refused(run, f"{passed[0]} is passed to a function, so it stays in device memory", hint)
        tiles = [placement for placement in plan.placements if is_tile(placement)]
        for tile in tiles:
            _require_tile(run, plan.kernel, tile)
        _require_distinct_uses(run, tiles)
        found = [_required(run, kernels[plan.kernel], p) for p in plan.placements if not is_tile(p)]
        names = [storage.array for storage in found]
        if len(set(names)) < len(names) or set(names) & {tile.array for tile in tiles}:
            raise _refused(run, f"kernel {plan.kernel} has two placements of one array", "give each array one at most")
        size = sum(shared_size(storage) for storage in found if storage.space is Space.SHARED)
        size += sum(tile_bytes(run.scop, tile) for tile in tiles)
        if size > shared_memory:
            message = f"the placements of kernel {plan.kernel} take {size} bytes of shared memory"
            raise _refused(run, message, f"a block has {shared_memory}: see --max-shared-memory")


def tile_bytes(scop: Scop, tile: Placement) -> int:
    """Return the bytes of shared memory that a tile takes."""
    if tile.memory is not Space.SHARED:
        return 0
    size = tile.layout.size(tile.extents) * scop.array(tile.array).element.size
    return -(-size // SHARED_ALIGNMENT) * SHARED_ALIGNMENT


def _require_distinct_uses(run: Executions, tiles: Iterable[Placement]) -> None:
    """Raise UserError where an access has two tiles: code copies each of them from and to device memory."""
    taken: dict[tuple[str, int], str] = {}
    for tile in tiles:
        accesses = ((s.name, n) for s in run.scop.statements for n, a in enumerate(s.accesses) if a.array == tile.array)
        for use in tile.uses or accesses:
            if use in taken:
                message = f"access {use[1]} of {use[0]} has the placements {taken[use]} and {tile.name}"
                raise _refused(run, message, "give each access one at most")
            taken[use] = tile.name


def _require_tile(run: Executions, kernel: int, tile: Placement) -> None:
    """Raise UserError for tiles that code is not generated for yet, or that the loops do not have."""
    loops = [label for number, label in labelled_loops(run.schedule.tree) if number == kernel]
    for label in (tile.level, *(copy.at for copy in tile.copies)):
        if label not in loops:
            hint = f"its loops are {', '.join(label for label in loops if label != WHOLE_KERNEL) or '(none)'}"
            raise _refused(run, f"kernel {kernel} has no loop {label} for {tile.name}", hint)
    if tile.owner is Owner.WARP or tile.layout.fragment or tile.layout.swizzle != (0, 0):
        hint = "threads have registers and blocks shared memory, with padding at most"
        raise _refused(run, f"no kernel can be made with the placement {tile}", hint)
    if any(copy.ahead or copy.mode != "plain" for copy in tile.copies) or tile.through:
        raise _refused(run, f"copies of {tile.name} cannot be asynchronous or early", "make them plain, 0 ahead")
    array = next((a for a in run.scop.arrays if a.name == tile.array), None)
    if array is None or array.fields:
        raise _refused(run, f"there is no array {tile.array} that can be placed", "arrays of structs cannot be")


def _required(run: Executions, place: KernelPlace, placement: Placement) -> Storage:
    array = next((a for a in run.scop.arrays if a.name == placement.array), None)
    if array is None or array.fields:
        raise _refused(run, f"there is no array {placement.array} that can be placed", "arrays of structs cannot be")
    storage = storage_of(placement, array)
    rank = int(relation(placement.cell).domain().unwrap().dim(isl.dim_type.out))
    if storage is None or rank != array.rank:
        hint = "cells keep subscripts, divided by a number; copies that are written through, their remainders"
        raise _refused(run, f"no kernel can be made with the placement {placement}", hint)
    wanted = place_coordinates(place, placement.owner)
    if place_rank(placement) != wanted:
        message = f"the cells of {placement.name} are of places with {place_rank(placement)} coordinates"
        raise _refused(run, message, f"a {placement.owner.value} of kernel {place.kernel} has {wanted}")
    return storage


def _refused(run: Executions, message: str, hint: str) -> UserError:
    return UserError(f"the plans given: {message}", location=run.scop.location, hint=hint)
