"""Colours of points, which differ in lightness, so that they can be told apart in grey, too: from light to dark by the
order of launches or, in a single launch, in four shades of which neighbouring blocks have different ones."""

from __future__ import annotations

from polytile.drawing.colours import PAPER, mixed
from polytile.drawing.iterations.model import Dot, Panel

STOPS = ("#f4efb8", "#a3d39c", "#4fa9b5", "#3a6fa6", "#2c3d78")
WITNESS = "#c2410c"
FOUR = (0.0, 0.7, 0.4, 1.0)  # positions of blocks, by whether the last two coordinates in which they differ are odd


def shade(position: float) -> str:
    """Mix a colour from light (0) to dark (1)."""
    scaled = position * (len(STOPS) - 1)
    k = min(int(scaled), len(STOPS) - 2)
    return mixed(STOPS[k + 1], STOPS[k], scaled - k)


def colours_of(panel: Panel) -> dict[Dot, str]:
    """Choose the colour of each point; points that no kernel runs are white."""
    launches = panel.launches
    positions = {launch: k / max(1, len(launches) - 1) for k, launch in enumerate(launches)}
    blocks = [dot.tile.block for dot in panel.dots if dot.tile]
    apart = [k for k in range(min(map(len, blocks), default=0)) if len({block[k] for block in blocks}) > 1]
    found = {}
    for dot in panel.dots:
        if dot.tile is None:
            found[dot] = PAPER
        elif len(launches) > 1:
            found[dot] = shade(positions[dot.tile.launch])
        else:
            odd = [0, 0, *(dot.tile.block[k] % 2 for k in apart)][-2:]
            found[dot] = shade(FOUR[2 * odd[0] + odd[1]])
    return found


def blocks_of(panel: Panel) -> int:
    """Count the blocks that run the points of a panel."""
    return len({dot.tile for dot in panel.dots if dot.tile})
