"""A plan for ranks, for a reader: what is cut, which halos there are, what is exchanged, what a rank sends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from polytile.codegen.targets.expressions import Printer
from polytile.diagnostics import InternalError
from polytile.distribution.boxes import Reach
from polytile.distribution.plan import DistributionPlan, HaloExchange
from polytile.distribution.process_grid import ProcessGrid
from polytile.distribution.traffic import combined, sent, stored_bytes
from polytile.distribution.transfers import ExchangeMode, both_ways
from polytile.ir.expr import Access

MOST_RANKS = 8  # of which all are told
_OPERATIONS = {"+": "the sum", "min": "the minimum", "max": "the maximum"}


def explained(
    plan: DistributionPlan,
    mode: ExchangeMode,
    sizes: Mapping[str, int] | None = None,
    grid: ProcessGrid | None = None,
) -> str:
    """Return the plan as text, with how halos are exchanged; with a grid and the sizes that it is for, what each rank
    has and sends, to the byte."""
    lines = [f"ranks: {plan.scop.name}", *(f"  {line}" for line in _said(plan, mode))]
    if grid is not None:
        lines += [f"  {line}" for line in _on_grid(plan, grid, mode, sizes or {})]
    return "\n".join(lines) + "\n"


def _said(plan: DistributionPlan, mode: ExchangeMode) -> Iterator[str]:
    printer = Printer(_no_element, cpp=False)
    axes = ", ".join(f"{a.name} (positions 0 to {printer(a.extent)} - 1)" for a in plan.axes)
    yield f"cut along {axes}"
    time = f" of {plan.time.name}" if plan.time.name else ""
    yield f"{plan.steps} step{'s' * (plan.steps != 1)}{time} between two exchanges"
    for array in plan.arrays:
        if array.is_cut:
            yield f"{array.name}: {'written, ' if array.written else ''}halo {_reaches(plan, array.halo)}"
    whole = [a.name for a in plan.arrays if not a.is_cut and a.name not in {r.result for r in plan.reductions}]
    if whole:
        yield f"whole on every rank: {', '.join(whole)}"
    for number, phase in enumerate(plan.phases):
        beyond = ", then ".join(_reaches(plan, g) for g in reversed(phase.growth))
        yield f"phase {number}: {', '.join(phase.statements)}; computes beyond its part {beyond}"
    yield f"exchanged in front of the first step: {_exchanged(plan, plan.before)}"
    yield f"exchanged behind every period: {_exchanged(plan, plan.between)}"
    if any(map(any, plan.boundary)):
        yield f"computed in front of the interior: sides {_reaches(plan, plan.boundary)}"
    for one, (calls, size) in zip(plan.reductions, combined(plan), strict=True):
        every = f"{_OPERATIONS[one.op]} of all positions, the same on all ranks and for all grids"
        yield f"{one.target}: {every}; a step has {calls} MPI_Allreduce for it, {size} bytes a rank"
    yield f"exchange: {mode.value}"
    at_once, in_turn = most_messages(plan)
    yield f"messages of a rank in an exchange: at most {at_once}, or {in_turn} along axes in turn (basic)"
    if plan.proof:
        yield plan.proof


def _reaches(plan: DistributionPlan, reach: Sequence[Reach]) -> str:
    each = (f"{below}+{above} along {a.name}" for a, (below, above) in zip(plan.axes, reach, strict=True))
    return ", ".join(each) if any(map(any, reach)) else "nothing"


def _exchanged(plan: DistributionPlan, exchanges: Sequence[HaloExchange]) -> str:
    return "; ".join(f"{e.array} {_reaches(plan, e.reach)}{_planes(e)}" for e in exchanges) or "nothing"


def _planes(exchange: HaloExchange) -> str:
    if exchange.plane is None:
        return ""
    counts = sorted({len(planes) for planes in exchange.planes})
    return f", {' or '.join(map(str, counts))} of {len(exchange.planes)} planes"


def most_messages(plan: DistributionPlan) -> tuple[int, int]:
    """Return the most messages of a rank in an exchange with all neighbours at once, and along axes in turn."""
    directions = both_ways(dict.fromkeys(d for e in plan.between for d in e.directions))
    return len(directions), 2 * len({k for d in directions for k, side in enumerate(d) if side})


def _on_grid(
    plan: DistributionPlan, grid: ProcessGrid, mode: ExchangeMode, sizes: Mapping[str, int]
) -> Iterator[str]:
    shape, extents = (" x ".join(map(str, each)) for each in (grid.shape, grid.extents))
    yield f"on {shape} ranks, {extents} positions:"
    some = range(grid.ranks) if grid.ranks <= MOST_RANKS else (0, grid.rank([parts // 2 for parts in grid.shape]))
    for rank in some:
        found = sent(plan, grid, rank, plan.between, mode, sizes)
        total = sum(m.bytes for m in found)
        yield (
            f"  {mode.value}: rank {rank} sends {total} bytes in {len(found)} messages an exchange, "
            f"{len(found) / plan.steps:.3g} messages and {total / plan.steps:.0f} bytes a step"
            + (f" (to {', '.join(f'{m.neighbour}: {m.bytes}' for m in found)})" if found else "")
        )
    for rank in some:
        yield f"  rank {rank} has {stored_bytes(plan, grid, rank, sizes)} bytes of arrays"


def _no_element(access: Access, _: Printer) -> str:
    raise InternalError(f"an extent reads memory: {access}")
