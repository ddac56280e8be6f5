"""Reductions as chains: the instances of a statement `x op= e` that pass one value on, each to the next.

Instances that agree in the iterators of a group form an uninterrupted chain when one of them alone takes its value from
elsewhere, each other one from its predecessor, and nobody but the successor sees what is not the last value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Scope, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.reductions import Accumulation, accumulation
from polytile.ir.scop import AccessKind, AccessRelation, Scop, Statement


@dataclass(frozen=True, slots=True)
class Values:
    """Where the values of one array go: `flow` from writers to readers, `unset` readers (of elements) that see what was
    there before, `last` writers of what is seen afterwards."""

    flow: isl.UnionMap = field(compare=False)
    unset: isl.UnionMap = field(compare=False)
    last: isl.UnionMap = field(compare=False)


def broken_chain(members: isl.UnionSet, group: isl.UnionMap, values: Values) -> str | None:
    """Return why the `members` of each group (`{ S[i, j] -> x[i] }`) are no uninterrupted chain; None when they are."""
    flow = values.flow
    inner = flow.intersect_domain(members).intersect_range(members)
    into = flow.intersect_range(members)
    outside = flow.intersect_domain(members).subtract_range(members).union(values.last.intersect_domain(members))
    steps = inner.apply_domain(group).apply_range(group)
    if not steps.is_subset(isl.UnionSet.identity(steps.domain())):
        return "a value goes to another group"
    if not into.reverse().is_single_valued() or not into.range().is_disjoint(values.unset.domain()):
        return "a value comes from several places"
    if not inner.is_single_valued():
        return "a value is used twice"
    if not group.intersect_domain(members.subtract(inner.range())).is_injective():
        return "a group takes several values from outside"
    if not outside.domain().is_disjoint(inner.domain()):
        return "a value is seen before the last"
    return None


def accumulated(statement: Statement) -> tuple[tuple[Stmt, Accumulation], ...]:
    """Return the statements of a body that use the array reduced into, each with what it accumulates.

    Returns none where the body uses that array in another way, or under a condition.
    """
    if statement.reduction is None:
        return ()
    op, array = statement.reduction.op, statement.reduction.array
    found: list[tuple[Stmt, Accumulation]] = []
    for stmt in _flat(statement.body):
        if any(isinstance(n, Access) and n.array == array for n in walk(stmt)):
            update = accumulation(stmt)
            if update is None or (update.op, update.target.array) != (op, array):
                return ()
            found.append((stmt, update))
    return tuple(found)


def _flat(body: tuple[Stmt, ...]) -> list[Stmt]:
    return [inner for s in body for inner in (_flat(s.body) if isinstance(s, Scope) else [s])]


def own_element(statement: Statement, array: str) -> isl.Map | None:
    """Return the element of `array` that each instance reads and writes, or None where it uses others too, or none."""
    found = [a for a in statement.accesses if a.array == array]
    relations = [a.relation.intersect_domain(statement.domain) for a in found]
    kinds = {a.kind for a in found}
    if AccessKind.READ not in kinds or AccessKind.KILL in kinds or not any(a.writes for a in found):
        return None
    same = all(r.is_equal(relations[0]) for r in relations)
    return relations[0] if same and relations[0].is_single_valued() else None


def settled(scop: Scop, names: frozenset[str]) -> Scop:
    """Return the Scop with certain writes in these reductions.

    before: if (e > x) x = e;      may write x
    after:  x = e > x ? e : x;     writes x
    """

    def certain(access: AccessRelation, array: str) -> AccessRelation:
        may = access.kind is AccessKind.MAY_WRITE and access.array == array
        return replace(access, kind=AccessKind.WRITE) if may else access

    def change(s: Statement) -> Statement:
        if s.name not in names or s.reduction is None:
            return s
        return replace(s, accesses=tuple(certain(a, s.reduction.array) for a in s.accesses))

    statements = tuple(change(s) for s in scop.statements)
    return scop if statements == scop.statements else replace(scop, statements=statements)


def projection(domain: isl.Set, keep: Sequence[int], name: str) -> isl.Map:
    """Return `{ S[i, j, k] -> name[i, k] }` for the positions (0, 2)."""
    space = isl.LocalSpace.from_space(domain.get_space())
    total = isl.Map.from_domain(domain)
    for k in keep:
        column = isl.Map.from_aff(isl.Aff.var_on_domain(space, isl.dim_type.set, k))
        total = total.flat_range_product(column)
    return total.set_tuple_name(isl.dim_type.out, name)
