"""Plans for ranks: that what ranks own, compute and exchange leaves the values that the program leaves.

A rank owns lower .. upper - 1 along each axis, and a period of m steps begins at step `start`; all are parameters, and
m is each number up to the plan's. By induction over periods, what a rank owns is right at the end of each:

- each instance has one position along each axis, that of some rank, which runs it;
- it writes elements of its own position alone, so that their owner has what is seen behind the program;
- instances of one step whose order counts are in phases of that order, or at one position of one phase;
- what it reads was computed by the rank in this period, or is owned or received, of the plane that is read;
- all that it accesses is stored;
- messages, sides, programs of phases and sums over all ranks are as rank_messages.py, rank_programs.py and
  rank_reductions.py want them.

An instance that writes nothing but what no axis cuts counts on the owner of its position alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.check.checker import check_values
from polytile.check.flow import flow
from polytile.check.rank_messages import along, available, message_problems, own_box
from polytile.check.rank_programs import at_positions, not_stored, program_problems
from polytile.check.rank_reductions import in_same_order, reduction_problems, without_reductions
from polytile.check.relations import IN, OUT, Check, accesses, dependences, maps, union
from polytile.ir.name_supply import coordinates, fresh

SET = isl.dim_type.set
KINDS, WRITES = ("read", "write", "may-write", "kill"), ("write", "may-write")


def rank_problems(claim: Check) -> Iterator[str]:
    """Yield what is wrong with one plan for ranks, a line each. Raises isl.Error or KeyError for what is none."""
    rank = _Rank(claim)
    source, program = without_reductions(claim) if claim["reductions"] else (claim["source"], claim["program"])
    if source["statements"] != program["statements"] or not in_same_order(source, program):
        yield from check_values(source, program, claim["visible"], isl.Set(claim["context"]))
    yield from rank.idle()
    for name in rank.statements:
        yield from rank.misplaced(name)
        yield from not_stored(claim, name, rank.runs(name, claim["steps"]), isl.Set(claim["stored"]))
    for array in claim["program"]["arrays"]:
        yield from rank.strays(array)
        yield from rank.ambiguous(array)
        yield from rank.disorder(array)
        yield from rank.wrong_reads(array)
    yield from reduction_problems(claim)
    yield from message_problems(claim)
    yield from program_problems(claim, rank.pairs)


def of_another_program(claim: Check, scops: Sequence[Check]) -> Iterator[str]:
    """Yield how a plan for ranks is of another program than the certificate's SCoP of its name, a line each."""
    found = next((scop for scop in scops if scop["name"] == claim["name"]), None)
    if found is None:
        yield "the certificate has no SCoP of this name"
        return
    if found["source"] != claim["source"] or set(found["visible"]) - set(claim["visible"]):
        yield "the plan is of another program"
    if not isl.Set(found["context"]).is_subset(isl.Set(claim["context"])):
        yield "the plan is not for all sizes that the program may have"


