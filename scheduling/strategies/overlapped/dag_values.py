"""A DAG of stencils that is one macro-node as the values of a single iteration, which one kernel makes.

before: for (i, j) S0: B[i][j] = f(A[i - 1][j], A[i + 1][j]);  for (i, j) S1: C[i][j] = g(B[i][j - 1], B[i][j]);
after:  fields B by S0, C by S1; S1 reads B, made 0 iterations ago, at (0, -1) and (0, 0)

What no statement writes is no field: the kernel reads it where it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.stencil_dag import DagRead, StencilDag, stencil_dag
from polytile.scheduling.analysis.stencil_form import NotAStencilError
from polytile.scheduling.analysis.stencil_values import Field, StencilValues, ValueRead
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.overlapped.dag_fusion import fuse, limits_of
from polytile.scheduling.strategies.overlapped.plane_schedule import MOST_DIMENSIONS


def dag_values(problem: Problem) -> StencilValues | None:
    """Return the values of a SCoP that is a DAG of stencils in which some read others; None where it is no such DAG.

    Raises NotAStencilError where one kernel cannot make them.
    """
    scop = problem.scop
    try:
        dag = stencil_dag(scop, problem.dependences)
    except NotAStencilError:
        return None
    if not dag.flow or dag.dims > MOST_DIMENSIONS:
        return None
    if problem.choices.time_tile > 1:
        raise NotAStencilError("a DAG of stencils has no iterations to run at once", scop.location)
    reads = tuple(_reads(scop, dag))
    _check_macro_node(problem, dag)
    fields = tuple(Field(f.array, f.statements, 1 if f.kept else None) for f in dag.fields)
    return StencilValues(dag.dims, fields, reads, isl.Set("{ [t] : t = 0 }"), once=True)


def _reads(scop: Scop, dag: StencilDag) -> Iterator[ValueRead]:
    """Yield the reads of fields; raises NotAStencilError for values of arrays that are written later.

    These would have to be kept from being overwritten.
    """
    for read in (r for f in dag.fields for r in f.reads):
        place = scop.statement(read.statement).location
        if read.source is not None:
            yield ValueRead(read.statement, read.access, read.source, 0, _offset(read, scop))
        elif scop.written(read.array):
            raise NotAStencilError(f"{read.statement} reads {read.array} before it is written", place)


def _offset(read: DagRead, scop: Scop) -> tuple[int, ...]:
    if read.offset is None:
        reason = f"{read.statement} reads {read.array} at no fixed distance from what it writes"
        raise NotAStencilError(reason, scop.statement(read.statement).location)
    return read.offset


def _check_macro_node(problem: Problem, dag: StencilDag) -> None:
    limits = limits_of(problem.machine, problem.options.max_shared_memory)
    found = fuse(problem.scop, dag, problem.machine, limits)
    if len(found.kernels) > 1:
        parts = "; ".join(kernel.node.names for kernel in found.kernels)
        reason = f"the stencils are {len(found.kernels)} macro-nodes, and kernels are made of a single one: {parts}"
        raise NotAStencilError(reason, problem.scop.location)
