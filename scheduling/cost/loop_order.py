"""The order of loops by memory cost: which loop's tile should grow first.

The memory cost of one iteration is DL(t1..td) / (t1 * ... * td). Its partial derivative by a tile size says what is
gained when that loop runs further before the others advance: the loop with the most negative derivative goes innermost,
which on a GPU is thread.x. (Shirako, Hayashi and Sarkar, CC 2017, section 5.)
"""

from __future__ import annotations

from collections.abc import Sequence

from polytile.ir.scop import Scop
from polytile.machine import CACHE_LINE_BYTES, WARP_SIZE
from polytile.scheduling.analysis.reference_groups import Loops
from polytile.scheduling.cost.coalescing import Lane, predict
from polytile.scheduling.cost.distinct_lines import DistinctLines, distinct_lines
from polytile.scheduling.cost.dual_numbers import Dual, product, variables

TILE = 32  # where derivatives are taken when nobody says: a warp in each loop


def memory_cost(lines: DistinctLines, tiles: Sequence[int]) -> Dual:
    """Compute the lines per iteration at tile sizes, the mean over all alignments.

    Its partial derivatives by each size are analytic: the mean has no steps to smooth away.
    """
    sizes = variables(tiles)
    return lines.mean(sizes) / product(sizes, lines.loops)


def priority(
    scop: Scop,
    statements: str | Sequence[str],
    loops: Loops | None = None,
    tiles: Sequence[int] | None = None,
    line: int = CACHE_LINE_BYTES,
) -> tuple[int, ...]:
    """Order the loops, by number, outermost first.

    The most negative derivative comes last. Equal loops keep their order.
    """
    slopes = derivatives(scop, statements, loops, tiles, line)
    return tuple(sorted(range(len(slopes)), key=lambda i: (-round(slopes[i], 12), i)))


def derivatives(
    scop: Scop,
    statements: str | Sequence[str],
    loops: Loops | None = None,
    tiles: Sequence[int] | None = None,
    line: int = CACHE_LINE_BYTES,
) -> tuple[float, ...]:
    """Compute the partial derivatives of the memory cost per iteration, in lines, by the tile size of each loop."""
    names = (statements,) if isinstance(statements, str) else tuple(statements)
    lines = distinct_lines(scop, names, loops, line)
    return memory_cost(lines, tiles or (TILE,) * lines.loops).slopes


def coalescing(scop: Scop, statement: str, iterator: int, sign: int = 1, width: int = WARP_SIZE) -> float:
    """Compute the sectors per warp request, summed over all accesses of a statement, when `iterator` runs along
    thread.x over `width` threads."""
    return sum(request.sectors for request in predict(scop, statement, (Lane(iterator, width, sign),)))


def is_coalesced(scop: Scop, statement: str, iterator: int, sign: int = 1) -> bool:
    """Return whether a warp along `iterator` has only ideal requests: rows of neighbours, or one element for all."""
    return all(request.ideal for request in predict(scop, statement, (Lane(iterator, WARP_SIZE, sign),)))
