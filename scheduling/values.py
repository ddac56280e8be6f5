"""The proof that changes of storage and statements keep values, made before anything is scheduled.

Fusion of locals, live-range splitting and expansion turn the source's Scop into another one. Here the two are compared
by what they compute, whatever made the second:

- each instance reads, through each array of the source or what now holds its values, what the same instances wrote;
- what was read from before the SCoP still is;
- each element that can be seen afterwards was written last by the same instance.

A statement that only copies counts as a wire: a value that comes through it comes from where it got it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import islpy as isl

from polytile.ir.isl_util import maps
from polytile.ir.scop import AccessKind, Origin, Scop
from polytile.scheduling.dependences import Dependences

FINAL = "final"  # the space of those who look at an array behind the SCoP


@dataclass(frozen=True, slots=True)
class Change:
    """What reaches other readers than in the source: `pairs` from instances to readers, in the program's statements."""

    array: str
    pairs: isl.UnionMap = field(compare=False)
    what: str


def changed_values(
    source: Scop, before: Dependences, program: Scop, after: Dependences
) -> tuple[Change, ...]:
    """Where `program` computes with other values than `source`; empty is the proof that it does not.

    `before` and `after` are their dependences. Reads of arrays whose analysis was not exact are compared by all
    conflicts, which are more.
    """
    carry = _carrier(source, program)
    copies = _copies(source, program)
    found: list[Change] = []
    for array in source.arrays:
        holders = [a.name for a in program.arrays if a.root == array.name]
        wanted = _between_statements(before.of(array.name).flow, carry, program)
        given = _union([_direct(after, copies, name) for name in holders], wanted)
        found += _compare(source, array.name, wanted, given, "reads values")
        unset = before.of(array.name).uninitialised.domain().apply(carry)
        still = [after.of(name).uninitialised.domain().subtract(copies) for name in holders]
        found += _compare(source, array.name, _as_map(unset), _as_map(_united(still, unset)), "reads earlier values")
        if array.origin is Origin.EXTERNAL and array.live_out and source.written(array.name):
            last = last_writers(source, array.name).apply_domain(carry)
            seen = _through(after, copies, last_writers(program, array.name))
            found += _compare(source, array.name, last, seen, "leaves values")
    return tuple(found)


def _compare(scop: Scop, array: str, wanted: isl.UnionMap, given: isl.UnionMap, what: str) -> list[Change]:
    wanted, given = wanted.intersect_params(scop.context), given.intersect_params(scop.context)
    if wanted.is_equal(given):
        return []
    return [Change(array, wanted.subtract(given).union(given.subtract(wanted)), what)]


def _carrier(source: Scop, program: Scop) -> isl.UnionMap:
    """From the source's instances to those of the program that run them, `{ S0[i] -> S2[i]; S2[i] -> S2[i] }`."""
    runs = {part: s.name for s in program.statements for part in s.parts or (s.name,)}
    total = isl.UnionMap.empty(source.context.get_space().params())
    for statement in source.statements:
        if statement.name in runs:
            same = isl.Map.identity(statement.domain.get_space().map_from_set()).intersect_domain(statement.domain)
            total = total.union(isl.UnionMap.from_map(same.set_tuple_name(isl.dim_type.out, runs[statement.name])))
    return total


def _copies(source: Scop, program: Scop) -> isl.UnionSet:
    """The instances of the program that only copy: statements that the source does not have."""
    known = {s.name for s in source.statements}
    total = isl.UnionSet.empty(program.context.get_space().params())
    for statement in program.statements:
        if statement.name not in known and not statement.parts:
            total = total.union(isl.UnionSet.from_set(statement.domain))
    return total


def _between_statements(flow: isl.UnionMap, carry: isl.UnionMap, program: Scop) -> isl.UnionMap:
    """The source's flow between the program's statements: what stays within one instance of a joined statement is
    left out where its parts run in that order."""
    order = {part: k for s in program.statements for k, part in enumerate(s.parts)}
    total = isl.UnionMap.empty(flow.get_space())
    for m in maps(flow):
        source, sink = (str(m.get_tuple_name(kind)) for kind in (isl.dim_type.in_, isl.dim_type.out))
        pairs = isl.UnionMap.from_map(m).apply_domain(carry).apply_range(carry)
        if source in order and order[source] < order.get(sink, -1):
            pairs = pairs.subtract(isl.UnionSet.identity(pairs.domain()))
        total = total.union(pairs)
    return total


def _direct(after: Dependences, copies: isl.UnionSet, array: str) -> isl.UnionMap:
    return _through(after, copies, after.of(array).flow.subtract_range(copies))


def _through(after: Dependences, copies: isl.UnionSet, flow: isl.UnionMap) -> isl.UnionMap:
    """The flow with every copy replaced by what it copied.

    before: S1[i] -> copy[i]; copy[i] -> final[A[i]]
    after:  S1[i] -> final[A[i]]
    """
    if copies.is_empty():
        return flow
    into = after.flow.intersect_range(copies)
    while True:
        copied = flow.intersect_domain(copies)
        if copied.is_empty():
            return flow
        further = into.intersect_range(copied.domain()).apply_range(copied)
        flow = flow.subtract_domain(copies).union(further)
        if further.is_empty():  # copies of what nothing wrote
            return flow


def last_writers(scop: Scop, array: str) -> isl.UnionMap:
    """Who wrote each element last, `{ S1[i] -> final[i] : ... }`; may-writes and what they may leave both count."""
    only = frozenset((array,))
    must, may = (scop.accesses(kind, arrays=only) for kind in (AccessKind.WRITE, AccessKind.MAY_WRITE))
    if must.union(may).is_empty():
        return must
    elements = isl.Set.from_union_set(must.union(may).range())
    final = elements.set_tuple_name(FINAL)
    looks = isl.Map.identity(elements.get_space().map_from_set()).intersect_domain(elements)
    looks = looks.set_tuple_name(isl.dim_type.in_, FINAL)
    users = must.union(may).domain()
    schedule = scop.schedule.intersect_domain(users).sequence(isl.Schedule.from_domain(isl.UnionSet.from_set(final)))
    info = isl.UnionAccessInfo.from_sink(isl.UnionMap.from_map(looks)).set_must_source(must).set_may_source(may)
    return info.set_schedule(schedule).compute_flow().get_may_dependence()


def _union(relations: list[isl.UnionMap], like: isl.UnionMap) -> isl.UnionMap:
    total = isl.UnionMap.empty(like.get_space())
    for relation in relations:
        total = total.union(relation)
    return total


def _united(parts: list[isl.UnionSet], like: isl.UnionSet) -> isl.UnionSet:
    total = isl.UnionSet.empty(like.get_space())
    for part in parts:
        total = total.union(part)
    return total


def _as_map(instances: isl.UnionSet) -> isl.UnionMap:
    return isl.UnionSet.identity(instances)
