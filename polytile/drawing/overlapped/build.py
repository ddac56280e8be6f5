"""From a compiled SCoP with a plan of overlapped tiles to the records of its picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import islice, product

import islpy as isl

from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.drawing.axes import names_along
from polytile.drawing.build import MAX_PANELS, MAX_ROWS, spread
from polytile.drawing.instances import points
from polytile.drawing.model import Point
from polytile.drawing.overlapped.cone import cone_of, makers
from polytile.drawing.overlapped.model import (
    Box,
    StepCells,
    StreamCone,
    StreamDrawing,
    StreamSection,
    StreamView,
    TileGrid,
    TileIndex,
)
from polytile.drawing.overlapped.tiles import StreamTiles
from polytile.drawing.sizes import choose_sizes
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStep
from polytile.runtime.parameters import point
from polytile.scheduling.proof.time_tiles.time_loop import TimeLoop, time_loop

OUT = isl.dim_type.out
MAX_ALONG = (330, 140)  # places along an axis, in views over one and over two
LOOKED_AT = 5  # tiles that may be highlighted


def drawing_of(state: Compilation, parameters: Mapping[str, int] | None = None) -> StreamDrawing:
    """Build the drawing of the first block of iterations; raises UserError where there is none."""
    space = _space(state, {**state.options.parameters, **(parameters or {})})
    plan, everything = space.plan, list(range(len(space.plan.steps)))
    tile = _chosen(space)
    cone = _cone(space, tile)
    section = None
    if plan.dims == 1:
        view = space.view(spread(everything, MAX_ROWS), space.window(tile, MAX_ALONG[0]))
    else:  # cut through the cell whose cone is drawn
        cut = space.view(spread(everything, MAX_ROWS), space.window(tile, MAX_ALONG[0]), at=cone.place[0])
        section = StreamSection(cut, space.names[0], cone.place[0])
        view = space.view(spread(everything, MAX_PANELS), space.window(tile, MAX_ALONG[1]))
    return StreamDrawing(
        state.scop.name,
        space.values,
        plan,
        _kernel(state),
        _iterator(space),
        space.first,
        space.grid,
        tile,
        view,
        section,
        cone,
        cone.place[0] + plan.steps[cone.step].lag if plan.streamed else None,
        _texts(space),
    )


@dataclass(frozen=True, slots=True)
class _Space:
    """What is drawn a part of: the cells that each statement makes in an iteration, and the tiles over them."""

    plan: OverlappedTiles
    loop: TimeLoop
    tiles: StreamTiles
    values: dict[str, int]
    first: int  # iteration of the block
    grid: TileGrid
    names: tuple[str, ...]  # of the axes
    cells: Mapping[str, isl.Set] = field(compare=False)

    def view(self, indices: list[int], window: Box, at: int | None = None) -> StreamView:
        """Select some steps in a part of space, or over the dimensions after the first, which is cut `at` a place."""
        if at is not None:
            window = ((at, at), *window[1:])
        steps = [self.plan.steps[k] for k in indices]
        names = dict.fromkeys(name for step in steps for name in step.statements)
        made = {name: points(in_box(self.cells[name], window)) for name in names}
        count = len(self.plan.steps)
        notes = [f"{len(indices)} of {count} steps"] if len(indices) < count else []
        along = [*zip(self.names, window, self._around(), strict=True)][at is not None :]
        notes += [f"{x} = {a} .. {b} of {low} .. {last}" for x, (a, b), (low, last) in along if b - a < last - low]
        drawn = tuple(self._step(step, made, window) for step in steps)
        return StreamView(self.names if at is None else self.names[1:], drawn, tuple(notes))

    def window(self, tile: TileIndex, most: int) -> Box:
        """Select at most so many places along each dimension, around the middle of a tile where there are more."""
        found = []
        for (low, last), (first, end) in zip(self._around(), self.grid.owner(tile), strict=True):
            start = max(low, min((max(first, low) + min(end, last) - most) // 2, last - most + 1))
            found.append((start, min(last, start + most - 1)))
        return tuple(found)

    def _around(self) -> Box:
        """Return the box around all cells that tiles load or compute."""
        boxes = [self._memory(step) for step in self.plan.inputs]
        sides = ([box[k] for box in boxes] for k in range(self.plan.dims))
        return tuple((min(low for low, _ in side), max(last for _, last in side)) for side in sides)

    def _memory(self, step: StreamStep) -> Box:
        """Return the box of the cells of an input that some tile loads."""
        sides = zip(self.grid.axes, self.tiles.memory(step, self.values), step.lower, step.upper, strict=True)
        return tuple(
            (max(first, axis[0].of(low, up)[0]), min(last, axis[-1].of(low, up)[1]))
            for axis, (first, last), low, up in sides
        )

    def _step(self, step: StreamStep, made: Mapping[str, list[Point]], window: Box) -> StepCells:
        if step.is_input:
            sides = zip(self._memory(step), window, strict=True)
            places = list(product(*(range(max(a, low), min(b, last) + 1) for (a, b), (low, last) in sides)))
        else:
            places = [place for name in step.statements for place in made[name]]
        claims = [self.grid.claims(step, k) for k in range(self.plan.dims)]
        tiles: dict[Point, tuple[TileIndex, ...]] = {}
        together: dict[tuple[tuple[int, ...] | None, ...], tuple[TileIndex, ...]] = {}
        for place in sorted(places):
            key = tuple(map(dict.get, claims, place))  # there may be many places
            if key not in together:
                together[key] = tuple(product(*(positions or () for positions in key)))
            if together[key]:
                tiles[place] = together[key]
        return StepCells(step, self._label(step), tiles)

    def _label(self, step: StreamStep) -> str:
        time = _iterator(self)
        if not step.is_input:
            stored = any(store.step == step.index and store.becomes is not None for store in self.plan.stores)
            made = f"{time} = {self.first + step.iteration}, {' '.join(step.statements)}"
            return f"{made}, stored" if stored else made
        versions = sum(other.array == step.array for other in self.plan.inputs)
        when = f" of {time} = {self.first + step.iteration}" if versions > 1 else ""
        return f"{step.array}{when}, loaded"


def _space(state: Compilation, given: Mapping[str, int]) -> _Space:
    plan, scop = state.overlapped, state.run.scop
    assert plan is not None
    if plan.once:
        raise UserError(
            f"{state.scop.name} has overlapped tiles without a loop over time: pictures show blocks of iterations",
            location=state.scop.location,
            hint="--explain prints the tiles, and of each step the box, the lag and the planes that it keeps",
        )
    if plan.dims > 2:
        raise UserError(
            f"{state.scop.name} has overlapped tiles over {plan.dims} space dimensions: pictures show 1 or 2",
            location=state.scop.location,
            hint="over 1 or 2, a block of iterations is drawn with its halos; over more, --explain prints the tiles, "
            "and of each step the box, the lag and the planes that it keeps",
        )
    tiles = StreamTiles.of(scop, plan)
    values = choose_sizes(scop, tiles.extents, given, lambda _: True, bands=1)
    if not tiles.blocks(values):
        shown = ", ".join(f"{name}={value}" for name, value in values.items())
        raise UserError(
            f"no iteration of {state.scop.name} runs in overlapped tiles at these sizes: {shown}",
            location=state.scop.location,
            hint=f"blocks of {plan.iterations} iterations come in pairs; --param gives other sizes, and --time-tile "
            "fewer iterations a block",
        )
    loop, first = time_loop(scop, plan.dims), tiles.times(values)[0]
    at = point(values)
    cells = {
        name: placed.intersect_params(at).range().fix_val(isl.dim_type.set, 0, first).project_out(OUT, 0, 1)
        for name, placed in loop.at.items()
    }
    grid = tiles.grid(values)
    return _Space(plan, loop, tiles, values, first, grid, _axis_names(loop, plan), cells)


def _axis_names(loop: TimeLoop, plan: OverlappedTiles) -> tuple[str, ...]:
    """Name the iterators along each dimension of space, in all statements."""
    of_statements = [names_along(loop.scop.statement(name), placed)[1:] for name, placed in loop.at.items()]
    named = (dict.fromkeys(names[k] for names in of_statements if names[k]) for k in range(plan.dims))
    return tuple(", ".join(found) or "element" for found in named)


def _iterator(space: _Space) -> str:
    return space.loop.scop.statement(space.plan.made[0].statements[0]).iterators[0]


def _chosen(space: _Space) -> TileIndex:
    """Choose the middle tile that owns most cells of the last step, with neighbours on all sides if possible."""
    axes = space.grid.axes
    middle = [(len(axis) - 1) / 2 for axis in axes]
    cells = [space.cells[name] for name in space.plan.steps[-1].statements]

    def sides(tile: TileIndex) -> int:
        return sum(k in (0, len(axis) - 1) for k, axis in zip(tile, axes, strict=True))

    def rank(tile: TileIndex) -> tuple[int, float, TileIndex]:
        return sides(tile), sum(abs(k - m) for k, m in zip(tile, middle, strict=True)), tile

    def owned(tile: TileIndex) -> int:
        return sum(in_box(own, space.grid.owner(tile)).count_val().to_python() for own in cells)

    tiles = sorted(product(*(range(len(axis)) for axis in axes)), key=rank)
    counts = ((owned(tile), tile) for tile in tiles)
    some = [*islice(((count, tile) for count, tile in counts if count), LOOKED_AT)]
    alike = [(count, tile) for count, tile in some if sides(tile) == sides(some[0][1])]
    return next(tile for count, tile in alike if 10 * count >= 9 * max(alike)[0])


def _cone(space: _Space, tile: TileIndex) -> StreamCone:
    """Return the cone of a last-step cell at a side of an owner box along the last dimension, else in the middle."""
    step, plan = space.plan.steps[-1], space.plan
    owner = space.grid.owner(tile)
    (first, last), count = owner[-1], len(space.grid.axes[-1])
    halos = plan.lower[-1] if tile[-1] else -1, plan.upper[-1] if tile[-1] < count - 1 else -1
    aim = (*((low + high) // 2 for low, high in owner[:-1]), first if halos[0] >= halos[1] else last)
    inside = [p for name in step.statements for p in points(in_box(space.cells[name], owner))]
    near = min(inside, key=lambda p: ([abs(a - b) for a, b in zip(p, aim, strict=True)], p))
    sides = zip(near, plan.lower, plan.upper, strict=True)
    around = tuple((x - low, x + high) for x, low, high in sides)
    made = makers(space.loop, {name: points(in_box(cells, around)) for name, cells in space.cells.items()})
    return cone_of(plan, space.loop, made, (step, near), space.first)


def in_box(cells: isl.Set, box: Box) -> isl.Set:
    for k, (first, last) in enumerate(box):
        cells = cells.lower_bound_val(isl.dim_type.set, k, first).upper_bound_val(isl.dim_type.set, k, last)
    return cells


def _kernel(state: Compilation) -> str:
    return state.program.kernels[0].name if state.program else "the first kernel"


def _texts(space: _Space) -> tuple[tuple[str, str], ...]:
    names = sorted({name for step in space.plan.made for name in step.statements})
    return tuple((name, " ".join(space.loop.scop.statement(name).text.split())) for name in names)
