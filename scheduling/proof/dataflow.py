"""The proof that changes of storage and statements keep values, made before anything is scheduled.

Fusion of locals, live-range splitting and expansion turn the source's Scop into another one. Here the two are compared
by what they compute, whatever made the second:

- each instance reads, through each array of the source or what now holds its values, what the same instances wrote;
- the elements that it read as they were before the SCoP, it reads as they were then;
- each element that can be seen afterwards was written last by the same instance.

A statement that only copies counts as a wire: a value that comes through it comes from where it got it. Copies of the
source that the program does not run are wires, too (copied_values.py). A result of a reduction that was split into
partial results counts as one node on both sides; what goes on inside is shown in reductions.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import maps, sets
from polytile.ir.plain_copies import is_plain_copy, takes_one_element
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences, same_accesses
from polytile.scheduling.analysis.last_writers import is_seen, last_writers
from polytile.scheduling.analysis.renamed_statements import renaming
from polytile.scheduling.proof.copied_values import Wires, compared, wires
from polytile.scheduling.proof.reductions import Regrouping, comparable

UNKNOWN = "unknown"  # the space of an element that is not known


@dataclass(frozen=True, slots=True)
class Change:
    """What reaches other readers than in the source: `pairs` from instances to readers, in the program's statements, or
    from readers to elements as they were before."""

    array: str
    pairs: isl.UnionMap = field(compare=False)
    what: str


def changed_values(
    source: Scop, before: Dependences, program: Scop, after: Dependences
) -> tuple[Change, ...]:
    """Return where `program` computes with other values than `source`; empty is the proof that it does not.

    Arrays that the same statements access in the same order, whatever their names, are not looked at.
    `before` and `after` are their dependences. Reads of arrays whose analysis was not exact are compared by all
    conflicts, which are more.
    """
    kept = {a.name for a in source.arrays if _is_kept(source, program, a.name)}
    results, source, before, program, after = comparable(source, before, program, after)
    carry = _carrier(source, program, results)
    copies = _copies(source, program)
    gone = wires(source, program)
    found = [*_left_out(source, gone), *_wrong_copies(program, copies, gone)]
    found += _changed_copies(source, before, program, after, gone, carry)
    for array in (a for a in source.arrays if a.name not in kept and len(gone.group(a.name)) == 1):
        own = [r for r in results if r.root == array.name]
        theirs, ours = _union([r.source for r in own], carry), _union([r.program for r in own], carry)
        holders = [a.name for a in program.arrays if a.root == array.name]
        wanted = _between_statements(_condensed(before.of(array.name).flow, theirs), carry, program)
        given = _condensed(_union([_direct(after, copies, name) for name in holders], wanted), ours)
        found += _compare(source, array.name, wanted, given, "reads values")
        unset = _renamed(before.of(array.name).uninitialised, theirs).coalesce().apply_domain(carry)
        still = _renamed(_first_values(source, program, after, copies, array.name), ours).coalesce()
        found += _compare(source, array.name, _elements(unset, still), _elements(still, still), "reads earlier values")
        if is_seen(source, array.name):
            last = _condensed(last_writers(source, array.name), theirs).apply_domain(carry)
            seen = _condensed(_through(after, copies, last_writers(program, array.name)), ours)
            found += _compare(source, array.name, last, seen, "leaves values")
    return tuple(found)


def _is_kept(source: Scop, program: Scop, array: str) -> bool:
    return same_accesses(program, source, array) or renaming(source, program, array) is not None


def _left_out(source: Scop, gone: Wires) -> Iterator[Change]:
    """Yield the statements of the source that are no copies, and that the program does not run."""
    for name in sorted(gone.others):
        statement = source.statement(name)
        written = next(a.array for a in statement.accesses if a.writes)
        yield Change(written, isl.UnionSet.identity(isl.UnionSet.from_set(statement.domain)), "does not make values")


def _changed_copies(
    source: Scop, before: Dependences, program: Scop, after: Dependences, gone: Wires, carry: isl.UnionMap
) -> Iterator[Change]:
    """Yield the values that come through copies of the source which the program does not run."""
    for array, wanted, given in compared(source, before, program, after, gone):
        if wanted is None or given is None:
            yield Change(array, carry, "passes on values through copies")
            continue
        others = wanted.domain().union(wanted.range()).subtract(carry.domain())
        wanted = _between_statements(wanted, carry.union(isl.UnionSet.identity(others)), program)
        yield from _compare(source, array, wanted, given, "passes on values")


def _compare(scop: Scop, array: str, wanted: isl.UnionMap, given: isl.UnionMap, what: str) -> list[Change]:
    wanted, given = wanted.intersect_params(scop.context), given.intersect_params(scop.context)
    if wanted.is_equal(given):
        return []
    return [Change(array, wanted.subtract(given).union(given.subtract(wanted)), what)]


def _renamed(relation: isl.UnionMap, results: isl.UnionMap) -> isl.UnionMap:
    """Replace instances in the domain of a relation by the results that they make up.

    The others are not mapped through an identity: it has the pieces of their domain, and their product with the pieces
    of the relation is what takes long.
    """
    return relation.apply_domain(results).union(relation.subtract_domain(results.domain()))


def _condensed(flow: isl.UnionMap, results: isl.UnionMap) -> isl.UnionMap:
    """Replace the instances that make up results by these in the flow.

    before: S0[i] -> S1[i, 0]; S1[i, j] -> S1[i, j + 1]; S1[i, m - 1] -> S2[i]
    after:  S0[i] -> x[i]; x[i] -> S2[i]
    """
    if results.is_empty():
        return flow
    found = _renamed(_renamed(flow, results).reverse(), results).reverse()
    found = found.subtract(isl.UnionSet.identity(results.range()))
    return found.detect_equalities().coalesce()  # what steps of one result send in pieces is one piece


def _carrier(source: Scop, program: Scop, results: tuple[Regrouping, ...]) -> isl.UnionMap:
    """Map the source's instances to those of the program that run them.

    Example: `{ S0[i] -> S2[i]; S2[i] -> S2[i] }`.
    """
    runs = {part: s.name for s in program.statements for part in s.parts or (s.name,)}
    total = isl.UnionMap.empty(source.context.get_space().params())
    for statement in source.statements:
        if statement.name in runs:
            same = isl.Map.identity(statement.domain.get_space().map_from_set()).intersect_domain(statement.domain)
            total = total.union(isl.UnionMap.from_map(same.set_tuple_name(isl.dim_type.out, runs[statement.name])))
    for result in results:
        total = total.union(isl.UnionSet.identity(result.source.range()))
    return total


def _copies(source: Scop, program: Scop) -> isl.UnionSet:
    """Return the instances of the program that only copy: statements that the source does not have."""
    known = {s.name for s in source.statements}
    known |= {name for p in program.privatised for name in p.added}
    total = isl.UnionSet.empty(program.context.get_space().params())
    for statement in program.statements:
        if statement.name not in known and not statement.parts:
            total = total.union(isl.UnionSet.from_set(statement.domain))
    return total


def _wrong_copies(program: Scop, copies: isl.UnionSet, gone: Wires) -> Iterator[Change]:
    """Yield the statements that count as copies but do not take one element to one other with values of its array.

    The other may also hold values of an array that the source copies it to or from.
    """
    names = {s.get_tuple_name() for s in sets(copies)}
    for statement in (s for s in program.statements if s.name in names):
        if not _copies_elements(program, statement, gone):
            own = isl.UnionSet.identity(isl.UnionSet.from_set(statement.domain))
            yield Change(statement.accesses[0].array if statement.accesses else "", own, "copies values")


def _copies_elements(program: Scop, statement: Statement, gone: Wires) -> bool:
    kinds = {a.kind for a in statement.accesses}
    roots = {gone.group(program.array(a.array).root) for a in statement.accesses}
    if len(statement.accesses) != 2 or kinds != {AccessKind.READ, AccessKind.WRITE} or len(roots) != 1:
        return False
    if any(len(group) > 1 for group in roots) and not is_plain_copy(program, statement):
        return False
    return takes_one_element(program, statement)


def _between_statements(flow: isl.UnionMap, carry: isl.UnionMap, program: Scop) -> isl.UnionMap:
    """Map the source's flow to the program's statements.

    What stays within one instance of a joined statement is left out where its parts run in that order.
    """
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
    """Replace every copy in the flow by what it copied.

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


