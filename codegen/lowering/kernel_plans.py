"""What is planned for plain kernels: what the schedule has decided, and what lowering finds in their loops.

k: for (k = 0; k < n; ++k) C[i][j] += A[i][k] * B[k][j];        an element of C that k keeps: promoted {k: 1}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from polytile.codegen.lowering.given_plans import obeyed
from polytile.codegen.lowering.lower import Lowered
from polytile.codegen.lowering.outline_kernels import KernelShape
from polytile.codegen.passes.plan import LoweredPlan
from polytile.codegen.passes.scalar_replacement import accumulation, is_alone
from polytile.dataclass import dataclass
from polytile.ir.expr import Execution, For, Stmt
from polytile.ir.expr_trees import bodies
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.memory import Storage
from polytile.ir.placed_storage import forwarded, tile_plans
from polytile.ir.plan import KernelPlan, LoopPlan
from polytile.ir.schedule import REGISTER_TILE, loop_mark
from polytile.ir.scop import Scop
from polytile.tuning import LoadTuning


@dataclass(frozen=True, slots=True)
class Decisions:
    """What was decided before there were loops: the `plans` of kernels, which say what becomes of loops where they have
    tiles, and elsewhere if they are `obeyed`, as those of a schedule file are; `last_reads`, the arrays that nothing
    reads behind a kernel, by its number in the schedule. `sums` are the statements that accumulate partial results, or
    add them up, and how many iterations may load at once. `order` is that of large bodies, `registers` bound those of a
    thread. Additions may `reassociate`. Grids of the kernels have `few_blocks`."""

    plans: tuple[KernelPlan, ...] = ()
    obeyed: bool = False
    last_reads: Mapping[int, frozenset[str]] = field(default_factory=dict)
    sums: Mapping[str, int] = field(default_factory=dict)
    order: str = ""
    registers: int = 0
    reassociate: bool = False
    few_blocks: bool = False


def plan_kernels(
    lowered: Lowered, scop: Scop, decided: Decisions, tuning: LoadTuning, *, promote: bool = True
) -> tuple[LoweredPlan, ...]:
    """Plan each kernel of a program, in their order; elements stay in memory unless loops may `promote` them."""
    plans: list[LoweredPlan] = []
    given, tiles = ({plan.kernel: plan for plan in some} for some in (decided.plans, tile_plans(decided.plans)))
    copies = forwarded(decided.plans, scop)
    for kernel, shape, wide in zip(lowered.program.kernels, lowered.shapes, lowered.wide, strict=True):
        if shape.number in tiles:
            plans.append(replace(_tiled(kernel, shape, tiles[shape.number]), wide=wide))
            continue
        placements = lowered.storage.get(shape.number, {})
        promoted = dict(_promoted(kernel, scop, placements)) if promote else {}
        few = len(shape.threads) <= 1 and len(shape.blocks) <= 1
        repeated = few and bool(shape.host)
        loops = {p.label: p for p in _loads_first(kernel, decided.sums, promoted, tuning, repeated=repeated)}
        last = decided.last_reads.get(shape.number, frozenset())
        if decided.obeyed:
            asked = given.get(shape.number, KernelPlan(shape.number))
            promoted, loops = obeyed(asked, promoted, loops)
            last = frozenset(array for array, _ in asked.cache)
        plan = LoweredPlan(
            placements=placements,
            forwarded=copies.get(shape.number, {}),
            promoted=promoted,
            loops=loops,
            last_reads=last,
            clean=True,
            carry=True,
            prefetch=few,
            points=any(band.mark == loop_mark(REGISTER_TILE) for band in shape.loops),
        )
        plans.append(plan)
    common: dict[str, Any] = {"order": decided.order, "registers": decided.registers}
    common |= {"reassociate": decided.reassociate, "bounded": decided.registers > 0}
    common |= {"few_blocks": decided.few_blocks}
    return tuple(replace(plan, **common) for plan in plans)


def _tiled(kernel: Kernel, shape: KernelShape, plan: KernelPlan) -> LoweredPlan:
    """Return the plan of a kernel with tiles.

    The plan of a band is for all its members; isl may have made several loops of one, `k0` and `k0#2`.
    """
    bands = {label: band.labels[0] for band in shape.loops for label in band.labels}
    loops = {}
    for loop in _loops(kernel.body):
        label = loop.label.partition("#")[0]
        planned = plan.loop(bands.get(label, label))
        if planned != LoopPlan(planned.label):
            loops[loop.label] = replace(planned, label=loop.label)
    return LoweredPlan(loops=loops, clean=True, tiled=True, min_blocks=plan.launch.min_blocks)


def _promoted(kernel: Kernel, scop: Scop, placements: Mapping[str, Storage]) -> Iterator[tuple[str, int]]:
    """Yield the label of each loop that updates elements of device memory, and the number of these elements.

    Nothing else in the loop touches them.
    """
    for loop in _loops(kernel.body):
        inside = list(_plain(loop.body))
        run = {s.statement for s in inside if isinstance(s, Execution)}
        if len(run) == 1 and not any(isinstance(s, Barrier) for s in inside):
            written = next((a.array for a in scop.statement(min(run)).accesses if a.writes), None)
            if written is not None and written not in placements and (count := _updated(loop, scop)):
                yield loop.label, count


def _updated(loop: For, scop: Scop) -> int:
    """Count the elements that stay in registers while a loop runs."""
    match loop.body:
        case (Execution() as execution,):
            found = accumulation(loop, execution)
            return int(found is not None and is_alone(scop, execution, found))
    from polytile.codegen.passes.tile_scalar_replacement import are_apart, updated_elements  # few plans need it

    elements = updated_elements(loop)
    if elements is None or not all(is_alone(scop, e.execution, e.found) for e in elements):
        return 0
    return len(elements) if are_apart(scop, elements) else 0


def _loads_first(
    kernel: Kernel, sums: Mapping[str, int], promoted: Mapping[str, int], tuning: LoadTuning, *, repeated: bool
) -> Iterator[LoopPlan]:
    """Yield plans of the innermost loops that load the elements of several iterations before they compute.

    These are loops that accumulate partial results, or add them up, those over a tile, and those that update one
    element in a kernel that is `repeated`, with the few threads of one parallel loop, as a wavefront leaves them.
    """
    for loop in _loops(kernel.body):
        inside = list(_plain(loop.body))
        found = [sums[s.statement] for s in inside if isinstance(s, Execution) and s.statement in sums]
        if promoted.get(loop.label, 0) > 1:
            yield LoopPlan(loop.label, loads_first=tuning.tile_iterations)
        elif any(isinstance(s, For) for s in inside):
            continue
        elif found:
            yield LoopPlan(loop.label, loads_first=max(found))
        elif repeated and loop.label in promoted:
            yield LoopPlan(loop.label, loads_first=tuning.max_batch_iterations)


def _loops(body: Sequence[Stmt]) -> Iterator[For]:
    """Yield the serial loops of a schedule's bands."""
    return (stmt for stmt in _plain(body) if isinstance(stmt, For) and stmt.label)


def _plain(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """Yield the statements and those inside them, but not those inside executions."""
    for stmt in body:
        yield stmt
        if not isinstance(stmt, Execution):
            for inner in bodies(stmt):
                yield from _plain(inner)
