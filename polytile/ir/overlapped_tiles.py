"""Plans of kernels that run several iterations of a time loop at once, in overlapped tiles that stream over planes.

before: for (t = t0 .. t0 + 1) for (i) for (j) A[(t + 1) % 2][i][j] = f(A[t % 2][i - 1 .. i + 1][j - 1 .. j + 1]);
after:  for each strip of columns, with a halo on both sides, which is computed by its neighbours, too:
            for (p = ..)                                the planes of the stream arrive, here rows
                step 0: row p of A at t0                is loaded,            lag 0, kept in 3 slots
                step 1: row p - 1 of A after t0         from rows p - 2 .. p of step 0, lag 1, 3 slots
                step 2: row p - 2 of A after t0 + 1     from rows p - 3 .. p - 1 of step 1, lag 2; is stored

An *owner box* is the part of space whose results a tile stores. Each step computes a box around it, wide enough for the
steps behind it. Space is that of the elements that statements write: their last subscripts (StencilForm). Inputs are
read from one buffer and results written to another, which change roles after each block of iterations: `home` (the
user's array) and a shadow of it. Space's first dimension is streamed where there are two or more; in one dimension all
steps run on a single plane.

Rawat, Vaidya, Sukumaran-Rajam, Ravishankar, Grover, Rountev, Pouchet, Sadayappan: Domain-specific optimization and
generation of high-performance GPU code for stencil computations (Proc. IEEE 2018), sections III and IV.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import ceil, prod

from polytile.dataclass import dataclass
from polytile.ir.chunk_length import chunk_length
from polytile.ir.gpu_ops import require
from polytile.ir.scop import Array, Origin, Scop
from polytile.ir.time_tile import Exchange, TileRead, TimeTile
from polytile.machine import WARP_SIZE

MOST_OF_A_SIDE = 1 << 20  # cells: products of three are below 2^63
ROOMY_PLANES = 124  # registers of a thread's planes, from one to the next, beside which ptxas has room for others


@dataclass(frozen=True, slots=True)
class StreamStep:
    """The values of `array` that iteration t0 + `iteration` of the time loop makes, plane after plane.

    Instances of `statements` of that iteration make them (domains tell which makes a cell); a cell in no domain keeps
    what its element of the array has. A step without statements is an input: the values that iteration
    t0 + `iteration`, before the block, left, loaded from device memory. Its box is the owner box with sides moved by
    `lower` (at most 0) and `upper` (at least 0) along each dimension of space. Plane z is made when plane z + `lag` of
    the inputs arrives, and stays in one of `slots` places, z mod slots.

    `retimed`: the one statement is a sum, whose terms are added up as soon as the plane that they read is there
    (ir/retiming.py), in place of all of them when the last one is.
    """

    index: int
    array: str
    statements: tuple[str, ...]
    iteration: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    lag: int
    slots: int
    retimed: bool = False

    def __post_init__(self) -> None:
        require(self.is_input or self.iteration >= 0, f"step {self.index}: inputs are of iterations before the block")
        require(len(self.lower) == len(self.upper), f"step {self.index}: a box has two sides in each dimension")
        require(all(v <= 0 for v in self.lower), f"step {self.index}: a box holds its owner box, not {self.lower}")
        require(all(v >= 0 for v in self.upper), f"step {self.index}: a box holds its owner box, not {self.upper}")
        require(self.lag >= 0 and self.slots >= 1, f"step {self.index}: lag {self.lag}, {self.slots} slots")
        one = len(self.statements) == 1
        require(one or not self.retimed, f"step {self.index}: the terms of one statement are summed up, not of others")

    @property
    def is_input(self) -> bool:
        return not self.statements


@dataclass(frozen=True, slots=True)
class StreamRead(TileRead):
    """An access of a statement in `step` that reads values of the step `source`. Accesses of arrays that no step makes
    are none: they read device memory."""

    step: int
    source: int


@dataclass(frozen=True, slots=True)
class StreamStore:
    """A step whose values in the owner box go to device memory: as the input `becomes` of the next block (an index of a
    step), into the buffer that this block does not read; or, where that is None, to the user's array, by the last block
    alone, as the array is live then. What becomes an input is in the user's array after the last block anyway."""

    step: int
    becomes: int | None = None