def _union(relations: list[isl.UnionMap], like: isl.UnionMap) -> isl.UnionMap:
    total = isl.UnionMap.empty(like.get_space())
    for relation in relations:
        total = total.union(relation)
    return total


def _first_values(
    source: Scop, program: Scop, after: Dependences, copies: isl.UnionSet, array: str
) -> isl.UnionMap:
    """Return what each instance reads that an array held before the SCoP, directly or through copies.

    The elements are UNKNOWN where another array holds its values, of which it is not known exactly what is read before
    it is written.

    before: copy[i] -> A[i]; copy[i] -> S1[i] through A_in
    after:  S1[i] -> A[i]
    """
    holders = [a for a in program.arrays if a.root == array]
    flow = _union([after.of(a.name).flow for a in holders], after.flow)
    total = isl.UnionMap.empty(after.flow.get_space())
    for holder in holders:
        found = after.of(holder.name)
        same = holder.name == array and holder.access_rank == source.array(array).access_rank
        sure = same or found.exact or not flow.intersect_domain(copies).is_empty()
        total = total.union(found.uninitialised if sure else _of_unknown(found.uninitialised.domain()))
    while True:
        copied = total.intersect_domain(copies)
        total = total.subtract_domain(copies)
        if copied.is_empty():
            return total
        onward = flow.intersect_domain(copied.domain()).reverse()
        total = total.union(onward.apply_range(copied))


def _of_unknown(instances: isl.UnionSet) -> isl.UnionMap:
    return isl.UnionMap.from_domain_and_range(instances, isl.UnionSet(f"{{ {UNKNOWN}[] }}"))


def _elements(reads: isl.UnionMap, other: isl.UnionMap) -> isl.UnionMap:
    """Remove from the reads the elements of instances that read UNKNOWN ones in `other`."""
    unknown = other.intersect_range(isl.UnionSet(f"{{ {UNKNOWN}[] }}")).domain()
    return reads.subtract_domain(unknown).union(_of_unknown(reads.domain().intersect(unknown)))
