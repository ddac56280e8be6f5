"""From the values of a stencil to the steps of overlapped tiles: boxes, lags, and how many planes each step keeps.

before: field A reads A, made 1 iteration ago, at offsets -1 .. 1 in both dimensions; blocks of 2 iterations
after:  step 0: A of iteration t0 - 1, loaded: box [-2..+2, -2..+2], lag 0, 3 planes
        step 1: A of iteration t0: box [-1..+1, -1..+1], lag 1, 3 planes
        step 2: A of iteration t0 + 1: box [0..0, 0..0], lag 2, 1 plane; becomes the input of the next block

All of it is dynamic programming over whole numbers: boxes from the last step to the first, then lags from the first to
the last, then slots. Boxes cover what an exact slice of the values would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.name_supply import Names
from polytile.ir.overlapped_tiles import OverlappedTiles, StreamRead, StreamStep, StreamStore, halo_units
from polytile.ir.retiming import plane_terms
from polytile.ir.scop import Scop
from polytile.ir.time_tile import Exchange, TileThreads
from polytile.scheduling.analysis.stencil_form import NotAStencilError
from polytile.scheduling.analysis.stencil_values import StencilValues
from polytile.scheduling.strategies.overlapped.plane_schedule import Offset, Reach, boxes, lags, reach, slots

NAME = "stream"
Key = tuple[int, int]  # the iteration of a block, and the field


@dataclass(frozen=True, slots=True)
class StreamSteps:
    """A plan without its tiles."""

    iterations: int
    dims: int
    steps: tuple[StreamStep, ...]
    reads: tuple[StreamRead, ...]
    stores: tuple[StreamStore, ...]
    shadows: tuple[tuple[int, str], ...]
    once: bool = False
    in_place: bool = False

    def plan(self, block: TileThreads, *, split_barrier: bool = False) -> OverlappedTiles:
        """Return the plan with tiles of such blocks."""
        return OverlappedTiles(
            block.exchange,
            block.threads,
            block.points,
            self.iterations,
            self.reads,
            self.dims,
            self.steps,
            self.stores,
            self.shadows,
            once=self.once,
            in_place=self.in_place,
            split_barrier=split_barrier,
        )

    def sides(self) -> tuple[tuple[int, int], ...]:
        """Compute the halo before and after the owner box, along each dimension."""
        along = range(self.dims)
        return tuple((max(-s.lower[k] for s in self.steps), max(s.upper[k] for s in self.steps)) for k in along)

    def overlap(self, points: Sequence[int]) -> tuple[int, ...]:
        """Sum up the halo of both sides along each dimension not streamed, where threads have `points` cells there."""
        sides = self.sides()[int(self.dims > 1) :]
        return tuple(sum(-(-side // n) * n for side in both) for both, n in zip(sides, halo_units(points), strict=True))


def stream_steps(
    scop: Scop, values: StencilValues, iterations: int, exchange: Exchange, retimed: bool = False
) -> StreamSteps:
    """Build the steps of blocks of so many iterations, `retimed` where that takes less memory.

    Raises NotAStencilError where these are too few.
    """
    block = Block(scop, values, iterations, exchange, retimed)
    if values.once:
        return StreamSteps(1, values.dims, block.steps(), tuple(block.reads()), tuple(block.stores()), (), once=True)
    steps = block.steps()
    if block.is_in_place:
        return StreamSteps(1, values.dims, steps, tuple(block.reads()), tuple(block.stores()), (), in_place=True)
    _check_iterations(block)
    names = Names.of(scop)
    shadows = tuple((s.index, names.fresh(f"{s.array}_shadow")) for s in steps if s.is_input)
    return StreamSteps(iterations, values.dims, steps, tuple(block.reads()), tuple(block.stores()), shadows)


def _check_iterations(block: Block) -> None:
    """Raise NotAStencilError unless a block makes all that the next one reads, and all versions live in the end."""
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


class Block:
    """The steps of a block of iterations, by iteration and field; iterations before the block are inputs."""

    def __init__(
        self, scop: Scop, values: StencilValues, iterations: int, exchange: Exchange, retimed: bool = False
    ) -> None:
        self.scop, self.values, self.iterations = scop, values, iterations
        streamed = values.dims > 1
        self.reaches = _reaches(values)
        self.keys = sorted(self._needed(), key=lambda key: (key[0] >= 0, *key))
        self._index = {key: k for k, key in enumerate(self.keys)}
        reaches, count = list(self._between_steps()), len(self.keys)
        self._boxes = boxes(count, values.dims, reaches)
        inputs = sum(time < 0 for time, _ in self.keys)
        gap = int(exchange is Exchange.BLOCK)
        self._lags = lags(count, inputs, reaches, gap) if streamed else [0] * count
        self._retimed = [retimed and streamed and self._is_sum(key, gap) for key in self.keys]
        self._slots = slots(self._lags, reaches, self._retimed, gap) if streamed else [1] * count

    def _is_sum(self, key: Key, gap: int) -> bool:
        """Return whether a step is a sum of terms of one plane each that would else keep planes with cells beside."""
        time, number = key
        names = self.values.fields[number].statements
        if time < 0 or len(names) != 1:
            return False
        lag, late, beside = self._lags[self._index[key]], {}, set()
        for r in (r for r in self.values.reads if r.statement == names[0]):
            behind = lag - self._lags[self._index[time - r.back, r.source]] - r.offset[0]
            late[r.access] = behind - min(behind, gap)
            beside |= {behind} if any(r.offset[1:]) else set()
        return len(beside) > 1 and plane_terms(self.scop.statement(names[0]), late) is not None

    def is_live(self, field: int) -> bool:
        return self.scop.array(self.values.fields[field].array).live_out

    @property
    def is_in_place(self) -> bool:
        """Return whether the block is one iteration that writes other elements than it reads from iterations before.

        Those are of a field that takes the elements of every second iteration, from the one before.
        """
        fields = self.values.fields
        before = [(back, fields[r.source]) for back, r in self.reaches if back > 0]
        return self.iterations == 1 and bool(before) and all(not f.period or back % f.period for back, f in before)

    def _kept(self) -> Iterator[Key]:
        """Yield the values that leave the block: read by the next one, or live in the end."""
        for k, field in enumerate(self.values.fields):
            backs = [back for back, r in self.reaches if r.source == k]
            last = max([*backs, (field.period or 0) if self.is_live(k) else 0])
            yield from ((self.iterations - back, k) for back in range(1, last + 1))

    def _needed(self) -> set[Key]:
        """Return the steps that leave the block, and all that these need; iterations before the block are inputs."""
        found: set[Key] = set()
        waiting = [key for key in self._kept() if key[0] >= 0]
        while waiting:
            time, field = key = waiting.pop()
            if key not in found:
                found.add(key)
                waiting += [(time - back, r.source) for back, r in self.reaches if r.reader == field and time >= 0]
        return found

    def _between_steps(self) -> Iterator[Reach]:
        for (time, field), step in self._index.items():
            for back, r in self.reaches:
                if r.reader == field and time >= 0:
                    yield replace(r, reader=step, source=self._index[time - back, r.source])

    def steps(self) -> tuple[StreamStep, ...]:
        return tuple(self._step(index, *key) for index, key in enumerate(self.keys))

    def _step(self, index: int, time: int, number: int) -> StreamStep:
        field, (lower, upper) = self.values.fields[number], self._boxes[index]
        statements = field.statements if time >= 0 else ()
        lag, count, retimed = self._lags[index], self._slots[index], self._retimed[index]
        return StreamStep(index, field.array, statements, time, lower, upper, lag, count, retimed)

    def reads(self) -> Iterator[StreamRead]:
        of_field: list[list[tuple[str, int, int, int, Offset]]] = [[] for _ in self.values.fields]
        for r in self.values.reads:
            of_field[self.values.field_of(r.statement)].append((r.statement, r.access, r.source, r.back, r.offset))
        for (time, k), step in self._index.items():
            for statement, access, source, back, offset in of_field[k] if time >= 0 else ():
                yield StreamRead(statement, access, offset, step, self._index[time - back, source])

    def stores(self) -> Iterator[StreamStore]:
        if self.is_in_place:
            yield from (StreamStore(self._index[key]) for key in sorted(set(self._kept())) if key[0] == 0)
            return
        for time, k in sorted(self._kept()):
            becomes = self._index.get((time - self.iterations, k))
            if becomes is not None or self.is_live(k):
                yield StreamStore(self._index[time, k], becomes)


def _reaches(values: StencilValues) -> tuple[tuple[int, Reach], ...]:
    """Return all reads of a field by another one, so many iterations later."""
    found: dict[tuple[int, int, int], list[Offset]] = {}
    for read in values.reads:
        found.setdefault((values.field_of(read.statement), read.source, read.back), []).append(read.offset)
    return tuple((back, reach(reader, source, offsets)) for (reader, source, back), offsets in found.items())
