"""That ranks compute what the program does, for any part, any period and any sizes.

A rank owns lower .. upper - 1 along each axis, and a period of m steps begins at step t0; all of these are parameters.
What is shown of it, each as a set that is empty:

- lost: instances at positions of no rank;
- stale: reads of a value that the same period computes, but not on this rank;
- missing: reads of a value from before the period that is neither owned nor exchanged, and of one from before the
  program that is neither owned nor exchanged in front of it;
- disorder: instances of one step that depend on each other and run in another order, or in boxes of any order;
- astray: elements that are written at another position than where they are owned;
- beyond: elements that are accessed and not stored on the rank;
- overrun: of steps that run at once, instances of phases that are not among them, and accesses to what is not stored;
- unlike: instances and accesses of a phase's SCoP that are not the source's, and the other way round;
- unsent: positions that a neighbour waits for and that are not computed in front of the interior;
- miscombined: terms of a sum, minimum or maximum over all ranks that are left out or there twice.

So, by induction over periods, owned elements are right at the end of each: their writers ran, and read right values.
That an axis is cut into parts without gaps, and that what one rank sends is what the other receives, is arithmetic of
integers (boxes.py, transfers.py). Nothing here is shared with what made the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.distribution.boxes import Reach
from polytile.distribution.local_proof import unlike, unsent
from polytile.distribution.plan import DistributedArray, DistributionPlan, HaloExchange
from polytile.distribution.reduction_proof import miscombined
from polytile.ir.expr import Name
from polytile.ir.isl_util import maps
from polytile.ir.name_supply import Names, coordinates, fresh
from polytile.ir.scop import AccessKind, AccessRelation, Origin, Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set


class DistributionError(InternalError):
    """A plan for ranks does not compute what the program does; the message has a pair of instances."""


@dataclass(frozen=True, slots=True)
class DistributionProof:
    """How many sets were shown to be empty, of each kind."""

    lost: int
    stale: int
    missing: int
    disorder: int
    astray: int
    beyond: int
    overrun: int
    unlike: int
    unsent: int
    miscombined: int

    def __str__(self) -> str:
        terms = f", {self.miscombined} sets of terms" if self.miscombined else ""
        return (
            f"proven for any part and sizes: {self.lost} positions, {self.stale} reads within a period, {self.missing} "
            f"across periods, {self.disorder} orders, {self.astray} writes, "
            f"{self.beyond + self.overrun} accesses, {self.unlike} relations of phases, {self.unsent} sides{terms}"
        )


def prove(plan: DistributionPlan, dependences: Dependences, source: Scop | None = None) -> DistributionProof:
    """Prove a plan by the dependences of its SCoP; `source` is that SCoP before global reductions were split.

    Raises DistributionError for the first set that is not empty, with one of its elements.
    """
    rank = _Rank(plan, dependences)
    kinds: dict[str, Callable[[], Iterator[isl.Set | isl.Map]]] = {
        "lost": rank.lost,
        "astray": rank.astray,
        "disorder": rank.disorder,
        "stale": rank.stale,
        "missing": rank.missing,
        "beyond": rank.beyond,
        "overrun": rank.overrun,
        "unlike": partial(unlike, plan),
        "unsent": partial(unsent, plan),
        "miscombined": partial(miscombined, plan, source or plan.scop),
    }
    found = {}
    for kind, violations in kinds.items():
        count = 0
        for violation in violations():
            if not violation.is_empty():
                example = violation.wrap() if isinstance(violation, isl.Map) else violation
                raise DistributionError(f"distribution of {plan.scop.name}: {kind}: {example.sample_point()}")
            count += 1
        found[kind] = count
    return DistributionProof(**found)


class _Rank:
    """A rank with any part, in any period."""

    def __init__(self, plan: DistributionPlan, dependences: Dependences) -> None:
        self.plan, self.scop = plan, plan.scop
        self.by_array = {d.array: d.values for d in dependences.by_array}
        self.timed = bool(plan.step)
        names = Names.of(plan.scop)
        self.lower = [names.fresh(f"{axis.name}_lower") for axis in plan.axes]
        self.upper = [names.fresh(f"{axis.name}_upper") for axis in plan.axes]
        self.start = names.fresh("start")
        own = [p.name for p in plan.scop.parameters]
        self.known = ", ".join((*own, *self.lower, *self.upper, self.start))
        part = " and ".join(f"{a} < {b}" for a, b in zip(self.lower, self.upper, strict=True))
        self.context = isl.Set(f"[{self.known}] -> {{ : {part} }}").intersect_params(
            plan.scop.context.align_params(isl.Set(f"[{self.known}] -> {{ : }}").get_space())
        )
        self.phase = {s: k for k, phase in enumerate(plan.phases) for s in phase.statements}
        self.run_in: dict[tuple[str, int], isl.Set] = {}  # what `runs` and `useful` have found
        self.useful_in: dict[tuple[str, int], isl.Set] = {}

    def lost(self) -> Iterator[isl.Set]:
        """Yield instances whose position is none of 0 .. extent - 1."""
        for placement in self.plan.placements:
            domain = self._within_arrays(self.scop.statement(placement.statement))
            for axis, position in zip(self.plan.axes, placement.positions, strict=True):
                if position is not None:
                    every = position.intersect_domain(domain).range()
                    ends = isl.Set.from_pw_aff(axis.end)
                    yield every.params().subtract(ends.params())
                    yield every.lex_ge_set(ends).domain()
                    yield every.intersect(isl.Set("{ [p] : p < 0 }"))

    def _within_arrays(self, statement: Statement) -> isl.Set:
        """Return the instances that access no element beyond the sizes of arrays, which C leaves undefined."""
        domain = statement.domain.intersect_params(self.scop.context)
        names = ", ".join(p.name for p in self.scop.parameters)
        for access in statement.accesses:
            for d, extent in enumerate(self.scop.array(access.array).extents):
                if isinstance(extent, Name):
                    own = coordinates("e", access.relation.dim(_OUT), (p.name for p in self.scop.parameters))
                    element = f"{access.array}[{', '.join(own)}]"
                    inside = isl.Set(f"[{names}] -> {{ {element} : 0 <= {own[d]} < {extent.name} }}")
                    domain = domain.intersect(access.relation.intersect_range(inside).domain())
        return domain

    def runs(self, statement: str, steps: int) -> isl.Set:
        """Return the instances that the rank runs in a period of so many steps."""
        if (statement, steps) not in self.run_in:
            self.run_in[statement, steps] = self._runs(statement, steps)
        return self.run_in[statement, steps]

    def _runs(self, statement: str, steps: int) -> isl.Set:
        growth = self.plan.phases[self.phase[statement]].growth
        found = self.within(statement, growth[0]) if not self.timed else None
        if found is not None:
            return found
        total = isl.Set.empty(self.scop.statement(statement).domain.get_space())
        for follow in range(steps):
            at = self.at_step(statement, f"{{t}} = {self.start} + {steps - 1 - follow}")
            total = total.union(self.within(statement, growth[follow]).intersect(at))
        return total.coalesce()

    def at_step(self, statement: str, condition: str) -> isl.Set:
        """Return the instances of a statement whose step `{t}` meets a condition."""
        rank = self.scop.statement(statement).domain.dim(_SET)
        own = coordinates("x", rank, self.known.split(", "))
        instance, condition = f"{statement}[{', '.join(own)}]", condition.format(t=own[0])
        return isl.Set(f"[{self.known}] -> {{ {instance} : {condition} }}")

    def within(self, statement: str, growth: Sequence[Reach]) -> isl.Set:
        """Return the instances of a statement at positions of the part, and `growth` around it."""
        domain = self.scop.statement(statement).domain.intersect_params(self.context)
        sides = zip(self.plan.placement(statement).positions, self.lower, self.upper, growth, strict=True)
        p = fresh("p", self.known.split(", "))
        for position, lower, upper, (below, above) in sides:
            if position is not None:
                box = isl.Set(f"[{self.known}] -> {{ [{p}] : {lower} - {below} <= {p} < {upper} + {above} }}")
                domain = domain.intersect(position.intersect_range(box).domain())
        return domain

    def useful(self, statement: str, steps: int) -> isl.Set:
        """Return the instances of a period whose results may be read.

        Statements that write nothing but what one rank owns altogether (what a receiver writes) count on that rank
        alone.
        """
        if (statement, steps) not in self.useful_in:
            self.useful_in[statement, steps] = self._useful(statement, steps)
        return self.useful_in[statement, steps]

    def _useful(self, statement: str, steps: int) -> isl.Set:
        writes = [a.array for a in self.scop.statement(statement).accesses if a.writes]
        runs = self.runs(statement, steps)
        if all(self._owned_by_position(self.plan.array(a)) for a in writes):
            nothing = tuple((0, 0) for _ in self.plan.axes)
            return runs.intersect(self.within(statement, nothing))
        return runs

    def _owned_by_position(self, array: DistributedArray) -> bool:
        return not array.is_cut and any(p is not None for p in array.position)

    def flows(self) -> Iterator[tuple[DistributedArray, isl.Map]]:
        """Yield the pairs of writers and readers, for each array and two statements."""
        for array in self.plan.arrays:
            for pairs in maps(self.by_array[array.name].flow):
                yield array, pairs

    def stale(self) -> Iterator[isl.Map]:
        """Yield reads of what this period computes elsewhere."""
        for array, pairs in self.flows():
            source, sink = pairs.get_tuple_name(_IN), pairs.get_tuple_name(_OUT)
            yield from self._foreign(array, pairs)
            for steps in range(1, self.plan.steps + 1):
                taken = pairs.intersect_range(self.useful(sink, steps))
                if self.timed:
                    taken = taken.intersect_domain(self.at_step(source, f"{{t}} >= {self.start}"))
                yield taken.subtract_domain(self.runs(source, steps))

    def _foreign(self, array: DistributedArray, pairs: isl.Map) -> Iterator[isl.Map]:
        """Yield reads, at positions that others own, of what only their owner has: arrays that an axis does not cut."""
        source, sink = (pairs.get_tuple_name(kind) for kind in (_IN, _OUT))
        for axis, position in enumerate(self.plan.placement(source).positions):
            if position is not None and axis not in array.axes and not self._is_per_call(array.name):
                for steps in range(1, self.plan.steps + 1):
                    nothing = tuple((0, 0) for _ in self.plan.axes)
                    yield pairs.intersect_range(self.useful(sink, steps).subtract(self.within(sink, nothing)))

    def missing(self) -> Iterator[isl.Map]:
        """Yield reads of what is not there when the period begins."""
        if self.timed:
            for array, pairs in self.flows():
                yield from self._from_earlier(array, pairs)
        initially = {e.array: e for e in self.plan.before}
        for array in self.plan.arrays:
            there = self.available(array, initially.get(array.name))
            for unset in maps(self.by_array[array.name].uninitialised):
                statement = unset.get_tuple_name(_IN)
                for steps in range(1, self.plan.steps + 1):
                    yield unset.intersect_domain(self.useful(statement, steps)).subtract_range(there)

    def _from_earlier(self, array: DistributedArray, pairs: isl.Map) -> Iterator[isl.Map]:
        source, sink = (self.scop.statement(pairs.get_tuple_name(kind)) for kind in (_IN, _OUT))
        exchanged = {e.array: e for e in self.plan.between}
        there = self.available(array, exchanged.get(array.name)).coalesce()
        before = pairs.intersect_domain(self.at_step(source.name, f"{{t}} < {self.start}"))
        read, written = (self._elements(s, array.name, kind) for s, kind in ((sink, True), (source, False)))
        for steps in range(1, self.plan.steps + 1):
            taken = before.intersect_range(self.useful(sink.name, steps))
            yield taken.reverse().apply_range(written).intersect(read).subtract_range(there)
            yield from self._moved(array, taken)

    def _moved(self, array: DistributedArray, pairs: isl.Map) -> Iterator[isl.Map]:
        """Yield values that go from one position of an axis to another by an array that the axis does not cut."""
        first, then = (self.plan.placement(pairs.get_tuple_name(kind)).positions for kind in (_IN, _OUT))
        for axis, (writer, reader) in enumerate(zip(first, then, strict=True)):
            if axis not in array.axes and writer is not None:
                same = writer.apply_range(reader.reverse()) if reader is not None else isl.Map.empty(pairs.get_space())
                yield pairs.subtract(same)

    def _elements(self, statement: Statement, array: str, reads: bool) -> isl.Map:
        """Return what a statement reads, or writes, of an array."""
        own = [a.relation for a in statement.accesses if a.array == array and (a.kind is AccessKind.READ) == reads]
        total = own[0]
        for relation in own[1:]:
            total = total.union(relation)
        return total.intersect_domain(statement.domain)

    def available(self, array: DistributedArray, exchange: HaloExchange | None) -> isl.Set:
        """Return the elements that are right when the period begins: what the rank owns, and what it has received."""
        rank = len(array.axes) + bool(self.scop.array(array.name).fields)
        elements = coordinates("e", rank, self.known.split(", "))
        owned = ["true"]
        cut = [(e, x) for e, x in zip(elements, array.axes, strict=False) if x is not None]
        owned += [f"{self.lower[x]} <= {e} < {self.upper[x]}" for e, x in cut]
        regions = [" and ".join(owned)]
        for direction in exchange.directions if exchange else ():
            assert exchange is not None
            sides = ["true"]
            for d, x in enumerate(array.axes):
                if x is not None:
                    sides.append(self._side(elements[d], x, direction[x], exchange.reach[x]))
            region = " and ".join(sides)
            regions += [f"({region}) and ({planes})" for planes in self._planes(exchange, elements)]
        return isl.Set(f"[{self.known}] -> {{ {array.name}[{', '.join(elements)}] : {' or '.join(regions)} }}")

    def _side(self, element: str, axis: int, side: int, reach: Reach) -> str:
        lower, upper = self.lower[axis], self.upper[axis]
        if side < 0:
            return f"{lower} - {reach[0]} <= {element} < {lower}"
        return f"{upper} <= {element} < {upper} + {reach[1]}" if side else f"{lower} <= {element} < {upper}"

    def _planes(self, exchange: HaloExchange, elements: Sequence[str]) -> Iterator[str]:
        if exchange.plane is None:
            yield "true"
            return
        at, every = elements[exchange.plane], len(exchange.planes)
        for residue, planes in enumerate(exchange.planes):
            for plane in planes:
                yield f"{at} = {plane} and ({self.start} - {residue}) mod {every} = 0"

    def disorder(self) -> Iterator[isl.Map]:
        """Yield pairs of one step that must keep an order which phases and boxes do not keep."""
        for array, found in self.by_array.items():
            per_call = self._is_per_call(array)
            for pairs in maps(found.flow if per_call else found.all):
                first, then = pairs.get_tuple_name(_IN), pairs.get_tuple_name(_OUT)
                within = pairs.equate(_IN, 0, _OUT, 0) if self.timed else pairs
                if per_call:
                    yield pairs.subtract(within)
                if self.phase[first] > self.phase[then]:
                    yield within
                elif per_call and self.phase[first] != self.phase[then]:
                    yield pairs
                elif self.phase[first] == self.phase[then]:
                    places = (self.plan.placement(name).positions for name in (first, then))
                    for one, other in zip(*places, strict=True):
                        if one is not None and other is not None:
                            yield within.subtract(one.apply_range(other.reverse()))
                        elif one is not None or other is not None:
                            yield within

    def beyond(self) -> Iterator[isl.Map]:
        """Yield accesses to what lies outside of the part and the halos around it."""
        for statement in self.scop.statements:
            runs = self.runs(statement.name, self.plan.steps)
            for access in statement.accesses:
                cut = [(d, x) for d, x in enumerate(self.plan.array(access.array).axes) if x is not None]
                if cut and access.kind is not AccessKind.KILL:
                    e, halo = coordinates("e", access.relation.dim(_OUT), self.known.split(", ")), self.plan.halo
                    stored = " and ".join(
                        f"{self.lower[x]} - {halo[x][0]} <= {e[d]} < {self.upper[x]} + {halo[x][1]}" for d, x in cut
                    )
                    there = isl.Set(f"[{self.known}] -> {{ {access.array}[{', '.join(e)}] : {stored} }}")
                    yield access.relation.intersect_domain(runs).subtract_range(there)

    def overrun(self) -> Iterator[isl.Set | isl.Map]:
        """Yield instances of phases that the SCoP of many steps leaves out, and its accesses to what is not stored.

        What else it computes is wrong, but no instance of a phase reads that: its sources are instances of phases.
        """
        if self.plan.lead is None:
            return
        for phase in self.plan.phases:
            for growth in phase.growth:
                for (below, above), halo, margin in zip(growth, self.plan.halo, self.plan.margin, strict=True):
                    yield isl.Set(f"{{ [p] : {halo[0]} - {margin[0]} < p <= {below} }}")
                    yield isl.Set(f"{{ [p] : {halo[1]} - {margin[1]} < p <= {above} }}")
        for statement in self.scop.statements:
            for access in statement.accesses:
                yield from self._beyond_margin(statement, access)

    def _beyond_margin(self, statement: Statement, access: AccessRelation) -> Iterator[isl.Set]:
        own = access.relation.intersect_domain(statement.domain)
        for d, axis in enumerate(self.plan.array(access.array).axes):
            position = None if axis is None else self.plan.placement(statement.name).positions[axis]
            if axis is not None and position is not None:
                below, above = self.plan.margin[axis]
                offsets = position.reverse().apply_range(_dimension(own, d)).deltas()
                yield offsets.subtract(isl.Set(f"{{ [p] : -{below} <= p <= {above} }}"))

    def _is_per_call(self, array: str) -> bool:
        """Return whether each box of a phase has an array of its own, whose values end with it."""
        own = [a.origin for local in self.plan.local for a in local.arrays if a.name == array]
        return bool(own) and all(origin is not Origin.EXTERNAL for origin in own)

    def astray(self) -> Iterator[isl.Map]:
        """Yield writes of elements that another rank owns."""
        for statement in self.scop.statements:
            positions = self.plan.placement(statement.name).positions
            for access in statement.accesses:
                if not access.writes:
                    continue
                for d, axis in enumerate(self.plan.array(access.array).axes):
                    if axis is None:
                        continue
                    element = _dimension(access.relation.intersect_domain(statement.domain), d)
                    position = positions[axis]
                    yield element if position is None else element.subtract(position)


def _dimension(relation: isl.Map, dimension: int) -> isl.Map:
    """Project what is accessed onto one dimension."""
    rank = relation.dim(_OUT)
    inner = relation.project_out(_OUT, dimension + 1, rank - dimension - 1)
    return inner.project_out(_OUT, 0, dimension).reset_tuple_id(_OUT)
