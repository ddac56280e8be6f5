"""One entry point for two programs of a SCoP: one that is faster for small grids, and one for large ones.

before: the programs of both
after:  large_grid = 2250000;
        if (min(n - 2, ..) * min(m - 2, ..) < large_grid) { split tiles } else { overlapped tiles }
"""

from __future__ import annotations

from polytile.codegen.lowering.lower import index_type
from polytile.codegen.lowering.program_versions import fresh_bound, with_version
from polytile.codegen.lowering.streaming.stream_program import bounded_cells, cells_of_plan
from polytile.ir.arith import compare, lift
from polytile.ir.expr import LLONG, Declare
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Comment
from polytile.ir.scop import Scop
from polytile.ir.stream_plan import StreamPlan


def with_small_grids(
    scop: Scop, plan: StreamPlan, large: HostProgram, small: HostProgram, cells: int
) -> HostProgram | None:
    """Return the program that takes `small` where the space of `plan` has fewer cells, counted as
    StreamPlan.least_cells does, and `large`, which is the plan's, elsewhere; None where they do not take and copy the
    same."""
    bound = fresh_bound("large_grid", large, small)
    count = bounded_cells(cells_of_plan(scop, plan, index_type(scop)))
    head = (
        Comment("From so many cells on, overlapped tiles are faster by estimate."),
        Declare(bound.name, LLONG, lift(cells)),
    )
    return with_version(large, small, bound, head, compare("<", count, bound), f"fewer than {cells} cells")
