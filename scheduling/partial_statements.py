"""The statements of a reduction in partial results, and their arrays.

before: S[i, j]: x[i] += A[i][j]
after:  I[i, l]: part[i][l] = 0;  U[i, j]: part[i][j % 32] += A[i][j];
        C[i]: { v = 0; for (l < 32) v = v + part[i][l]; x[i] += v; }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from polytile.diagnostics import Location
from polytile.ir.expr import Access, Assign, CType, Declare, Expr, For, If, Literal, Name, Stmt, rewrite, walk
from polytile.ir.reductions import Accumulation
from polytile.ir.scop import (
    AccessKind,
    AccessRelation,
    Array,
    Combination,
    Origin,
    Privatised,
    Reduction,
    Scop,
    Split,
    Statement,
)
from polytile.scheduling.chains import own_element, projection
from polytile.scheduling.insertion import around_groups
from polytile.scheduling.partials import Layout, Quotient, combine_body, finished, initial_body, layout, update

GROUP = "x"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a reduction is split into. Keys are its results, each with its chunks; `keyed` maps instances to them."""

    scop: Scop
    before: Statement
    form: Stmt  # of the body
    found: Accumulation
    type: CType  # of partial results
    group: tuple[int, ...]
    splits: tuple[Split, ...]
    blocked: tuple[tuple[int, int], ...]
    names: Mapping[str, str]
    key_names: tuple[str, ...]
    lane_names: tuple[str, ...]
    keyed: isl.Map = field(compare=False)
    partial: Layout
    middle: Layout

    @property
    def lanes(self) -> tuple[Split, ...]:
        return tuple(s for s in self.splits if s.lanes)

    @property
    def chunks(self) -> tuple[Split, ...]:
        return tuple(s for s in self.splits if not s.lanes)

    @property
    def keys(self) -> isl.Set:
        return self.keyed.range()

    @property
    def key(self) -> tuple[Expr, ...]:
        return tuple(Name(n) for n in self.key_names)

    @property
    def all_lanes(self) -> isl.Set:
        box = isl.Set.universe(isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(self.lanes)))
        for k, split in enumerate(self.lanes):
            box = box.lower_bound_val(isl.dim_type.set, k, isl.Val(0))
            box = box.upper_bound_val(isl.dim_type.set, k, isl.Val(split.size - 1))
        return box


def plan_of(
    scop: Scop,
    before: Statement,
    accumulation: tuple[Stmt, Accumulation],
    ctype: CType,
    group: tuple[int, ...],
    splits: tuple[Split, ...],
    blocked: Mapping[int, int],
) -> Plan:
    """How to split the `accumulation` (the statement of the body, and what it is) that `before` does."""
    form, found = accumulation
    target = found.target.array
    fresh = _Fresh(scop)
    chunks = [s for s in splits if not s.lanes]
    names = {k: fresh(f"{target}_{k}") for k in ("part", "mid", "sum")}
    names |= {k: fresh(f"{before.name}_{k}") for k in ("init", "update", "fold", "finish")}
    keyed = projection(before.domain.intersect_params(scop.context), group, GROUP)
    for split in chunks:
        keyed = keyed.flat_range_product(_column(before.domain, split)).set_tuple_name(isl.dim_type.out, GROUP)
    order = (*range(len(group), len(group) + len(chunks)), *range(len(group)))
    tiles = {position: blocked[k] for position, k in enumerate(group) if k in blocked}
    return Plan(
        scop,
        before,
        form,
        found,
        ctype,
        group,
        splits,
        tuple((k, blocked[k]) for k in group if k in blocked),
        names,
        (*(before.iterators[k] for k in group), *(fresh(f"{before.iterators[s.iterator]}_chunk") for s in chunks)),
        tuple(fresh(f"{before.iterators[s.iterator]}_lane") for s in splits if s.lanes),
        keyed.coalesce(),
        layout(keyed.range(), order, tiles, scop.context),
        layout(keyed.range(), order, {}, scop.context),
    )


class _Fresh:
    """Names that nothing in a Scop has."""

    def __init__(self, scop: Scop) -> None:
        self.taken = {a.name for a in scop.arrays} | {p.name for p in scop.parameters}
        for statement in scop.statements:
            nodes = [n for s in statement.body for n in walk(s)]
            self.taken |= {statement.name, *statement.iterators}
            self.taken |= {n.name for n in nodes if isinstance(n, Declare)}
            self.taken |= {n.iterator for n in nodes if isinstance(n, For)}

    def __call__(self, wanted: str) -> str:
        while wanted in self.taken:
            wanted += "_"
        self.taken.add(wanted)
        return wanted


def _column(domain: isl.Set, split: Split) -> isl.Map:
    """The chunk or the lane of each instance, a tuple of one without a name."""
    space = isl.LocalSpace.from_space(domain.get_space())
    iterator = isl.Aff.var_on_domain(space, isl.dim_type.set, split.iterator)
    size = isl.Val(split.size)
    return isl.Map.from_aff(iterator.mod_val(size) if split.lanes else iterator.scale_down_val(size).floor())


