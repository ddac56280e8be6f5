"""The source's own order as a loop tree, for what no other order was found for."""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_util import band_members, constant_value, sets
from polytile.ir.scop import Scop
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Kind, Leaf, Loop, Row, Tree, in_sequence


class NoLoopTreeError(Exception):
    """The order of the source is no loop tree: some loop runs through no single iterator of a statement."""


def original_tree(scop: Scop) -> Tree:
    """Return the loops of the source, all SEQUENTIAL, nothing being known of their dependences.

    Raises NoLoopTreeError, for example for a skewed schedule that came as isl text.
    """
    return _tree(scop, scop.schedule.get_root(), scop.domain)


def _tree(scop: Scop, node: isl.ScheduleNode, within: isl.UnionSet) -> Tree:
    kind = node.get_type()
    if kind == isl.schedule_node_type.leaf:
        names = [s.get_tuple_name() for s in sets(within)]
        if len(names) != 1:
            raise NoLoopTreeError(f"{scop.name}: {names} run at once")
        return Leaf(names[0])
    if kind == isl.schedule_node_type.band:
        body = _tree(scop, node.child(0), within)
        for member in reversed(band_members(node)):
            rows = tuple(_row(scop, name, member) for name in _names(scop, within))
            body = Loop(rows, (Kind.SEQUENTIAL,) * len(rows), body)
        return body
    if kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
        return _children(scop, node, within)
    return _tree(scop, node.child(0), within)


def _children(scop: Scop, node: isl.ScheduleNode, within: isl.UnionSet) -> Tree:
    trees, seen = [], isl.UnionSet.empty(within.get_space())
    for i in range(node.n_children()):
        own = within.intersect(node.child(i).filter_get_filter())
        if any(name in set(_names(scop, seen)) for name in _names(scop, own)):
            raise NoLoopTreeError(f"{scop.name}: a statement runs in pieces")
        seen = seen.union(own)
        if _names(scop, own):
            trees.append(_tree(scop, node.child(i).child(0), own))
    return in_sequence(trees)


def _names(scop: Scop, domain: isl.UnionSet) -> list[str]:
    found = {s.get_tuple_name() for s in sets(domain)}
    return [s.name for s in scop.statements if s.name in found]


def _row(scop: Scop, name: str, member: isl.UnionPwAff) -> Row:
    values: list[isl.PwAff] = []
    member.foreach_pw_aff(values.append)
    (value,) = (v for v in values if v.get_domain_space().get_tuple_name(isl.dim_type.set) == name)
    constant = constant_value(value)
    if constant is not None:
        return Row(name, CONSTANT, 1, constant)
    pieces: list[isl.Aff] = []
    value.foreach_piece(lambda _domain, aff: pieces.append(aff))
    for iterator in range(len(scop.statement(name).iterators)):
        for sign in (1, -1):
            rest = pieces[0].add_coefficient_val(isl.dim_type.in_, iterator, isl.Val(-sign))
            if len(pieces) == 1 and rest.is_cst():
                return Row(name, iterator, sign, int(rest.get_constant_val().to_python()))
    raise NoLoopTreeError(f"{scop.name}: {name} runs along {value}")
