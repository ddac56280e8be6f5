"""That the SCoPs of phases are the source's statements on a rank's arrays, and that sides are thick enough to send."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.distribution.plan import DistributionPlan
from polytile.ir.name_supply import coordinates, fresh
from polytile.ir.scop import Scop, Statement

_OUT = isl.dim_type.out


def unlike(plan: DistributionPlan) -> Iterator[isl.Set | isl.Map]:
    """Yield the differences between what phases run and access, and the source's instances in a box of positions.

    A rank's instances are taken to the source's by their shift, and its elements by the offsets of axes.
    """
    for phase, local in zip(plan.phases, plan.local, strict=True):
        yield from _differences(plan, local, phase.statements, f"{{t}} = {plan.step}" if plan.step else "")
    if plan.lead is not None:
        steps = f"{plan.step} <= {{t}} < {plan.step} + {plan.count}"
        yield from _differences(plan, plan.lead, [s.name for s in plan.scop.statements], steps)


def _differences(
    plan: DistributionPlan, local: Scop, statements: Sequence[str], steps: str
) -> Iterator[isl.Set | isl.Map]:
    space = local.context.get_space()
    for name in statements:
        here, there = local.statement(name), plan.scop.statement(name)
        runs = _of_source(plan, here, there, space)
        expected = _in_box(plan, there, space, steps).apply(runs.reverse()).intersect_params(local.context)
        found = here.domain.intersect_params(local.context)
        yield expected.subtract(found)
        yield found.subtract(expected)
        for a, b in zip(here.accesses, there.accesses, strict=True):
            moved = a.relation.apply_domain(runs).apply_range(_elements(plan, a.array, local, space))
            source = b.relation.align_params(space).intersect_domain(found.apply(runs))
            yield moved.intersect_domain(found.apply(runs)).subtract(source)
            yield source.subtract(moved)


def _of_source(plan: DistributionPlan, here: Statement, there: Statement, space: isl.Space) -> isl.Map:
    """Map a rank's instances to the source's: of one step, or of several, which the first coordinate counts."""
    shift = isl.Map.from_multi_aff(plan.placement(there.name).shift).align_params(space)
    if len(here.iterators) == len(there.iterators):
        return shift
    own = ", ".join(coordinates("x", len(here.iterators), _parameters(space)))
    with_step = f"{here.name}[{own}] -> {here.name}[{', '.join([plan.step, *([own] if own else [])])}]"
    return isl.Map(f"[{_names(space)}] -> {{ {with_step} }}").apply_range(shift)


def _in_box(plan: DistributionPlan, statement: Statement, space: isl.Space, steps: str) -> isl.Set:
    """Return the instances of the source at positions first + offset .. end + offset - 1, in steps
    `{t}` that meet a condition."""
    domain = statement.domain.align_params(space)
    names = _names(space)
    if steps:
        t, *rest = coordinates("x", len(statement.iterators), _parameters(space))
        instance = f"{statement.name}[{', '.join([t, *rest])}]"
        domain = domain.intersect(isl.Set(f"[{names}] -> {{ {instance} : {steps.format(t=t)} }}"))
    p = fresh("p", _parameters(space))
    for position, box in zip(plan.placement(statement.name).positions, plan.boxes, strict=True):
        if position is not None:
            inside = isl.Set(f"[{names}] -> {{ [{p}] : {box.first} + {box.offset} <= {p} < {box.end} + {box.offset} }}")
            domain = domain.intersect(position.align_params(space).intersect_range(inside).domain())
    return domain


def _elements(plan: DistributionPlan, array: str, local: Scop, space: isl.Space) -> isl.Map:
    """Map a rank's elements to those of the whole array."""
    axes = plan.array(array).axes
    counted = coordinates("e", local.array(array).access_rank, _parameters(space))
    whole = list(counted)
    for d, axis in enumerate(axes):
        if axis is not None:
            whole[d] += f" + {plan.boxes[axis].offset}"
    return isl.Map(f"[{_names(space)}] -> {{ {array}[{', '.join(counted)}] -> {array}[{', '.join(whole)}] }}")


def _names(space: isl.Space) -> str:
    """List the parameters of a space."""
    return ", ".join(_parameters(space))


def _parameters(space: isl.Space) -> list[str]:
    return [space.get_dim_name(isl.dim_type.param, k) or "" for k in range(space.dim(isl.dim_type.param))]


def unsent(plan: DistributionPlan) -> Iterator[isl.Set]:
    """Yield the positions at each side that are sent but not computed in front of the interior. Sides are those of the
    box that the phase computes, which begins beyond the part where phases behind it read further."""
    last = plan.split_phase
    written = {a.array for s in plan.phases[last].statements for a in plan.scop.statement(s).accesses if a.writes}
    later = [s for phase in plan.phases[last + 1 :] for s in phase.statements]
    behind = {a.array for s in later for a in plan.scop.statement(s).accesses if a.writes}
    for exchange in plan.between:
        if exchange.array in behind:
            yield isl.Set("{ [0] }")
        if exchange.array in written:
            beyond = plan.phases[last].growth[0]
            for (below, above), (low, high), (before, after) in zip(exchange.reach, plan.boundary, beyond, strict=True):
                yield isl.Set(f"{{ [p] : {low} - {before} <= p < {above} }}")
                yield isl.Set(f"{{ [p] : {high} - {after} <= p < {below} }}")
