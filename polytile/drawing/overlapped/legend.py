"""The words below a picture of overlapped tiles."""

from __future__ import annotations

from polytile.drawing.colours import INK
from polytile.drawing.legend import MAX_TEXT, entries, mark_at
from polytile.drawing.overlapped.model import StreamDrawing, TileIndex
from polytile.drawing.overlapped.panel import DASHED, FAINT, KEPT, MADE, covering, fill, tile_name
from polytile.drawing.overlapped.stripes import Area
from polytile.drawing.svg import Svg, width_of
from polytile.ir.time_tile import Exchange
from polytile.machine import WARP_SIZE


def title(drawing: StreamDrawing) -> str:
    return f"{drawing.name}: overlapped schedule"


def sizes(drawing: StreamDrawing) -> list[str]:
    return [f"{name} = {value}" for name, value in drawing.parameters.items()]


def legend(svg: Svg, x: float, y: float, drawing: StreamDrawing) -> float:
    """Paint the legend; return where it ends."""

    def paint(at: float, mark: str) -> None:
        _mark(svg, (x, at - 9, x + 16, at + 2), mark, drawing)

    return entries(svg, x, y, marks(drawing), remarks(drawing), paint)


def legend_width(drawing: StreamDrawing) -> float:
    texts = [*(text for _, text in marks(drawing)), *remarks(drawing)]
    return max(width_of(title(drawing), 15), *(width_of(text) + 24 for text in texts))


def _mark(svg: Svg, area: Area, mark: str, drawing: StreamDrawing) -> None:
    if mark in ("alone", "several", "loaded"):
        tiles = _several(drawing) if mark == "several" else (drawing.tile,)
        fill(svg, [area], tiles, FAINT if mark == "loaded" else 1)
        svg.path(covering(area), stroke=INK, stroke_width=0.8, fill="none")
    elif mark == "owner":
        svg.path(covering(area), **DASHED)
    elif mark in ("made", "kept"):
        svg.path(covering(area), fill=INK, fill_opacity=MADE if mark == "made" else KEPT)
    elif mark == "stream":
        x = (area[0] + area[2]) / 2
        svg.path(f"M{x} {area[1]}v8", stroke=INK, stroke_width=2, fill="none")
        svg.path(f"M{x} {area[3] + 2}l-4.5 -7h9z", fill=INK)
    else:
        mark_at(svg, area[0], area[1] + 9, mark)


def _several(drawing: StreamDrawing) -> tuple[TileIndex, ...]:
    """Choose some tiles that compute one cell redundantly, the highlighted tile among them if that has a halo."""
    views = (drawing.section.view, drawing.space) if drawing.section else (drawing.space,)
    for steps in (view.steps for view in views):
        if found := {tiles for step in steps for tiles in step.tiles.values() if len(tiles) > 1}:
            return min(found, key=lambda tiles: (drawing.tile not in tiles, len(tiles), tiles))
    return ()


def marks(drawing: StreamDrawing) -> list[tuple[str, str]]:
    """List what is drawn, as pairs of the mark and its meaning."""
    tile, several = tile_name(drawing, drawing.tile), _several(drawing)
    arrays = ", ".join(dict.fromkeys(step.array for step in drawing.plan.inputs))
    found = [("alone", "computed by one tile, in the tile's colour")]
    if several:
        found.append(("several", "halo: computed by several tiles, each for itself; stripes have their colours"))
    found += [
        ("loaded", f"loaded from memory: {arrays}, as iterations before {drawing.time} = {drawing.first} left it"),
        ("tile", f"all that tile {tile} loads and computes"),
        ("owner", f"the cells that tile {tile} owns: of steps that are stored, it stores these"),
        ("point", f"{_focus(drawing)}, at the side of what tile {tile} owns"),
        ("cone", f"what {_focus(drawing)} is computed from{_where(drawing, 'section')}: why there is a halo"),
    ]
    return [*found, *_stream(drawing)]


def _where(drawing: StreamDrawing, part: str) -> str:
    return f" (in the {part})" if drawing.section else ""


def _focus(drawing: StreamDrawing) -> str:
    statement, iterators = drawing.cone.instance
    return f"{statement}({', '.join(map(str, iterators))})"


def _stream(drawing: StreamDrawing) -> list[tuple[str, str]]:
    if drawing.section is None:
        return []
    cut, tile = drawing.section, tile_name(drawing, drawing.tile)
    kept = "registers" if drawing.plan.exchange is Exchange.WARP else "registers or shared memory"
    planes = [
        ("made", f"what tile {tile} makes while the plane {cut.axis} = {drawing.arrives} is loaded (in panels)"),
        ("kept", f"planes made before that are still in {kept}: the next step reads them"),
        ("stream", "where the stream goes: all steps move on by one plane at a time"),
    ]
    return [*planes, ("cut", f"where the section is: {cut.axis} = {cut.place}")]


def remarks(drawing: StreamDrawing) -> list[str]:
    plan, last = drawing.plan, drawing.first + drawing.plan.iterations - 1
    kernel = f"One launch of {drawing.kernel}: iterations {drawing.time} = {drawing.first} .. {last}."
    numbers = "Numbers are tiles: chunk of planes, strip." if plan.chunk else "Numbers are tiles."
    found = [f"{kernel} Its tiles need nothing of each other. {numbers}", _threads(drawing), *_counts(drawing)]
    texts = (f"{name}: {text}" for name, text in drawing.statements if text)
    found.append("Each cell is a statement instance, at the element that it writes, or an element that is loaded.")
    return [*found, *(text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..." for text in texts)]


def _threads(drawing: StreamDrawing) -> str:
    plan = drawing.plan
    tile, owned = (" x ".join(map(str, sizes)) for sizes in (plan.tile, plan.owned))
    who = f"A warp of {WARP_SIZE} threads" if plan.exchange is Exchange.WARP else "A block"
    axis = (drawing.section.view if drawing.section else drawing.space).axes[-1]
    own = f"{who} has {tile} cells along {axis} and owns {owned}, more at the sides of space"
    if drawing.section:
        first, last = drawing.grid.owner(drawing.tile)[0]
        own += f", in {last - first + 1} planes along {drawing.section.axis}"
    return f"{own}; what its threads compute outside of the thick line is never read."


def _counts(drawing: StreamDrawing) -> list[str]:
    """Describe how often instances are computed, where all are drawn."""
    if drawing.space.notes:
        return []
    made = [step for step in drawing.space.steps if not step.step.is_input]
    once, total = sum(len(step.tiles) for step in made), sum(step.computed for step in made)
    again = f"{total} times: {total - once} times again, in halos"
    return [f"The tiles compute the {once} instances of these iterations {again} ({total / once:.2f} times each)."]
