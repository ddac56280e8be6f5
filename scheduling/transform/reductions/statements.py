"""The statements of a reduction in partial results, and their arrays.

before: S[i, j]: x[i] += A[i][j]
after:  I[i, l]: part[i][l] = 0;  U[i, j]: part[i][j % 32] += A[i][j];
        C[i]: { v = 0; for (l < 32) v = v + part[i][l]; x[i] += v; }

before: F[i, c]: x[i] += mid[c][i];                  chunks of a result, added up by 8 lanes
after:  B[i, l]: sums[i][l] = 0;  F[i, c]: sums[i][c % 8] += mid[c][i];
        T[i]: { v = 0; for (l < 8) v = v + sums[i][l]; x[i] += v; }

Of chunks over several iterators the lanes share out one, F[i, c, d]: sums[i][c % 8] += mid[c][d][i].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from polytile.diagnostics import Location
from polytile.ir.expr import Access, Assign, Expr, If, Literal, Name, Scope, Stmt
from polytile.ir.partial_results import Combination, Gathering, Privatised, Split
from polytile.ir.scop import AccessKind, AccessRelation, Array, Origin, Reduction, Scop, Statement
from polytile.scheduling.analysis.chains import own_element, projection
from polytile.scheduling.transform.reductions.insertion import around_groups
from polytile.scheduling.transform.reductions.layout import (
    PartialLayout,
    Quotient,
    combine_body,
    finished,
    initial_body,
    update,
)
from polytile.scheduling.transform.reductions.plan import GROUP, ReductionPlan, column, lane_box


def rewritten(plan: ReductionPlan) -> Scop:
    """Replace the statement in the Scop by those of its partial results."""
    initial, changed = _initial(plan), _update(plan)
    combine = _combine(plan) if plan.lanes else None
    finish = _finish(plan) if plan.chunks else None
    begin, total = (_begin(plan), _total(plan)) if plan.adders else (None, None)
    sums = plan.names["sums"] if plan.adders else ""
    behind = [s for s in (combine, begin, finish, total) if s is not None]
    statements: list[Statement] = []
    for statement in plan.scop.statements:
        statements += [initial, changed, *behind] if statement is plan.before else [statement]
    privatised = Privatised(
        statement=plan.before.name,
        initial=initial.name,
        update=changed.name,
        combine=combine.name if combine else None,
        finish=finish.name if finish else None,
        array=plan.found.target.array,
        partial=plan.names["part"],
        middle=plan.names["mid"] if combine and finish else None,
        op=plan.found.op,
        group=plan.group,
        splits=plan.splits,
        blocked=plan.blocked,
        gathering=Gathering(begin.name, total.name, sums, plan.threads, plan.shared) if begin and total else None,
    )
    return replace(
        plan.scop,
        arrays=(*plan.scop.arrays, *_arrays(plan)),
        statements=tuple(statements),
        schedule=around_groups(plan.scop, plan.before, changed, plan.group, [initial], behind),
        privatised=(*plan.scop.privatised, privatised),
    )


def _arrays(plan: ReductionPlan) -> list[Array]:
    def array(name: str, extents: Sequence[Expr]) -> Array:
        location = plan.scop.array(plan.found.target.array).location
        return Array(name, plan.type, tuple(extents), Origin.TEMPORARY, False, False, location=location)

    lanes = [s.size for s in plan.lanes]
    found = [array(plan.names["part"], (*plan.partial.extents, *_lane_extents(plan.partial, lanes)))]
    if plan.lanes and plan.chunks:
        found.append(array(plan.names["mid"], plan.middle.extents))
    if plan.adders:
        found.append(array(plan.names["sums"], (*plan.sums.extents, *_lane_extents(plan.sums, [plan.adders]))))
    return found


def _lane_extents(results: PartialLayout, sizes: list[int]) -> list[Expr]:
    """Return the extents for partial results, padded where several results of one block are side by side.

    One element is added to even numbers: threads that each use one of these would meet in a bank of shared memory.
    """
    if sizes and sizes[-1] % 2 == 0 and any(d.tiles for d in results.dimensions):
        sizes = [*sizes[:-1], sizes[-1] + 1]
    return [Literal(str(size)) for size in sizes]


# The statements ------------------------------------------------------------------------------------------------------
def _initial(plan: ReductionPlan) -> Statement:
    """Build the statement that sets each partial result of each key to the neutral element."""
    name = plan.names["init"]
    lanes = tuple(Name(n) for n in plan.lane_names)
    part = Access(plan.names["part"], (*plan.partial.subscripts(plan.key), *lanes), plan.type)
    domain = plan.keys.flat_product(plan.all_lanes).set_tuple_name(name)
    positions = tuple(range(domain.dim(isl.dim_type.set)))
    first, rest = positions[: len(plan.key_names)], positions[len(plan.key_names) :]
    own = projection(domain, rest, GROUP).reset_tuple_id(isl.dim_type.out)
    leading = projection(domain, first, GROUP).apply_range(plan.partial.relation(plan.keys))
    write = _access(plan, name, "part", AccessKind.WRITE, leading.flat_range_product(own))
    body = initial_body(part, plan.found.op)
    return _statement(plan, "init", (*plan.key_names, *plan.lane_names), domain, body, (write,), "before the first")


def _update(plan: ReductionPlan) -> Statement:
    """Build the update itself, with a partial result as its target."""
    before, name, array = plan.before, plan.names["update"], plan.found.target.array
    key = [Name(before.iterators[k]) for k in plan.group] + [_of(plan, s) for s in plan.chunks]
    subscripts = (*plan.partial.subscripts(key), *(_of(plan, s) for s in plan.lanes))
    forms: list[tuple[Stmt, Stmt]] = []
    for form, found in plan.updates:
        made = update(found, Access(plan.names["part"], subscripts, plan.type, location=found.target.location))
        forms.append((form, replace(made, location=_location(form))))
    leading = plan.keyed.apply_range(plan.partial.relation(plan.keys))
    for split in plan.lanes:
        leading = leading.flat_range_product(column(before.domain, split))
    others = [replace(a, relation=_renamed(a.relation, name)) for a in before.accesses if a.array != array]
    return replace(
        before,
        name=name,
        domain=before.domain.set_tuple_name(name),
        body=_replaced(before.body, forms),
        accesses=(
            *others,
            _access(plan, name, "part", AccessKind.READ, leading),
            _access(plan, name, "part", AccessKind.WRITE, leading),
        ),
        reduction=Reduction(plan.found.op, plan.names["part"]),
        parts=before.parts or (before.name,),
    )


def _replaced(body: tuple[Stmt, ...], forms: list[tuple[Stmt, Stmt]]) -> tuple[Stmt, ...]:
    """Replace some statements of a body by others."""
    return tuple(
        replace(stmt, body=_replaced(stmt.body, forms))
        if isinstance(stmt, Scope)
        else next((made for form, made in forms if form is stmt), stmt)
        for stmt in body
    )


def _of(plan: ReductionPlan, split: Split) -> Expr:
    """Return the number of the chunk or of the partial result, by the statement's own iterator."""
    domain = plan.before.domain.intersect_params(plan.scop.context)
    natural = bool(domain.is_subset(domain.lower_bound_val(isl.dim_type.set, split.iterator, isl.Val(0))))
    value, quotient = Name(plan.before.iterators[split.iterator]), Quotient(natural)
    if not split.lanes:
        return quotient.chunk(value, split.size)
    return quotient.lane(quotient.chunk(value, split.unit) if split.unit > 1 else value, split.size)


