"""Sizes of split tiles in registers: the height of bands, the warps of a block, the cells of a thread.

A thread has registers for a few cells of each array; what a tile loses at its sides as it shrinks is work of others.
Higher bands fetch tiles less often, lower ones lose less. For boxes of S cells and periods of P places along each of d
dimensions, a step of a band runs 2^d prod(S) cells for prod(P) places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod

import islpy as isl

from polytile.ir.edge_rows import EdgeRows
from polytile.ir.split_plan import SplitPlan, SplitRead
from polytile.machine import (
    MAX_BLOCK_THREADS,
    MAX_THREAD_REGISTERS,
    REGISTER_BYTES,
    REGISTER_FILE_PARTITIONS,
    THREAD_REGISTER_UNIT,
    WARP_SIZE,
)
from polytile.scheduling.analysis.stencil_form import StencilForm
from polytile.scheduling.candidate import Problem
from polytile.scheduling.cost.array_layout import element_size
from polytile.scheduling.cost.assumed_sizes import assumed_sizes
from polytile.scheduling.cost.point_count import fix_parameters
from polytile.scheduling.strategies.split.cone import Cone
from polytile.scheduling.strategies.split.register_tiles import (
    NoRegisterTilesError,
    points_for,
    stencil_accesses,
    touched,
    with_sizes,
)
from polytile.scheduling.strategies.split.sizes import SplitSizes, asked_cuts, box_cut, spread_sizes
from polytile.scheduling.strategies.split.tile_sets import Cut
from polytile.tuning import SplitTuning

HEIGHTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 60, 62, 64, 80, 96, 120)
OTHER_REGISTERS = 44  # of a thread, beside those of its cells
TRANSFER_INSTRUCTIONS = 40  # to fill and drain a cell


@dataclass(frozen=True, slots=True)
class RegisterTiles:
    """A plan, and how its dimensions are cut."""

    plan: SplitPlan
    sizes: SplitSizes


def register_tiles(
    problem: Problem, form: StencilForm, cones: Sequence[Cone]
) -> tuple[RegisterTiles | None, str]:
    """Tiles in registers, or why there are none. Raises UsageError where sizes that are asked for do not fit
    together."""
    try:
        plan = stencil_accesses(problem, form, cones)
        return _sized(problem, plan, cones), ""
    except NoRegisterTilesError as error:
        return None, str(error)


def _sized(problem: Problem, plan: SplitPlan, cones: Sequence[Cone]) -> RegisterTiles:
    choices = problem.choices
    threads = spread_sizes("--block", choices.block, plan.dims)
    tile = spread_sizes("--tile", choices.tile, plan.dims)
    if (threads and threads[-1] % WARP_SIZE) or (plan.dims == 2 and threads and threads[-1] != WARP_SIZE):
        raise NoRegisterTilesError(f"threads of a block are not {WARP_SIZE} lanes across")
    found = list(_candidates(problem, plan, cones, threads, tile))
    if not found:
        raise NoRegisterTilesError("the registers of a block have no room for tiles of this height or width")
    return min(found, key=lambda one: step_seconds(problem, one.plan))


def _candidates(
    problem: Problem, plan: SplitPlan, cones: Sequence[Cone], threads: Sequence[int], tile: Sequence[int]
) -> Iterator[RegisterTiles]:
    period = plan.period
    asked = problem.choices.time_tile
    if asked % period:
        raise NoRegisterTilesError(f"bands of {asked} steps begin with different versions of arrays")
    heights = [asked] if asked else [h for h in HEIGHTS if h % period == 0]
    warps = [threads[0] if plan.dims == 2 else threads[0] // WARP_SIZE] if threads else None
    for height in heights:
        if tile:
            cuts = asked_cuts(cones, height, tile)
            for count in warps or ((8,) if plan.dims == 2 else (1,)):
                yield from _if_fits(problem, plan, cuts, count, points_for(touched(plan, cuts), count))
            continue
        for count, points in _shapes(problem, plan.dims, warps):
            box = (count * points[0], WARP_SIZE * points[1]) if plan.dims == 2 else (WARP_SIZE * points[0],)
            room = touched(plan, tuple(box_cut(cone, 1, height) for cone in cones))
            if all(size <= have for size, have in zip(room, box, strict=True)):
                tops = (1 + have - size for size, have in zip(room, box, strict=True))
                cuts = tuple(box_cut(cone, top, height) for cone, top in zip(cones, tops, strict=True))
                yield from _if_fits(problem, plan, cuts, count, points)


def _shapes(problem: Problem, dims: int, warps: Sequence[int] | None) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Warps of a block, and cells of a thread."""
    if dims == 1:
        for count in warps or (1,):
            yield from ((count, (columns,)) for columns in (1, 2, 4, 8, 12, 16))
        return
    for count in warps or (4, 8, 12, 16):
        for rows in (2, 3, 4, 6, 8, 12, 16):
            yield from ((count, (rows, columns)) for columns in (1, 2, 3, 4))


def _if_fits(
    problem: Problem, plan: SplitPlan, cuts: Sequence[Cut], warps: int, points: tuple[int, ...]
) -> Iterator[RegisterTiles]:
    sized = with_sizes(plan, cuts, warps, points)
    needed = registers(problem, sized)
    shared = shared_bytes(problem, sized)
    fits = needed <= MAX_THREAD_REGISTERS and shared <= problem.options.shared_memory
    fits = fits and WARP_SIZE * warps <= MAX_BLOCK_THREADS
    if fits and blocks_at_once(problem, sized):
        threads = (WARP_SIZE * warps,) if plan.dims == 1 else (warps, WARP_SIZE)
        yield RegisterTiles(sized, SplitSizes(tuple(cuts), threads))