@dataclass(frozen=True)
class OverlappedTiles(TimeTile):
    """Blocks of `iterations` of the time loop, two at a time: the first reads the user's arrays and writes `shadows`
    (the input step, the name of the array that is its second buffer), the second reads those and writes the user's.

    WARP: a block has `threads` = (warps,), each warp a strip of WARP_SIZE * points[-1] cells; BLOCK: a block has a
    thread for each place of `threads` = (.., WARP_SIZE): lanes lie across the last dimension, warps below one another.
    `points` are the cells of a thread along each dimension that is not streamed, neighbours. A tile owns `chunk` planes
    of the stream (0: all of them), or, with `tiles_at_once`, which run beside one another, at least so many: those with
    which all tiles pass in the fewest planes (`owned_planes`), which is known when they run.

    `split_barrier` (BLOCK): threads arrive at the barrier of a plane, and wait for the others in the next one, before
    they read rows of other warps.

    `once`: there is no loop over time around the stencils, a DAG of them. They are a single iteration, 0, which one
    kernel runs; it has no inputs, as what no statement writes is read where it is.

    `in_place`: a block is a single iteration, which writes other elements than those that it reads, as of A[t % 2].
    There are no second buffers: one kernel, launched for each iteration, reads and writes the user's arrays.

    PLANES, COLUMNS: each step that is made is a kernel, which stores it; their inputs are of an iteration before, or of
    a kernel before in the same one, or arrays that nothing writes, of iteration 0. So there are no second buffers, with
    a time loop (in_place) and without (once). A tile owns all that its threads make. Any shape of `threads`; those of a
    block have their `points` along a dimension in turns, `threads` cells from one another. A plane of an input that is
    read beside the own column is put into shared memory with its halo: PLANES: when it arrives, into one of the step's
    `slots`; COLUMNS: when steps are made that read it beside, which is the same plane for all, into one of
    `shared_planes` places, while a thread's own points of all `slots` planes are in its registers. `barriers` are those
    of a plane: one behind what is put there, and maybe another one behind what is read. `read_only`: planes are loaded
    through the read-only path.

    `min_blocks`: so many blocks are to be on a multiprocessor at once, which bounds the registers of a thread (0: as
    many as there is room for).

    `unrolled`: loops over planes are, until values are in the same registers again; else these move, which takes more
    instructions and fewer registers.

    `least_cells`: spaces of fewer cells have no such blocks, but run all iterations as those that are no whole pair
    (0: there is no such bound). Sides of more than MOST_OF_A_SIDE cells count as these.
    """

    shape = "overlapped"
    reads: tuple[StreamRead, ...]
    dims: int
    steps: tuple[StreamStep, ...]
    stores: tuple[StreamStore, ...]
    shadows: tuple[tuple[int, str], ...]
    chunk: int = 0
    tiles_at_once: int = 0
    once: bool = False
    split_barrier: bool = False
    in_place: bool = False
    min_blocks: int = 0
    unrolled: bool = True
    least_cells: int = 0
    barriers: int = 0
    shared_planes: int = 0
    read_only: bool = False

    def __post_init__(self) -> None:
        require(0 <= self.least_cells < 2**63, f"least_cells is a number of cells, not {self.least_cells}")
        require(not (self.least_cells and self.once), "least_cells bounds the space of a time loop")
        require(self.min_blocks >= 0, "bounds of a launch are not negative")
        require(self.iterations > 0 and self.dims > 0, "a block of iterations over a space")
        alone = self.iterations == 1 and all(s.iteration == 0 for s in self.steps)
        require(alone or not self.once, "without a time loop, all steps are of iteration 0")
        require([s.index for s in self.steps] == list(range(len(self.steps))), "steps are numbered in their order")
        require(all(len(s.lower) == self.dims for s in self.steps), f"boxes have {self.dims} dimensions")
        require(not self.in_place or (self.iterations == 1 and not self.once), "in place runs one iteration of a loop")
        buffered = () if self.in_place or self.exchange.is_one_step else self.inputs
        require({k for k, _ in self.shadows} == {s.index for s in buffered}, "each input has a second buffer")
        across = self.dims - self.streamed
        require(len(self.points) == across, "points along each dimension that is not streamed")
        rank = 1 if self.exchange is Exchange.WARP else across
        require(len(self.threads) == rank, f"threads of a block by {self.exchange.value}: {rank} sizes")
        if self.exchange.is_one_step:
            self._check_one_step()
        else:
            require(all(s.iteration < 0 for s in self.inputs), "inputs are of iterations before the block")
            lanes = WARP_SIZE if self.exchange is Exchange.WARP else self.threads[-1]
            require(lanes == WARP_SIZE, f"{WARP_SIZE} lanes of a warp across the last dimension, not {lanes}")
            loads = self.barriers or self.shared_planes or self.read_only
            require(not loads, "threads load planes together in kernels of one step alone")
        require(self.exchange is Exchange.BLOCK or not self.split_barrier, "warps of their own meet at no barrier")
        made = {s.index for s in self.steps if not s.is_input}
        require(0 <= self.tiles_at_once <= self.chunk * self.tiles_at_once, "a tile owns one plane at least")
        require({s.step for s in self.stores} <= made, "what is stored is made")
        require(all(a > b for a, b in zip(self.tile, self.overlap, strict=True)), f"{self.tile} is all halo")

    def _check_one_step(self) -> None:
        """Check the plan of an exchange by PLANES or COLUMNS; raises InternalError where it is wrong."""
        require((self.in_place or self.once) and self.dims > 1, "one step over planes, in place")
        require(0 <= self.barriers <= 2 and self.shared_planes >= 0, "one or two barriers a plane")
        inputs = {s.index for s in self.inputs}
        require(all(r.source in inputs for r in self.reads), "one step reads inputs alone")
        readers = {(r.source, r.step) for r in self.reads}
        require(len(readers) == len({k for k, _ in readers}), "kernels of one step have inputs of their own")
        require(not any(any(s.lower) or any(s.upper) or s.retimed for s in self.made), "one step makes what tiles own")

    @property
    def title(self) -> str:
        return "a kernel of a DAG of stencils" if self.once else f"kernels of {self.iterations} iterations"

    @cached_property
    def inputs(self) -> tuple[StreamStep, ...]:
        return tuple(s for s in self.steps if s.is_input)

    @cached_property
    def made(self) -> tuple[StreamStep, ...]:
        return tuple(s for s in self.steps if not s.is_input)

    def inputs_of(self, made: StreamStep) -> tuple[StreamStep, ...]:
        """Return the inputs that a step reads, in kernels of one step."""
        sources = {r.source for r in self.reads_of(made.index)}
        return tuple(s for s in self.inputs if s.index in sources)

    @property
    def streamed(self) -> int:
        """Return how many dimensions are streamed: 1, or 0 in one dimension."""
        return int(self.dims > 1)

    @cached_property
    def lower(self) -> tuple[int, ...]:
        """Return the halo before the owner box, along each dimension of space."""
        return tuple(max(-s.lower[k] for s in self.steps) for k in range(self.dims))

    @cached_property
    def upper(self) -> tuple[int, ...]:
        return tuple(max(s.upper[k] for s in self.steps) for k in range(self.dims))

    @cached_property
    def units(self) -> tuple[int, ...]:
        """Return the units of halos along each dimension that is not streamed: across a warp, whole threads."""
        return (1,) * len(self.points) if self.exchange.is_one_step else halo_units(self.points)

    @cached_property
    def overlap(self) -> tuple[int, ...]:
        """Return the halo on both sides, along each dimension that is not streamed, that is made by several tiles."""
        if self.exchange.is_one_step:
            return (0,) * len(self.points)
        sides = zip(self.lower[self.streamed :], self.upper[self.streamed :], self.units, strict=True)
        return tuple((-(-a // unit) - (-b // unit)) * unit for a, b, unit in sides)

    @cached_property
    def owned(self) -> tuple[int, ...]:
        """Return the owner box along each dimension that is not streamed, of a tile with neighbours on both sides."""
        return tuple(n - halo for n, halo in zip(self.tile, self.overlap, strict=True))

    def reach(self, k: int) -> tuple[int, int]:
        """Return how far before and after a cell a step reads along dimension k of space."""
        offsets = [read.offset[k] for read in self.reads]
        return max(0, *(-d for d in offsets)), max(0, *offsets)

    def counts(self, cells: Sequence[float]) -> tuple[int, ...]:
        """Return the number of tiles along each dimension that is not streamed, of a space of so many cells.

        Tiles at its sides own the cells that are halo elsewhere.
        """
        found = []
        for k, (own, halo) in enumerate(zip(self.owned, self.overlap, strict=True), start=self.streamed):
            read = 0 if self.exchange.is_one_step else sum(self.reach(k))
            tiles = ceil((cells[k] + read - halo) / own)
            found.append(max(1, min(tiles, ceil(cells[k]))))
        return tuple(found)

    @property
    def redundancy(self) -> float:
        """Return the cells that a tile computes for each that it owns, in a plane.

        Each step is taken to compute the whole tile.
        """
        return prod(self.tile) / prod(self.owned)

    @property
    def latest(self) -> int:
        """Count planes that pass before the first one that a tile owns is made."""
        return self.lower[0] + max(s.lag for s in self.steps)

    @property
    def blocks(self) -> int:
        """Return how many blocks run one after another, a kernel each, until values are in the user's arrays again."""
        return 1 if self.once or self.in_place else 2

    @property
    def kernels(self) -> int:
        """Return how many kernels run the blocks: one for each, or for each array that an iteration makes."""
        return len(self.made) if self.exchange.is_one_step else self.blocks

    def reads_of(self, step: int) -> tuple[StreamRead, ...]:
        return tuple(r for r in self.reads if r.step == step)

    def shadow(self, step: int) -> str:
        """Return the name of the second buffer of an input."""
        return dict(self.shadows)[step]

    def lines(self) -> Iterator[str]:
        tile = " x ".join(str(n) for n in self.tile)
        owned = " x ".join(str(n) for n in self.owned)
        what = "all fields in one kernel" if self.once else f"{self.iterations} iterations a kernel"
        what = "one iteration a kernel, in place" if self.in_place else what
        each = f"{what}, tiles of {tile} cells that own {owned} (redundancy {self.redundancy:.2f})"
        yield f"{each}, by {self.exchange.value}{self._chunks()}{self._barrier()}{self._room()}"
        if self.least_cells:
            yield f"spaces of fewer than {self.least_cells} cells run as the iterations that tiles leave do"
        for step in self.steps:
            what = "loaded" if step.is_input else f"by {', '.join(step.statements)}"
            box = ", ".join(f"{a}..{b:+d}" for a, b in zip(step.lower, step.upper, strict=True))
            when = f"lag {step.lag}, {step.slots} plane{'s' * (step.slots != 1)}"
            when += ", summed up as planes come" if step.retimed else ""
            of = "" if self.once else f" of iteration t0{step.iteration:+d}"
            yield f"step {step.index}: {step.array}{of}, {what}: box [{box}], {when}"

    def _barrier(self) -> str:
        if self.exchange.is_one_step:
            path = ", loaded through the read-only path" if self.read_only else ""
            threads = " x ".join(str(n) for n in self.threads)
            return f"; {threads} threads, {self.barriers} barrier{'s' * (self.barriers != 1)} a plane{path}"
        return "; warps wait for others only before they read their rows" if self.split_barrier else ""

    def _room(self) -> str:
        blocks = f"; at least {self.min_blocks} blocks of a multiprocessor" if self.min_blocks else ""
        return blocks if self.unrolled else f"{blocks}; values move from plane to plane, for want of registers"

    def _chunks(self) -> str:
        if not self.chunk:
            return ""
        if self.tiles_at_once:
            return f"; of {self.chunk} planes or as many as pass {self.tiles_at_once} tiles at once the fastest"
        return f"; of {self.chunk} planes"


def owned_planes(chunk: int, tiles_at_once: int, length: float, across: float, latest: int) -> float:
    """Count the planes that a tile owns, in a stream of `length` planes with `across` tiles side by side.

    `latest` planes pass before the first that they own.
    """
    if not chunk:
        return max(1.0, length)
    if tiles_at_once:
        chunk = chunk_length(ceil(length), ceil(across), tiles_at_once, latest, chunk)
    return max(1.0, min(chunk, length))


def halo_units(points: Sequence[int]) -> tuple[int, ...]:
    """Return the units of halos where threads have so many cells along each dimension that is not streamed."""
    return (*(1 for _ in points[:-1]), max(points[-1], 1))


def planes_behind(steps: Sequence[StreamStep], read: StreamRead, streamed: int) -> int:
    """Return how many planes of the source came after the one that is read."""
    along = read.offset[0] if streamed else 0
    return steps[read.step].lag - steps[read.source].lag - along


def read_when(steps: Sequence[StreamStep], read: StreamRead, streamed: int, exchange: Exchange) -> int:
    """Return how many planes of the source came after the one that is read, when it is read.

    A step that is retimed reads it as soon as it is there, one plane later where threads share planes.
    """
    behind = planes_behind(steps, read, streamed)
    return min(behind, int(exchange is Exchange.BLOCK)) if steps[read.step].retimed else behind


def shadow_arrays(scop: Scop, plan: OverlappedTiles) -> tuple[Array, ...]:
    """Return the second buffers of the inputs, with an element for each place.

    They are arrays of device memory alone, which no statement of the Scop mentions.
    """
    homes = {k: scop.array(plan.steps[k].array) for k, _ in plan.shadows}
    return tuple(
        Array(name, homes[k].element, homes[k].extents[homes[k].rank - plan.dims :], Origin.TEMPORARY)
        for k, name in plan.shadows
    )
