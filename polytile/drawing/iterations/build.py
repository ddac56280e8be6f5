"""From a compiled SCoP to the records of the picture of its iterations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import islpy as isl

from polytile.compilation import Compilation
from polytile.diagnostics import UsageError, UserError
from polytile.drawing.iterations.arrows import arrows_of, bold_of, source_dependences
from polytile.drawing.iterations.instance_tiles import InstanceTiles, instance_tiles_of
from polytile.drawing.iterations.model import Dot, IterationDrawing, Panel, StatementText
from polytile.drawing.iterations.nests import level_name, views_of
from polytile.drawing.iterations.panel_positions import most_in_one_place, positions_of, slot_grid, slots_of
from polytile.drawing.iterations.view import View
from polytile.facts.model import LoopFacts
from polytile.ir.scop import Scop
from polytile.runtime.parameters import allowed_values, bounded, check_parameters, choose_parameters, point
from polytile.scheduling.analysis.dependences import Dependences

CLEAR = 72  # values of a loop, times points in one place, where sizes can be chosen
SIDE = 48  # values of each loop where there are too many at any size


def drawing_of(
    state: Compilation, facts: Iterable[LoopFacts], parameters: Mapping[str, int] | None = None
) -> IterationDrawing:
    """Build the drawing of a SCoP's iterations; raises UserError where they are unbounded."""
    scop, known = state.source, tuple(facts)
    _check_bounded(scop)
    given = {**state.options.parameters, **(parameters or {})}
    trial = trial_sizes(scop, given)
    views = views_of(scop, known, trial)
    where_run = instance_tiles_of(state)

    def count(values: Mapping[str, int]) -> int:
        return sum(view.count(scop, values) for view in views)

    def tiled(values: Mapping[str, int]) -> bool:
        return any(where_run.has_tiles(view.shown(scop, values)) for view in views)

    meeting = max((most_in_one_place(scop, view, trial) for view in views), default=1)
    values, notes = choose(scop, given, count, tiled, _tried(views, meeting))
    views, cut = _windowed(scop, views, values)
    dependences = source_dependences(state)
    where = _elsewhere(state)
    panels = tuple(_panel(scop, view, values, where_run, dependences, known, where) for view in views)
    texts = tuple(StatementText(s.name, s.location.line, " ".join(s.text.split())) for s in scop.statements)
    return IterationDrawing(scop.name, values, panels, texts, (*notes, *cut))


def _windowed(
    scop: Scop, views: tuple[View, ...], values: Mapping[str, int]
) -> tuple[tuple[View, ...], tuple[str, ...]]:
    """Keep the first iterations alone where no sizes leave few enough, and return the notes that say so."""
    side = SIDE
    while sum(view.count(scop, values) for view in views) > MOST and side > 1:
        views = tuple(view.within(scop, values, side) for view in views)
        side -= 1 + side // 10
    notes = []
    for view in views:
        whole = replace(view, window=()).extents(scop, values)
        for (level, first, last), (_, _, end) in zip(view.window, whole, strict=False):
            if last < end:
                notes.append(f"{level_name(scop, view.statements, level)} = {first} .. {last} of {first} .. {end}")
    said = f"{', '.join(dict.fromkeys(notes))}: pictures have at most {MOST:,} points"
    return views, (said,) if notes else ()


def _tried(views: tuple[View, ...], meeting: int) -> tuple[int, ...]:
    """Return sizes at which points can be distinguished; `meeting`: so many in one place."""
    if all(len(view.axes) < 2 for view in views):
        return TRIED + LARGER
    return tuple(size for size in TRIED if size * meeting <= CLEAR)


def _elsewhere(state: Compilation) -> str:
    """Describe who runs instances that no kernel of the schedule tree runs."""
    if state.schedule is None:
        return "the host runs them one after another"
    return "overlapped tiles run them" if state.overlapped is not None else "parts of other statements compute them"


def _check_bounded(scop: Scop) -> None:
    for statement in scop.statements:
        sizes = statement.domain.intersect_params(bounded(scop))
        free = sizes.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, sizes.dim(isl.dim_type.param))
        if not free.is_bounded():
            raise UserError(
                f"there is no end of the instances of {statement.name}",
                location=statement.location if statement.location.line else scop.location,
                hint="pictures show finite domains",
            )


