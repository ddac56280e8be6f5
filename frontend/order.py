"""The original order of execution as an isl schedule tree."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, Location
from polytile.ir.expr import Expr
from polytile.ir.scop import SourceLoop


@dataclass(frozen=True, slots=True)
class Leaf:
    """One statement."""

    statement: str


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop over `body`; it is dimension `depth` of each statement in it, and runs down when `descending`."""

    depth: int
    descending: bool
    body: tuple[Order, ...]
    iterator: str = ""  # as the user calls it
    location: Location = NOWHERE
    value: Expr | None = None  # of the user's iterator, where the dimension is the number of the iteration


Order = Leaf | Loop


def schedule(orders: Sequence[Order], domains: dict[str, isl.Set]) -> isl.Schedule | None:
    """The schedule tree of statements and loops in sequence; None when there are none."""
    result: isl.Schedule | None = None
    for order in orders:
        one = _one(order, domains)
        if one is not None:
            result = one if result is None else result.sequence(one)
    return result


def only(orders: Sequence[Order], names: Collection[str]) -> tuple[Order, ...]:
    """The loops and statements without statements other than these."""
    kept = (replace(o, body=only(o.body, names)) if isinstance(o, Loop) else o for o in orders)
    return tuple(o for o in kept if (o.body if isinstance(o, Loop) else o.statement in names))


def _one(order: Order, domains: dict[str, isl.Set]) -> isl.Schedule | None:
    if isinstance(order, Leaf):
        return isl.Schedule.from_domain(isl.UnionSet.from_set(domains[order.statement]))
    body = schedule(order.body, domains)
    if body is None:
        return None
    return body.insert_partial_schedule(_band(order, [domains[s] for s in _statements(order)]))


def _statements(order: Order) -> list[str]:
    if isinstance(order, Leaf):
        return [order.statement]
    return [s for inner in order.body for s in _statements(inner)]


def source_loops(orders: Sequence[Order]) -> Iterator[SourceLoop]:
    """The loops that run statements, each before those inside of it."""
    for order in orders:
        if isinstance(order, Loop):
            inside = _statements(order)
            if inside:
                yield SourceLoop(order.iterator, order.depth, tuple(inside), order.location, order.value)
            yield from source_loops(order.body)


def _band(loop: Loop, domains: Sequence[isl.Set]) -> isl.MultiUnionPwAff:
    values: list[isl.UnionPwAff] = []
    for domain in domains:
        space = isl.LocalSpace.from_space(domain.get_space())
        value = isl.Aff.var_on_domain(space, isl.dim_type.set, loop.depth)
        if loop.descending:
            value = value.neg()
        values.append(isl.UnionPwAff.from_pw_aff(isl.PwAff.from_aff(value)))
    return isl.MultiUnionPwAff.from_union_pw_aff(functools.reduce(isl.UnionPwAff.union_add, values))
