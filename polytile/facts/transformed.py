"""Which statements of the source those of a transformed program run."""

from __future__ import annotations

import islpy as isl

from polytile.compilation import Compilation
from polytile.ir.isl_util import maps
from polytile.ir.partial_results import Privatised
from polytile.ir.scop import Statement
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.cost.mapped_loops import Role, kernels, statements


def origins(state: Compilation, statement: Statement) -> frozenset[str]:
    """Return the statements of the source that one of the scheduled program runs, be it in parts: what prepares partial
    results of a reduction and adds them up belongs to it. The set is empty for copies."""
    split = {helper: p.statement for p in state.scop.privatised for helper in _helpers(p)}
    name = statement.name
    while name in split:
        name = split[name]
    return frozenset(statement.parts or (name,)) & {s.name for s in state.source.statements}


def instances_of(run: Executions) -> dict[str, str]:
    """Return the statement whose instances, or parts of them, each execution carries out."""
    ends = ((m.get_tuple_name(isl.dim_type.in_), m.get_tuple_name(isl.dim_type.out)) for m in maps(run.instances))
    return {str(execution): str(instance) for execution, instance in ends}


def shared_out(state: Compilation) -> frozenset[str]:
    """Return the statements of the source whose iterations blocks or threads share out."""
    if state.program is None or state.schedule is None:
        return frozenset()
    if state.time_tile is not None:
        return frozenset(s.name for s in state.source.statements)
    instances = instances_of(state.run)
    return frozenset(
        name
        for mark in kernels(state.run.schedule.tree)
        for mapped in statements(mark)
        if any(loop.part(role) for loop in mapped.loops for role in (Role.BLOCK, Role.THREAD))
        for name in origins(state, state.scop.statement(instances.get(mapped.name, mapped.name)))
    )


def _helpers(split: Privatised) -> tuple[str, ...]:
    """Return the statements that one reduction became."""
    gathering = (split.gathering.initial, split.gathering.total) if split.gathering else ()
    found = (split.initial, split.update, split.combine, split.finish, *gathering)
    return tuple(name for name in found if name is not None and name != split.statement)