def _combine(plan: ReductionPlan) -> Statement:
    """Build the statement whose instances each read all partial results of a key.

    The value goes to the result, or waits for other chunks.
    """
    name = plan.names["fold"]
    subscripts, sizes = plan.partial.subscripts(plan.key), tuple(s.size for s in plan.lanes)
    combination = Combination(plan.found.op, plan.names["part"], subscripts, sizes, plan.names["sum"], plan.type)
    value = Name(combination.value, plan.type)
    columns = plan.partial.relation(plan.keys)
    parts = columns.flat_range_product(isl.Map.from_domain_and_range(plan.keys, plan.all_lanes))
    read = _access(plan, name, "part", AccessKind.READ, parts)
    if plan.chunks:
        middle = Access(plan.names["mid"], plan.middle.subscripts(plan.key), plan.type)
        last = Assign(middle, "", value, _location(plan.form))
        accesses = [read, _access(plan, name, "mid", AccessKind.WRITE, plan.middle.relation(plan.keys))]
    else:
        last = replace(finished(plan.found, value), location=_location(plan.form))
        accesses = [read, *_result_accesses(plan, name)]
    body, domain = combine_body(combination, plan.lane_names, last), plan.keys.set_tuple_name(name)
    made = _statement(plan, "fold", plan.key_names, domain, body, tuple(accesses), "over all lanes")
    return replace(made, combine=combination)


def _finish(plan: ReductionPlan) -> Statement:
    """Build the statement that adds up a result's chunks, one after the other.

    Each goes to the result, or to the sum of one of the threads that add chunks up.
    """
    name = plan.names["finish"]
    which, found = ("mid", plan.middle) if plan.lanes else ("part", plan.partial)
    part = Access(plan.names[which], found.subscripts(plan.key), plan.type)
    target, form, own = plan.found.target.array, finished(plan.found, part), _result_accesses(plan, name)
    if plan.adders:
        natural = bool(plan.keys.is_subset(plan.keys.lower_bound_val(isl.dim_type.set, plan.shared, isl.Val(0))))
        lane = Quotient(natural).lane(plan.key[plan.shared], plan.adders)
        target = plan.names["sums"]
        form = finished(plan.found, part, Access(target, (*plan.sums.subscripts(plan.key), lane), plan.type))
        own = _sums(plan, name)
    domain = plan.keys.set_tuple_name(name)
    accesses = (_access(plan, name, which, AccessKind.READ, found.relation(plan.keys)), *own)
    body = (replace(form, location=_location(plan.form)),)
    made = _statement(plan, "finish", plan.key_names, domain, body, accesses, "over all chunks")
    return replace(made, reduction=Reduction(plan.found.op, target))


