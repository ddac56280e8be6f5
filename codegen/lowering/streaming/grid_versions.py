"""One entry point for two programs of a SCoP: one that is faster for small grids, and one for large ones.

before: the programs of both
after:  large_grid = 2250000;
        if (min(n - 2, ..) * min(m - 2, ..) < large_grid) { split tiles } else { overlapped tiles }
"""

from __future__ import annotations

from dataclasses import replace

from polytile.codegen.lowering.lower import index_type
from polytile.codegen.lowering.streaming.stream_program import bounded_cells, cells_of_plan
from polytile.ir.arith import compare, lift
from polytile.ir.def_use import declared_names
from polytile.ir.expr import LLONG, Declare, If, Name
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Comment
from polytile.ir.name_supply import fresh
from polytile.ir.scop import Scop
from polytile.ir.size_limits import both_limits
from polytile.ir.stream_plan import StreamPlan


def with_small_grids(
    scop: Scop, plan: StreamPlan, large: HostProgram, small: HostProgram, cells: int
) -> HostProgram | None:
    """Return the program that takes `small` where the space of `plan` has fewer cells, counted as
    StreamPlan.least_cells does, and `large`, which is the plan's, elsewhere; None where they do not take and copy the
    same."""
    buffers = {b.array.name: b for b in small.buffers} | {b.array.name: b for b in large.buffers}
    same = (large.name, large.parameters, large.arguments, large.by_value, large.external)
    if same != (small.name, small.parameters, small.arguments, small.by_value, small.external):
        return None
    if any(buffers[b.array.name] != b for b in small.buffers):
        return None
    taken = {p.name for p in large.parameters} | {a.name for a in large.arguments}
    taken |= set(declared_names(*large.body, *small.body)) | {k.name for k in (*large.kernels, *small.kernels)}
    bound = Name(fresh("large_grid", taken), LLONG)
    count = bounded_cells(cells_of_plan(scop, plan, index_type(scop)))
    return replace(
        large,
        buffers=tuple(buffers.values()),
        kernels=(*small.kernels, *large.kernels),
        body=(
            Comment("From so many cells on, overlapped tiles are faster by estimate."),
            Declare(bound.name, LLONG, lift(cells)),
            If(compare("<", count, bound), small.body, large.body),
        ),
        summary=(*large.summary, *(f"{line} for fewer than {cells} cells" for line in small.summary)),
        limits=both_limits(large.limits, small.limits),
        bounds=(bound.name, *large.bounds),
    )
