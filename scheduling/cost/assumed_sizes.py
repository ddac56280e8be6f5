"""Sizes to count with where nobody knows any: arrays fit into memory, so those of many dimensions have short ones.

    double C[n][m]              n = m = 2000, as everywhere
    double A[2][n][m]           the same: a constant extent is no dimension that sizes share
    double T[a][b][c][i][j][k]  a = .. = k = 22: with 2000 each it would take 5e20 bytes
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from polytile.ir.expr import Expr, Literal, Name
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Array, Scop

LEAST_RANK = 3  # of arrays that say something


def assumed_sizes(scop: Scop, elements: int, least_rank: int = LEAST_RANK) -> Mapping[str, int]:
    """Assume a size for the parameters that are extents of arrays with `least_rank` such dimensions or more.

    Each is such that none of these arrays has more than so many elements if all these extents are the same.
    """
    parameters = {p.name for p in scop.parameters}
    found: dict[str, int] = {}
    for array in scop.arrays:
        rank = sum(not isinstance(extent, Literal) for extent in array.extents)
        if rank >= least_rank:
            fitting = max(1, int((elements / _constant_part(array)) ** (1 / rank)))
            for name in {name for extent in array.extents for name in _names(extent)} & parameters:
                found[name] = min(fitting, found.get(name, fitting))
    return found


def _names(extent: Expr | None) -> Iterator[str]:
    return (node.name for node in walk(extent) if isinstance(node, Name)) if extent is not None else iter(())


def _constant_part(array: Array) -> int:
    """Return the product of the extents that are numbers."""
    return prod(max(1, int(e.text)) for e in array.extents if isinstance(e, Literal))
