"""Whether the fusion of the statements of a loop body serializes the loop: whether they wait for one another only as
one statement.

before: for (i) { t = c[i]; S1: a[i] = t * b[i]; S2: b[i + 1] = t; }      S1 waits for S2 one iteration before
after:  for (i) t[i] = c[i]; for (i) b[i + 1] = t[i]; for (i) a[i] = t[i] * b[i];

Where dependences are a cycle, an iteration has to wait [Allen and Kennedy 1987].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polytile.ir.digraph import edge_of_a_cycle, graph_of
from polytile.ir.scop import AccessKind, Statement

_Times = Mapping[str, isl.Map]


def fusion_serializes(group: Sequence[Statement], scalars: frozenset[str], times: _Times) -> bool:
    """Return whether the loop around a body is serial with its statements as one, and not with each in a loop of its
    own.

    `scalars` are those that each iteration sets before it reads them, so that each may have its own; `times` are when
    statements run. Only the innermost loop is looked at.
    """
    place = {s.name: k for k, s in enumerate(group)}
    edges = [
        (one.name, other.name)
        for one in group
        for other in group
        if any(_waits(other, one, array, times) for array in _shared(one, other) - scalars)
    ]
    if all(place[one] < place[other] for one, other in edges):
        return False
    for k, early in enumerate(group):
        for late in group[k + 1 :]:
            shared = _shared(early, late)
            if shared & scalars or any(_waits(late, early, a, times, here=True) for a in shared - scalars):
                edges.append((early.name, late.name))
    return edge_of_a_cycle(graph_of(place, edges)) is None


def _shared(one: Statement, other: Statement) -> frozenset[str]:
    """Return the arrays that both use, and one of them sets."""
    common = {a.array for a in one.accesses} & {a.array for a in other.accesses}
    return frozenset(common & {a.array for s in (one, other) for a in s.accesses if a.writes})


def _waits(then: Statement, first: Statement, array: str, times: _Times, *, here: bool = False) -> bool:
    """Return whether an iteration of the innermost loop uses an element that an earlier one, or the same one, uses in
    another statement, and one of the two sets it."""
    own, others = (times[s.name].intersect_domain(s.domain) for s in (first, then))
    before = own.apply_range(_order(own.range().get_space(), here)).apply_range(others.reverse())
    uses = [[a for a in s.accesses if a.array == array and a.kind is not AccessKind.KILL] for s in (first, then)]
    for a in uses[0]:
        for b in (b for b in uses[1] if a.writes or b.writes):
            if not a.relation.apply_range(b.relation.reverse()).intersect(before).is_empty():
                return True
    return False


def _order(space: isl.Space, here: bool) -> isl.Map:
    """Return the relation from iterations to later ones of the innermost loop, or to themselves."""
    if here:
        return isl.Map.identity(space.map_from_set())
    later = isl.Map.lex_lt(space)
    for k in range(space.dim(isl.dim_type.set) - 1):
        later = later.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    return later
