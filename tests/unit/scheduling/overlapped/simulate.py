"""Stream plans carried out by brute force on small sizes, with hashes for values, against the order of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product

import islpy as isl

from polytile.ir.isl_util import maps
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamStep
from polytile.ir.scop import AccessKind, AccessRelation, Scop
from polytile.ir.time_tile import Exchange

Point = tuple[int, ...]
Element = tuple[str, Point]
Memory = dict[Element, int]
PARAM, SET, IN, OUT = isl.dim_type.param, isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


@dataclass
class Instance:
    name: str
    iterators: Point
    time: Point
    write: Element
    reads: dict[int, Element]


class Simulation:
    """A SCoP for fixed parameters. Tiles own `width` cells along each dimension that is not streamed."""

    def __init__(self, scop: Scop, parameters: Mapping[str, int], dims: int, width: int = 3) -> None:
        self.scop, self.parameters, self.dims, self.width = scop, parameters, dims, width
        times = scop.schedule.get_map().intersect_domain(scop.domain)
        order = {m.get_tuple_name(IN): self._pairs(m) for m in maps(times)}
        self.instances: list[Instance] = []
        for s in scop.statements:
            found = [(a, self._pairs(a.relation.intersect_domain(s.domain))) for a in s.accesses]
            for i in points(self._fixed(s.domain)):
                reads = {k: (a.array, of[i]) for k, (a, of) in enumerate(found) if a.kind is AccessKind.READ}
                (write,) = ((a.array, of[i]) for a, of in found if a.kind is AccessKind.WRITE)
                self.instances.append(Instance(s.name, i, order[s.name][i], write, reads))
        self.instances.sort(key=lambda instance: instance.time)
        self.making = {(x.write[0], x.iterators[0], self.cell(x.write)): x for x in self.instances}
        self.changing = {(array, cell) for array, _, cell in self.making}
        self.first = min((x.iterators[0] for x in self.instances), default=0)
        self.last = max((x.iterators[0] for x in self.instances), default=-1)
        self._leading: dict[tuple[str, int], Point] = {}

    def _fixed(self, relation: isl.Set) -> isl.Set:
        for name, value in self.parameters.items():
            k = relation.find_dim_by_name(PARAM, name)
            relation = relation.fix_val(PARAM, k, isl.Val(value)) if k >= 0 else relation
        return relation

    def _pairs(self, relation: isl.Map) -> dict[Point, Point]:
        rank = relation.dim(IN)
        return {p[:rank]: p[rank:] for p in points(self._fixed(relation.wrap()))}

    def cell(self, element: Element) -> Point:
        return element[1][len(element[1]) - self.dims :]

    def home(self, array: str, iteration: int, cell: Point) -> Element:
        key = (array, iteration)
        if key not in self._leading:
            accesses = (a for s in self.scop.statements for a in s.accesses)
            write = next(a for a in accesses if a.array == array and a.kind is AccessKind.WRITE)
            self._leading[key] = self._version(write, iteration)
        return array, (*self._leading[key], *cell)

    def _version(self, write: AccessRelation, iteration: int) -> Point:
        leading = write.relation.project_out(OUT, write.relation.dim(OUT) - self.dims, self.dims)
        leading = leading.fix_val(IN, 0, isl.Val(iteration)).range().reset_tuple_id()
        (found,) = points(self._fixed(leading))
        return found

    def run(self, memory: Memory, start: int) -> Memory:
        """The source from an iteration on."""
        for x in self.instances:
            if x.iterators[0] >= start:
                memory[x.write] = value_of(x, lambda _, e: get(memory, e))
        return memory

    def is_right(self, plan: OverlappedTiles) -> bool:
        count = (self.last - self.first + 1) // (2 * plan.iterations)
        memory: Memory = {}
        for block in range(2 * count):
            self._block(plan, memory, self.first + block * plan.iterations, block % 2 == 1, block == 2 * count - 1)
        got = self.run(memory, self.first + 2 * count * plan.iterations)
        return all(get(got, e) == v for e, v in self.run({}, self.first).items())

    def _block(self, plan: OverlappedTiles, memory: Memory, t0: int, second: bool, last: bool) -> None:
        cells = [cell for _, cell in self.changing]
        if not cells:
            return
        out: Memory = {}
        along = [range(0, max(c[k] for c in cells) + 1, self.width) for k in range(plan.streamed, self.dims)]
        for origin in product(*along):
            _Tile(self, plan, memory, t0, second, last, origin).run(out)
        memory.update(out)


def get(memory: Memory, element: Element) -> int:
    return memory.get(element, hash(element))


def value_of(instance: Instance, read: Callable[[int, Element], int]) -> int:
    return hash((instance.name, instance.iterators, *(read(k, e) for k, e in instance.reads.items())))


def points(relation: isl.Set) -> list[Point]:
    found: list[Point] = []
    relation = relation.project_out(PARAM, 0, relation.dim(PARAM))
    rank = range(relation.dim(SET))
    relation.foreach_point(
        lambda p: found.append(tuple(int(p.get_coordinate_val(SET, k).to_python()) for k in rank))
    )
    return found


@dataclass
class _Tile:
    """One tile of a block at t0, plane after plane."""

    whole: Simulation
    plan: OverlappedTiles
    memory: Memory
    t0: int
    second: bool
    last: bool
    origin: Point

    def run(self, out: Memory) -> None:
        plan, cells = self.plan, [cell for _, cell in self.whole.changing]
        self.slots: list[dict[Point, int]] = [{} for _ in plan.steps]
        self.reads = {(r.step, r.statement, r.access): r for r in plan.reads}
        self.size = [max(c[k] for c in cells) + 1 for k in range(self.whole.dims)]
        self.becomes: dict[int, list[int | None]] = {}
        for store in plan.stores:
            self.becomes.setdefault(store.step, []).append(store.becomes)
        most = max(s.lag for s in plan.steps)
        planes = range(-9, self.size[0] + most + 10) if plan.streamed else range(1)
        for plane in planes:
            self.before = [dict(slots) for slots in self.slots]
            for step in plan.steps:
                for cell in self._box(step, plane - step.lag):
                    self._cell(step, cell, out)

    def _box(self, step: StreamStep, plane: int) -> Iterable[Point]:
        low, high = step.lower, step.upper
        first = self.plan.streamed
        if first and not low[0] <= plane < self.size[0] + high[0]:
            return ()
        wide = [
            range(o + low[k], o + self.whole.width + high[k]) for k, o in enumerate(self.origin, start=first)
        ]
        return product(*([[plane]] if first else []), *wide)

    def _cell(self, step: StreamStep, cell: Point, out: Memory) -> None:
        home = self.whole.home(step.array, self.t0 + step.iteration, cell)
        made = self.whole.making.get((step.array, self.t0 + step.iteration, cell))
        changes = (step.array, cell) in self.whole.changing
        if step.is_input:
            there = (self.plan.shadow(step.index), cell) if self.second and changes else home
            found = get(self.memory, there)
        elif made is not None and made.name in step.statements:
            found = value_of(made, lambda k, e: self._read(step, made.name, k, e, cell))
            self._store(step, cell, home, found, out)
        else:
            found = get(self.memory, home)
        self.slots[step.index][self._place(step, cell)] = found

    def _place(self, step: StreamStep, cell: Point) -> Point:
        return (cell[0] % step.slots, *cell[1:]) if self.plan.streamed else cell

    def _read(self, step: StreamStep, statement: str, access: int, element: Element, cell: Point) -> int:
        read = self.reads.get((step.index, statement, access))
        if read is None:
            return get(self.memory, element)
        source = self.plan.steps[read.source]
        apart = self.plan.exchange is Exchange.BLOCK and any(read.offset[self.plan.streamed :])
        slots = (self.before if apart else self.slots)[read.source]
        there = tuple(c + o for c, o in zip(cell, read.offset, strict=True))
        return slots.get(self._place(source, there), 1)

    def _store(self, step: StreamStep, cell: Point, home: Element, found: int, out: Memory) -> None:
        own = all(
            o <= cell[k] < o + self.whole.width for k, o in enumerate(self.origin, start=self.plan.streamed)
        )
        for becomes in self.becomes.get(step.index, ()) if own else ():
            if not self.second and becomes is not None:
                out[self.plan.shadow(becomes), cell] = found
            elif self.second and (becomes is not None or self.last):
                out[home] = found
