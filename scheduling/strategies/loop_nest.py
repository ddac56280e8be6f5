"""Schedule trees as plain records, which are taken apart and put together again before isl has them.

A loop is one member of a band. Reading a band puts its parallel members first, which a permutable band allows, and
leaves out members that are one constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import reduce

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import CONTEXT, functions, is_constant, mark_name
from polytile.ir.schedule import nodes
from polytile.scheduling.strategies.band_rewriting import Member, insert_band, members_of

NODE = isl.schedule_node_type


@dataclass(frozen=True, slots=True)
class Point:
    """One instance of each of these, in each iteration of the loops around."""

    domain: isl.UnionSet = field(compare=False)


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over `body`, parallel where it carries no dependence."""

    member: Member = field(compare=False)
    body: Nest

    @property
    def parallel(self) -> bool:
        return self.member.coincident


@dataclass(frozen=True, slots=True)
class Band:
    """Loops that stay together in one band, which a mark claims."""

    members: tuple[Member, ...] = field(compare=False)
    body: Nest


@dataclass(frozen=True, slots=True)
class Order:
    """Parts one after the other."""

    children: tuple[Nest, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    name: str
    body: Nest


Nest = Point | Loop | Band | Order | Mark


def domain_of(nest: Nest) -> isl.UnionSet:
    """Return the instances that a nest runs."""
    match nest:
        case Point(domain):
            return domain
        case Order(children):
            return reduce(lambda a, b: a.union(b), map(domain_of, children))
        case _:
            return domain_of(nest.body)


def read(node: isl.ScheduleNode) -> Nest:
    """Convert the subtree at a schedule node to a nest."""
    kind = node.get_type()
    if kind == NODE.leaf:
        return Point(node.get_domain())
    if kind in (NODE.sequence, NODE.set):
        children = [node.child(i) for i in range(node.n_children())]
        read_in = [read(child) for child in children if not child.child(0).get_domain().is_empty()]
        return in_order(read_in)  # a set's children may run in any order
    body = read(node.child(0))
    if kind == NODE.band:
        members = members_of(node)
        if node.band_get_permutable():
            members.sort(key=lambda m: not m.coincident)
        return around([m for m in members if not is_single(m, node.get_domain())], body)
    name = mark_name(node)
    return body if name is None else Mark(name, body)


def in_order(children: Sequence[Nest]) -> Nest:
    """Join the parts into a sequence; sequences in it become a part of it."""
    flat: list[Nest] = []
    for child in children:
        flat += child.children if isinstance(child, Order) else (child,)
    return flat[0] if len(flat) == 1 else Order(tuple(flat))


def around(members: Sequence[Member], body: Nest) -> Nest:
    """Put loops around a body, outermost first."""
    for member in reversed(members):
        body = Loop(member, body)
    return body


def parallel_loops(nest: Nest) -> tuple[list[Member], Nest]:
    """Return the parallel loops that a nest starts with, and what is inside."""
    members: list[Member] = []
    while isinstance(nest, Loop) and nest.parallel:
        members.append(nest.member)
        nest = nest.body
    return members, nest


def on_domain(value: isl.UnionPwAff, domain: isl.UnionSet) -> isl.UnionPwAff:
    """Restrict a band member to the statements of a part."""
    return value.intersect_domain(domain.universe())


def is_single(member: Member, domain: isl.UnionSet) -> bool:
    """Return whether a member has one value, the same for all instances: neither a loop nor an order."""
    value = on_domain(member.value, domain)
    if not is_constant(value):
        return False
    constants: set[int] = set()

    def visit(piece: isl.PwAff) -> None:
        piece.foreach_piece(lambda _domain, aff: constants.add(int(aff.get_constant_val().to_python())))

    value.foreach_pw_aff(visit)
    return len(constants) <= 1


def skewed_members(tree: isl.Schedule) -> int:
    """Count the band members that run through several iterators of a statement."""
    members = [m for node in nodes(tree) if node.get_type() == NODE.band for m in members_of(node)]
    return sum(_most_iterators(m.value) > 1 for m in members)


def _most_iterators(value: isl.UnionPwAff) -> int:
    found = [0]
    for piece in functions(value):
        dimensions = range(piece.dim(isl.dim_type.in_))
        found.append(sum(piece.involves_dims(isl.dim_type.in_, i, 1) for i in dimensions))
    return max(found)


def replaced(node: isl.ScheduleNode, nest: Nest) -> isl.ScheduleNode:
    """Replace what is below the node by `nest`; returns the node at the same position."""
    return _inserted(node.cut(), nest)


def to_schedule(nest: Nest, domain: isl.UnionSet | None = None) -> isl.Schedule:
    """Convert the nest to an isl schedule tree, parallel loops inside one another as one permutable band.

    `domain` is what it runs, in fewer pieces perhaps.
    """
    root = isl.Schedule.from_domain(domain_of(nest) if domain is None else domain).get_root()
    return _inserted(root.child(0), nest).get_schedule()


def _inserted(node: isl.ScheduleNode, nest: Nest) -> isl.ScheduleNode:
    match nest:
        case Point():
            return node
        case Order():
            return _inserted_order(node, nest)
        case Mark(name, body):
            return _inserted(node, body).insert_mark(isl.Id(name))
        case Band(members, body):
            return _inserted_band(node, members, body)
        case Loop(member, body):
            own, inside = parallel_loops(nest) if nest.parallel else ([member], body)
            return _inserted_band(node, own, inside)


def _inserted_band(node: isl.ScheduleNode, members: Sequence[Member], body: Nest) -> isl.ScheduleNode:
    domain = domain_of(body)
    own = [replace(m, value=on_domain(m.value, domain)) for m in members]
    return insert_band(_inserted(node, body), own, permutable=all(m.coincident for m in members))


def _inserted_order(node: isl.ScheduleNode, order: Order) -> isl.ScheduleNode:
    filters = isl.UnionSetList.alloc(CONTEXT, len(order.children))
    for child in order.children:
        filters = filters.add(domain_of(child))
    node = node.insert_sequence(filters)
    for i, child in enumerate(order.children):
        node = _inserted(node.child(i).child(0), child).parent().parent()
    return node
