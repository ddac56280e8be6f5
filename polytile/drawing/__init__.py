"""Pictures of schedules: a Compilation -> records of rows, tiles and cells, and of iterations -> SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from polytile.compilation import Compilation
from polytile.diagnostics import InternalError, UserError, is_bug, reported
from polytile.drawing import build, iterations, overlapped, picture
from polytile.drawing.svg import Svg, document
from polytile.facts import loop_facts


def draw(
    states: Iterable[Compilation], parameters: Mapping[str, int]
) -> tuple[str, tuple[UserError | InternalError, ...]]:
    """Return the text of an SVG file with the schedules and iterations of some SCoPs, and why pictures of others are
    missing. Raises the first reason where there is no picture at all."""
    pictures: list[Svg] = []
    missing: list[UserError | InternalError] = []
    for state in states:
        known = {p.name for p in state.scop.parameters}
        found, reasons = _pictures(state, {n: v for n, v in parameters.items() if n in known})
        pictures += found
        missing += reasons
    if not pictures:
        raise missing[0] if missing else UserError("there is no SCoP to draw", hint="#pragma scop marks one")
    return document(pictures), tuple(missing)


def _pictures(state: Compilation, parameters: Mapping[str, int]) -> tuple[list[Svg], list[UserError | InternalError]]:
    """Draw the tiles of a SCoP, where statements write over one or two dimensions of space, and its iterations; return
    what failed, too. Where it has no tiles to draw, the picture of iterations says why."""
    blocks, no_blocks = _attempt(state, lambda: tiles(state, parameters))
    notes = (f"No picture of tiles: {no_blocks.message}",) if no_blocks else ()

    def points() -> Svg:
        drawing = iterations.drawing_of(state, loop_facts(state), parameters)
        return iterations.to_svg(replace(drawing, notes=(*drawing.notes, *notes)))

    steps, no_steps = _attempt(state, points)
    failed = [no_blocks] if isinstance(no_blocks, InternalError) else []
    return [svg for svg in (blocks, steps) if svg is not None], [*failed, *([no_steps] if no_steps else [])]


def _attempt(state: Compilation, make: Callable[[], Svg]) -> tuple[Svg | None, UserError | InternalError | None]:
    """Return a picture, or why there is none: one that fails costs neither the others nor the kernels."""
    try:
        return make(), None
    except UserError as error:
        return None, error
    except Exception as error:
        if state.options.raise_bugs or not is_bug(error):
            raise
        return None, reported(error, state.scop.location)


def tiles(state: Compilation, parameters: Mapping[str, int]) -> Svg:
    """Draw the tiles of a schedule, the overlapped ones where there are some: the tree has only the iterations that
    they leave. Raises UserError where there is none."""
    if state.overlapped is not None:
        return overlapped.to_svg(overlapped.drawing_of(state, parameters))
    return picture.to_svg(build.drawing_of(state, parameters))
