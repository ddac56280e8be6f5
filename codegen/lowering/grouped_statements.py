"""Statements that run one after another at the same times are one to isl, which takes far longer for more of them.

before: for (c = 0; c < n; c++) sequence { S[i]; T[i]; U[i] }, all three of the same instances
after:  for (c = 0; c < n; c++) S[i], which stands for all three where the loops are read
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import functions, sets
from polytile.ir.schedule import nodes

_TYPES = isl.schedule_node_type


@dataclass(frozen=True, slots=True)
class Grouped:
    """A tree of statements that stand for others; `groups` are their names, themselves first, by their own."""

    tree: isl.Schedule = field(compare=False)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def grouped_statements(tree: isl.Schedule) -> Grouped:
    """Merge neighbours in a sequence that have the same instances at the same times into one statement of the tree.

    The statements of such a group are nowhere else in the tree. A tree with barriers, whose instances extensions add,
    stays as it is, and so does one with sets: which child of these isl takes first depends on all of them.
    """
    every = list(nodes(tree))
    sequences = [node for node in every if _is_plain_sequence(node)]
    if not sequences or any(node.get_type() in (_TYPES.extension, _TYPES.set) for node in every):
        return Grouped(tree)
    leaves = Counter(name for node in every if node.get_type() == _TYPES.leaf for name in _names(node))
    once = {name for name, number in leaves.items() if number == 1}
    groups = [tuple(group) for node in sequences for group in _groups(node, once) if len(group) > 1]
    left_out = {name for _, *rest in groups for name in rest}
    kept = tree.get_domain()
    for own in sets(kept):
        if own.get_tuple_name() in left_out:
            kept = kept.subtract(isl.UnionSet.from_set(own))
    return Grouped(tree.intersect_domain(kept), {group[0]: group for group in groups})


def _is_plain_sequence(node: isl.ScheduleNode) -> bool:
    """Return whether a node is a sequence with nothing below it."""
    below = (node.child(k).child(0) for k in range(node.n_children()))
    return node.get_type() == _TYPES.sequence and all(child.get_type() == _TYPES.leaf for child in below)


def _names(leaf: isl.ScheduleNode) -> list[str]:
    return [str(own.get_tuple_name()) for own in sets(leaf.get_domain())]


def _groups(sequence: isl.ScheduleNode, once: set[str]) -> list[list[str]]:
    """Group the names of statements in a sequence that are each alone in a child.

    Neighbours that are the same to isl form a group.
    """
    runs = _runs(sequence)
    groups: list[list[str]] = []
    before: str | None = None
    for k in range(sequence.n_children()):
        names = _names(sequence.child(k).child(0))
        own = names[0] if len(names) == 1 and names[0] in once else None
        if own is not None and before is not None and runs[own].is_as(runs[before]):
            groups[-1].append(own)
        elif own is not None:
            groups.append([own])
        before = own
    return groups


@dataclass(frozen=True, slots=True)
class _Runs:
    """Instances, and the members of the bands around them, without the name of their statement."""

    instances: isl.Set
    times: list[isl.PwAff] = field(default_factory=list)

    def is_as(self, other: _Runs) -> bool:
        """Return whether two statements have the same, as far as can be seen."""
        times = zip(self.times, other.times, strict=True)
        return self.instances.plain_is_equal(other.instances) and all(a.plain_is_equal(b) for a, b in times)


def _runs(node: isl.ScheduleNode) -> dict[str, _Runs]:
    """Return the instances and times that run at a node, by statements."""
    found = {str(own.get_tuple_name()): _Runs(own.reset_tuple_id()) for own in sets(node.get_domain())}
    times = node.get_prefix_schedule_multi_union_pw_aff()
    for member in (times.get_at(k) for k in range(times.dim(isl.dim_type.out))):
        for one in functions(member):
            name = one.get_domain_space().get_tuple_name(isl.dim_type.set)
            if name in found:
                found[name].times.append(one.reset_tuple_id(isl.dim_type.in_))
    return found
