"""Pictures of schedules: a Compilation -> records of rows, tiles and cells, and of iterations -> SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from polytile.compilation import Compilation
from polytile.diagnostics import UserError
from polytile.drawing import build, iterations, overlapped, picture
from polytile.drawing.svg import Svg, document
from polytile.facts import loop_facts


def draw(states: Iterable[Compilation], parameters: Mapping[str, int]) -> tuple[str, tuple[UserError, ...]]:
    """The text of an SVG file with the schedules and iterations of some SCoPs, and why others have no picture. Raises
    UserError where none has."""
    pictures: list[Svg] = []
    refused: list[UserError] = []
    for state in states:
        known = {p.name for p in state.scop.parameters}
        try:
            pictures += _pictures(state, {n: v for n, v in parameters.items() if n in known})
        except UserError as error:
            refused.append(error)
    if not pictures:
        raise refused[0] if refused else UserError("there is no SCoP to draw", hint="#pragma scop marks one")
    return document(pictures), tuple(refused)


def _pictures(state: Compilation, parameters: Mapping[str, int]) -> list[Svg]:
    """Its tiles, where statements write over one or two dimensions of space, and its iterations."""
    found, why = [], ""
    try:
        found.append(tiles(state, parameters))
    except UserError as error:
        why = error.message
    drawing = iterations.drawing_of(state, loop_facts(state), parameters)
    if why:
        drawing = replace(drawing, notes=(*drawing.notes, f"No picture of tiles: {why}"))
    return [*found, iterations.to_svg(drawing)]


def tiles(state: Compilation, parameters: Mapping[str, int]) -> Svg:
    """The picture of the tiles of a schedule, of overlapped ones where there are some: the tree has only the iterations
    that they leave. Raises UserError where there is none."""
    if state.stream is not None:
        return overlapped.to_svg(overlapped.drawing_of(state, parameters))
    return picture.to_svg(build.drawing_of(state, parameters))
