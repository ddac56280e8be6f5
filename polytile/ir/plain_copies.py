"""Statements that only copy an element, `A[i] = B[i]`: the value arrives as it was, bit by bit."""

from __future__ import annotations

from polytile.ir.expr import Access, Assign
from polytile.ir.scop import AccessKind, Scop, Statement


def is_plain_copy(scop: Scop, statement: Statement) -> bool:
    """Return whether each instance of a statement just takes one element to one other of the same type."""
    if len(statement.body) != 1 or len(statement.accesses) != 2:
        return False
    (body,) = statement.body
    if not isinstance(body, Assign) or body.op or not isinstance(body.value, Access):
        return False
    target, value = body.target, body.value
    if not isinstance(target, Access) or target.field or value.field:
        return False
    wanted = {(target.array, AccessKind.WRITE), (value.array, AccessKind.READ)}
    one, other = scop.array(target.array), scop.array(value.array)
    return (
        {(a.array, a.kind) for a in statement.accesses} == wanted
        and one.element == other.element
        and not one.fields
        and not other.fields
        and takes_one_element(scop, statement)
    )


def takes_one_element(scop: Scop, statement: Statement) -> bool:
    """Return whether each instance has exactly one element for each access."""
    domain = statement.domain.intersect_params(scop.context)
    own = [a.relation.intersect_domain(domain) for a in statement.accesses]
    return all(m.is_single_valued() and domain.is_subset(m.domain()) for m in own)
