"""Distribution of parallel loops over the parts inside them, where parts have parallel loops of their own around sums.

before: for (q)* { for (p)* { S; for (s) T; }  for (p)* U; }
after:  for (q)* for (p)* { S; for (s) T; }    for (q)* for (p)* U;

Iterations of a parallel loop do not meet, so that this keeps all dependences; a product then has all its parallel loops
to make tiles of.
"""

from __future__ import annotations

from collections.abc import Mapping

from polytile.scheduling.strategies.band_rewriting import Member
from polytile.scheduling.strategies.loop_nest import (
    Loop,
    Nest,
    Order,
    around,
    domain_of,
    in_order,
    parallel_loops,
)
from polytile.scheduling.strategies.tiled.loop_extents import most_iterations

Known = Mapping[str, int]
Members = tuple[Member, ...]


def distributed(nest: Nest, known: Known, few: int, outer: Members = ()) -> Nest:
    """Distribute the nest's parallel loops where that pays; loops of up to `few` iterations are short."""
    match nest:
        case Loop() if nest.parallel:
            return _parted(nest, known, few, outer)
        case Loop(member, body):
            return Loop(member, distributed(body, known, few, (*outer, member)))
        case Order(children):
            return in_order([distributed(child, known, few, outer) for child in children])
        case _:
            return nest


def _parted(nest: Loop, known: Known, few: int, outer: Members) -> Nest:
    members, inside = parallel_loops(nest)
    inner = (*outer, *members)
    if not isinstance(inside, Order) or not any(_pays(child, known, few, inner) for child in inside.children):
        return nest
    groups: list[list[Nest]] = []
    joins = False
    for child in inside.children:
        alone = isinstance(child, Loop) and child.parallel
        if joins and not alone:
            groups[-1].append(child)
        else:
            groups.append([child])
        joins = not alone
    parts = [around(members, in_order(group)) for group in groups]
    return in_order([distributed(part, known, few, outer) for part in parts])


def _pays(nest: Nest, known: Known, few: int, outer: Members) -> bool:
    """Return whether a part has parallel loops of its own, around a long serial one."""
    members, inside = parallel_loops(nest)
    return bool(members) and has_long_loop(inside, known, few, (*outer, *members))


def has_long_loop(nest: Nest, known: Known, few: int, outer: Members) -> bool:
    """Return whether some loop of a nest may have more than a few iterations."""
    match nest:
        case Loop(member, body):
            return is_long(nest, known, few, outer) or has_long_loop(body, known, few, (*outer, member))
        case Order(children):
            return any(has_long_loop(child, known, few, outer) for child in children)
        case _:
            return False


def iterations(nest: Nest, known: Known, outer: Members) -> int:
    """Return how often the innermost statements of a nest without long loops run at most."""
    match nest:
        case Loop(member, body):
            own = most_iterations(member, outer, domain_of(nest), known) or 1
            return own * iterations(body, known, (*outer, member))
        case Order(children):
            return max(iterations(child, known, outer) for child in children)
        case _:
            return 1


def is_long(loop: Loop, known: Known, few: int, outer: Members) -> bool:
    most = most_iterations(loop.member, outer, domain_of(loop), known)
    return most is None or most > few
