"""Which instance must run before which: value-based flow, memory-based anti and output dependences.

Flow dependences are exact last-writer relations (Feautrier 1991) from isl's access analysis, with kills; the sources of
may-writes stay may. Anti and output dependences leave out pairs that a must-write in between already orders. Where that
takes too long, every pair of conflicting accesses counts as dependent; but for the flow of arrays whose values stay in
one iteration (private_values.py), which is exact.

Instances that update elements which data choose by one commutative operation (`h[p[i]] += e`, Statement.updates) are
independent of each other: they are indivisible wherever a schedule leaves their order open. All their writes may or may
not happen, so that no other pair is left out because of theirs. So are iterations of which the user promises that they
do not share elements (`#pragma polytile independent(x)`).
"""

from __future__ import annotations

from dataclasses import field, replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import OverBudgetError, budget, maps, union_of
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.checked_flow import flow as checked_flow
from polytile.scheduling.analysis.data_offsets import separate_pairs
from polytile.scheduling.analysis.finished_elements import finished_reads, values_of_finished
from polytile.scheduling.analysis.independent_pairs import commuting_pairs, promised_pairs
from polytile.scheduling.analysis.private_values import private_flow
from polytile.scheduling.analysis.reduced_schedules import flow_by_location
from polytile.scheduling.analysis.source_order import SourceOrder

_KINDS = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE, AccessKind.KILL)


@dataclass(frozen=True, slots=True)
class ArrayDependences:
    """The dependences through one array, as maps from source to sink instances.

    `uninitialised` holds the reads that may see a value from before the SCoP.
    """

    array: str
    flow: isl.UnionMap = field(compare=False)
    anti: isl.UnionMap = field(compare=False)
    output: isl.UnionMap = field(compare=False)
    uninitialised: isl.UnionMap = field(compare=False)
    exact: bool = True  # else there is less flow than these pairs
    commuting: isl.UnionMap | None = field(default=None, compare=False)  # flow that counts as none
    commuting_false: isl.UnionMap | None = field(default=None, compare=False)  # the same of `false`
    _all: list[isl.UnionMap] = field(default_factory=list, init=False, repr=False, compare=False)  # once asked for

    @property
    def values(self) -> ArrayDependences:
        """Return the dependences with all of the flow, as needed for values."""
        if self.commuting is None or self.commuting_false is None:
            return self
        return replace(
            self,
            flow=self.flow.union(self.commuting),
            output=self.output.union(self.commuting_false),
            commuting=None,
            commuting_false=None,
        )

    @property
    def free(self) -> isl.UnionMap | None:
        """Return the pairs of updates that may come in any order where they are indivisible, if there are any."""
        if self.commuting is None or self.commuting_false is None:
            return None
        return self.commuting.union(self.commuting_false)

    def renamed(self, names: isl.UnionMap) -> ArrayDependences:
        """Return the dependences between statements of other names, `{ S0[i] -> S1[i] }`."""

        def between(pairs: isl.UnionMap) -> isl.UnionMap:
            return pairs.apply_domain(names).apply_range(names)

        return replace(
            self,
            flow=between(self.flow),
            anti=between(self.anti),
            output=between(self.output),
            uninitialised=self.uninitialised.apply_domain(names),
            commuting=None if self.commuting is None else between(self.commuting),
            commuting_false=None if self.commuting_false is None else between(self.commuting_false),
        )

    @property
    def false(self) -> isl.UnionMap:
        """Return the anti and output dependences: those that more memory would remove."""
        return self.anti.union(self.output)

    @property
    def all(self) -> isl.UnionMap:
        if not self._all:
            self._all.append(self.flow.union(self.false))
        return self._all[0]


