"""The words around a picture: what stands in its caption, and the legend below."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from polytile.drawing.colours import INK, SOFT, kernel_colour
from polytile.drawing.model import Drawing, KernelFacts, Tile
from polytile.drawing.panel import arrowhead, thread_cells
from polytile.drawing.svg import Svg, width_of

LINE = 17
MAX_TEXT = 120  # characters of a statement
LISTED = 4  # launches of a kernel


def title(drawing: Drawing) -> str:
    return f"{drawing.name}: {drawing.strategy} schedule"


def sizes(drawing: Drawing) -> list[str]:
    return [f"{name} = {value}" for name, value in drawing.parameters.items()]


def tile_labels(drawing: Drawing) -> dict[Tile, str]:
    """Label each tile with its launch, or with its block where there is one launch."""
    tiles = {cell.tile for cell in drawing.cells}
    single = _single(drawing)
    return {tile: ", ".join(map(str, tile.block)) if single else str(tile.launch) for tile in tiles}


def legend(svg: Svg, x: float, y: float, drawing: Drawing) -> float:
    """Paint the legend; return where it ends."""
    for position, kernel in enumerate(drawing.kernels):
        _swatch(svg, x, y, fill=kernel_colour(position))
        svg.label(x + 24, y, _kernel(kernel), fill=INK)
        y += LINE
    return entries(svg, x, y, marks(drawing), remarks(drawing), partial(mark_at, svg, x))


def entries(
    svg: Svg,
    x: float,
    y: float,
    marks: Iterable[tuple[str, str]],
    remarks: Iterable[str],
    paint: Callable[[float, str], None],
) -> float:
    """Draw lines for marks, each `paint`ed beside what it means, and for remarks; return where they end."""
    for mark, text in marks:
        paint(y, mark)
        svg.label(x + 24, y, text, fill=INK)
        y += LINE
    for text in remarks:
        svg.label(x, y, text, fill=SOFT)
        y += LINE
    return y


def legend_width(drawing: Drawing) -> float:
    texts = [*map(_kernel, drawing.kernels), *(text for _, text in marks(drawing)), *remarks(drawing)]
    heading = ", ".join(sizes(drawing))
    return max(width_of(title(drawing), 15), width_of(heading), *(width_of(text) + 24 for text in texts))


def _swatch(svg: Svg, x: float, y: float, **attributes: object) -> None:
    svg.add("rect", x=x, y=y - 9, width=16, height=11, **{"stroke": INK, "stroke_width": 0.8, **attributes})


def mark_at(svg: Svg, x: float, y: float, mark: str) -> None:
    if mark == "tile":
        _swatch(svg, x + 1, y, fill="none", stroke_width=2.6)
    elif mark == "point":
        svg.add("circle", cx=x + 8, cy=y - 4, r=3.2, fill="none", stroke=INK, stroke_width=1.4)
    elif mark == "cut":
        svg.path(arrowhead(x + 4, y - 4), fill=INK)
    else:
        _swatch(svg, x, y, fill=INK, fill_opacity=0.3 if mark == "cone" else 0.75, stroke="none")


def _kernel(kernel: KernelFacts) -> str:
    threads = " x ".join(map(str, kernel.threads)) or "1"
    blocks = f"blocks of {threads} thread{'s' * (threads != '1')}"
    return f"{kernel.name}: {', '.join(kernel.statements)}; {_launches(kernel.launches)}; {blocks}"


def _launches(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:LISTED]))
    more = f", ... {numbers[-1]}" if len(numbers) > LISTED else ""
    return f"launch{'es' * (len(numbers) > 1)} {shown}{more}"


def marks(drawing: Drawing) -> list[tuple[str, str]]:
    """List what is highlighted, as pairs of the mark and its meaning."""
    tile = drawing.tile
    block = f"block ({', '.join(map(str, tile.block))}) of " if tile.block else ""
    found = [("tile", f"one tile: {block}launch {tile.launch}")]
    if drawing.cone:
        name = drawing.cone.name
        rest = "" if drawing.cone.whole else " (the latest of many)"
        needed = f"the instances that {name} depends on{rest}"
        return [*found, ("point", f"{name}, in this tile"), ("cone", needed), *_cut(drawing)]
    thread = ", ".join(map(str, thread_cells(drawing)[0].thread))
    return [*found, ("thread", f"what its thread ({thread}) runs"), *_cut(drawing)]


def _squares(drawing: Drawing) -> str:
    whole = drawing.space.stride == 1
    return "Each cell is a statement instance, at the element that it writes." if whole else ""


def _cut(drawing: Drawing) -> list[tuple[str, str]]:
    section = drawing.section
    return [("cut", f"where the section is: {section.axis} = {section.place}")] if section else []


def _single(drawing: Drawing) -> bool:
    """Return whether there is one launch."""
    return sum(len(kernel.launches) for kernel in drawing.kernels) == 1


def remarks(drawing: Drawing) -> list[str]:
    single = _single(drawing)
    what = "blocks" if single else "launches, in the order in which they run: tiles of one launch run side by side"
    numbers = f"Numbers in tiles are {what}. {_squares(drawing)}"
    texts = (f"{name}: {text}" for name, text in drawing.statements if text)
    return [numbers, *(text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..." for text in texts)]
