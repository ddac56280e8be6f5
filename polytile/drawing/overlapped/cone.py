"""The cells of all steps from which one cell of the last step is computed, by the reads of the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import islpy as isl

from polytile.drawing.instances import points
from polytile.drawing.model import Point
from polytile.drawing.overlapped.model import StreamCone
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStep
from polytile.scheduling.proof.time_tiles.time_loop import TimeLoop, write_of

Cell = tuple[int, Point]  # the index of a step, and the place
Made = Mapping[tuple[str, Point], str]  # by array and place, the statement that makes the cell in each iteration


def cone_of(
    plan: OverlappedTiles, loop: TimeLoop, made: Made, focus: tuple[StreamStep, Point], first: int
) -> StreamCone:
    step, place = focus
    start = step.index, place
    reached: set[Cell] = set()
    waiting = [start]
    while waiting:
        found = set(_sources(plan, made, waiting.pop())) - reached
        reached |= found
        waiting += found
    name = made[step.array, place]
    time = first + step.iteration
    at = isl.Set(f"{{ [{', '.join(map(str, (time, *place)))}] }}")
    (iterators,) = points(loop.at[name].intersect_range(at).domain())
    return StreamCone(step.index, place, (name, iterators), frozenset(_sources(plan, made, start)), frozenset(reached))


def _sources(plan: OverlappedTiles, made: Made, cell: Cell) -> Iterator[Cell]:
    """Yield the cells that a cell is computed from: none where no statement writes it, as it keeps its value."""
    index, place = cell
    step = plan.steps[index]
    if step.is_input:
        return
    maker = made.get((step.array, place))
    for read in plan.reads_of(index):
        if read.statement == maker:
            yield read.source, tuple(x + d for x, d in zip(place, read.offset, strict=True))


def makers(loop: TimeLoop, cells: Mapping[str, list[Point]]) -> dict[tuple[str, Point], str]:
    """Map an array and a place to the statement that computes this cell."""
    return {(write_of(loop.scop.statement(name)).array, p): name for name, own in cells.items() for p in own}
