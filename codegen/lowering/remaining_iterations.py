"""The iterations of a time loop that are left when kernels of their own have run the first ones.

before: S0[t, i] : 0 <= t < tsteps
after:  S0[t, i] : rest <= t < tsteps, with the parameter `rest` >= 0, which the host computes

after:  nothing of S0, where it is known that none are left

before: S0[i]                   in no time loop: a single iteration, 0
after:  S0[i] : rest <= 0, with the parameter 0 <= rest <= 1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import islpy as isl

from polytile.ir.expr import INT
from polytile.ir.lexicographic import lexmin
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Parameter, Scop, Statement


def from_iteration(scop: Scop, schedule: MappedSchedule, rest: str) -> tuple[Scop, MappedSchedule]:
    """Return the Scop from iteration `rest` on of the outermost loop around all statements.

    The order of its iterations is proven for all of them.
    """
    return _changed(scop, schedule, {s.name: _from(s, rest) for s in scop.main}, rest, _from_first(scop, rest))


def _changed(
    scop: Scop, schedule: MappedSchedule, main: Mapping[str, Statement], rest: str, known: isl.Set
) -> tuple[Scop, MappedSchedule]:
    """Replace statements of a Scop, and add the parameter `rest` with what is `known` of it."""
    more = replace(scop, parameters=(*scop.parameters, Parameter(rest, INT)), context=scop.context.intersect(known))
    return _restricted(more, schedule, main)


def _restricted(
    scop: Scop, schedule: MappedSchedule, main: Mapping[str, Statement]
) -> tuple[Scop, MappedSchedule]:
    """Restrict a Scop and its schedule to the instances of these statements."""
    domain = isl.UnionSet.empty(scop.context.get_space().params())
    for statement in scop.statements:
        domain = domain.union(isl.UnionSet.from_set(main.get(statement.name, statement).domain))
    changed = replace(
        scop,
        statements=tuple(main.get(s.name, s) for s in scop.statements),
        schedule=scop.schedule.intersect_domain(domain),
    )
    return changed, replace(schedule, tree=schedule.tree.intersect_domain(domain))


def unless_done(scop: Scop, schedule: MappedSchedule, rest: str) -> tuple[Scop, MappedSchedule]:
    """Restrict a Scop to all of its instances if `rest` is 0, or none."""
    left = isl.Set(f"[{rest}] -> {{ : {rest} <= 0 }}")
    statements = {s.name: replace(s, domain=s.domain.intersect_params(left)) for s in scop.main}
    return _changed(scop, schedule, statements, rest, isl.Set(f"[{rest}] -> {{ : 0 <= {rest} <= 1 }}"))


def without_any(scop: Scop, schedule: MappedSchedule) -> tuple[Scop, MappedSchedule]:
    """Return what is left of a Scop whose iterations are all run by other kernels, for all sizes: no instance."""
    statements = {s.name: replace(s, domain=s.domain.empty(s.domain.get_space())) for s in scop.main}
    return _restricted(scop, schedule, statements)


def _from(statement: Statement, rest: str) -> Statement:
    dims = ", ".join(f"i{k}" for k in range(len(statement.iterators)))
    later = isl.Set(f"[{rest}] -> {{ {statement.name}[{dims}] : i0 >= {rest} }}")
    return replace(statement, domain=statement.domain.intersect(later))


def _from_first(scop: Scop, rest: str) -> isl.Set:
    """Return what is known of `rest`: no iteration lies before the first one, and there may be none."""
    times = isl.Set("{ [t] : false }")
    for statement in scop.main:
        domain = statement.domain.intersect_params(scop.context).reset_tuple_id()
        times = times.union(domain.project_out(isl.dim_type.set, 1, len(statement.iterators) - 1))
    first = lexmin(times)
    known = isl.Set(f"[{rest}] -> {{ [t] : {rest} >= t }}").intersect(first).params()
    return known.union(first.params().complement())
