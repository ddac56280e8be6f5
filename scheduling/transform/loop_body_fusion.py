"""Statements of one loop body as one statement: which can be, and the Scop with them.

before: for (i) { S0: A[i][0] = x[i]; S1: B[i] = y[i]; S2: A[i][1] = 2 * x[i]; }
after:  for (i) { S1: B[i] = y[i]; S2: { A[i][0] = x[i]; A[i][1] = 2 * x[i]; } }
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import Declare, Scope, Stmt
from polytile.ir.isl_util import maps, sets
from polytile.ir.schedule import nodes
from polytile.ir.scop import AccessKind, AccessRelation, Scop, Statement
from polytile.ir.substitute import with_names


@dataclass(frozen=True, slots=True)
class LoopBody:
    """The `children` of a sequence, each with its statements in order; `leaves` are the statements that are a child
    without further loops. `times` are the iterations in which statements run."""

    children: tuple[tuple[str, ...], ...]
    leaves: tuple[Statement, ...]
    times: Mapping[str, isl.Map] = field(compare=False)

    @property
    def together(self) -> list[Statement]:
        """Return the statements that run once for each iteration, all for the same as the first one."""
        found: list[Statement] = []
        for statement in self.leaves:
            if self.same_instances(found[0] if found else statement, statement):
                found.append(statement)
        return found

    def same_instances(self, first: Statement, other: Statement) -> bool:
        """Return whether two statements run in the same iterations, once in each, with the same values of their
        iterators."""
        if first.iterators != other.iterators:
            return False
        one, two = (self.times[s.name].intersect_domain(s.domain) for s in (first, other))
        return bool(one.is_injective() and one.is_equal(two.set_tuple_name(isl.dim_type.in_, first.name)))


def loop_bodies(scop: Scop) -> Iterator[LoopBody]:
    """Yield the sequences of a Scop's order."""
    by_name = {s.name: s for s in scop.statements}
    for node in nodes(scop.schedule):
        if node.get_type() != isl.schedule_node_type.sequence:
            continue
        times = {str(m.get_tuple_name(isl.dim_type.in_)): m for m in maps(node.get_prefix_schedule_union_map())}
        below = [node.child(i).child(0) for i in range(node.n_children())]
        children = tuple(tuple(str(s.get_tuple_name()) for s in sets(child.get_domain())) for child in below)
        alone = [
            names[0]
            for child, names in zip(below, children, strict=True)
            if child.get_type() == isl.schedule_node_type.leaf and len(names) == 1
        ]
        yield LoopBody(children, tuple(by_name[name] for name in alone), times)


def can_run_together(
    scop: Scop, body: LoopBody, group: Sequence[Statement], scalars: frozenset[str], *, first: bool = False
) -> bool:
    """Return whether no statement of a group reads what another one wrote but scalars, and all may run where the last
    does, or where the `first` does."""
    if any(u.array in used_arrays(s) and u not in s.updates for other in group for u in other.updates for s in group):
        return False  # what one updates in any order another one uses
    if any(_meets(member, before, scalars) for k, member in enumerate(group) for before in group[:k]):
        return False
    names, moved = {s.name: s for s in group}, list[Statement]()
    others = {s.name: s for s in scop.statements}
    for child in reversed(body.children) if first else body.children:
        if child and child[0] in names:
            moved.append(names[child[0]])
        elif len(moved) < len(group) and any(_conflict(m, others[name]) for m in moved for name in child):
            return False
    return True


def _meets(member: Statement, before: Statement, scalars: frozenset[str]) -> bool:
    """Return whether a statement uses, except scalars, what one before it in the body changes.

    That is an array that it reads, as a statement's reads come before its writes; or an element that it changes, too,
    be it in another iteration, as loops over each of them may be parallel, and one over both is not.
    """
    changed, read = changed_arrays(before) - scalars, _read(member)
    both = changed & changed_arrays(member)
    return bool(changed & read) or any(_common(_writes(before, a), _writes(member, a)) for a in both)


def _common(some: list[isl.Map], others: list[isl.Map]) -> bool:
    return any(not one.range().intersect(other.range()).is_empty() for one in some for other in others)


def _writes(statement: Statement, array: str) -> list[isl.Map]:
    writes = (a.relation for a in statement.accesses if a.array == array and a.kind is not AccessKind.READ)
    return [relation.intersect_domain(statement.domain) for relation in writes]


def _read(statement: Statement) -> set[str]:
    return {a.array for a in statement.accesses if a.kind is AccessKind.READ}


def _conflict(one: Statement, other: Statement) -> bool:
    """Return whether two statements use one array, which one of them changes."""
    return bool(used_arrays(one) & changed_arrays(other) or used_arrays(other) & changed_arrays(one))


def used_arrays(statement: Statement) -> set[str]:
    return {a.array for a in statement.accesses}


def changed_arrays(statement: Statement) -> set[str]:
    return {a.array for a in statement.accesses if a.kind is not AccessKind.READ}


def fused_statement(
    scop: Scop, group: Sequence[Statement], scalars: frozenset[str], *, first: bool = False
) -> Statement:
    """Build one statement, under the name of the last one, or of the `first`: a reduction where all of its parts that
    are reductions are the same."""
    place = group[0 if first else -1]
    reductions = {s.reduction for s in group if s.reduction is not None and s.reduction.array not in scalars}
    return replace(
        place,
        body=_body(scop, group, scalars),
        accesses=tuple(_accesses(group, scalars, place.name)),
        reduction=reductions.pop() if len(reductions) == 1 else None,
        updates=tuple(dict.fromkeys(update for s in group for update in s.updates)),
        text="\n".join(s.text for s in group),
        parts=tuple(part for s in group for part in s.parts or (s.name,)),
    )


def _body(scop: Scop, group: Sequence[Statement], scalars: frozenset[str]) -> tuple[Stmt, ...]:
    # Declared apart from their values, which depend on memory and may only be computed at their place.
    declared = [Declare(a.name, a.element, None, a.location) for a in scop.arrays if a.name in scalars]
    return (Scope((*declared, *(with_names(s.body[0], scalars) for s in group))),)


def _accesses(group: Sequence[Statement], scalars: frozenset[str], name: str) -> Iterator[AccessRelation]:
    """Yield the accesses of all statements except those to the scalars, each once."""
    seen: dict[tuple[str, AccessKind], list[isl.Map]] = {}
    for statement in group:
        for access in statement.accesses:
            if access.array in scalars:
                continue
            relation = access.relation.set_tuple_name(isl.dim_type.in_, name)
            known = seen.setdefault((access.array, access.kind), [])
            if not any(relation.is_equal(other) for other in known):
                known.append(relation)
                yield replace(access, relation=relation)


def with_fused(scop: Scop, fused: Mapping[str, Statement], gone: Collection[str], inner: Collection[str]) -> Scop:
    """Replace statements of the Scop by the fused ones of their names.

    Leaves out statements that are `gone`, and arrays that are names `inner` to bodies now.
    """
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