def _panel(
    scop: Scop,
    view: View,
    values: Mapping[str, int],
    where_run: InstanceTiles,
    dependences: Dependences,
    facts: tuple[LoopFacts, ...],
    elsewhere: str,
) -> Panel:
    shown = view.shown(scop, values)
    places, margins = positions_of(scop, view, values)
    tiles, slots = where_run.tiles(shown, values), slots_of(places)
    dots = [
        Dot(instance, at, slots[name], tiles.get(instance))
        for name, own in places.items()
        for instance, at in own.items()
    ]
    names = [level_name(scop, view.statements, level) for level in view.axes]
    return Panel(
        title=_title(scop, view),
        statements=view.statements,
        axes=(names[-1] if names else "", names[0] if len(names) == 2 else ""),
        slices=tuple((level_name(scop, view.statements, level), value) for level, value in view.slices),
        dots=tuple(sorted(dots, key=lambda dot: (dot.at[1], dot.at[0], dot.slot))),
        slots=slot_grid(max(slots.values(), default=0) + 1),
        margins=margins,
        arrows=arrows_of(dependences, shown, places, values),
        bold=tuple(bold_of(facts, places)),
        elsewhere=elsewhere,
    )


def _title(scop: Scop, view: View) -> str:
    """Name the statements of a view, and their lines in the source."""
    lines = [line for name in view.statements if (line := scop.statement(name).location.line)]
    names = ", ".join(view.statements) if len(view.statements) < 4 else f"{view.statements[0]} to {view.statements[-1]}"
    if not lines:
        return names
    first, last = min(lines), max(lines)
    return f"{names} (line {first})" if first == last else f"{names} (lines {first} to {last})"


MOST = 3000  # points of a picture
TRIED = (12, 16, 24, 33, 48)
SMALLER = (8, 5, 3, 2, 1, 0)  # where there are many statements
LARGER = (65, 100, 150, 257)  # where loops are not nested
TRIAL = 8
Values = dict[str, int]


def trial_sizes(scop: Scop, given: Mapping[str, int]) -> Values:
    """Choose small sizes, by which slices are chosen."""
    return all_at(scop, {name: min(value, TRIAL) for name, value in given.items()}, TRIAL) or dict(
        choose_parameters(scop, given)
    )


def all_at(scop: Scop, given: Mapping[str, int], size: int) -> Values | None:
    """Set the given sizes, and `size` for all other parameters; None where the SCoP does not allow that."""
    values = {p.name: given.get(p.name, size) for p in scop.parameters}
    try:
        allowed_values(scop, values)
    except UsageError:
        return None
    return values


def choose(
    scop: Scop,
    given: Mapping[str, int],
    count: Callable[[Values], int],
    tiled: Callable[[Values], bool],
    tried: tuple[int, ...],
) -> tuple[Values, tuple[str, ...]]:
    """Choose a value for each parameter, with notes on the choice: those that are given unless there are too many
    points then; else the least of those `tried` with which several tiles are seen."""
    check_parameters(scop.parameters, given)
    allowed_values(scop, given)
    if len(given) < len(scop.parameters):
        fitting = [v for size in tried if (v := all_at(scop, given, size)) and count(v) <= MOST]
        if fitting:
            return next((v for v in fitting if tiled(v)), fitting[0]), ()
        for size in SMALLER:
            smaller = all_at(scop, given, size)
            if smaller and count(smaller) <= MOST:
                return smaller, ()
    whole = choose_parameters(scop, given)
    smaller = _largest(scop, whole, count)
    return (whole, ()) if smaller in (None, whole) else (smaller, (_reduced(whole, smaller),))


def _largest(scop: Scop, whole: Values, count: Callable[[Values], int]) -> Values | None:
    """Find the largest sizes, at most these, with few enough points; None where there are none."""
    size, found = 1, None
    while True:
        values = {name: min(value, size) for name, value in whole.items()}
        if not scop.context.intersect_params(point(values)).is_empty():
            if count(values) > MOST:
                return found
            found = values
        if values == whole:
            return found
        size += 1 + size // 10


def _reduced(whole: Mapping[str, int], smaller: Mapping[str, int]) -> str:
    changed = ", ".join(f"{n} = {v} instead of {whole[n]}" for n, v in smaller.items() if v != whole[n])
    return f"{changed}: pictures have at most {MOST:,} points"
