"""From the values of a stencil to the steps of a stream plan: boxes, lags, and how many planes each step keeps.

before: field A reads A, made 1 iteration ago, at offsets -1 .. 1 in both dimensions; blocks of 2 iterations
after:  step 0: A of iteration t0 - 1, loaded: box [-2..+2, -2..+2], lag 0, 3 planes
        step 1: A of iteration t0: box [-1..+1, -1..+1], lag 1, 3 planes
        step 2: A of iteration t0 + 1: box [0..0, 0..0], lag 2, 1 plane; becomes the input of the next block

All of it is dynamic programming over whole numbers: boxes from the last step to the first, then lags from the first to
the last, then slots. Boxes cover what an exact slice of the values would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polytile.ir.name_supply import Names
from polytile.ir.scop import Scop
from polytile.ir.stream_plan import Exchange, StreamPlan, StreamRead, StreamStep, StreamStore
from polytile.scheduling.analysis.stencil_form import NotAStencilError, StencilForm
from polytile.scheduling.analysis.stencil_values import StencilValues, stencil_values
from polytile.scheduling.candidate import Problem

NAME = "stream"
Key = tuple[int, int]  # the iteration of a block, and the field
Offset = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StreamTiles:
    """What is chosen of a plan beside its iterations: how threads exchange values, and who has which cells."""

    exchange: Exchange
    threads: tuple[int, ...]
    points: tuple[int, ...]
    chunk: int = 0


@dataclass(frozen=True, slots=True)
class StreamSteps:
    """A plan without its tiles."""

    iterations: int
    dims: int
    steps: tuple[StreamStep, ...]
    reads: tuple[StreamRead, ...]
    stores: tuple[StreamStore, ...]
    shadows: tuple[tuple[int, str], ...]

    def plan(self, tiles: StreamTiles) -> StreamPlan:
        return StreamPlan(
            NAME,
            self.iterations,
            self.dims,
            self.steps,
            self.reads,
            self.stores,
            self.shadows,
            tiles.exchange,
            tiles.threads,
            tiles.points,
            tiles.chunk,
        )

    def sides(self) -> tuple[tuple[int, int], ...]:
        """The halo before and behind the owner box, along each dimension."""
        along = range(self.dims)
        return tuple((max(-s.lower[k] for s in self.steps), max(s.upper[k] for s in self.steps)) for k in along)


def stream_plan(
    problem: Problem,
    form: StencilForm,
    iterations: int,
    exchange: Exchange,
    threads: tuple[int, ...],
    points: tuple[int, ...],
    chunk: int = 0,
) -> StreamPlan:
    """The plan of a SCoP that is a time loop around stencils; raises NotAStencilError."""
    values = stencil_values(problem.scop, problem.dependences, form)
    return stream_steps(problem.scop, values, iterations, exchange).plan(StreamTiles(exchange, threads, points, chunk))


def stream_steps(scop: Scop, values: StencilValues, iterations: int, exchange: Exchange) -> StreamSteps:
    """The steps of blocks of so many iterations; raises NotAStencilError where these are too few."""
    block = Block(scop, values, iterations, exchange)
    _check_iterations(block)
    names = Names.of(scop)
    steps = block.steps()
    shadows = tuple((s.index, names.fresh(f"{s.array}_shadow")) for s in steps if s.is_input)
    return StreamSteps(iterations, values.dims, steps, tuple(block.reads()), tuple(block.stores()), shadows)


def _check_iterations(block: Block) -> None:
    """A block makes all that the next one reads, and all versions that are live in the end."""
    values, count = block.values, block.iterations
    if all(time >= 0 for time, _ in block.keys):
        first = block.scop.statement(values.fields[0].statements[0])
        raise NotAStencilError(f"no iteration of {first.iterators[0]} reads what another one made", first.location)
    versions = max((-t for t, _ in block.keys), default=0)
    kept = [f.period or 0 for k, f in enumerate(values.fields) if block.is_live(k)]
    most = max(versions, *kept, 0)
    if most > count:
        first = block.scop.statement(values.fields[0].statements[0])
        raise NotAStencilError(
            f"{most} iterations of {first.iterators[0]} are live at once, more than the {count} of a block",
            first.location,
        )


@dataclass(frozen=True, slots=True)
class _Edge:
    """All reads of a field by another one of `back` iterations later, as a box of offsets. `apart` is the largest
    offset along the stream of a read beside the own column; None: there is none."""

    reader: int
    source: int
    back: int
    lower: Offset
    upper: Offset
    apart: int | None


class Block:
    """The steps of a block of iterations, by iteration and field; iterations before the block are inputs."""

    def __init__(self, scop: Scop, values: StencilValues, iterations: int, exchange: Exchange) -> None:
        self.scop, self.values, self.iterations = scop, values, iterations
        self.streamed = values.dims > 1
        self.gap = int(self.streamed and exchange is Exchange.BLOCK)
        self.edges = _edges(values)
        self._boxes = self._found_boxes()
        self.keys: list[Key] = sorted(self._boxes, key=self._position)
        self._index = {key: k for k, key in enumerate(self.keys)}
        self._lags = self._found_lags()

    def _position(self, key: Key) -> tuple[bool, int, int]:
        return key[0] >= 0, *key

    def is_live(self, field: int) -> bool:
        return self.scop.array(self.values.fields[field].array).live_out

    def _kept(self) -> Iterator[Key]:
        """What leaves the block: it is read by the next one, or live in the end."""
        for k, field in enumerate(self.values.fields):
            backs = [e.back for e in self.edges if e.source == k]
            last = max([*backs, (field.period or 0) if self.is_live(k) else 0])
            yield from ((self.iterations - back, k) for back in range(1, last + 1))

    def _found_boxes(self) -> dict[Key, tuple[Offset, Offset]]:
        none = (0,) * self.values.dims
        boxes: dict[Key, tuple[Offset, Offset]] = {key: (none, none) for key in self._kept() if key[0] >= 0}
        for time in reversed(range(self.iterations)):
            for k in reversed(range(len(self.values.fields))):
                if (time, k) in boxes:
                    self._widen_sources(boxes, (time, k))
        return boxes

    def _widen_sources(self, boxes: dict[Key, tuple[Offset, Offset]], key: Key) -> None:
        none = (0,) * self.values.dims
        lower, upper = boxes[key]
        for edge in self._edges_of(key[1]):
            source = (key[0] - edge.back, edge.source)
            low, high = boxes.get(source, (none, none))
            boxes[source] = (
                tuple(min(a, b + c) for a, b, c in zip(low, lower, edge.lower, strict=True)),
                tuple(max(a, b + c) for a, b, c in zip(high, upper, edge.upper, strict=True)),
            )

    def _edges_of(self, reader: int) -> Iterator[_Edge]:
        return (e for e in self.edges if e.reader == reader)

    def _ahead(self, edge: _Edge) -> int:
        """How many planes later than the source's the reader's plane can be made at the earliest. Values of other
        threads of a block are there one plane after they were made, behind a barrier."""
        own = edge.upper[0]
        return own if edge.apart is None else max(own, edge.apart + self.gap)

    def _found_lags(self) -> dict[Key, int]:
        """Made steps are as early as they can be, inputs as late as their readers let them."""
        lags = dict.fromkeys(self.keys, 0)
        if not self.streamed:
            return lags
        pairs = [
            (key, (key[0] - e.back, e.source), self._ahead(e))
            for key in self.keys
            if key[0] >= 0
            for e in self._edges_of(key[1])
        ]
        for key, source, ahead in pairs:
            lags[key] = max(lags[key], lags[source] + ahead)
        for source in self.keys:
            if source[0] < 0:
                lags[source] = max(0, min(lags[key] - ahead for key, other, ahead in pairs if other == source))
        return lags

    def _slots(self) -> Mapping[Key, int]:
        """A plane stays until the last step that reads it has run; the next one in its place comes a plane later."""
        slots = dict.fromkeys(self.keys, 1)
        if not self.streamed:
            return slots
        for key in self.keys:
            for e in self._edges_of(key[1]) if key[0] >= 0 else ():
                source = (key[0] - e.back, e.source)
                slots[source] = max(slots[source], self._lags[key] - e.lower[0] - self._lags[source] + 1)
        return slots

    def steps(self) -> tuple[StreamStep, ...]:
        slots = self._slots()
        return tuple(self._step(index, key, slots[key]) for index, key in enumerate(self.keys))

    def _step(self, index: int, key: Key, slots: int) -> StreamStep:
        field, (lower, upper) = self.values.fields[key[1]], self._boxes[key]
        statements = field.statements if key[0] >= 0 else ()
        return StreamStep(index, field.array, statements, key[0], lower, upper, self._lags[key], slots)

    def reads(self) -> Iterator[StreamRead]:
        of_field: list[list[tuple[str, int, int, int, Offset]]] = [[] for _ in self.values.fields]
        for r in self.values.reads:
            of_field[self.values.field_of(r.statement)].append((r.statement, r.access, r.source, r.back, r.offset))
        for (time, k), step in self._index.items():
            for statement, access, source, back, offset in of_field[k] if time >= 0 else ():
                yield StreamRead(step, statement, access, self._index[time - back, source], offset)

    def stores(self) -> Iterator[StreamStore]:
        for time, k in sorted(self._kept()):
            becomes = self._index.get((time - self.iterations, k))
            if becomes is not None or self.is_live(k):
                yield StreamStore(self._index[time, k], becomes)


def _edges(values: StencilValues) -> tuple[_Edge, ...]:
    found: dict[tuple[int, int, int], list[Offset]] = {}
    for read in values.reads:
        found.setdefault((values.field_of(read.statement), read.source, read.back), []).append(read.offset)
    return tuple(_edge(*key, offsets) for key, offsets in found.items())


def _edge(reader: int, source: int, back: int, offsets: Sequence[Offset]) -> _Edge:
    lower, upper = (tuple(f(along) for along in zip(*offsets, strict=True)) for f in (min, max))
    apart = max((offset[0] for offset in offsets if any(offset[1:])), default=None)
    return _Edge(reader, source, back, lower, upper, apart)
