"""The words around a picture of iterations: captions of its panels, and the legend below."""

from __future__ import annotations

from collections.abc import Iterator

from polytile.drawing.colours import INK, PAPER, SOFT
from polytile.drawing.iterations.arrow_paths import arrow
from polytile.drawing.iterations.model import Arrows, IterationDrawing, Panel, called
from polytile.drawing.iterations.point_colours import WITNESS, blocks_of, shade
from polytile.drawing.svg import Svg, width_of

LINE = 17
MAX_TEXT = 120  # characters of a statement
SAMPLE = 26  # pixels of what stands in front of a line


def title(drawing: IterationDrawing) -> str:
    return f"{drawing.name}: iterations and what they depend on"


def captions(panel: Panel) -> list[str]:
    """Return the lines above a panel, the first of them its title."""
    found = [panel.title]
    if panel.slices:
        found.append(f"slice at {panel.sliced}")
    if not panel.dots:
        return [*found, "no instance: the domain is empty at these sizes"]
    missing = [name for name in panel.statements if name not in shapes_of(panel)]
    found += [f"no instance here: {', '.join(missing)}"] if missing else []
    return [*found, f"{len(panel.dots):,} instance{'s' * (len(panel.dots) > 1)}; {_where(panel)}", _needs(panel.arrows)]


def _where(panel: Panel) -> str:
    launches, blocks = panel.launches, blocks_of(panel)
    if not launches:
        return panel.elsewhere
    if len(launches) > 1:
        return f"{len(launches)} launches, {launches[0]} to {launches[-1]}, light to dark"
    return f"launch {launches[0]}, {blocks} block{'s' * (blocks > 1)}"


def _needs(arrows: Arrows) -> str:
    kind = "dependence" if arrows.flow else "reuse of storage"
    if not arrows.total:
        return "no dependence in view"
    if not arrows.sinks:
        return f"arrows: each {kind} in view" if arrows.total > 1 else f"arrow: the one {kind} in view"
    shown = ", ".join(map(called, arrows.sinks))
    return f"arrows: {len(arrows.drawn)} of {arrows.total:,} in view, those into {shown}"


def marks_line(panel: Panel) -> tuple[list[tuple[int, str, float]], float]:
    """Return shapes and names of the statements, with where each is in the line; and how wide that is."""
    names = shapes_of(panel)
    if len(names) < 2:
        return [], 0.0
    found, x = [], 0.0
    for name, position in names.items():
        found.append((position, name, x))
        x += 13 + width_of(name) + 12
    return found, x


def shapes_of(panel: Panel) -> dict[str, int]:
    """Assign a number to each statement that has points."""
    drawn = {dot.instance[0] for dot in panel.dots}
    return {name: k for k, name in enumerate(n for n in panel.statements if n in drawn)}


def legend(svg: Svg, x: float, y: float, drawing: IterationDrawing) -> float:
    """Paint the legend; return where it ends."""
    for sample, text in _entries(drawing):
        _paint(svg, x, y, sample)
        svg.label(x + SAMPLE + 6, y, text, fill=INK)
        y += LINE
    for text in _remarks(drawing):
        svg.label(x, y, text, fill=SOFT)
        y += LINE
    return y


def legend_width(drawing: IterationDrawing) -> float:
    texts = [*(text for _, text in _entries(drawing)), *_remarks(drawing)]
    above = [width_of(title(drawing), 15), *map(width_of, drawing.notes)]
    return max(*above, *(width_of(text) + SAMPLE + 6 for text in texts), 0.0)


def _entries(drawing: IterationDrawing) -> Iterator[tuple[str, str]]:
    """Yield the marks that stand in the picture, and what each means."""
    panels = [panel for panel in drawing.panels if panel.dots]
    if any(panel.launches for panel in panels):
        yield "shades", "launches from the first (light) to the last; where there is one, shades are blocks"
    if any(panel.arrows.drawn and panel.arrows.flow for panel in panels):
        yield "arrow", "a value that one instance writes and another one reads"
    if any(panel.arrows.drawn and not panel.arrows.flow for panel in panels):
        yield "dashed", "an element that is used before it is written again"
    if any(panel.arrows.sinks for panel in panels):
        yield "ring", "where there are too many arrows, those into this instance are drawn"
    for text in dict.fromkeys(bold.text for panel in panels for bold in panel.bold):
        yield "bold", text


def _remarks(drawing: IterationDrawing) -> Iterator[str]:
    if any(panel.dots for panel in drawing.panels):
        yield "Each point is an instance of a statement: one loop runs to the right, the loop around it upwards."
    if any(panel.slices for panel in drawing.panels):
        yield "Of nests of more than two loops a slice is drawn: paper has two dimensions."
    for statement in drawing.statements:
        where = f" (line {statement.line})" if statement.line else ""
        text = f"{statement.name}{where}: {statement.text}" if statement.text else f"{statement.name}{where}"
        yield text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def _paint(svg: Svg, x: float, y: float, sample: str) -> None:
    if sample == "shades":
        for k in range(4):
            svg.add("circle", cx=x + 3.5 + 6.5 * k, cy=y - 4, r=3, fill=shade(k / 3), stroke=INK, stroke_width=0.6)
    elif sample == "ring":
        svg.add("circle", cx=x + 13, cy=y - 4, r=5, fill=PAPER, stroke=INK, stroke_width=1.6)
    else:
        colour, width, length = (WITNESS, 3.0, 10.0) if sample == "bold" else (INK, 1.0, 6.0)
        path = arrow((x, y - 4), (x + SAMPLE, y - 4), 0, SAMPLE, length)
        dashed = {"stroke_dasharray": "3 2"} if sample == "dashed" else {}
        svg.path(path.line, fill="none", stroke=colour, stroke_width=width, **dashed)
        svg.path(path.head, fill=colour)
