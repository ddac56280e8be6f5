"""The passes from plain kernels to those that are printed, in their order. There is no other way through codegen.

A pass is called where the plan of a kernel asks for it. Each takes and gives a kernel that is right as it is, so that
the kernel after any of them can be printed (`--dump`), checked (`--verify-passes`) and run.
"""

from __future__ import annotations

from collections.abc import Callable

from polytile.codegen.passes import (
    block_order,
    cleanup,
    dependent_launch,
    folded_grids,
    kernel_cache_hints,
    merged_loads,
    offset_addressing,
    privatization,
    prune_signature,
    subwarp_loops,
    unroll_hints,
    warp_aggregation,
)
from polytile.codegen.passes.plan import DISTRIBUTE, SHARE, LoweredPlan, OnDemand, Pass, ProgramPass, Run

SCALAR_REPLACEMENT = "scalar-replacement"
REGISTER_LIMIT = "register-limit"


def always(_: LoweredPlan) -> bool:
    return True


def of_loops(plan: LoweredPlan) -> bool:
    """Return whether a kernel consists of a schedule's loops."""
    return not plan.time_tile


def improving(name: str, asked: Callable[[LoweredPlan], bool], run: Run) -> Pass:
    """Return a pass that kernels can do without."""
    return Pass(name, asked, run, improves=True)


KERNEL_PASSES: tuple[Pass, ...] = (
    improving(
        SCALAR_REPLACEMENT,
        lambda plan: bool(plan.promoted),
        OnDemand("scalar_replacement", "tile_scalar_replacement"),
    ),
    Pass("place-arrays", lambda plan: bool(plan.placements), OnDemand("place_arrays")),
    Pass("clean-up", lambda plan: plan.clean, cleanup.clean_up),
    improving("loop-carry", lambda plan: plan.carry, OnDemand("loop_carry")),
    improving("unroll-loads-first", lambda plan: plan.loads_first, OnDemand("unroll_loads_first")),
    Pass("remove-unused", lambda plan: plan.clean, cleanup.remove_unused),
    improving("early-loads", lambda plan: plan.loads_first, OnDemand("early_loads")),
    improving("cache-hints", lambda plan: plan.loads_first and bool(plan.last_reads), OnDemand("cache_hints")),
    Pass("flatten-scopes", lambda plan: plan.loads_first, cleanup.flatten_scopes),
    improving("forward-shared", lambda plan: bool(plan.forwarded), OnDemand("forward_shared", "shared_forwarding")),
    Pass("launch-bounds", lambda plan: plan.loads_first or plan.min_blocks > 0, OnDemand("launch_bounds")),
    Pass("unroll-hints", lambda plan: plan.tiled and plan.unrolled, unroll_hints.unroll_hints),
    Pass("partition-tiles", lambda plan: plan.tiled or bool(plan.partitioned), OnDemand("partition_tiles")),
    improving("wide-copies", lambda plan: bool(plan.wide), OnDemand("wide_copies")),
    Pass("software-pipeline", lambda plan: bool(plan.stages), OnDemand("software_pipeline")),
    Pass("strength-reduction", lambda plan: "strength-reduction" in plan.requested, OnDemand("strength_reduction")),
    Pass("index-width", lambda plan: "index-width" in plan.requested, OnDemand("index_width")),
    Pass(
        "reassociate-sums",
        lambda plan: plan.sums_are_free,
        OnDemand("reassociate_sums"),
        improves=True,
        parts=(DISTRIBUTE, SHARE),
    ),
    Pass(
        "order-statements",
        lambda plan: bool(plan.order) or plan.points,
        OnDemand("order_statements"),
        improves=True,
        bounded=True,
    ),
    Pass(REGISTER_LIMIT, lambda plan: plan.registers > 0, OnDemand("register_limit", "launch_bounds"), bounded=True),
    Pass("prune-signature", lambda plan: plan.clean, prune_signature.prune_signature),
)

# The passes that plans of compiled programs do not ask for, until a strategy makes plans that do.
WAITING_FOR_A_STRATEGY = ("software-pipeline", "strength-reduction", "index-width")

PROGRAM_PASSES: tuple[ProgramPass, ...] = (
    ProgramPass("fold-triangular-grids", of_loops, folded_grids.folded_grids),
    ProgramPass("subwarp-loops", always, subwarp_loops.subwarp_loops),
    ProgramPass("warp-aggregation", always, warp_aggregation.warp_aggregation),
    ProgramPass("privatization", always, privatization.privatization),
    ProgramPass("block-order", of_loops, block_order.block_order),
    ProgramPass("cache-hints-across-kernels", of_loops, kernel_cache_hints.kernel_cache_hints),
    ProgramPass("dependent-launch", lambda plan: plan.early, dependent_launch.dependent_launch),
    ProgramPass("merged-loads", of_loops, merged_loads.merged_loads, improves=False),
    ProgramPass("offset-addressing", of_loops, offset_addressing.offset_addressing),
)
