"""One entry point for two programs of a SCoP: overlapped tiles, and what is faster where these are not or leave some.

before: the programs of both
after:  least_cells = 2250000;
        rest = min(n - 2, ..) * min(m - 2, ..) >= least_cells ? .. : first;
        overlapped tiles, up to iteration rest
        few_iterations = 6;
        if (last - rest + 1 >= few_iterations) { split tiles, from iteration rest on } else { one iteration a kernel }

Where kernels of one iteration are faster for very small grids, too:

after:  .. small_grid = 372100; cells = min(n - 2, ..) * min(m - 2, ..);
        if (cells >= small_grid && last - rest + 1 >= few_iterations) ..

Split tiles keep the order of all iterations, and so of those from any one on; the others leave arrays as the source
does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polytile.codegen.lowering.lower import index_type, wide
from polytile.codegen.lowering.program_versions import fresh_bound, with_version
from polytile.codegen.lowering.time_tiles.overlapped.stream_program import bounded_cells, cells_of_plan
from polytile.diagnostics import InternalError
from polytile.ir.arith import both, compare, count_between, lift
from polytile.ir.def_use import mentioned_names
from polytile.ir.expr import LLONG, Binary, Declare, Expr, For, Name, Stmt
from polytile.ir.expr_trees import rewrite, statements
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Comment, Launch
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.scop import Scop
from polytile.ir.version_conditions import FewerCells


def with_small_grids(
    scop: Scop, plan: OverlappedTiles, large: HostProgram, small: HostProgram, where: FewerCells
) -> HostProgram | None:
    """Return the program of `large`, which is the plan's, that takes `small` in place of kernels of one iteration where
    the space of the plan has so many cells, and enough iterations are left; None where they do not take and copy the
    same. Cells are counted as OverlappedTiles.least_cells does."""
    number, loop = _tiles(plan, large)
    cells = cells_of_plan(scop, plan, index_type(scop))
    few = fresh_bound("few_iterations", large, small)
    head: list[Comment | Declare] = [
        Comment("For so many iterations, split tiles are faster than a kernel for each by estimate."),
        Declare(few.name, LLONG, lift(where.iterations)),
    ]
    asked = [compare(">=", count_between(_end(loop), wide(cells.times[1])), few)]
    if where.least:
        fewest, count = (fresh_bound(name, large, small) for name in ("small_grid", "cells"))
        head += [
            Comment("Below so many cells they are not."),
            Declare(fewest.name, LLONG, lift(where.least)),
            Declare(count.name, LLONG, bounded_cells(cells)),
        ]
        asked = [compare(">=", count, fewest), *asked]
    tiles, left = large.body[: number + 1], large.body[number + 1 :]
    behind = replace(small, body=tuple(_from(small, _end(loop))))
    return with_version(replace(large, body=left), behind, few, (*tiles, *head), both(*asked), str(where))


def _from(program: HostProgram, iteration: Expr) -> Iterator[Stmt]:
    """Yield the statements of a program, behind the declaration of its first iteration, from another one on."""
    first, *others = program.body
    if not isinstance(first, Declare) or first.name not in mentioned_names(*others):
        raise InternalError(f"{program.name} does not begin with its first iteration")
    for stmt in others:
        yield rewrite(stmt, lambda node: iteration if isinstance(node, Name) and node.name == first.name else node)


def _tiles(plan: OverlappedTiles, program: HostProgram) -> tuple[int, For]:
    """Return the host's loop over pairs of blocks, and which of the program's statements it is."""
    names = {kernel.name for kernel in program.kernels[: plan.kernels]}
    for number, stmt in enumerate(program.body):
        if isinstance(stmt, For) and any(isinstance(s, Launch) and s.kernel in names for s in statements(stmt)):
            return number, stmt
    raise InternalError(f"{program.name}: no loop launches overlapped tiles")


def _end(loop: For) -> Expr:
    """Return the iteration before which a loop ends: `t0 < rest`."""
    assert isinstance(loop.condition, Binary) and loop.condition.op == "<"
    return loop.condition.right
