"""From a compiled SCoP to the records of its picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.diagnostics import UserError
from polytile.drawing.axes import Axes, axes_of, axis_names
from polytile.drawing.cone import chosen_tile, cone_of
from polytile.drawing.instances import (
    Domains,
    Launches,
    at_places,
    cells_of,
    filled,
    in_rows,
    launch_numbers,
    merged,
    ranges,
    rows_of,
)
from polytile.drawing.launches import MappedKernel, mapped_kernels
from polytile.drawing.model import Cell, Cone, Drawing, Instance, KernelFacts, Row, Section, Tile, View
from polytile.drawing.sizes import choose_sizes, extents_of
from polytile.drawing.source_values import with_source_values
from polytile.runtime.parameters import point
from polytile.scheduling.analysis.executions import Executions

MAX_ALONG = (450, 150)  # places along an axis, in views over one and over two
MAX_ROWS = 100  # upon each other
MAX_PANELS = 6


def drawing_of(state: Compilation, parameters: Mapping[str, int] | None = None) -> Drawing:
    """Build the drawing of a SCoP's schedule; raises UserError where there is none."""
    space = _space(state, {**state.options.parameters, **(parameters or {})})
    if len(space.names) == 1:
        view, section = _view(space, space.names, space.domains, space.rows), None
        tile = chosen_tile(view.cells)
    else:
        section = _section(space)
        view, tile = _panels(space, section)
    cells = (*section.view.cells, *view.cells) if section else view.cells
    shown = section.view if section else view
    cone = None if any(row.merged for row in shown.rows) else _cone(space, shown.cells, tile)
    found = Drawing(
        state.scop.name,
        space.run.schedule.strategy,
        space.values,
        view,
        section,
        _kernels(state, space, cells),
        tile,
        cone,
        _texts(space.run, cells),
    )
    return with_source_values(found, state.source)


@dataclass(frozen=True, slots=True)
class _Space:
    """What is drawn a part of: the instances of a SCoP at some sizes, and where and when they run."""

    run: Executions
    kernels: tuple[MappedKernel, ...]
    axes: Mapping[str, Axes]
    names: tuple[str, ...]  # of the axes
    values: dict[str, int]
    domains: Domains = field(compare=False)
    rows: tuple[Row, ...]
    launches: Launches


def _space(state: Compilation, given: Mapping[str, int]) -> _Space:
    if state.schedule is None:
        raise UserError(
            f"{state.scop.name} has no schedule to draw: it stays sequential C",
            location=state.scop.location,
            hint="--explain says why no loop of it is parallel",
        )
    run = state.run
    axes, kernels = axes_of(run.scop, run.dependences), mapped_kernels(run.schedule)
    names = axis_names(axes)
    if len(names) > 2:
        raise UserError(
            f"{state.scop.name} writes arrays over {len(names)} space dimensions: pictures show 1 or 2",
            location=state.scop.location,
            hint="--explain prints the schedule as text",
        )
    values = choose_sizes(run.scop, extents_of(kernels), given, lambda own: len(names) == 1 or _fit(run, axes, own))
    at, domains = point(values), _domains(run, axes, values)
    rows = rows_of(run.scop, axes, domains)
    if not rows:
        shown = ", ".join(f"{name}={value}" for name, value in values.items())
        raise UserError(
            f"no statement of {state.scop.name} runs at these sizes: {shown}",
            location=state.scop.location,
            hint="--param gives other sizes",
        )
    return _Space(run, kernels, axes, names, values, domains, rows, launch_numbers(kernels, at))


def _domains(run: Executions, axes: Mapping[str, Axes], values: Mapping[str, int]) -> Domains:
    """Select the instances that have a place: of the threads that combine partial results, some write nothing."""
    at = point(values)
    return {s.name: axes[s.name].place.domain().intersect_params(at).coalesce() for s in run.scop.statements}


def _fit(run: Executions, axes: Mapping[str, Axes], values: Mapping[str, int]) -> bool:
    """Return whether all places of two axes are drawn."""
    return all(high - low < MAX_ALONG[1] for low, high in ranges(_domains(run, axes, values), axes, 2))


