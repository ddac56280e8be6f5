"""Sizes to count with where nobody knows any: arrays fit into memory, so those of many dimensions have short ones.

    double C[n][m]              n = m = 2000, as everywhere
    double T[a][b][c][i][j][k]  a = .. = k = 22: with 2000 each it would take 5e20 bytes
"""

from __future__ import annotations

from collections.abc import Mapping

from polytile.ir.expr import Name
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Scop

LEAST_RANK = 3  # of arrays that say something


def assumed_sizes(scop: Scop, elements: int) -> Mapping[str, int]:
    """The parameters that are extents of arrays with three dimensions or more, each such that none of these arrays has
    more than so many elements if all its extents are the same."""
    parameters = {p.name for p in scop.parameters}
    found: dict[str, int] = {}
    for array in (a for a in scop.arrays if a.rank >= LEAST_RANK):
        fitting = max(1, int(elements ** (1 / array.rank)))
        for extent in (e for e in array.extents if e is not None):
            for node in walk(extent):
                if isinstance(node, Name) and node.name in parameters:
                    found[node.name] = min(fitting, found.get(node.name, fitting))
    return found
