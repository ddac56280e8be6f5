"""The serial loop around all statements, if they have one: the steps between which ranks exchange."""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polytile.diagnostics import UserError
from polytile.distribution.plan import TimeLoop
from polytile.ir.expr import INT, Literal
from polytile.ir.isl_expr import parameter_expression
from polytile.ir.isl_util import band_members, functions, maps
from polytile.ir.scop import Scop

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
NO_TIME_LOOP = TimeLoop("", Literal("0"), Literal("1"))


def has_time_loop(scop: Scop, flow: isl.UnionMap) -> bool:
    """Return whether the first loop is around all statements and carries values from one iteration to later ones."""
    if not all(s.iterators for s in scop.statements) or not _counts_first_iterators(scop):
        return False
    return any(not step_distances(pairs).is_subset(isl.Set("{ [0] }")) for pairs in maps(flow))


def _counts_first_iterators(scop: Scop) -> bool:
    """Return whether the outermost node of the schedule is a loop over the first iterator of each statement."""
    node = scop.schedule.get_root().first_child()
    kind: object = node.get_type()
    if kind != isl.schedule_node_type.band or node.band_n_member() == 0:
        return False
    domains, found = {s.name: s.domain for s in scop.statements}, set()
    for value in functions(band_members(node)[0]):
        space = value.get_domain_space()
        name = space.get_tuple_name(_SET)
        first = isl.PwAff.var_on_domain(isl.LocalSpace.from_space(space), _SET, 0)
        if name in domains:  # isl writes n - 1 for t where a statement runs in the last step alone
            there = value.intersect_domain(domains[name])
            found |= {name} if there.is_equal(first.intersect_domain(there.domain())) else set()
    return found == {*domains}


def step_distances(pairs: isl.Map) -> isl.Set:
    """Return how many iterations of the time loop lie between instances: `{ S[t, i] -> T[t + 1, i] }` gives {1}."""
    first = pairs.project_out(_IN, 1, pairs.dim(_IN) - 1).project_out(_OUT, 1, pairs.dim(_OUT) - 1)
    return first.reset_tuple_id(_IN).reset_tuple_id(_OUT).deltas()


def step_range(scop: Scop) -> isl.BasicSet:
    """Return the steps from the first to the last one in which any statement has an instance, also where those between
    compute nothing, such as odd ones of `if (t % 2 == 0)`, as ranks take all of them; without what parameters alone
    decide: `[steps, n] -> { [t] : 0 <= t < steps }`."""
    own = (s.domain.project_out(_SET, 1, s.domain.dim(_SET) - 1).reset_tuple_id() for s in scop.statements)
    every = reduce(isl.Set.union, own).remove_divs()
    hull = every.simple_hull()
    if not hull.is_bounded():  # the bounds of the loop are no constraints of statements with `if (t == k)`
        hull = every.convex_hull()
    return hull if hull.is_empty() else hull.drop_constraints_not_involving_dims(_SET, 0, 1).remove_redundancies()


def time_loop(scop: Scop) -> TimeLoop:
    """Return the bounds of the time loop, which all statements are in: for any sizes the steps of `step_range`, none
    where that has none.

    Raises UserError where statements have no iteration in common that the bounds could be told from.
    """
    steps = step_range(scop)
    if steps.is_empty():
        raise UserError(f"{scop.name} runs no step", location=scop.location)
    integer = scop.parameters[0].type if scop.parameters else INT
    known = isl.Set.universe(scop.context.get_space())
    first, last = _bounds(steps)
    return TimeLoop(
        scop.statements[0].iterators[0],
        parameter_expression(first.gist(known), known, integer),
        parameter_expression(last.add_constant_val(isl.Val.one(last.get_ctx())).gist(known), known, integer),
    )


def _bounds(steps: isl.BasicSet) -> tuple[isl.PwAff, isl.PwAff]:
    """Return the greatest lower and the least upper bound, by one constraint each, so that they hold for all values of
    parameters: the extremes of the whole set hold where it is not empty, and may be anything elsewhere.

    before: { [t] : t >= 0 and t >= l and t < n }
    after:  max(0, l) and n - 1
    """
    lower, upper = list[isl.PwAff](), list[isl.PwAff]()
    for constraint in steps.get_constraints():
        alone = isl.Set.from_basic_set(isl.BasicSet.from_constraint(constraint))
        grows = constraint.get_coefficient_val(_SET, 0).is_pos()
        if grows or constraint.is_equality():
            lower.append(alone.dim_min(0))
        if not grows or constraint.is_equality():
            upper.append(alone.dim_max(0))
    return reduce(isl.PwAff.max, lower), reduce(isl.PwAff.min, upper)