class _Rank:
    """A rank with any part, in any period, as a certificate has it."""

    def __init__(self, claim: Check) -> None:
        self.claim, self.program, self.timed, self.start = claim, claim["program"], claim["timed"], claim["start"]
        self.statements: Check = self.program["statements"]
        self.own, self.order = own_box(claim), isl.Schedule(self.program["order"])
        bounds = claim["bounds"]
        parts = f"[{', '.join(n for pair in bounds for n in pair)}] -> {{ : {' and '.join(map(' < '.join, bounds))} }}"
        self.context = isl.Set(claim["context"]).intersect(isl.Set(parts))
        self.phase = {name: k for k, phase in enumerate(claim["phases"]) for name in phase["statements"]}
        self.axes = range(len(bounds))
        self.known: dict[str, tuple[isl.UnionMap, isl.UnionMap]] = {}

    def position(self, name: str, axis: int) -> isl.Map | None:
        """Return where along an axis instances run, None where every rank runs them."""
        text = self.claim["positions"][name][axis]
        return None if text is None else isl.Map(text)

    def relations(self, name: str, array: str = "") -> Iterator[tuple[str, str, isl.Map]]:
        """Yield the accesses of a statement: arrays, kinds, elements."""
        domain = isl.Set(self.statements[name]["domain"])
        for access in self.statements[name]["accesses"]:
            if array in ("", access["array"]):
                yield access["array"], access["kind"], isl.Map(access["relation"]).intersect_domain(domain)

    def idle(self) -> Iterator[str]:
        """Yield phases that leave out positions which the rank owns, in any step."""
        phases = self.claim["phases"]
        if sorted(name for phase in phases for name in phase["statements"]) != sorted(self.statements):
            yield "phases do not run each statement once"
        for number, phase in enumerate(phases):
            boxes = [isl.Set(box) for box in phase["boxes"]]
            if len(boxes) != self.claim["steps"] or not all(self.own.is_subset(box) for box in boxes):
                yield f"phase {number} leaves out positions that the rank owns"

    def misplaced(self, name: str) -> Iterator[str]:
        """Yield where instances that access no element beyond the sizes of arrays are at no position of any rank."""
        domain = isl.Set(self.statements[name]["domain"]).intersect_params(isl.Set(self.claim["context"]))
        for array, _, relation in self.relations(name):
            for d, extent in enumerate(self.claim["arrays"][array]["extents"]):
                if extent is not None:
                    e = fresh("e", [extent])
                    inside = isl.Set(f"[{extent}] -> {{ [{e}] : 0 <= {e} < {extent} }}")
                    domain = domain.intersect(_subscript(relation, d).intersect_range(inside).domain())
        for axis, end in enumerate(self.claim["ends"]):
            if (at := self.position(name, axis)) is None:
                continue
            at, ends = at.intersect_domain(domain), isl.Set.from_pw_aff(isl.PwAff(end))
            inside = at.range().lex_lt_set(ends).domain().intersect(isl.Set("{ [p] : p >= 0 }"))
            if not (domain.is_subset(at.domain()) and at.is_single_valued() and at.range().is_subset(inside)):
                yield f"instances of {name} are at positions of no rank"

    def strays(self, array: str) -> Iterator[str]:
        """Yield statements that write elements of other positions than their own."""
        for name in self.statements:
            for _, kind, relation in self.relations(name, array):
                for d, axis in enumerate(self.claim["arrays"][array]["axes"] if kind in WRITES else ()):
                    at = None if axis is None else self.position(name, axis)
                    if axis is not None and (at is None or not _subscript(relation, d).is_subset(at)):
                        yield f"{name} writes elements of {array} at positions that others own"

    def ambiguous(self, array: str) -> Iterator[str]:
        """Yield an array of which instances at several positions along an axis that does not cut it write one element,
        which is seen behind the program: several ranks have changed it."""
        writers = [(n, m) for n in self.statements for _, kind, m in self.relations(n, array) if kind in WRITES]
        for axis in self.axes if array in self.claim["visible"] else ():
            if axis in self.claim["arrays"][array]["axes"]:
                continue
            each = [(relation, self.position(name, axis)) for name, relation in writers]
            placed = [relation.reverse().apply_range(at) for relation, at in each if at is not None]
            total = union([isl.UnionMap.from_map(m) for m in placed], isl.UnionMap)
            total = total.intersect_params(isl.Set(self.claim["context"]))
            if len(placed) not in (0, len(each)) or not total.is_single_valued():
                yield f"elements of {array} are written at several positions"

    def pairs(self, array: str) -> tuple[isl.UnionMap, isl.UnionMap]:
        """Return the flow, and the anti and output dependences, through an array in the program's order."""
        if array not in self.known:
            reads, writes, may, kills = self._uses(array)
            self.known[array] = dependences(self.order, reads, writes, may, kills)
        return self.known[array]

    def _uses(self, array: str) -> list[isl.UnionMap]:
        context = isl.Set(self.claim["context"])
        return [accesses(self.program, array, kind).intersect_params(context) for kind in KINDS]

    def disorder(self, array: str) -> Iterator[str]:
        """Yield pairs of one step that must keep an order which phases and boxes do not keep."""
        in_each_box = self.claim["arrays"][array]["in_each_box"]
        flows, others = self.pairs(array)
        for pairs in maps(flows if in_each_box else flows.union(others)):
            first, then = (str(pairs.get_tuple_name(kind)) for kind in (IN, OUT))
            step = pairs.equate(IN, 0, OUT, 0) if self.timed else pairs
            before, behind = self.phase[first], self.phase[then]
            lost = in_each_box and (before != behind or not pairs.is_subset(step))
            if lost or (before > behind and not step.is_empty()) or (before == behind and not self._together(step)):
                yield f"{first} and {then} are not in the order, or the box, that {array} needs"

    def _together(self, pairs: isl.Map) -> bool:
        """Return whether all pairs of instances are at one position."""
        first, then = (str(pairs.get_tuple_name(kind)) for kind in (IN, OUT))
        for axis in self.axes:
            one, other = self.position(first, axis), self.position(then, axis)
            if one is not None and other is not None:
                if not pairs.is_subset(one.apply_range(other.reverse())):
                    return False
            elif (one is not None or other is not None) and not pairs.is_empty():
                return False
        return True

    def runs(self, name: str, steps: int) -> isl.Set:
        """Return the instances that the rank runs in a period of so many steps."""
        boxes = self.claim["phases"][self.phase[name]]["boxes"]
        if not self.timed:
            return at_positions(self.claim, name, isl.Set(boxes[0])).intersect_params(self.context)
        found = []
        for number in range(steps):
            there = at_positions(self.claim, name, isl.Set(boxes[steps - 1 - number]))
            found.append(there.intersect(self._at_step(name, f"= {self.start} + {number}")))
        total = found[0]
        for one in found[1:]:
            total = total.union(one)
        return total.intersect_params(self.context).coalesce()

    def _at_step(self, name: str, condition: str) -> isl.Set:
        """Return the instances whose step is in a relation to a number: `< start`."""
        own = coordinates("x", isl.Set(self.statements[name]["domain"]).dim(SET), [self.start])
        return isl.Set(f"[{self.start}] -> {{ {name}[{', '.join(own)}] : {own[0]} {condition} }}")

    def counts(self, name: str, steps: int) -> isl.Set:
        """Return the instances of a period whose results may be read."""
        runs = self.runs(name, steps)
        written = {array for array, kind, _ in self.relations(name) if kind in WRITES}
        if all(self._has_one_owner(array) for array in written):
            return runs.intersect(at_positions(self.claim, name, self.own))
        return runs

    def _has_one_owner(self, array: str) -> bool:
        """Return whether no axis cuts an array, and statements write it at positions along some."""
        writers = [n for n in self.statements for _, kind, _ in self.relations(n, array) if kind in WRITES]
        at = any(self.position(name, axis) is not None for name in writers for axis in self.axes)
        return at and all(axis is None for axis in self.claim["arrays"][array]["axes"])

    def wrong_reads(self, array: str) -> Iterator[str]:
        """Yield statements that do not read the values which the program gives them."""
        if self.claim["arrays"][array]["in_each_box"]:  # these stay in a box: disorder()
            return
        reads, writes, may, kills = self._uses(array)
        if reads.is_empty():
            return
        times = self.order.get_map()
        found = flow(reads.range_map(), writes, times.union(reads.domain_map().apply_range(times)), may, kills)
        rank = next(int(m.dim(OUT)) for m in maps(reads))
        between, before = (available(self.claim, which, array, rank) for which in ("between", "before"))
        wrong = dict[str, None]()
        for steps in range(1, self.claim["steps"] + 1):
            for unset in maps(found.unset):
                read = unset.domain().unwrap()
                name = str(read.get_tuple_name(IN))
                if not read.intersect_domain(self.counts(name, steps)).range().is_subset(before):
                    wrong[name] = None
            for pairs in maps(found.values):
                if not self._is_right(pairs, array, between, steps):
                    wrong[str(pairs.range().unwrap().get_tuple_name(IN))] = None
        yield from (f"{name} reads elements of {array} that are not right on the rank" for name in wrong)

    def _is_right(self, pairs: isl.Map, array: str, there: isl.Set, steps: int) -> bool:
        """Return whether values `{ W[j] -> [S[i] -> A[e]] }` reach the instances of a period that count: their writers
        have run in it, or the elements are `there` when it begins."""
        writer, read = str(pairs.get_tuple_name(IN)), pairs.range().unwrap()
        reader = str(read.get_tuple_name(IN))
        taken = pairs.intersect_range(read.intersect_domain(self.counts(reader, steps)).wrap())
        early = taken
        if self.timed:
            early = taken.intersect_domain(self._at_step(writer, f"< {self.start}"))
            taken = taken.intersect_domain(self._at_step(writer, f">= {self.start}"))
            if not early.range().unwrap().range().is_subset(there):
                return False
        if not taken.domain().is_subset(self.counts(writer, steps)):
            return False
        return self._stays(early.union(taken).range_factor_domain(), array)

    def _stays(self, pairs: isl.Map, array: str) -> bool:
        """Return whether values that pass through an array stay at one position, which the rank owns, along axes that
        do not cut it: no message has them."""
        writer, reader = (str(pairs.get_tuple_name(kind)) for kind in (IN, OUT))
        for axis in self.axes:
            first, then = self.position(writer, axis), self.position(reader, axis)
            if axis in self.claim["arrays"][array]["axes"] or first is None or pairs.is_empty():
                continue
            if then is None or not pairs.is_subset(first.apply_range(then.reverse())):
                return False
            if not pairs.range().is_subset(then.intersect_range(along(self.own, axis)).domain()):
                return False
        return True


def _subscript(relation: isl.Map, dimension: int) -> isl.Map:
    """Project what is accessed onto one dimension."""
    inner = relation.project_out(OUT, dimension + 1, relation.dim(OUT) - dimension - 1)
    return inner.project_out(OUT, 0, dimension).reset_tuple_id(OUT)