def _view(space: _Space, names: tuple[str, ...], domains: Domains, rows: tuple[Row, ...]) -> View:
    """Select some rows over the last axes, of which `names` are; every so many places and rows where they are many."""
    step = -(-len(rows) // MAX_ROWS)
    chosen = rows[::step]
    drawn = in_rows(domains, space.axes, chosen) if len(chosen) < len(space.rows) else domains
    rank = len(space.names)
    along = ranges(drawn, space.axes, rank)[rank - len(names) :]
    stride = -(-max((high - low + 1 for low, high in along), default=1) // MAX_ALONG[len(names) - 1])
    shown = range(rank - len(names), rank)
    if stride > 1:
        drawn = at_places(drawn, space.axes, " and ".join(f"x{k} mod {stride} = 0" for k in shown))
    chosen, cells = filled(chosen, cells_of(space.run.scop, space.kernels, space.axes, drawn, chosen, space.launches))
    notes = [f"every {th(step)} row"] if step > 1 else []
    notes += [f"{len(rows)} of {len(space.rows)} rows"] if len(rows) < len(space.rows) else []
    notes += [f"every {th(stride)} place"] if stride > 1 else []
    joined = merged(chosen, cells) if step == 1 else (chosen, cells)
    if len(joined[0]) == len({row.statement for row in chosen}):  # not only some rows of a statement
        chosen, cells = joined
    return View(names, chosen, cells, stride, tuple(notes))


def th(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def _section(space: _Space) -> Section | None:
    """Cut through the middle of a tile, near the middle of the first axis; None where nothing changes in time."""
    low, high = ranges(space.domains, space.axes, 2)[0]
    place = (low + high) // 2
    for _ in range(2):
        view = _view(space, space.names[1:], at_places(space.domains, space.axes, f"x0 = {place}"), space.rows)
        if len(view.rows) == 1 or any(row.merged for row in view.rows) or not view.cells:
            return None
        found, place = Section(view, space.names[0], place), _middle(space, view)
        if place == found.place:
            break
    return found


def _middle(space: _Space, view: View) -> int:
    """Find the middle of the highlighted tile of a section along the first axis, in the tile's last row."""
    tile = chosen_tile(view.cells)
    own = [cell for cell in view.cells if cell.tile == tile]
    top = [cell for cell in own if cell.row == own[-1].row]
    cell = top[len(top) // 2]
    row = view.rows[cell.row]
    line = at_places(in_rows(space.domains, space.axes, (row,)), space.axes, f"x1 = {cell.place[1]}")
    along = cells_of(space.run.scop, space.kernels, space.axes, line, (row,), space.launches)
    places = [found.place[0] for found in along if found.tile == cell.tile]
    return (places[0] + places[-1]) // 2


def _panels(space: _Space, section: Section | None) -> tuple[View, Tile]:
    """Choose the rows of one tile, or of one launch after another where a tile has one row; return them and the
    tile."""
    if section is None:
        rows = tuple(space.rows[k] for k in spread(list(range(len(space.rows))), MAX_PANELS))
        view = _view(space, space.names, space.domains, rows)
        return view, chosen_tile(view.cells)
    tile = chosen_tile(section.view.cells)
    own = sorted({cell.row for cell in section.view.cells if cell.tile == tile})
    if len(own) == 1:
        last = {row.statement: number for number, row in enumerate(section.view.rows)}
        own = sorted(last.values())
    rows = tuple(section.view.rows[k] for k in spread(own, MAX_PANELS))
    return _view(space, space.names, space.domains, rows), tile


def spread(values: list[int], most: int) -> list[int]:
    """Select at most so many of some values, the first and the last among them."""
    if len(values) <= most:
        return values
    return [values[k * (len(values) - 1) // (most - 1)] for k in range(most)]


def _cone(space: _Space, cells: tuple[Cell, ...], tile: Tile) -> Cone | None:
    numbered = {(row.statement, row.first): k for k, row in enumerate(space.rows)}

    def time(instance: Instance) -> int:
        name, iterators = instance
        return numbered[name, tuple(iterators[k] for k in space.axes[name].keys)]

    return cone_of(cells, space.run.dependences.flow.intersect_params(point(space.values)), tile, time)


def _kernels(state: Compilation, space: _Space, cells: tuple[Cell, ...]) -> tuple[KernelFacts, ...]:
    """Describe the kernels of which something is drawn."""
    names = [k.name for k in state.program.kernels] if state.program else []
    found = []
    for kernel in space.kernels:
        number = kernel.place.kernel
        own = [cell for cell in cells if cell.tile.kernel == number]
        if not own:
            continue
        launches = sorted(launch for (_, owner), launch in space.launches.items() if owner == number)
        name = names[number] if len(names) == len(space.kernels) else f"kernel {number}"
        statements = tuple(sorted({cell.statement for cell in own}))
        found.append(KernelFacts(number, name, statements, kernel.place.threads, tuple(launches)))
    return tuple(found)


def _texts(run: Executions, cells: tuple[Cell, ...]) -> tuple[tuple[str, str], ...]:
    names = sorted({cell.statement for cell in cells})
    return tuple((name, " ".join(run.scop.statement(name).text.split())) for name in names)