def _sums(plan: ReductionPlan, name: str) -> tuple[AccessRelation, AccessRelation]:
    """Return the read and the write of the sum that a chunk is added to."""
    space = isl.LocalSpace.from_space(plan.keys.get_space())
    chunk = isl.Aff.var_on_domain(space, isl.dim_type.set, plan.shared)
    relation = projection(plan.keys, range(len(plan.group)), GROUP).apply_range(plan.sums.relation(plan.results))
    relation = relation.flat_range_product(isl.Map.from_aff(chunk.mod_val(isl.Val(plan.adders))))
    read, write = (_access(plan, name, "sums", kind, relation) for kind in (AccessKind.READ, AccessKind.WRITE))
    return read, write


def _begin(plan: ReductionPlan) -> Statement:
    """Build the statement that sets the sum of each thread that adds up chunks to the neutral element."""
    name, lane = plan.names["begin"], plan.names["adder"]
    domain = plan.results.flat_product(lane_box((plan.adders,)))
    own = projection(domain, (len(plan.group),), GROUP).reset_tuple_id(isl.dim_type.out)
    leading = projection(domain, range(len(plan.group)), GROUP).apply_range(plan.sums.relation(plan.results))
    write = _access(plan, name, "sums", AccessKind.WRITE, leading.flat_range_product(own))
    key = plan.key[: len(plan.group)]
    body = initial_body(Access(plan.names["sums"], (*plan.sums.subscripts(key), Name(lane)), plan.type), plan.found.op)
    names = (*plan.key_names[: len(plan.group)], lane)
    return _statement(plan, "begin", names, domain.set_tuple_name(name), body, (write,), "before the first chunk")


def _total(plan: ReductionPlan) -> Statement:
    """Build the statement that adds the sums of the threads that add up chunks to the result."""
    name, key = plan.names["total"], plan.key[: len(plan.group)]
    sums = Combination(
        plan.found.op,
        plan.names["sums"],
        plan.sums.subscripts(key),
        (plan.adders,),
        plan.names["total_sum"],
        plan.type,
    )
    lanes = isl.Map.from_domain_and_range(plan.results, lane_box((plan.adders,)))
    read = _access(plan, name, "sums", AccessKind.READ, plan.sums.relation(plan.results).flat_range_product(lanes))
    last = replace(finished(plan.found, Name(sums.value, plan.type)), location=_location(plan.form))
    body = combine_body(sums, (plan.names["adder"],), last)
    accesses = (read, *_result_accesses(plan, name, plan.group))
    domain, names = plan.results.set_tuple_name(name), plan.key_names[: len(plan.group)]
    return replace(_statement(plan, "total", names, domain, body, accesses, "over all sums"), combine=sums)


def _result_accesses(
    plan: ReductionPlan, name: str, group: tuple[int, ...] | None = None
) -> tuple[AccessRelation, AccessRelation]:
    """Return the read and the write of the result of a key, or of a group of iterators."""
    element = own_element(plan.before, plan.found.target.array)
    assert element is not None
    element = element.intersect_params(plan.scop.context)
    keyed = plan.keyed if group is None else projection(element.domain(), group, GROUP)
    relation = element.apply_domain(keyed).coalesce()
    relation = _renamed(relation.gist_domain(relation.domain()), name)
    array, location = plan.found.target.array, plan.before.location
    read, write = (AccessRelation(array, kind, relation, location) for kind in (AccessKind.READ, AccessKind.WRITE))
    return read, write


def _access(plan: ReductionPlan, statement: str, which: str, kind: AccessKind, relation: isl.Map) -> AccessRelation:
    array = plan.names[which]
    relation = _renamed(relation, statement).set_tuple_name(isl.dim_type.out, array)
    relation = relation.gist_domain(relation.domain()).coalesce()
    return AccessRelation(array, kind, relation, plan.before.location)


def _renamed(relation: isl.Map, statement: str) -> isl.Map:
    return relation.set_tuple_name(isl.dim_type.in_, statement)


def _statement(
    plan: ReductionPlan,
    which: str,
    iterators: tuple[str, ...],
    domain: isl.Set,
    body: tuple[Stmt, ...],
    accesses: tuple[AccessRelation, ...],
    text: str,
) -> Statement:
    what = f"partial results of {plan.found.target.array}: {text}"
    for k, iterator in enumerate(iterators):
        domain = domain.set_dim_name(isl.dim_type.set, k, iterator)
    return Statement(plan.names[which], iterators, domain, body, accesses, plan.before.location, text=what)


def _location(form: Stmt) -> Location:
    assert isinstance(form, Assign | If)
    return form.location
