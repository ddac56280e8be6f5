"""One entry point for two programs of a SCoP: one that is faster for small grids, and one for large ones.

before: the programs of both
after:  large_grid = 2250000;
        if (min(n - 2, ..) * min(m - 2, ..) < large_grid) { split tiles } else { overlapped tiles }

Where kernels of one iteration are faster for very small ones, the second program, which has these, runs them:

after:  small_grid = 372100; large_grid = 2250000; cells = min(n - 2, ..) * min(m - 2, ..);
        if (cells >= small_grid && cells < large_grid) { split tiles } else { overlapped tiles, or one iteration }
"""

from __future__ import annotations

from polytile.codegen.lowering.lower import index_type
from polytile.codegen.lowering.program_versions import fresh_bound, with_version
from polytile.codegen.lowering.time_tiles.overlapped.stream_program import bounded_cells, cells_of_plan
from polytile.ir.arith import both, compare, lift
from polytile.ir.expr import LLONG, Declare
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Comment
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.scop import Scop
from polytile.ir.version_conditions import FewerCells


def with_small_grids(
    scop: Scop, plan: OverlappedTiles, large: HostProgram, small: HostProgram, where: FewerCells
) -> HostProgram | None:
    """Return the program that takes `small` where the space of `plan` has so many cells, and `large`, which is the
    plan's, elsewhere; None where they do not take and copy the same. Cells are counted as OverlappedTiles.least_cells
    does."""
    bound = fresh_bound("large_grid", large, small)
    count = bounded_cells(cells_of_plan(scop, plan, index_type(scop)))
    head: tuple[Comment | Declare, ...] = (
        Comment("From so many cells on, overlapped tiles are faster by estimate."),
        Declare(bound.name, LLONG, lift(where.cells)),
    )
    if not where.least:
        return with_version(large, small, bound, head, compare("<", count, bound), str(where))
    fewest, cells = (fresh_bound(name, large, small) for name in ("small_grid", "cells"))
    head = (
        *head,
        Comment("Below so many, kernels of one iteration are."),
        Declare(fewest.name, LLONG, lift(where.least)),
        Declare(cells.name, LLONG, count),
    )
    condition = both(compare(">=", cells, fewest), compare("<", cells, bound))
    return with_version(large, small, bound, head, condition, str(where))
