"""Pictures of schedules: a Compilation -> records of rows, tiles and cells -> SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polytile.compilation import Compilation
from polytile.diagnostics import UserError
from polytile.drawing import build, overlapped, picture
from polytile.drawing.svg import Svg, document


def draw(states: Iterable[Compilation], parameters: Mapping[str, int]) -> tuple[str, tuple[UserError, ...]]:
    """The text of an SVG file with the schedules of some SCoPs, and why others have no picture. Raises UserError where
    none has."""
    pictures: list[Svg] = []
    refused: list[UserError] = []
    for state in states:
        known = {p.name for p in state.scop.parameters}
        try:
            pictures.append(_picture(state, {n: v for n, v in parameters.items() if n in known}))
        except UserError as error:
            refused.append(error)
    if not pictures:
        raise refused[0] if refused else UserError("there is no SCoP to draw", hint="#pragma scop marks one")
    return document(pictures), tuple(refused)


def _picture(state: Compilation, parameters: Mapping[str, int]) -> Svg:
    """Of overlapped tiles where there are some: the tree has only the iterations that they leave."""
    if state.stream is not None:
        return overlapped.to_svg(overlapped.drawing_of(state, parameters))
    return picture.to_svg(build.drawing_of(state, parameters))
