"""The sizes of tiles: what a block and a thread take of the parallel loops, and a tile of the serial one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import ceil, prod

from polytile.dataclass import dataclass
from polytile.machine import REGISTER_BYTES, Machine
from polytile.scheduling.cost.tile_shape_cost import TileShape, least_step, serial_step
from polytile.scheduling.strategies.tile_sizes import SizeChooser, spread, spread_inner

CLEARLY_FASTER = 1.1  # times as fast by estimate is a shape that replaces a measured one
_AS_FAST = 0.97  # of a price: smaller shapes that are not below it are as fast as larger ones, for all that is known
_ROUNDING = 1e-6  # of mean iterations


@dataclass(frozen=True, slots=True)
class TileSizes:
    """Of each tiled parallel loop, outermost first: the iterations of a block, and its threads. `serial` is the tile of
    the serial loop; unless that is `exact`, short loops inside count as a part of it."""

    tile: tuple[int, ...]
    threads: tuple[int, ...]
    serial: int
    exact: bool = False

    def serial_tile(self, inside: int) -> int:
        """Return the tile of a serial loop with so many iterations of short loops inside."""
        return self.serial if self.exact else 1 << (max(1, self.serial // max(1, inside)).bit_length() - 1)

    @property
    def points(self) -> tuple[int, ...]:
        """Return the iterations of a thread."""
        return tuple(-(-tile // threads) for tile, threads in zip(self.tile, self.threads, strict=True))

    def __str__(self) -> str:
        def shape(sizes: tuple[int, ...]) -> str:
            return " x ".join(map(str, sizes))

        return f"tiles of {shape(self.tile)}, {shape(self.threads)} threads, serial tiles of {self.serial}"


@dataclass(frozen=True, slots=True)
class TiledLoops:
    """The tiled parallel loops of a kernel: their most iterations where known, and `mean` ones, whether a thread gains
    by several `points` along each, what a product reads that moves along each and what it adds to, the points along
    others that a thread runs all of, the blocks along its other loops, and the bytes of an element."""

    iterations: tuple[int | None, ...]
    mean: tuple[float, ...]
    points: tuple[bool, ...]
    operands: tuple[int, ...]
    sums: int
    other_points: int
    other_blocks: int
    element: int


def preferred(loops: TiledLoops, kernel: int, chooser: SizeChooser) -> tuple[TileSizes, ...]:
    """Return the shapes that were measured in order of the time of products of tiles' operands, the first of them
    twice; in place of the second time the fastest of all shapes, where that takes clearly less.

    What was asked for is the only choice, and where sizes are not known measured shapes are.
    """
    machine, tuning = chooser.machine, chooser.machine.tuning.tiles
    rank = len(loops.iterations)
    threads, points = tuning.threads[rank - 1], tuning.points[rank - 1]
    times = {s: serial_step(_shape(loops, s), machine) for s in _fitting(loops, product((threads,), points), machine)}
    measured = sorted(times, key=lambda sizes: times[sizes])
    asked = _asked(chooser, kernel, measured[0])
    if asked:
        return (asked,)
    fastest = measured[0]
    if None not in loops.iterations:  # how many blocks are left for the last round decides
        further = product(tuning.further_threads[rank - 1], product(tuning.further_points, repeat=rank))
        most = times[fastest] / CLEARLY_FASTER
        fastest = _fastest(loops, _fitting(loops, further, machine), machine, most) or fastest
    return (measured[0], fastest, *measured[1:])


def _fastest(loops: TiledLoops, menu: Iterable[TileSizes], machine: Machine, most: float) -> TileSizes | None:
    """Return the first shape of those with about the lowest price, if that is less than `most`; one that cannot be less
    by its arithmetic has no price."""
    found: TileSizes | None = None
    for sizes in menu:
        shape = _shape(loops, sizes)
        if least_step(shape, machine) < most and (time := serial_step(shape, machine)) < most:
            found, most = sizes, _AS_FAST * time
    return found


def _shape(loops: TiledLoops, sizes: TileSizes) -> TileShape:
    exact = None not in loops.iterations
    along = [n / tile for n, tile in zip(loops.mean, sizes.tile, strict=True)]
    blocks = loops.other_blocks * prod(ceil(n - _ROUNDING) if exact else n for n in along)
    own = sizes.points, sizes.threads, sizes.serial
    return TileShape(*own, loops.operands, loops.sums, loops.other_points, blocks, exact, loops.element)


def _fitting(
    loops: TiledLoops, menu: Iterable[tuple[Sequence[int], Sequence[int]]], machine: Machine
) -> Iterator[TileSizes]:
    """Yield the shapes of these threads and points whose sums find place in registers, the larger before the smaller
    and squares before strips; that with fewest where none does."""
    tuning = machine.tuning
    serial = max(1, tuning.tiles.serial_bytes // loops.element)
    most = tuning.promotion.tile_registers * REGISTER_BYTES // (loops.sums * loops.other_points * loops.element)
    found: dict[TileSizes, None] = {}
    for threads, points in menu:
        kept = (p if gains else 1 for p, gains in zip(points, loops.points, strict=True))
        limited = tuple(map(_no_more, kept, threads, loops.iterations))
        tile = tuple(p * t for p, t in zip(limited, threads, strict=True))
        found[TileSizes(tile, tuple(threads), serial)] = None
    ordered = sorted(found, key=lambda sizes: (-prod(sizes.points), sum(sizes.points)))
    yield from [sizes for sizes in ordered if prod(sizes.points) <= most] or ordered[-1:]


def _no_more(points: int, threads: int, iterations: int | None) -> int:
    """Limit the points to those that a short loop has for all threads."""
    while iterations is not None and points > 1 and points // 2 * threads >= iterations:
        points //= 2
    return points


def _asked(chooser: SizeChooser, kernel: int, default: TileSizes) -> TileSizes | None:
    """Return the sizes of `--tile`, `--block` and the choices' points; None where there are none.

    `--tile` has the tiled loops outermost first, then the serial one.
    """
    rank = len(default.tile)
    tile, points = spread(chooser.asked_tile(kernel), rank + 1), spread(chooser.choices.points, rank)
    block = spread_inner(chooser.table.blocks.get(kernel, chooser.choices.block), rank)
    if not (tile or points or block):
        return None
    chooser.choose(kernel, rank, rank)  # which refuses blocks that are too large
    if not tile:
        threads, points = block or default.threads, points or default.points
        return TileSizes(tuple(t * p for t, p in zip(threads, points, strict=True)), threads, default.serial)
    exact = len(tile) > rank
    serial = tile[rank] if exact else default.serial
    per_thread = points or (1,) * rank
    fitting = (min(t, -(-own // p)) for t, own, p in zip(default.threads, tile, per_thread, strict=False))
    return TileSizes(tile[:rank], block or tuple(fitting), serial, exact)