@dataclass(frozen=True, slots=True)
class Dependences:
    """All dependences of a Scop, by array, in the order of Scop.arrays."""

    by_array: tuple[ArrayDependences, ...]
    reductions: isl.UnionMap = field(compare=False)  # the flow of `x op= e` to itself, a part of `flow`
    _all: list[isl.UnionMap] = field(default_factory=list, init=False, repr=False, compare=False)  # once asked for

    def of(self, array: str) -> ArrayDependences:
        return next(d for d in self.by_array if d.array == array)

    @property
    def flow(self) -> isl.UnionMap:
        return _union([d.flow for d in self.by_array])

    @property
    def false(self) -> isl.UnionMap:
        return _union([d.false for d in self.by_array])

    @property
    def all(self) -> isl.UnionMap:
        if not self._all:
            self._all.append(_union([d.all for d in self.by_array]))
        return self._all[0]

    @property
    def exact(self) -> bool:
        """Return whether no array has more pairs than are dependent."""
        return all(d.exact for d in self.by_array)

    @property
    def pairs(self) -> int:
        """Return how many pairs of statements depend."""
        kinds = (kind for d in self.by_array for kind in (d.flow, d.anti, d.output))
        return len({_ends(m) for kind in kinds for m in maps(kind)})

    @property
    def relations(self) -> int:
        """Return how many basic maps these are: by them isl's work grows."""
        return sum(m.n_basic_map() for m in maps(self.all))

    @property
    def values(self) -> Dependences:
        """Return the dependences with all of the flow, that between updates which commute, too."""
        return replace(self, by_array=tuple(d.values for d in self.by_array))

    def arrays_between(self, source: str, sink: str) -> list[str]:
        """Return the arrays through which instances of `sink` depend on instances of `source`."""
        names = []
        for d in self.by_array:
            for m in maps(d.all):
                if (m.get_tuple_name(isl.dim_type.in_), m.get_tuple_name(isl.dim_type.out)) == (source, sink):
                    names.append(d.array)
        return names


def _union(relations: list[isl.UnionMap]) -> isl.UnionMap:
    total = relations[0] if relations else isl.UnionMap("{}")
    for relation in relations[1:]:
        total = total.union(relation)
    return total


def _flow(
    scop: Scop,
    sinks: isl.UnionMap,
    must: isl.UnionMap,
    may: isl.UnionMap,
    kill: isl.UnionMap | None = None,
) -> isl.UnionFlow:
    """Compute the flow in the source's order. isl walks the whole tree for each pair of statements: the order of the
    others does not matter, and a Scop with partial results, whose tree has filters around each of these, takes isl a
    third of the time by those times that decide between uses of one element, and one whose times have pieces two
    thirds. Others take longer by them."""
    users = sinks.union(must).union(may).domain()
    if kill is not None:
        users = users.union(kill.domain())
    order = scop.schedule.intersect_domain(users)
    times = order.get_map() if scop.privatised or _is_band(order) else None
    if times is not None and (scop.privatised or any(m.n_basic_map() > 1 for m in maps(times))):
        found = flow_by_location(sinks, must, may, times, kill)
        if found:
            return found[0]
    return checked_flow(sinks, must, may, order if times is None else times, kill)


def _is_band(order: isl.Schedule) -> bool:
    """Return whether a tree is one band: isl takes less time by its times."""
    node = order.get_root().child(0)
    return node.get_type() == isl.schedule_node_type.band and node.child(0).get_type() == isl.schedule_node_type.leaf


def _accesses(scop: Scop, array: str, *kinds: AccessKind) -> list[isl.UnionMap]:
    return [scop.accesses(kind, arrays=frozenset((array,))) for kind in kinds]


def array_dependences(scop: Scop, array: str, max_operations: int = 0, *, exact: bool = True) -> ArrayDependences:
    """Compute the dependences through `array`, exact if they may be and `max_operations` (0: any number) suffice."""
    writes = scop.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=frozenset((array,)))
    reads = scop.accesses(AccessKind.READ, arrays=frozenset((array,)))
    if writes.is_empty():
        empty = isl.UnionMap.empty(reads.get_space())
        return ArrayDependences(array, empty, empty, empty, reads)
    try:
        with budget(max_operations):
            found = (_exact if exact else _conflicts)(scop, array, reads, writes)
    except OverBudgetError:
        found = _conflicts(scop, array, reads, writes)
        flow = _private_flow(scop, array, max_operations)
        if flow is not None:
            found = replace(found, flow=flow, uninitialised=isl.UnionMap.empty(reads.get_space()), exact=True)
    pairs = commuting_pairs(scop, array).union(promised_pairs(scop, array)).union(separate_pairs(scop, array))
    return _without_commuting(found, pairs)


