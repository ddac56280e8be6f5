"""Fusion of locals: assignments of one loop body that communicate through scalars of that body are one statement.

before: for (i) { S0: t = A[i]; S1: u = t * t; S2: B[i] = t + u; }           t and u are arrays of the SCoP
after:  for (i) S2: { double t, u; t = A[i]; u = t * t; B[i] = t + u; }      t and u are names of the body

A scalar qualifies when it is the SCoP's own and each iteration writes it before it reads it, be it written again under
conditions on data; its users may set different elements of one array. What sets a scalar that nothing reads joins
another statement of the body, where a kernel of its own would do nothing. Expansion would give it
an element for each iteration, and contraction would take that away again: here neither has anything to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from polytile.ir.digraph import connected
from polytile.ir.expr import Access, Assign, Declare, If, Scope, Stmt, walk
from polytile.ir.isl_util import maps, sets
from polytile.ir.schedule import nodes
from polytile.ir.scop import AccessKind, AccessRelation, Origin, Scop, Statement
from polytile.ir.substitute import with_names
from polytile.scheduling.transform.serializing_fusion import fusion_serializes

MANY = 60  # statements: dependences, schedules and proofs then take seconds
Bodies = list[list[str]]  # the statements of each child of a sequence, in order


def fuse_locals(scop: Scop) -> Scop:
    """Fuse what communicates through locals, in every loop body (see the top of this file)."""
    own = [a.name for a in scop.arrays if a.origin is Origin.LOCAL and a.rank == 0 and not a.fields]
    if not own:
        return scop
    by_name = {s.name: s for s in scop.statements}
    alone = _accessed_once(scop).intersection(own)
    fused: dict[str, Statement] = {}
    gone: set[str] = set()
    inner: set[str] = set()
    for bodies, together, times in _sequences(scop, by_name):
        here = [by_name[name] for name in together]
        unread = {s.name: name for s in here for name in alone & _changed(s) if _is_unread(scop, s, name)}
        for one, shared in _groups_and_others(scop, here, own):
            if any(s.name in gone or s.name in fused for s in one):
                continue  # it has joined another one
            for group, scalars in _with_and_without(here, one, shared, unread):
                apart = _is_better_apart(scop, group, scalars, times)
                if not apart and _can_run_together(by_name, bodies, group, scalars):
                    fused[group[-1].name] = _fused(scop, group, scalars)
                    gone.update(s.name for s in group[:-1])
                    inner |= scalars
                    unread = {name: scalar for name, scalar in unread.items() if scalar not in scalars}
                    break
    return _without(scop, fused, gone, inner) if fused else scop


def fuse_writers(scop: Scop) -> Scop:
    """Statements of one loop body that only set elements of one array are one, in Scops of many statements, whose
    analysis takes as many times longer:

    before: for (i) { S0: A[i][0] = x[i]; S1: A[i][1] = 2 * x[i]; ... S74: A[i][74] = y[i]; }
    after:  for (i) S74: { A[i][0] = x[i]; A[i][1] = 2 * x[i]; ...; A[i][74] = y[i]; }
    """
    if len(scop.statements) <= MANY:
        return scop
    by_name = {s.name: s for s in scop.statements}
    fused: dict[str, Statement] = {}
    gone: set[str] = set()
    for bodies, together, _ in _sequences(scop, by_name):
        for writers in _writers([by_name[name] for name in together]):
            for group in _parts(by_name, bodies, writers):
                fused[group[-1].name] = _fused(scop, group, frozenset())
                gone.update(s.name for s in group[:-1])
    return _without(scop, fused, gone, set()) if fused else scop


def _writers(statements: list[Statement]) -> Iterator[list[Statement]]:
    """The statements that only assign, and set elements of common arrays."""
    plain = [s for s in statements if len(s.body) == 1 and _assigns(s.body[0]) and s.reduction is None]
    edges = [(("array", array), ("statement", s.name)) for s in plain for array in _changed(s)]
    for members in connected((), edges):
        group = [s for s in plain if ("statement", s.name) in members]
        if len(group) > 1:
            yield group


def _parts(by_name: dict[str, Statement], bodies: Bodies, group: list[Statement]) -> Iterator[list[Statement]]:
    """The statements, or what of each half can run together: a reader of what some of them set keeps few apart.

    before: A[i][0] = x; A[i][1] = y; B[i] = A[i][1]; A[i][2] = z; A[i][3] = w;
    after:  {A[i][0] = x; A[i][1] = y;}  B[i] = A[i][1];  {A[i][2] = z; A[i][3] = w;}
    """
    if _can_run_together(by_name, bodies, group, frozenset()):
        yield group
    elif len(group) > 3:
        for half in (group[: len(group) // 2], group[len(group) // 2 :]):
            yield from _parts(by_name, bodies, half)


def _without(scop: Scop, fused: dict[str, Statement], gone: set[str], inner: set[str]) -> Scop:
    statements = tuple(fused.get(s.name, s) for s in scop.statements if s.name not in gone)
    rest = isl.UnionSet.empty(scop.context.get_space().params())
    for statement in statements:
        rest = rest.union(isl.UnionSet.from_set(statement.domain))
    return replace(
        scop,
        arrays=tuple(a for a in scop.arrays if a.name not in inner),
        statements=statements,
        schedule=scop.schedule.intersect_domain(rest),
    )


def _sequences(scop: Scop, by_name: dict[str, Statement]) -> Iterator[tuple[Bodies, list[str], dict[str, isl.Map]]]:
    """The loop bodies: the statements of each child, those that run once for each iteration, all for the same, and the
    iterations in which statements run."""
    for node in nodes(scop.schedule):
        if node.get_type() != isl.schedule_node_type.sequence:
            continue
        times = {str(m.get_tuple_name(isl.dim_type.in_)): m for m in maps(node.get_prefix_schedule_union_map())}
        bodies: Bodies = []
        together: list[str] = []
        for i in range(node.n_children()):
            child = node.child(i).child(0)
            names = [str(s.get_tuple_name()) for s in sets(child.get_domain())]
            bodies.append(names)
            if child.get_type() != isl.schedule_node_type.leaf or len(names) != 1:
                continue
            first = by_name[together[0] if together else names[0]]
            if _same_instances(first, by_name[names[0]], times):
                together.append(names[0])
        yield bodies, together, times


def _same_instances(first: Statement, other: Statement, times: dict[str, isl.Map]) -> bool:
    """Whether two statements run in the same iterations, once in each, with the same values of their iterators."""
    if first.iterators != other.iterators:
        return False
    one, two = (times[s.name].intersect_domain(s.domain) for s in (first, other))
    return bool(one.is_injective() and one.is_equal(two.set_tuple_name(isl.dim_type.in_, first.name)))


def _groups(
    scop: Scop, statements: list[Statement], own: list[str]
) -> Iterator[tuple[list[Statement], frozenset[str]]]:
    """The statements that share qualifying scalars, with these scalars."""
    edges: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for name in own:
        users = [s.name for s in scop.accessing(name)]
        here = [s for s in statements if s.name in users]
        if len(here) == len(users) and len(here) > 1 and _is_local(scop, name, here):
            edges += ((("scalar", name), ("statement", user)) for user in users)
    for members in connected((), edges):
        group = [s for s in statements if ("statement", s.name) in members]
        yield group, frozenset(name for kind, name in members if kind == "scalar")


def _accessed_once(scop: Scop) -> set[str]:
    """The arrays with one access in all statements."""
    count = Counter(a.array for s in scop.statements for a in s.accesses)
    return {array for array, times in count.items() if times == 1}


def _is_unread(scop: Scop, statement: Statement, name: str) -> bool:
    """Whether a statement only sets a scalar, which it alone accesses."""
    return _changed(statement) == {name} and _is_local(scop, name, [statement])


def _groups_and_others(
    scop: Scop, statements: list[Statement], own: list[str]
) -> Iterator[tuple[list[Statement], frozenset[str]]]:
    """The statements that share qualifying scalars, and each of the others by itself."""
    grouped: set[str] = set()
    for group, scalars in _groups(scop, statements, own):
        grouped.update(s.name for s in group)
        yield group, scalars
    yield from (([s], frozenset()) for s in statements if s.name not in grouped)


def _with_and_without(
    statements: list[Statement], group: list[Statement], scalars: frozenset[str], unread: dict[str, str]
) -> Iterator[tuple[list[Statement], frozenset[str]]]:
    """A group with what sets scalars that nothing reads, and without those that are not in it."""
    names = {s.name for s in group}
    for taken in dict.fromkeys((frozenset(names | unread.keys()), frozenset(names))):
        found = [s for s in statements if s.name in taken]
        if len(found) > 1 and not names <= unread.keys():
            yield found, scalars | {unread[s.name] for s in found if s.name in unread}


def _is_local(scop: Scop, name: str, users: list[Statement]) -> bool:
    """Whether the first user gives the scalar its value, by a plain assignment, and all users are assignments, those
    behind the first under conditions on data, too."""
    taken = {p.name for p in scop.parameters} | {i for s in users for i in s.iterators}
    if name in taken or not all(len(s.body) == 1 and _assigns(s.body[0]) for s in users):
        return False
    assign = users[0].body[0]
    if not isinstance(assign, Assign):
        return False
    return _sets(assign, name)


def _sets(assign: Assign, name: str) -> bool:
    """Whether an assignment gives a scalar a value that does not depend on the one before."""
    written = isinstance(assign.target, Access) and assign.target.array == name and assign.op == ""
    return written and not any(isinstance(n, Access) and n.array == name for n in walk(assign.value))


def _is_better_apart(
    scop: Scop, group: list[Statement], scalars: frozenset[str], times: dict[str, isl.Map]
) -> bool:
    """Whether statements read what later ones of the group change, so that an iteration may wait for the one before,
    and may run in another order apart: where that is a scalar, or a scalar that they share has several purposes, which
    get variables of their own later (live_range_splitting.py), or they are in no cycle (serializing_fusion.py)."""
    carried = [a for a in scop.arrays if a.name not in scalars and _reads_before(group, a.name)]
    if any(a.origin is Origin.LOCAL and not a.rank for a in carried):
        return True
    if carried and fusion_serializes(group, scalars, times):
        return True
    plain = [s.body[0] for s in group if isinstance(s.body[0], Assign)]
    return bool(carried) and any(sum(_sets(assign, name) for assign in plain) > 1 for name in scalars)


def _reads_before(group: list[Statement], array: str) -> bool:
    """Whether one of the statements uses an array before another one changes it."""
    setting = next((k for k, s in enumerate(group) if array in _changed(s)), 0)
    return any(array in _used(s) for s in group[:setting])


def _assigns(stmt: Stmt) -> bool:
    """Whether a statement only assigns, perhaps under conditions."""
    if isinstance(stmt, If):
        return all(map(_assigns, (*stmt.then, *stmt.otherwise)))
    return isinstance(stmt, Assign)


def _can_run_together(
    by_name: dict[str, Statement], bodies: Bodies, group: list[Statement], scalars: frozenset[str]
) -> bool:
    """Whether no statement of a group reads what another one wrote but scalars, and all may run where the last does."""
    if any(u.array in _used(s) and u not in s.updates for other in group for u in other.updates for s in group):
        return False  # what one updates in any order another one uses
    names = [s.name for s in group]
    before: list[Statement] = []
    for body in bodies:
        if body and body[0] in names:
            member = by_name[body[0]]
            if any(_meets(member, other, scalars) for other in before):
                return False
            before.append(member)
        elif len(before) < len(group) and any(_conflict(m, by_name[n]) for m in before for n in body):
            return False
    return True


def _meets(member: Statement, before: Statement, scalars: frozenset[str]) -> bool:
    """Whether a statement uses, but for scalars, what one before it in the body changes: an array that it reads, as a
    statement's reads come before its writes; or an element that it changes, too, be it in another iteration, as loops
    over each of them may be parallel, and one over both is not."""
    changed, read = _changed(before) - scalars, _read(member)
    both = changed & _changed(member)
    return bool(changed & read) or any(_common(_writes(before, a), _writes(member, a)) for a in both)


def _common(some: list[isl.Map], others: list[isl.Map]) -> bool:
    return any(not one.range().intersect(other.range()).is_empty() for one in some for other in others)


def _writes(statement: Statement, array: str) -> list[isl.Map]:
    writes = (a.relation for a in statement.accesses if a.array == array and a.kind is not AccessKind.READ)
    return [relation.intersect_domain(statement.domain) for relation in writes]


def _read(statement: Statement) -> set[str]:
    return {a.array for a in statement.accesses if a.kind is AccessKind.READ}


def _conflict(one: Statement, other: Statement) -> bool:
    """Whether two statements use one array, which one of them changes."""
    return bool(_used(one) & _changed(other) or _used(other) & _changed(one))


def _used(statement: Statement) -> set[str]:
    return {a.array for a in statement.accesses}


def _changed(statement: Statement) -> set[str]:
    return {a.array for a in statement.accesses if a.kind is not AccessKind.READ}


def _fused(scop: Scop, group: list[Statement], scalars: frozenset[str]) -> Statement:
    """One statement, under the last one's name."""
    last = group[-1]
    reductions = [s.reduction for s in group if s.reduction is not None and s.reduction.array not in scalars]
    return replace(
        last,
        body=_body(scop, group, scalars),
        accesses=tuple(_accesses(group, scalars)),
        reduction=reductions[0] if len(reductions) == 1 else None,
        updates=tuple(dict.fromkeys(update for s in group for update in s.updates)),
        text="\n".join(s.text for s in group),
        parts=tuple(part for s in group for part in s.parts or (s.name,)),
    )


def _body(scop: Scop, group: list[Statement], scalars: frozenset[str]) -> tuple[Stmt, ...]:
    # Declared apart from their values, which depend on memory and may only be computed at their place.
    declared = [Declare(a.name, a.element, None, a.location) for a in scop.arrays if a.name in scalars]
    return (Scope((*declared, *(with_names(s.body[0], scalars) for s in group))),)


def _accesses(group: list[Statement], scalars: frozenset[str]) -> Iterator[AccessRelation]:
    """The accesses of all statements but those to the scalars, each once."""
    seen: dict[tuple[str, AccessKind], list[isl.Map]] = {}
    for statement in group:
        for access in statement.accesses:
            if access.array in scalars:
                continue
            relation = access.relation.set_tuple_name(isl.dim_type.in_, group[-1].name)
            known = seen.setdefault((access.array, access.kind), [])
            if not any(relation.is_equal(other) for other in known):
                known.append(relation)
                yield replace(access, relation=relation)
