"""What each kernel's blocks and threads take: thread dimensions of loops, tiles of blocks, splits of reductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import inf, prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.partial_results import Split
from polytile.ir.scop import Scop
from polytile.scheduling.strategies.superposed.kernel_formation import (
    FormedKernel,
    Host,
    HostLoop,
    HostSequence,
    Serial,
)
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Kind, Loop, Row, has_loops, statements_of
from polytile.scheduling.strategies.superposed.serial_tiling import Tiling, thread_tilings
from polytile.scheduling.strategies.superposed.thread_coarsening import (
    is_sum_of_few,
    neighbours,
    register_tiles,
    shares_loads,
    shares_rows,
    whole_warps,
)
from polytile.scheduling.strategies.superposed.thread_mapping import (
    Inside,
    Phases,
    Repeated,
    Steps,
    ThreadNest,
    nests_of,
)
from polytile.scheduling.strategies.tile_sizes import KernelSizes, SizeChooser


@dataclass(frozen=True, slots=True)
class ThreadShare:
    """What one thread dimension takes of a row: every thread `unit` neighbouring iterations, and those of the next
    rounds where there are any, which may run `backwards`. Of these neighbours a thread runs `inner` one after another,
    and other dimensions the rest."""

    row: Row
    unit: int = 1
    rounds: bool = True
    backwards: bool = False
    inner: int = 1


@dataclass(frozen=True, slots=True)
class KernelMapping:
    """One kernel: which loop of each nest runs along which thread dimension (outermost first), the size of each, how
    many iterations of each block loop one block runs, and how many neighbouring ones of each thread dimension a thread
    has `inside` its other loops (empty: 1); `tilings` of sums that a thread makes, by their statements."""

    group: FormedKernel
    dims: Mapping[int, int]  # by the identity of a loop
    threads: tuple[int, ...]
    tiles: tuple[int, ...]
    inside: tuple[int, ...] = ()
    tilings: Mapping[str, Tiling] = field(default_factory=dict)

    def loop_at(self, nest: ThreadNest, dim: int) -> Loop | None:
        return next((loop for loop in nest.loops if self.dims[id(loop)] == dim), None)

    def shares(self, nest: ThreadNest, statement: str) -> list[ThreadShare]:
        """Return what each thread dimension takes of a statement of a nest; constants where no loop runs along one.

        A loop that no blocks run takes all threads; it runs backwards, as what was read last is still in the cache.
        """
        last = len(self.threads) - 1
        if len(nest.loops) == 1 < len(self.threads) and self._is_whole(nest.loops[0].row(statement)):
            row = nest.loops[0].row(statement)
            units = [self._inner(last) * prod(self.threads[d + 1 :]) for d in range(last + 1)]
            return [ThreadShare(row, unit, d == 0, d == 0, self._inner(d)) for d, unit in enumerate(units)]
        loops = [(self.loop_at(nest, d), self._inner(d)) for d in range(last + 1)]
        rows = [(loop.row(statement) if loop else Row(statement, CONSTANT), inner) for loop, inner in loops]
        return [ThreadShare(row, unit=inner, inner=inner) for row, inner in rows]

    def _inner(self, dim: int) -> int:
        return self.inside[dim] if self.inside else 1

    def _is_whole(self, row: Row) -> bool:
        """Return whether each block runs all iterations of a row."""
        return not any(row.iterator == block.row(row.statement).iterator for block in self.group.blocks)

    def covered(self, share: ThreadShare, dim: int) -> bool:
        """Return whether the threads of a dimension run all of a block's iterations at once."""
        return self.turns(share, dim) == 1

    def turns(self, share: ThreadShare, dim: int) -> int | float:
        """Return how many of a block's iterations each thread of a dimension runs, at most."""
        for block, tile in zip(self.group.blocks, self.tiles, strict=True):
            if any(share.row == own for own in block.rows):
                return -(-tile // (self.threads[dim] * share.inner))
        return 1 if share.row.iterator == CONSTANT or not share.rounds else inf

    def period(self, share: ThreadShare, dim: int) -> int:
        """Return after how many iterations of a parallel row the threads of a dimension start again.

        That is their number, or less where a block has fewer iterations.
        """
        pairs, row = zip(self.group.blocks, self.tiles, strict=True), share.row
        tiles = [tile for block, tile in pairs if row in block.rows and block.kind(row.statement) is Kind.FORALL]
        return min([self.threads[dim], *(-(-tile // share.inner) for tile in tiles)])

    def depth(self, nest: ThreadNest, dim: int) -> int:
        """Return the depth in the source of the loop along a thread dimension, around a nest's first statement."""
        loop = self.loop_at(nest, dim)
        return CONSTANT if loop is None else max(row.iterator for row in loop.rows)

    def adds_in_order(self, nest: ThreadNest, dims: Sequence[int]) -> bool:
        """Return whether turns along these dimensions, innermost first, keep the source's order of sums over loops.

        Those are sums over several loops.
        """
        for name in statements_of(nest.body):
            shares = self.shares(nest, name)
            run = [d for d in dims if shares[d].inner > 1 or not self.covered(shares[d], d)]
            loops = [loop for d in run if (loop := self.loop_at(nest, d)) is not None]
            summed = [loop.row(name).iterator for loop in loops if loop.kind(name) is Kind.REDUCTION]
            if summed != sorted(summed, reverse=True):
                return False
        return True

    def splits(self) -> dict[str, tuple[Split, ...]]:
        """Return how each statement's reduction loops are split: chunks for blocks, partial results for threads."""
        found: dict[str, tuple[Split, ...]] = {}
        for nest in nests_of(self.group.inside):
            for name in statements_of(nest.body):
                chunks = [
                    Split(block.row(name).iterator, tile, lanes=False)
                    for block, tile in zip(self.group.blocks, self.tiles, strict=True)
                    if block.kind(name) is Kind.REDUCTION
                ]
                lanes = [
                    Split(loop.row(name).iterator, self.threads[dim], True, self._inner(dim))
                    for dim, loop in ((d, self.loop_at(nest, d)) for d in range(len(self.threads)))
                    if loop is not None and loop.kind(name) is Kind.REDUCTION
                ]
                if chunks or lanes:
                    found[name] = (*chunks, *lanes)
        return found | {name: tiling.splits for name, tiling in self.tilings.items()}

    def blocked(self, name: str) -> dict[int, tuple[int, ...]]:
        """Return the parallel iterators of a statement that are mapped to blocks and threads, with their tiles.

        These are the tile of a block, and that of a thread where it runs neighbours.
        """
        nest = next(n for n in nests_of(self.group.inside) if name in statements_of(n.body))
        shares = self.shares(nest, name)
        shared = {share.row.iterator for share in shares}
        x = self.loop_at(nest, len(self.threads) - 1)
        neighbours = self._inner(len(self.threads) - 1) if self.threads else 1
        own = (neighbours,) if neighbours > 1 else ()
        found: dict[int, tuple[int, ...]] = {}
        if x is not None and own and x.kind(name) is Kind.FORALL and x.row(name).iterator != CONSTANT:
            found[x.row(name).iterator] = own
        for block, tile in zip(self.group.blocks, self.tiles, strict=True):
            row = block.row(name)
            if row.is_plain and row.iterator in shared and block.kind(name) is Kind.FORALL and tile > 1:
                found[row.iterator] = (tile, *found.get(row.iterator, ()))
        return found


@dataclass
class Planner:
    """Plans kernel after kernel, in the order of their launches; `plans` is by the identity of a group."""

    steps: Steps
    sizes: SizeChooser
    plans: dict[int, KernelMapping] = field(default_factory=dict)
    kernels: int = 0

    @property
    def scop(self) -> Scop:
        return self.steps.scop

    def visit(self, host: Host) -> None:
        match host:
            case FormedKernel():
                self.plans[id(host)] = self._plan(host)
            case HostLoop(body=body):
                self.visit(body)
            case HostSequence(children):
                for child in children:
                    self.visit(child)
            case Serial():
                self.kernels += 1

    def _plan(self, group: FormedKernel) -> KernelMapping:
        nests = list(nests_of(group.inside))
        rank = max((len(n.loops) for n in nests), default=0)
        dims = _dimensions(nests, rank)
        number, self.kernels = self.kernels, self.kernels + 1
        tuning, threads = self.steps.tuning, self.sizes.machine.tuning.blocks
        rows = shares_rows(self.scop, nests, group.blocks) and not self.sizes.choices.tile
        twice = any(_is_summed_alone(block, nests) for block in group.blocks)
        placed = [(block, _thread_dimension(block, nests, dims)) for block in group.blocks]
        few = rank > 1 and any(dim == rank - 1 and _is_chunks(block) for block, dim in placed)
        summed = any(_is_summed_along_several(nest) for nest in nests)
        alone = (*(1,) * (rank - 1), threads.few_results)
        preferred = alone if few or summed else threads.reading_twice if twice else threads.sharing_rows if rows else ()
        sizes = self.sizes
        bounds = max((_shared_bounds(self.scop, nest) for nest in nests), default=0) if summed else 0
        if bounds and not sizes.choices.tile:
            tile = tuning.triangle_tile if bounds == 1 else (*(1,) * (rank - 1), tuning.row_chunk)
            block = sizes.choices.block or (() if bounds == 1 else alone)
            sizes = replace(sizes, choices=replace(sizes.choices, tile=tile, block=block))
        chosen = sizes.choose(number, rank, rank, preferred=preferred) if rank else KernelSizes((), ())
        along_x = [(nest, loop) for nest in nests for loop in nest.loops if dims[id(loop)] == rank - 1]
        sums = [loop for loop in group.blocks if Kind.REDUCTION in loop.kinds]
        columns = min((self._columns(block, group) for block, dim in placed if dim == rank - 1), default=1)
        rounds = min(tuning.sum_rows if summed else tuning.sum_iterations, tuning.max_values // columns)
        many = (tuning.alone_iterations if few else columns, rounds)
        if columns == 1 and shares_loads(self.scop, along_x, sums):
            many = (neighbours(self.scop, along_x), tuning.unsummed_iterations)
        tiles = tuple(self._tile(block, dim, chosen, many, group, bool(sizes.choices.tile)) for block, dim in placed)
        if rows and chosen.block == threads.sharing_rows:
            tiles = tuple(tuning.rows if dim == 0 else tile for tile, (_, dim) in zip(tiles, placed, strict=True))
        plan = KernelMapping(group, dims, chosen.block, tiles)
        if not plan.splits():
            return self._in_registers(plan, nests, number)
        along = [(block, tile) for (block, dim), tile in zip(placed, tiles, strict=True) if dim == rank - 1]
        if not whole_warps(chosen.block) or any(Kind.REDUCTION in b.kinds for b, _ in along):
            return plan  # lanes reduce in each row of a block's columns: vectors took 1 us more there
        if not all(is_sum_of_few(self.scop, name) for name in plan.splits()):
            return plan
        count = neighbours(self.scop, along_x)
        fits = all(tile % (count * chosen.block[-1]) == 0 for _, tile in along)
        vectors = replace(plan, inside=(*(1,) * (rank - 1), count))
        # Neighbours are the innermost loop.
        ordered = all(vectors.adds_in_order(nest, range(rank - 1, -1, -1)) for nest in nests)
        return vectors if fits and (count == 1 or ordered) else plan

    def _in_registers(self, plan: KernelMapping, nests: Sequence[ThreadNest], number: int) -> KernelMapping:
        """Tile what threads run in the plan of a kernel that splits no sum."""
        tilings = {t.statement: t for nest in nests for t in thread_tilings(self.steps, nest)}
        if tilings or self.sizes.asked_tile(number) or not all(len(n.loops) == len(plan.threads) for n in nests):
            return replace(plan, tilings=tilings)
        loops = [[plan.loop_at(n, d) for n in nests] for d in range(len(plan.threads))]
        dims = [_thread_dimension(block, nests, plan.dims) for block in plan.group.blocks]
        for inside in register_tiles(self.scop, nests, loops, self.steps.tuning.register_rows):
            sizes = (t if d is None else t * inside[d] for d, t in zip(dims, plan.tiles, strict=True))
            tiled = replace(plan, inside=inside, tiles=tuple(sizes))
            on_blocks = all(dim in dims for dim, count in enumerate(inside) if count > 1)
            if on_blocks and self._fills(tiled):
                return tiled
        return plan

    def _fills(self, plan: KernelMapping) -> bool:
        """Return whether a kernel's blocks fill the GPU, as far as sizes are known."""
        extents = (self.steps.extent(block) for block in plan.group.blocks)
        blocks = prod(max(1.0, extent / tile) for extent, tile in zip(extents, plan.tiles, strict=True))
        return blocks >= self.sizes.machine.sms

    def _columns(self, block: Loop, group: FormedKernel) -> int:
        """Return how many iterations of a loop each thread along x runs, where some statement sums up over it."""
        sums = (self.scop.statement(name).reduction for name in group.statements if block.kind(name) is Kind.REDUCTION)
        sizes = [self.scop.array(found.array).element.size for found in sums if found is not None]
        tuning = self.steps.tuning
        return min(tuning.max_columns, max(1, tuning.column_bytes // max(sizes))) if sizes else 1

    def _tile(
        self,
        block: Loop,
        dim: int | None,
        sizes: KernelSizes,
        many: tuple[int, int],
        group: FormedKernel,
        given: bool,
    ) -> int:
        """Choose the tile of a block's loop: what the threads cover in one turn, or several times that.

        Partial results have to pay: so `many` times along x, and along other dimensions; just that where tiles are
        `given`.
        """
        reduces = Kind.REDUCTION in block.kinds
        if dim is None:
            return self.steps.tuning.max_chunk_iterations if reduces else 1
        if not reduces and dim + 1 == len(sizes.block) and not given:
            return sizes.tile[dim] * many[0]
        if not reduces or given or _is_summed_alone(block, list(nests_of(group.inside))):
            return sizes.tile[dim]
        if len(sizes.block) == 1:
            return sizes.block[dim] * (1 if _runs_loops(group.inside) else self.steps.tuning.alone_iterations)
        # Few iterations along x: what the other loop sums up for each of them stays in a register.
        return sizes.block[dim] * many[dim + 1 < len(sizes.block)]


def _dimensions(nests: Sequence[ThreadNest], rank: int) -> dict[int, int]:
    """Assign a thread dimension to each loop. Nests of most loops decide first; the loop that coalesces goes last."""
    found: dict[int, int] = {}
    for nest in sorted((n for n in nests if n.loops), key=lambda n: -len(n.loops)):
        taken = {found[id(loop)] for loop in nest.loops if id(loop) in found}
        x = nest.loops[nest.along_x]
        if id(x) not in found and rank - 1 not in taken:
            found[id(x)] = rank - 1
            taken.add(rank - 1)
        rest = [loop for loop in nest.loops if id(loop) not in found]
        free = [d for d in range(rank) if d not in taken]
        found.update((id(loop), dim) for loop, dim in zip(reversed(rest), reversed(free), strict=False))
    return found


def _is_summed_alone(block: Loop, nests: Sequence[ThreadNest]) -> bool:
    """Return whether a thread by itself runs a block's iterations of a loop for each sum over it: they are few then."""
    names = [(nest, name) for nest in nests for name in statements_of(nest.body) if block.kind(name) is Kind.REDUCTION]
    shared = (block.row(name) in [loop.row(name) for loop in nest.loops] for nest, name in names)
    return bool(names) and not any(shared)


def _runs_loops(inside: Inside) -> bool:
    """Return whether threads run more than one instance of a statement in each of their iterations.

    The iterations of a loop around them count as well.
    """
    match inside:
        case Repeated():
            return True
        case Phases(children):
            return any(map(_runs_loops, children))
        case ThreadNest(body=body):
            return has_loops(body)


def _is_summed_along_several(nest: ThreadNest) -> bool:
    """Return whether some sum is over several of a nest's loops.

    The threads of a result then share the last one alone: with partial results for two remainders, isl takes long to
    follow each value.
    """
    counts = (sum(loop.kind(name) is Kind.REDUCTION for loop in nest.loops) for name in statements_of(nest.body))
    return max(counts, default=0) > 1


def _shared_bounds(scop: Scop, nest: ThreadNest) -> int:
    """Count the bounds of loops that depend on one another, where a sum is over several loops.

    There is one for pairs with i < j, two for a band. Blocks have tiles or parts of one row then, not chunks as of a
    box: these are too few for all multiprocessors, and isl takes ten times as long to follow values through them.
    """
    found = [0]
    for name in statements_of(nest.body):
        summed = [loop.row(name).iterator for loop in nest.loops if loop.kind(name) is Kind.REDUCTION]
        for piece in scop.statement(name).domain.get_basic_sets() if len(summed) > 1 else ():
            used = (sum(c.involves_dims(isl.dim_type.set, k, 1) for k in summed) for c in piece.get_constraints())
            found.append(sum(loops > 1 for loops in used))
    return max(found)


def _is_chunks(block: Loop) -> bool:
    """Return whether a loop is mapped to blocks only for sums over it."""
    own = [kind for row, kind in zip(block.rows, block.kinds, strict=True) if row.iterator != CONSTANT]
    return bool(own) and all(kind is Kind.REDUCTION for kind in own)


def _thread_dimension(block: Loop, nests: Sequence[ThreadNest], dims: Mapping[int, int]) -> int | None:
    for nest in nests:
        for loop in nest.loops:
            for name in statements_of(nest.body):
                if loop.row(name).iterator == block.row(name).iterator != CONSTANT:
                    return dims[id(loop)]
    return None