def unordered_updates(scop: Scop, found: ArrayDependences) -> isl.UnionMap | None:
    """Return the pairs of updates that may be of one element and in any order, if there are any."""
    if found.free is None:
        return None
    pairs = found.free.intersect(commuting_pairs(scop, found.array))
    return pairs.subtract(promised_pairs(scop, found.array)).subtract(separate_pairs(scop, found.array))


def _without_commuting(found: ArrayDependences, pairs: isl.UnionMap) -> ArrayDependences:
    if pairs.is_empty():
        return found
    return replace(
        found,
        flow=found.flow.subtract(pairs),
        anti=found.anti.subtract(pairs),
        output=found.output.subtract(pairs),
        commuting=found.flow.intersect(pairs),
        commuting_false=found.false.intersect(pairs),
    )


def array_values(scop: Scop, array: str, max_operations: int = 0, *, exact: bool = True) -> ArrayDependences:
    """Compute only flow (no anti and output) through `array`, exact if it may be and `max_operations` suffice."""
    reads = scop.accesses(AccessKind.READ, arrays=frozenset((array,)))
    writes = scop.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=frozenset((array,)))
    empty = isl.UnionMap.empty(reads.get_space())
    if writes.is_empty():
        return ArrayDependences(array, empty, empty, empty, reads)
    if not exact:
        return _conflicts(scop, array, reads, writes)
    try:
        with budget(max_operations):
            flow, unset = values_through(scop, array)
    except OverBudgetError:
        private = _private_flow(scop, array, max_operations)
        if private is None:
            return _conflicts(scop, array, reads, writes)
        flow, unset = private, empty
    return ArrayDependences(array, flow, empty, empty, unset)


