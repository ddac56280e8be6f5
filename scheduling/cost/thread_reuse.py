"""Where tiles may pay: a read that moves in a serial loop of threads, and that some loop of blocks or threads does not
move, in a kernel with several such loops.

before: kernel / block, thread [i, j] / k: C[i][j] += A[i][k] * B[k][j]     all j read the same A[i][k], all i B[k][j]
not:    kernel / block, thread [i] / j: y[i] += A[i][j] * x[j]              as many sums as rows: too few for tiles
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.affine_references import references
from polytile.scheduling.cost.mapped_loops import MappedStatement, Role, kernels, statements

_LEAST_LOOPS = 2  # of blocks and threads, around tiles


def shares_reads(scop: Scop, tree: isl.Schedule) -> bool:
    """Return whether threads of some kernel of a mapped tree read the same elements in serial loops."""
    return any(_shares_reads(scop, mapped) for mark in kernels(tree) for mapped in statements(mark))


def _shares_reads(scop: Scop, mapped: MappedStatement) -> bool:
    parallel = [loop for loop in mapped.loops if loop.part(Role.BLOCK) or loop.threads]
    serial = [loop for loop in mapped.loops if not any(p.role is not Role.SERIAL for p in loop.parts)]
    if len(parallel) < _LEAST_LOOPS or not serial:
        return False
    reads = [r for r in references(scop, scop.statement(mapped.name)) if not r.access.writes and r.subscripts]
    moving = [r for r in reads if any(r.moved_by(loop.step) for loop in serial)]
    return any(not r.moved_by(loop.step) for r in moving for loop in parallel)