# Resources ----------------------------------------------------------------------------------------
def registers(problem: Problem, plan: SplitPlan) -> int:
    """About how many registers a thread needs: its cells, rows of neighbours, and what it computes with."""
    size = {array: element_size(problem.scop.array(array)) for array, _ in plan.versions}
    own = sum(size[array] for array, _ in plan.fields) * prod(plan.points)
    beside = max(sum(size[r.array] for r in _farthest(plan, w.statement)) for w in plan.writes) * plan.points[-1]
    return ceil((own + beside) / REGISTER_BYTES) + OTHER_REGISTERS


def _farthest(plan: SplitPlan, statement: str) -> Iterator[SplitRead]:
    """A read for each row of another warp that a statement needs at once."""
    seen = {}
    for read in plan.reads_of(statement):
        if plan.dims == 2:
            for row in range(1, abs(read.offset[0]) + 1):
                seen[read.array, read.offset[0] > 0, row] = read
    yield from seen.values()


def shared_bytes(problem: Problem, plan: SplitPlan) -> int:
    """The shared memory of a block: rows that warps show one another, in planes for each level."""
    if plan.dims == 1:
        return 0
    total = 0
    for level in plan.levels:
        offsets: dict[str, list[int]] = {}
        for read in plan.reads:
            if plan.writer(read.statement).level == level and read.offset[0]:
                offsets.setdefault(read.array, []).append(read.offset[0])
        for array, own in offsets.items():
            rows = EdgeRows.of(plan.warps, plan.points[0], own).height
            total += 2 * rows * plan.box[1] * element_size(problem.scop.array(array))
    return total


def blocks_at_once(problem: Problem, plan: SplitPlan) -> int:
    """How many blocks a multiprocessor has at a time."""
    machine = problem.machine
    needed = -(-registers(problem, plan) // THREAD_REGISTER_UNIT) * THREAD_REGISTER_UNIT * WARP_SIZE * plan.warps
    most = min(machine.registers_per_sm // needed, machine.threads_per_sm // (WARP_SIZE * plan.warps))
    shared = shared_bytes(problem, plan) + machine.shared_reserved
    return min(most, machine.shared_per_sm // shared, machine.blocks_per_sm)


# Time ---------------------------------------------------------------------------------------------
def step_seconds(problem: Problem, plan: SplitPlan) -> float:
    """What a step of the time loop takes, by estimate: of instructions, of memory, of waiting, of launches."""
    machine, tuning = problem.machine, problem.machine.tuning.split
    speed, tiles = machine.speed, _tiles(problem, plan)
    colours = 2**plan.dims
    at_once = machine.sms * blocks_at_once(problem, plan) * (plan.warps if plan.dims == 1 else 1)
    rounds = max(1.0, tiles / at_once)
    warps = plan.warps if plan.dims == 2 else 1
    issue = _instructions(problem, plan) * warps / (REGISTER_FILE_PARTITIONS * speed.clock)  # of a tile, on one SM
    throughput = tiles / machine.sms * issue * colours
    waiting = rounds * colours * _latency(plan, tuning) * 1e-6
    memory = colours * tiles * _bytes(problem, plan) / speed.memory
    launches = len(plan.phases) * speed.launch_us * 1e-6
    return (max(throughput, memory) + waiting + launches) / plan.height


def _tiles(problem: Problem, plan: SplitPlan) -> float:
    """How many tiles of a colour there are."""
    scop = problem.scop
    known = {**assumed_sizes(scop, problem.machine.tuning.tiles.assumed_elements), **problem.options.parameters}
    sizes, total = fix_parameters(scop.context, known), 1.0
    statement = scop.statement(plan.writes[0].statement)
    (write,) = (a.relation for a in statement.accesses if a.writes)
    values = " and ".join(f"{name} = {value}" for name, value in sizes.items())
    here = isl.Set(f"[{', '.join(sizes)}] -> {{ : {values} }}") if sizes else scop.context
    written = write.intersect_domain(statement.domain).intersect_params(here).range()
    for k, cut in enumerate(reversed(plan.cuts), start=1):
        last = written.dim(isl.dim_type.set) - k
        ends = [written.dim_max_val(last), written.dim_min_val(last)]
        if all(end.is_int() for end in ends):
            extent = int(ends[0].to_python()) - int(ends[1].to_python()) + 1
            total *= max(1.0, extent / cut.period)
    return total


def _instructions(problem: Problem, plan: SplitPlan) -> float:
    """Of a warp, for all steps of a tile and for what it fills and drains."""
    cells, total = prod(plan.points), 0.0
    size = {array: int(element_size(problem.scop.array(array))) for array, _ in plan.versions}
    for write in plan.writes:
        reads = plan.reads_of(write.statement)
        words = max(1, size[write.array] // REGISTER_BYTES)
        beside = {(r.array, r.offset) for r in reads if r.offset[-1]}
        total += cells * (len(reads) + 2) + prod(plan.points[:-1]) * (2 + 2 * words * len(beside))
        total += 12 + 2 * sum(plan.points)
    return plan.height * total + len(plan.fields) * cells * TRANSFER_INSTRUCTIONS


def _latency(plan: SplitPlan, tuning: SplitTuning) -> float:
    """Microseconds that the steps of a tile take at least, one behind the other, and its fill and drain."""
    each = tuning.level_us + (tuning.barrier_us if plan.dims == 2 else 0.0)
    return tuning.tile_us + plan.height * len(plan.levels) * each


def _bytes(problem: Problem, plan: SplitPlan) -> float:
    """What a tile reads and writes of device memory."""
    moved = 0.0
    for array, _ in plan.fields:
        moved += element_size(problem.scop.array(array)) * (0.8 if array in plan.transient else 2.0)
    return float(moved * prod(plan.box))