def _private_flow(scop: Scop, array: str, max_operations: int) -> isl.UnionMap | None:
    """Compute the flow through an array whose values stay in one iteration; None where it has others, or that takes too
    long: a part of the budget is enough where it helps."""
    try:
        with budget((max_operations + 3) // 4):
            return private_flow(scop, array)
    except OverBudgetError:
        return None


def values_through(scop: Scop, array: str) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return the flow through `array`, and the reads that may see a value from before the SCoP."""
    reads, must, may, kills = _accesses(scop, array, *_KINDS)
    finished = isl.UnionMap.empty(reads.get_space())
    if _is_band(scop.schedule) and may.is_empty() and kills.is_empty():
        finished = finished_reads(reads, must, scop.schedule.intersect_domain(reads.union(must).domain()).get_map())
    found = _flow(scop, reads.subtract(finished), must, may, kills)
    flow, unset = found.get_may_dependence(), found.get_may_no_source()
    if finished.is_empty():
        return flow, unset
    further, first = values_of_finished(scop, array, finished)
    return flow.union(further), unset.union(first)


def certain_flow(scop: Scop, array: str) -> isl.UnionMap:
    """Return the flow through `array` from must-writes that no may-write in between can hide."""
    reads, must, may, kills = _accesses(scop, array, *_KINDS)
    return _flow(scop, reads, must, may, kills).get_must_dependence()


def unset_reads(scop: Scop, array: str, reads: isl.UnionMap) -> isl.UnionMap:
    """Return those of `reads` of `array` whose element no instance has written before, not even perhaps."""
    must, may, kills = _accesses(scop, array, AccessKind.WRITE, AccessKind.MAY_WRITE, AccessKind.KILL)
    return _flow(scop, reads, must, may, kills).get_must_no_source()


def _exact(scop: Scop, array: str, reads: isl.UnionMap, writes: isl.UnionMap) -> ArrayDependences:
    flow, unset = values_through(scop, array)
    must, may = _accesses(scop, array, AccessKind.WRITE, AccessKind.MAY_WRITE)
    output = _flow(scop, writes, must, may).get_may_dependence()
    return ArrayDependences(array, flow, _anti(scop, reads, must, may).subtract(output), output, unset)


def _anti(scop: Scop, reads: isl.UnionMap, must: isl.UnionMap, may: isl.UnionMap) -> isl.UnionMap:
    """Return each read with the writes after it, up to the next certain one: what it would see in reversed time."""
    if reads.is_empty():
        return isl.UnionMap.empty(reads.get_space())
    order = scop.schedule.intersect_domain(reads.union(must).union(may).domain()).get_map()
    times = [f"t{k}" for k in range(maps(order)[0].dim(isl.dim_type.out))]
    back = isl.UnionMap(f"{{ [{', '.join(times)}] -> [{', '.join(f'-{t}' for t in times)}] }}")
    order = order.apply_range(back)
    return checked_flow(reads, must, may, order).get_may_dependence().reverse()


def _conflicts(scop: Scop, array: str, reads: isl.UnionMap, writes: isl.UnionMap) -> ArrayDependences:
    """Return every pair of accesses to one element of which one writes, in the source's order."""
    order = scop.schedule.intersect_domain(reads.union(writes).domain()).get_map()
    times = SourceOrder.of(order)
    through, both = writes.apply_range(reads.reverse()), writes.apply_range(writes.reverse())
    back = through.reverse()
    before = union_of(
        (
            isl.UnionMap.from_map(times.before(first, then))
            for first, then in sorted({_ends(m) for meeting in (through, back, both) for m in maps(meeting)})
        ),
        order.get_space(),
    )
    flow, anti, output = (meeting.intersect(before) for meeting in (through, back, both))
    return ArrayDependences(array, flow, anti, output, reads, exact=False)


def _ends(m: isl.Map) -> tuple[str, str]:
    return str(m.get_tuple_name(isl.dim_type.in_)), str(m.get_tuple_name(isl.dim_type.out))


def analyse(
    scop: Scop, max_operations: int = 0, known: tuple[Scop, Dependences] | None = None, *, exact: bool = True
) -> Dependences:
    """Compute the dependences of a Scop, under a budget of isl operations for each array (0: none).

    `known` is a Scop that this one was made from, with its dependences: they still hold for arrays whose statements,
    accesses and order are the same. If not `exact`, all conflicts count through other arrays.
    Example: `for (i) { S0: s = 0; for (j) S1: s += A[i][j]; }` has flow S0[i] -> S1[i, 0] and S1[i, j] -> S1[i, j + 1],
    output S1[i, m - 1] -> S0[i + 1], and the reduction S1[i, j] -> S1[i, j + 1].
    """
    found = []
    for array in scop.arrays:
        if known is not None and same_accesses(scop, known[0], array.name):
            found.append(known[1].of(array.name))
        else:
            found.append(array_dependences(scop, array.name, max_operations, exact=exact))
    return collected(scop, tuple(found))


def same_accesses(scop: Scop, before: Scop, array: str) -> bool:
    """Return whether another Scop accesses an array by the same relations in the same order: all known values hold."""
    if scop.schedule is not before.schedule or all(a.name != array for a in before.arrays):
        return False
    now, then = _accesses_of(scop, array), _accesses_of(before, array)
    return len(now) == len(then) and all(a is b for a, b in zip(now, then, strict=True))


def _accesses_of(scop: Scop, array: str) -> list[object]:
    """Return a key of how an array is accessed: the domain of each statement that does, its accesses and updates."""
    found: list[object] = []
    for statement in scop.statements:
        own = [access for access in statement.accesses if access.array == array]
        found += [statement.domain, *own, statement.updates] if own else []
    return found


def collected(scop: Scop, by_array: tuple[ArrayDependences, ...]) -> Dependences:
    """Combine the dependences through each array of a Scop into those of the whole Scop."""
    reductions = isl.UnionMap.empty(scop.context.get_space().params())
    for statement in scop.statements:
        if statement.reduction is None:
            continue
        through = next(d for d in by_array if d.array == statement.reduction.array)
        reductions = reductions.union(isl.UnionMap.from_map(_to_itself(through.flow, statement.domain)))
    return Dependences(by_array, reductions.coalesce())


def _to_itself(pairs: isl.UnionMap, domain: isl.Set) -> isl.Map:
    """Return the pairs of instances of one statement."""
    space = domain.get_space()
    found = pairs.extract_map(space.map_from_domain_and_range(space))
    return found.intersect_domain(domain).intersect_range(domain)