def rewritten(plan: Plan) -> Scop:
    """The Scop with the statement replaced by those of its partial results."""
    initial, changed = _initial(plan), _update(plan)
    combine = _combine(plan) if plan.lanes else None
    finish = _finish(plan) if plan.chunks else None
    behind = [s for s in (combine, finish) if s is not None]
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
    )
    return replace(
        plan.scop,
        arrays=(*plan.scop.arrays, *_arrays(plan)),
        statements=tuple(statements),
        schedule=around_groups(plan.scop, plan.before, changed, plan.group, [initial], behind),
        privatised=(*plan.scop.privatised, privatised),
    )


def _arrays(plan: Plan) -> list[Array]:
    def array(name: str, extents: Sequence[Expr]) -> Array:
        location = plan.scop.array(plan.found.target.array).location
        return Array(name, plan.type, tuple(extents), Origin.TEMPORARY, False, False, location=location)

    found = [array(plan.names["part"], (*plan.partial.extents, *_lane_extents(plan)))]
    if plan.lanes and plan.chunks:
        found.append(array(plan.names["mid"], plan.middle.extents))
    return found


def _lane_extents(plan: Plan) -> list[Expr]:
    """One element of padding behind lanes of an even number where results of one block are side by side: threads that
    each use one of these would meet in a bank of shared memory."""
    sizes = [s.size for s in plan.lanes]
    if sizes and sizes[-1] % 2 == 0 and any(d.tile is not None for d in plan.partial.dimensions):
        sizes[-1] += 1
    return [Literal(str(size)) for size in sizes]


# The statements ------------------------------------------------------------------------------------------------------
def _initial(plan: Plan) -> Statement:
    """Each lane of each key starts at what is neutral."""
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


def _update(plan: Plan) -> Statement:
    """The statement itself, into its part."""
    before, name, array = plan.before, plan.names["update"], plan.found.target.array
    key = [Name(before.iterators[k]) for k in plan.group] + [_of(plan, s) for s in plan.chunks]
    subscripts = (*plan.partial.subscripts(key), *(_of(plan, s) for s in plan.lanes))
    form = update(plan.found, Access(plan.names["part"], subscripts, plan.type, location=plan.found.target.location))
    form = replace(form, location=_location(plan.form))
    leading = plan.keyed.apply_range(plan.partial.relation(plan.keys))
    for split in plan.lanes:
        leading = leading.flat_range_product(_column(before.domain, split))
    others = [replace(a, relation=_renamed(a.relation, name)) for a in before.accesses if a.array != array]
    return replace(
        before,
        name=name,
        domain=before.domain.set_tuple_name(name),
        body=tuple(rewrite(s, lambda node: form if node == plan.form else node) for s in before.body),
        accesses=(
            *others,
            _access(plan, name, "part", AccessKind.READ, leading),
            _access(plan, name, "part", AccessKind.WRITE, leading),
        ),
        reduction=Reduction(plan.found.op, plan.names["part"]),
        parts=before.parts or (before.name,),
    )


def _of(plan: Plan, split: Split) -> Expr:
    """The chunk or the lane, of the statement's own iterator."""
    domain = plan.before.domain.intersect_params(plan.scop.context)
    natural = bool(domain.is_subset(domain.lower_bound_val(isl.dim_type.set, split.iterator, isl.Val(0))))
    value, quotient = Name(plan.before.iterators[split.iterator]), Quotient(natural)
    return quotient.lane(value, split.size) if split.lanes else quotient.chunk(value, split.size)


def _combine(plan: Plan) -> Statement:
    """One instance reads all lanes of a key; the value goes to the result, or waits for other chunks."""
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


def _finish(plan: Plan) -> Statement:
    """The chunks of a result, one after the other."""
    name = plan.names["finish"]
    which, found = ("mid", plan.middle) if plan.lanes else ("part", plan.partial)
    part = Access(plan.names[which], found.subscripts(plan.key), plan.type)
    accesses = (_access(plan, name, which, AccessKind.READ, found.relation(plan.keys)), *_result_accesses(plan, name))
    body = (replace(finished(plan.found, part), location=_location(plan.form)),)
    domain = plan.keys.set_tuple_name(name)
    made = _statement(plan, "finish", plan.key_names, domain, body, accesses, "over all chunks")
    return replace(made, reduction=Reduction(plan.found.op, plan.found.target.array))


def _result_accesses(plan: Plan, name: str) -> tuple[AccessRelation, AccessRelation]:
    """The result of a key is read and written."""
    element = own_element(plan.before, plan.found.target.array)
    assert element is not None
    relation = element.intersect_params(plan.scop.context).apply_domain(plan.keyed).coalesce()
    relation = _renamed(relation.gist_domain(relation.domain()), name)
    array, location = plan.found.target.array, plan.before.location
    read, write = (AccessRelation(array, kind, relation, location) for kind in (AccessKind.READ, AccessKind.WRITE))
    return read, write


def _access(plan: Plan, statement: str, which: str, kind: AccessKind, relation: isl.Map) -> AccessRelation:
    array = plan.names[which]
    relation = _renamed(relation, statement).set_tuple_name(isl.dim_type.out, array)
    relation = relation.gist_domain(relation.domain()).coalesce()
    return AccessRelation(array, kind, relation, plan.before.location)


def _renamed(relation: isl.Map, statement: str) -> isl.Map:
    return relation.set_tuple_name(isl.dim_type.in_, statement)


def _statement(
    plan: Plan,
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
