"""Tiles of the sums that one thread makes, for locality [Shirako, Hayashi and Sarkar 2017, section 4].

before: i+ [ j+ [S] ],  where S[a, b, i, j]: C[a][b] += ... x[j][b], and b runs along thread.x
after:  floor(j/32) { C_part = 0; i+ [ j+ [C_part += ... x[j][b]] ]; C[a][b] += C_part }

The next i reads the same x[j][b] again, which are still in L1 when only a tile of j was read since.
A tile is a chunk of the sum (privatise.py) that its thread adds up by itself.
"""

from __future__ import annotations

from math import prod

from polytile.dataclass import dataclass
from polytile.ir.partial_results import Split
from polytile.machine import WARP_SIZE
from polytile.scheduling.cost import DistinctLines, distinct_lines
from polytile.scheduling.strategies.superposed.loop_tree import Kind, Leaf, Loop, Row, Sequence, Tree, statements_of
from polytile.scheduling.strategies.superposed.thread_mapping import Steps, ThreadNest


@dataclass(frozen=True, slots=True)
class Tiling:
    """Loops, one directly around the other, outermost first, and the size of the tiles of each: 1 where it has none.
    `lines` is what an iteration of a warp brings into the cache, in lines: before and after."""

    loops: tuple[Loop, ...]
    sizes: tuple[int, ...]
    lines: tuple[float, float]

    @property
    def statement(self) -> str:
        """Return the statement of the sum that the loops make."""
        return self.loops[0].rows[0].statement

    @property
    def tiled(self) -> list[tuple[Row, int]]:
        """Return the tiles' rows, outermost first, with their sizes; they run forwards where the loop does not."""
        loops = zip(self.loops, self.sizes, strict=True)
        return [(Row(self.statement, loop.rows[0].iterator), size) for loop, size in loops if size > 1]

    @property
    def splits(self) -> tuple[Split, ...]:
        return tuple(Split(row.iterator, size, lanes=False) for row, size in self.tiled)


def thread_tilings(steps: Steps, nest: ThreadNest) -> list[Tiling]:
    """Return the tiles of what one thread of a nest runs."""
    return [found for chain in _chains(nest.body) if (found := _tiling(steps, nest, chain)) is not None]


def _chains(tree: Tree) -> list[tuple[Loop, ...]]:
    """Find loops directly one around the other, and around one statement, that carry nothing but its sum."""
    match tree:
        case Leaf():
            return []
        case Sequence(children):
            return [chain for child in children for chain in _chains(child)]
    found: list[Loop] = []
    inner: Tree = tree
    while isinstance(inner, Loop) and inner.kinds == (Kind.REDUCTION,):
        found.append(inner)
        inner = inner.body
    if not found:
        return _chains(tree.body)
    return [tuple(found)] if len(found) > 1 and isinstance(inner, Leaf) else []


def _tiling(steps: Steps, nest: ThreadNest, chain: tuple[Loop, ...]) -> Tiling | None:
    tuning = steps.tuning
    along_x = nest.loops[nest.along_x : nest.along_x + 1]
    lines = distinct_lines(steps.scop, statements_of(chain[-1]), [loop.rows for loop in (*chain, *along_x)])
    extents = [int(min(steps.extent(loop), tuning.assumed_iterations)) for loop in chain]
    warp = [WARP_SIZE] * len(along_x)
    if min(extents) < 1 or lines.evaluate([1, *extents[1:], *warp]) <= tuning.warp_lines:
        return None
    before = _per_iteration(lines, _kept(lines, extents, warp, tuning.warp_lines), warp)
    for size in tuning.tile_sizes:
        tiles = [min(size, extent) for extent in extents[1:]]
        if lines.evaluate([1, *tiles, *warp]) > tuning.warp_lines:
            continue
        after = _per_iteration(lines, [extents[0], *tiles], warp)
        if after >= tuning.clear_gain * before:
            return None
        sizes = (1, *(size if extent > size else 1 for extent in extents[1:]))
        return Tiling(chain, sizes, (before, after))
    return None


def _per_iteration(lines: DistinctLines, region: list[int], warp: list[int]) -> float:
    return lines.evaluate([*region, *warp]) / prod(region)


def _kept(lines: DistinctLines, extents: list[int], warp: list[int], most: int) -> list[int]:
    """Return the iterations of each loop between which lines stay in the cache, when nothing is tiled.

    The cache holds `most` lines: those of the innermost loops that fit, and one loop around them whose lines come and
    go.
    """
    region = [1] * len(extents)
    for i in reversed(range(len(extents))):
        region[i] = extents[i]
        if lines.evaluate([*region, *warp]) > most:
            break
    return region
