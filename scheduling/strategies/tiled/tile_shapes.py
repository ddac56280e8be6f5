"""The sizes of tiles: what a block and a thread take of the parallel loops, and a tile of the serial one."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from polytile.dataclass import dataclass
from polytile.machine import Machine
from polytile.scheduling.cost.point_count import DEFAULT_SIZE
from polytile.scheduling.cost.tile_shape_cost import TileShape, serial_step
from polytile.scheduling.strategies.tile_sizes import SizeChooser, spread, spread_inner


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
    """The tiled parallel loops of a kernel: their iterations where known, whether a thread gains by several `points`
    along each, the points along others that a thread runs all of, the blocks along its other loops, and the bytes of
    an element."""

    iterations: tuple[int | None, ...]
    points: tuple[bool, ...]
    other_points: int
    other_blocks: int
    element: int


def preferred(loops: TiledLoops, kernel: int, chooser: SizeChooser) -> tuple[TileSizes, ...]:
    """Return sizes in order of preference: those first with which products of tiles' operands take least time.

    Of equal ones the larger comes first. What was asked for is the only choice.
    """
    serial = max(1, chooser.machine.tuning.tiles.serial_bytes // loops.element)
    found = dict.fromkeys(_defaults(loops, serial, chooser.machine))
    sorted_ = tuple(sorted(found, key=lambda sizes: _time(loops, sizes, chooser.machine)))
    asked = _asked(chooser, kernel, sorted_[0])
    return (asked,) if asked else sorted_


def _time(loops: TiledLoops, sizes: TileSizes, machine: Machine) -> float:
    exact = None not in loops.iterations
    along = [
        max(1, -(-n // tile)) if n is not None else DEFAULT_SIZE / tile
        for n, tile in zip(loops.iterations, sizes.tile, strict=True)
    ]
    shape = TileShape(
        sizes.tile,
        sizes.points,
        prod(sizes.threads),
        sizes.serial,
        loops.other_points,
        loops.other_blocks * prod(along),
        exact,
        loops.element,
    )
    return serial_step(shape, machine)


def _defaults(loops: TiledLoops, serial: int, machine: Machine) -> Iterator[TileSizes]:
    """Yield all shapes, the largest first."""
    tuning = machine.tuning.tiles
    rank = len(loops.iterations)
    threads = tuning.threads[rank - 1]
    shapes = tuning.points[rank - 1]
    for points in shapes:
        kept = tuple(p if gains else 1 for p, gains in zip(points, loops.points, strict=True))
        kept = tuple(map(_no_more, kept, threads, loops.iterations))
        bytes_kept = loops.other_points * prod(kept) * loops.element
        if bytes_kept <= tuning.thread_bytes or points == shapes[-1]:
            yield TileSizes(tuple(p * t for p, t in zip(kept, threads, strict=True)), threads, serial)


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
