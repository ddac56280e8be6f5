"""Programs on ranks without kernels: the value of an instance is what it has read.

So the ranks of a plan agree with the program exactly where each read sees the same writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product

import islpy as isl

from polytile.distribution.boxes import Box, boundary_and_interior, grown, volume
from polytile.distribution.plan import DistributedArray, DistributionPlan, HaloExchange
from polytile.distribution.process_grid import ProcessGrid
from polytile.distribution.transfers import ArrayBox, ExchangeMode, rounds
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Expr
from polytile.ir.scop import AccessKind, Scop

Sizes = Mapping[str, int]
Point = tuple[int, ...]
Element = tuple[str, Point]
Memory = dict[Element, object]
Step = tuple[str, tuple[Element, ...], tuple[Element, ...]]  # a statement, what an instance reads, and what it writes


def run(scop: Scop, sizes: Sizes, memory: Memory) -> None:
    """Run the instances of a SCoP in its order."""
    for name, reads, writes in _steps(scop, tuple(sorted(sizes.items()))):
        value = hash((name, *(memory[element] for element in reads)))
        for element in writes:
            assert element in memory, f"{name} writes {element}, which is not stored"
            memory[element] = value


@cache
def _steps(scop: Scop, sizes: tuple[tuple[str, int], ...]) -> tuple[Step, ...]:
    """The instances of a SCoP for some sizes, in their order."""
    at = dict(sizes)
    dates = scop.schedule.get_map()
    found: list[tuple[Point, Step]] = []
    for statement in scop.statements:
        domain = _fixed_set(statement.domain, at)
        date = _fixed(dates.extract_map(_space(dates, statement.name)), at).intersect_domain(domain)
        when = dict(_pairs(date))
        touched: dict[bool, dict[Point, list[Element]]] = {True: {}, False: {}}
        for access in statement.accesses:
            if access.kind is not AccessKind.KILL:
                for here, element in _pairs(_fixed(access.relation, at).intersect_domain(domain)):
                    touched[access.writes].setdefault(here, []).append((access.array, element))
        for here, then in when.items():
            reads, writes = (tuple(touched[kind].get(here, ())) for kind in (False, True))
            found.append((then, (statement.name, reads, writes)))
    return tuple(step for _, step in sorted(found, key=lambda one: one[0]))


def _space(dates: isl.UnionMap, name: str) -> isl.Space:
    found: list[isl.Space] = []
    dates.foreach_map(lambda m: found.append(m.get_space()) if m.get_tuple_name(isl.dim_type.in_) == name else None)
    return found[0]


def _fixed(relation: isl.Map, sizes: Sizes) -> isl.Map:
    for k in range(relation.dim(isl.dim_type.param)):
        relation = relation.fix_val(isl.dim_type.param, k, isl.Val(sizes[relation.get_dim_name(isl.dim_type.param, k)]))
    return relation


def _fixed_set(points: isl.Set, sizes: Sizes) -> isl.Set:
    for k in range(points.dim(isl.dim_type.param)):
        points = points.fix_val(isl.dim_type.param, k, isl.Val(sizes[points.get_dim_name(isl.dim_type.param, k)]))
    return points


def _pairs(relation: isl.Map) -> Iterator[tuple[Point, Point]]:
    size = relation.dim(isl.dim_type.in_)
    found: list[Point] = []
    wrapped = relation.project_out(isl.dim_type.param, 0, relation.dim(isl.dim_type.param)).wrap()
    rank = wrapped.dim(isl.dim_type.set)
    wrapped.foreach_point(
        lambda p: found.append(
            tuple(p.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(rank))  # type: ignore[arg-type]
        )
    )
    return ((point[:size], point[size:]) for point in found)


def whole_memory(plan: DistributionPlan, sizes: Sizes) -> Memory:
    """Return all arrays, with a value of its own in each element."""
    memory: Memory = {}
    for array in plan.arrays:
        for element in product(*(range(extent) for extent in _extents(plan, array, sizes))):
            memory[array.name, element] = hash((array.name, element))
    return memory


def _extents(plan: DistributionPlan, array: DistributedArray, sizes: Sizes) -> list[int]:
    return [
        _extent(plan, extent, axis, sizes)
        for extent, axis in zip(array.extents, array.axes, strict=True)
    ]


def _extent(plan: DistributionPlan, extent: Expr | None, axis: int | None, sizes: Sizes) -> int:
    """How many elements a dimension has; one where nothing says it."""
    if extent is not None:
        return evaluate(extent, sizes)
    return 1 if axis is None else evaluate(plan.axes[axis].extent, sizes)


@dataclass
class Ranks:
    """All ranks of a plan in one process. Halos begin as values that nothing else has."""

    plan: DistributionPlan
    grid: ProcessGrid
    sizes: Sizes
    mode: ExchangeMode
    at_once: bool
    whole: Memory
    memories: list[Memory] = field(default_factory=list)
    messages: int = 0

    def __post_init__(self) -> None:
        for rank in range(self.grid.ranks):
            memory: Memory = {}
            owned, stored = self.grid.owned(rank), self.grid.stored(rank, self.plan.halo)
            for array in self.plan.arrays:
                for element in self._elements(array, stored):
                    local = self._local(array, element, stored)
                    own = self._is_in(array, element, owned)
                    memory[array.name, local] = self.whole[array.name, element] if own else ("halo", rank, element)
            self.memories.append(memory)

    def _elements(self, array: DistributedArray, box: Box) -> Iterator[Point]:
        extents = _extents(self.plan, array, self.sizes)
        along = [
            range(extent) if axis is None else range(box[axis][0], min(box[axis][1], extent))
            for extent, axis in zip(extents, array.axes, strict=True)
        ]
        return product(*along)

    def _local(self, array: DistributedArray, element: Point, stored: Box) -> Point:
        both = zip(element, array.axes, strict=True)
        return tuple(e if axis is None else e - stored[axis][0] for e, axis in both)

    def _is_in(self, array: DistributedArray, element: Point, box: Box) -> bool:
        both = zip(element, array.axes, strict=True)
        return all(axis is None or box[axis][0] <= e < box[axis][1] for e, axis in both)

    def _call(self, scop: Scop, rank: int, box: Box, **steps: int) -> None:
        if not volume(box):
            return
        stored = self.grid.stored(rank, self.plan.halo)
        known = dict(self.sizes)
        for names, (first, end), (low, high) in zip(self.plan.boxes, box, stored, strict=True):
            known |= {names.first: first - low, names.end: end - low, names.offset: low, names.extent: high - low}
        run(scop, {**known, **steps}, self.memories[rank])

    def run(self) -> None:
        """Run all periods."""
        plan = self.plan
        at, end = evaluate(plan.time.first, self.sizes), evaluate(plan.time.end, self.sizes)
        self._exchange(plan.before, at)
        while at < end:
            steps = min(plan.steps, end - at)
            self._lead(at, steps - 1)
            self._last(at + steps - 1)
            at += steps
            if at < end:
                self._exchange(plan.between, at)

    def _lead(self, at: int, steps: int) -> None:
        """All steps of a period but the last: at once, or by boxes that shrink."""
        for rank in range(self.grid.ranks):
            if self.at_once and self.plan.lead is not None and steps:
                box = self.plan.lead_box(self.grid.stored(rank, self.plan.halo), self.grid.extents)
                self._call(self.plan.lead, rank, box, **{self.plan.step: at, self.plan.count: steps})
                continue
            for done in range(steps):
                for phase, scop in zip(self.plan.phases, self.plan.local, strict=True):
                    box = grown(self.grid.owned(rank), phase.growth[steps - done], self.grid.extents)
                    self._call(scop, rank, box, **self._step(at + done))

    def _step(self, at: int) -> dict[str, int]:
        return {self.plan.step: at} if self.plan.step else {}

    def _last(self, at: int) -> None:
        """The last step: sides in front of the interior, in an order that is not the usual one."""
        for rank in range(self.grid.ranks):
            for phase, scop in zip(self.plan.phases, self.plan.local, strict=True):
                box = grown(self.grid.owned(rank), phase.growth[0], self.grid.extents)
                is_cut = any(p is not None for p in self.plan.placement(phase.statements[0]).positions)
                slabs, interior = boundary_and_interior(box, self.plan.boundary) if is_cut else ((), box)
                for part in (*reversed(slabs), interior):
                    self._call(scop, rank, part, **self._step(at))

    def _exchange(self, exchanges: Sequence[HaloExchange], at: int) -> None:
        """Send all of a round, then receive it. Rounds of `basic` are those of axes."""
        each = [rounds(self.grid, rank, exchanges, self.mode) for rank in range(self.grid.ranks)]
        by_key: dict[int, list[tuple[int, int, tuple[ArrayBox, ...], tuple[ArrayBox, ...]]]] = {}
        for rank, found in enumerate(each):
            for transfers in found:
                for t in transfers:
                    key = next(k for k, d in enumerate(t.direction) if d) if self.mode is ExchangeMode.BASIC else 0
                    by_key.setdefault(key, []).append((rank, t.neighbour, t.sends, t.receives))
        for _, transfers_of_all in sorted(by_key.items()):
            sent: dict[tuple[int, int], list[list[object]]] = {}
            for rank, neighbour, sends, _ in transfers_of_all:
                if sends:
                    sent.setdefault((rank, neighbour), []).append(
                        [self.memories[rank][key] for key in self._keys(rank, sends, exchanges, at)]
                    )
                    self.messages += 1
            for rank, neighbour, _, receives in reversed(transfers_of_all):
                if receives:
                    values = sent[neighbour, rank].pop()
                    keys = list(self._keys(rank, receives, exchanges, at))
                    assert len(keys) == len(values)
                    self.memories[rank].update(zip(keys, values, strict=True))
            assert not any(sent.values())

    def _keys(
        self, rank: int, boxes: Sequence[ArrayBox], exchanges: Sequence[HaloExchange], at: int
    ) -> Iterator[Element]:
        stored = self.grid.stored(rank, self.plan.halo)
        for one in boxes:
            exchange = next(e for e in exchanges if e.array == one.array)
            array = self.plan.array(one.array)
            for element in self._elements(array, one.box):
                if exchange.plane is not None:
                    planes = exchange.planes[at % len(exchange.planes)]
                    if element[exchange.plane] not in planes:
                        continue
                yield one.array, self._local(array, element, stored)

    def gathered(self) -> Memory:
        """Return all arrays as their owners have them, and whole ones as the rank of their writers."""
        found = dict(self.whole)
        for rank in range(self.grid.ranks):
            owned, stored = self.grid.owned(rank), self.grid.stored(rank, self.plan.halo)
            for array in self.plan.arrays:
                at = zip(array.position, owned, strict=True)
                if all(p is None or first <= evaluate(p, self.sizes) < end for p, (first, end) in at):
                    for element in self._elements(array, owned):
                        local = self._local(array, element, stored)
                        found[array.name, element] = self.memories[rank][array.name, local]
        return found
