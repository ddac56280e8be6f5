"""How much ranks send to one another: messages and bytes, exactly, for a grid and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from polytile.dataclass import dataclass
from polytile.distribution.plan import DistributionPlan, HaloExchange
from polytile.distribution.process_grid import ProcessGrid
from polytile.distribution.rank_combinations import PARTS
from polytile.distribution.transfers import ArrayBox, ExchangeMode, rounds
from polytile.ir.evaluate import evaluate


@dataclass(frozen=True, slots=True)
class Sent:
    """What a rank sends to a neighbour in one message: bytes."""

    rank: int
    neighbour: int
    bytes: int


def sent(
    plan: DistributionPlan,
    grid: ProcessGrid,
    rank: int,
    exchanges: Sequence[HaloExchange],
    mode: ExchangeMode,
    sizes: Mapping[str, int],
    step: int = 0,
) -> tuple[Sent, ...]:
    """Return the messages of a rank in an exchange in front of a step (which says the planes that take turns)."""
    found = []
    for transfer in (t for each in rounds(grid, rank, exchanges, mode) for t in each):
        total = 0
        for box in transfer.sends:
            size = plan.array(box.array).element.size
            total += -total % size + _elements(plan, exchanges, box, sizes, step) * size
        if total:
            found.append(Sent(rank, transfer.neighbour, total))
    return tuple(found)


def _elements(
    plan: DistributionPlan, exchanges: Sequence[HaloExchange], box: ArrayBox, sizes: Mapping[str, int], step: int
) -> int:
    exchange = next(e for e in exchanges if e.array == box.array)
    array = plan.array(box.array)
    total = 1
    for dimension, (axis, extent) in enumerate(zip(array.axes, array.extents, strict=True)):
        if axis is not None:
            first, end = box.box[axis]
            total *= end - first
        elif dimension == exchange.plane:
            total *= len(exchange.planes[step % len(exchange.planes)])
        else:
            assert extent is not None, "an array whose extents are not known is not exchanged"
            total *= evaluate(extent, sizes)
    return total


def exchange_steps(plan: DistributionPlan, sizes: Mapping[str, int]) -> Iterator[int]:
    """Return the steps in front of which halos are exchanged, the first one not among them."""
    first, end = evaluate(plan.time.first, sizes), evaluate(plan.time.end, sizes)
    return iter(range(first + plan.steps, end, plan.steps))


def sent_in_all(
    plan: DistributionPlan, grid: ProcessGrid, rank: int, mode: ExchangeMode, sizes: Mapping[str, int]
) -> tuple[int, int]:
    """Return the messages, and their bytes, that a rank sends in a whole run."""
    first = evaluate(plan.time.first, sizes)
    messages = list(sent(plan, grid, rank, plan.before, mode, sizes)) if first < evaluate(plan.time.end, sizes) else []
    for step in exchange_steps(plan, sizes):
        messages += sent(plan, grid, rank, plan.between, mode, sizes, step)
    return len(messages), sum(m.bytes for m in messages)


def combined(plan: DistributionPlan) -> tuple[tuple[int, int], ...]:
    """Return, for each global reduction, the calls of MPI_Allreduce in a step, and the bytes that a rank gives to them:
    the result, or the largest magnitude, and sums of parts in double."""
    found = []
    for one, made in zip(plan.reductions, plan.combinations, strict=True):
        floats = made.largest is not None
        found.append((2, 8 * (1 + PARTS)) if floats else (1, plan.scop.array(one.result).element.size))
    return tuple(found)


def stored_bytes(plan: DistributionPlan, grid: ProcessGrid, rank: int, sizes: Mapping[str, int]) -> int:
    """Return the bytes of a rank's arrays that are cut: its box and the halos around it."""
    stored = grid.stored(rank, plan.halo)
    total = 0
    for array in plan.arrays:
        if array.is_cut:
            counts = [
                stored[axis][1] - stored[axis][0] if axis is not None else evaluate(extent, sizes) if extent else 0
                for axis, extent in zip(array.axes, array.extents, strict=True)
            ]
            total += prod(counts) * array.element.size
    return total
