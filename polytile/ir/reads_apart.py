"""Statements that accumulate into one element of an array and read others of it, in two: a reduction like others, and
what it reads beside it.

before: for (i) for (j < i) S: x[i] -= A[i][j] * x[j];
after:  for (i) for (j < i) { S_reads: x[j]; S: x[i] -= A[i][j] * (what was read); }        S is a reduction into x

Both are for questions alone: what becomes of the values of x[i] is separate from who reads x[j].
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import islpy as isl

from polytile.ir.expr import Access, Assign, Expr, Stmt
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.identity_key import remembered
from polytile.ir.isl_util import maps
from polytile.ir.reductions import accumulation
from polytile.ir.scop import AccessKind, AccessRelation, Reduction, Scop, Statement

OUT = isl.dim_type.out


def in_place(statement: Statement) -> Reduction | None:
    """Return the reduction that a statement is, but for reading other elements of its array.

    Returns None for other statements, which reductions without such reads are, too.
    """
    found = _parts(statement)
    return found[1].reduction if found else None


def with_reads_apart(scop: Scop, names: Collection[str]) -> Scop:
    """Split each of these statements in two if it is a reduction but for what it reads of its array."""
    parts = {s.name: found for s in scop.statements if s.name in names and (found := _parts(s)) is not None}
    if not parts:
        return scop
    statements = [part for s in scop.statements for part in parts.get(s.name, (s,))]
    order: isl.UnionMap | None = None
    for time in maps(scop.schedule.get_map().intersect_domain(scop.domain)):
        name, last = time.get_tuple_name(isl.dim_type.in_), time.dim(OUT)
        time = time.add_dims(OUT, 1)
        for k, part in enumerate(parts.get(name, (scop.statement(name),))):
            own = time.fix_val(OUT, last, isl.Val(k)).set_tuple_name(isl.dim_type.in_, part.name)
            order = isl.UnionMap.from_map(own) if order is None else order.union(isl.UnionMap.from_map(own))
    assert order is not None
    band = isl.MultiUnionPwAff.from_union_map(order)
    tree = isl.Schedule.from_domain(order.domain()).insert_partial_schedule(band)
    return replace(scop, statements=tuple(statements), schedule=tree)


@remembered
def _parts(statement: Statement) -> tuple[Statement, Statement] | None:
    """Find what a statement reads beside the element that it accumulates into, and the accumulation."""
    writes = [a for a in statement.accesses if a.writes]
    if statement.reduction or statement.parts or len(statement.body) != 1 or len(writes) != 1:
        return None
    (body,), (write,) = statement.body, writes
    if write.kind is not AccessKind.WRITE or not isinstance(body, Assign) or not isinstance(body.target, Access):
        return None
    target, array = body.target, write.array
    others = [a for a in statement.accesses if a.array == array and a is not write and not _is_same(a, write)]
    if not others or any(_meet(a, write, statement.domain) for a in others):
        return None
    spelt = {n for n in walk(body) if isinstance(n, Access) and n.array == array and n != target}
    found = accumulation(_without(body, array, target))
    if len(spelt) != len(others) or found is None or found.target != target:
        return None
    name = f"{statement.name}_reads"
    reads = tuple(replace(a, relation=a.relation.set_tuple_name(isl.dim_type.in_, name)) for a in others)
    beside = Statement(name, statement.iterators, statement.domain.set_tuple_name(name), (), reads, statement.location)
    kept = tuple(a for a in statement.accesses if a not in others)
    whole = replace(statement, body=(_without(body, array, target),), accesses=kept)
    return beside, replace(whole, reduction=Reduction(found.op, array))


def _without(body: Stmt, array: str, target: Access) -> Stmt:
    """Rename the array in a body where it is not the target."""

    def change(node: Expr | Stmt) -> Expr | Stmt:
        other = isinstance(node, Access) and node.array == array and node != target
        return replace(node, array=f"{array} beside") if other and isinstance(node, Access) else node

    found = rewrite(body, change)
    assert isinstance(found, Assign)
    return found


def _is_same(one: AccessRelation, other: AccessRelation) -> bool:
    return bool(one.relation.is_equal(other.relation))


def _meet(one: AccessRelation, other: AccessRelation, domain: isl.Set) -> bool:
    """Return whether two accesses of one instance may be to one element."""
    return not one.relation.intersect(other.relation).intersect_domain(domain).is_empty()
