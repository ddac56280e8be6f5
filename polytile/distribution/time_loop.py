"""The serial loop around all statements, if they have one: the steps between which ranks exchange."""

from __future__ import annotations

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
    """Whether the first loop is around all statements and carries values from one iteration to later ones."""
    if not all(s.iterators for s in scop.statements) or not _counts_first_iterators(scop):
        return False
    return any(not step_distances(pairs).is_subset(isl.Set("{ [0] }")) for pairs in maps(flow))


def _counts_first_iterators(scop: Scop) -> bool:
    """Whether the outermost node of the schedule is a loop over the first iterator of each statement."""
    node = scop.schedule.get_root().first_child()
    kind: object = node.get_type()
    if kind != isl.schedule_node_type.band or node.band_n_member() == 0:
        return False
    found = set()
    for value in functions(band_members(node)[0]):
        space = value.get_domain_space()
        first = isl.PwAff.var_on_domain(isl.LocalSpace.from_space(space), _SET, 0)
        if value.is_equal(first.intersect_domain(value.domain())):
            found.add(space.get_tuple_name(_SET))
    return found == {s.name for s in scop.statements}


def step_distances(pairs: isl.Map) -> isl.Set:
    """Return how many iterations of the time loop lie between instances: `{ S[t, i] -> T[t + 1, i] }` gives {1}."""
    first = pairs.project_out(_IN, 1, pairs.dim(_IN) - 1).project_out(_OUT, 1, pairs.dim(_OUT) - 1)
    return first.reset_tuple_id(_IN).reset_tuple_id(_OUT).deltas()


def time_loop(scop: Scop) -> TimeLoop:
    """Return the bounds of the time loop, which all statements are in.

    Raises UserError where statements have no iteration in common that the bounds could be told from.
    """
    steps: isl.Set | None = None
    for statement in scop.statements:
        own = statement.domain.project_out(_SET, 1, statement.domain.dim(_SET) - 1).reset_tuple_id()
        steps = own if steps is None else steps.union(own)
    assert steps is not None
    steps = steps.coalesce()
    first, last = steps.dim_min(0), steps.dim_max(0)
    if first.n_piece() == 0:
        raise UserError(f"{scop.name} runs no step", location=scop.location)
    integer = scop.parameters[0].type if scop.parameters else INT
    known = isl.Set.universe(scop.context.get_space())
    return TimeLoop(
        scop.statements[0].iterators[0],
        parameter_expression(first.gist(known), known, integer),
        parameter_expression(last.add_constant_val(isl.Val.one(last.get_ctx())).gist(known), known, integer),
    )
