"""That sums, minima and maxima over all ranks have each of the program's terms once, in the steps where it has them.

A reduction `R: e[t] op= f(..)` of the source is, in the plan's SCoP, a statement that writes terms and one that brings
the result of all ranks into e. Shown of it, each as a set that is empty:

- two instances of one step that write the same term, instances of R without one, and terms without an instance;
- terms that are there in a step which has none of them: those of another step;
- ranks that combine what they do not own: positions beyond their part, or along an axis that does not cut terms;
- orders of R and other users of e that are not those of the combination.

That parts have each position once is arithmetic of integers (boxes.py), that the order of terms does not count that of
numbers (rank_combinations.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytile.distribution.plan import DistributionPlan, GlobalReduction
from polytile.ir.isl_util import maps
from polytile.ir.scop import AccessRelation, Scop, Statement

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


def miscombined(plan: DistributionPlan, source: Scop) -> Iterator[isl.Set | isl.Map]:
    """Yield what is wrong with the global reductions of a plan for a SCoP (see the top of this file)."""
    for one, made in zip(plan.reductions, plan.combinations, strict=True):
        writer, write = _writer(plan.scop, one)
        yield from _parted(plan, source.statement(one.statement), writer, write, one)
        yield from _owned(plan, one)
        yield from _ordered(plan, source, writer, one)
        floats = one.op == "+" and plan.scop.array(one.terms).element.kind == "float"
        if floats == (made.largest is None) or made.terms != one.terms or made.op != one.op:
            yield isl.Set("{ [0] }")  # sums in an order that counts


def _writer(scop: Scop, one: GlobalReduction) -> tuple[Statement, AccessRelation]:
    """Return the statement that writes terms, and how."""
    found = [(s, a) for s in scop.statements for a in s.accesses if a.writes and a.array == one.terms]
    assert len(found) == 1, f"{len(found)} statements write {one.terms}"
    return found[0]


def _parted(
    plan: DistributionPlan, reduction: Statement, writer: Statement, write: AccessRelation, one: GlobalReduction
) -> Iterator[isl.Set | isl.Map]:
    """Yield where terms and instances of a step are not one to one, and where other steps have other ones."""
    context = plan.scop.context
    own = write.relation.intersect_domain(writer.domain).intersect_params(context)
    steps = _step_of(writer, plan)
    with_step = steps.flat_range_product(own)  # { X[t, i] -> [t, element] }
    same = with_step.apply_range(with_step.reverse())
    yield same.subtract(isl.Map.identity(same.get_space()))
    wanted = reduction.domain.set_tuple_name(writer.name).intersect_params(context)
    yield wanted.subtract(own.domain())
    yield own.domain().subtract(wanted)
    combining = plan.scop.statement(one.combining)
    here = combining.domain.intersect_params(context).reset_tuple_id()
    there = own.domain().apply(steps)
    yield here.subtract(there)
    yield there.subtract(here)
    every = isl.Map.from_domain_and_range(here, own.range())
    yield every.subtract(own.apply_domain(steps))


def _step_of(statement: Statement, plan: DistributionPlan) -> isl.Map:
    """Map instances to the iteration of the time loop: `{ X[t, i, j] -> [t] }`, `{ X[i, j] -> [] }` where is none."""
    count = [f"x{k}" for k in range(len(statement.iterators))]
    step = count[0] if plan.step else ""
    found = isl.Map(f"{{ {statement.name}[{', '.join(count)}] -> [{step}] }}")
    return found.intersect_domain(statement.domain.intersect_params(plan.scop.context))


def _owned(plan: DistributionPlan, one: GlobalReduction) -> Iterator[isl.Set]:
    """Yield positions that a rank combines and others own."""
    axes = plan.array(one.terms).axes
    for axis in range(len(plan.axes)):
        if axis not in axes:
            yield isl.Set(f"{{ [p] : p = {axis} }}")
    for below, above in one.reach:
        yield isl.Set(f"{{ [p] : -{below} <= p < 0 or 0 < p <= {above} }}")


def _ordered(
    plan: DistributionPlan, source: Scop, writer: Statement, one: GlobalReduction
) -> Iterator[isl.Set | isl.Map]:
    """Yield instances that come in another order with the combination than with the reduction."""
    phase = {s: k for k, each in enumerate(plan.phases) for s in each.statements}
    combining, reduction = plan.scop.statement(one.combining), source.statement(one.statement)
    if phase[writer.name] >= phase[combining.name]:
        yield isl.Set("{ [0] }")
    in_plan = plan.scop.schedule.get_map()
    now = _step_of(writer, plan).apply_range(_step_of(combining, plan).reverse())
    yield from _not_in_order(now, in_plan)
    same = {r.statement for r in plan.reductions if (r.op, r.target) == (one.op, one.target)}
    combines = _step_of(reduction, plan).apply_range(_step_of(combining, plan).reverse())
    in_source = source.schedule.get_map()
    own = _accesses(reduction, one.target)
    for other in source.accessing(one.target):
        if other.name in same:
            continue
        users = _accesses(other, one.target)
        for relation in _in_order(own.apply_range(users.reverse()), in_source):
            yield from _not_in_order(combines.reverse().apply_range(relation), in_plan)
        for relation in _in_order(users.apply_range(own.reverse()), in_source):
            yield from _not_in_order(relation.apply_range(combines), in_plan)


def _accesses(statement: Statement, array: str) -> isl.Map:
    found = [a.relation.intersect_domain(statement.domain) for a in statement.accesses if a.array == array]
    for more in found[1:]:
        found[0] = found[0].union(more)
    return found[0]


def _in_order(pairs: isl.Map, dates: isl.UnionMap) -> list[isl.Map]:
    """Return the pairs of which the first comes first."""
    return list(maps(isl.UnionMap.from_map(pairs).intersect(dates.lex_lt_union_map(dates))))


def _not_in_order(pairs: isl.Map, dates: isl.UnionMap) -> list[isl.Map]:
    """Return the pairs of which the first does not come first."""
    return list(maps(isl.UnionMap.from_map(pairs).subtract(dates.lex_lt_union_map(dates))))
