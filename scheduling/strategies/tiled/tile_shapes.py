"""The sizes of tiles: what a block and a thread take of the parallel loops, and a tile of the serial one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import ceil, inf, prod

from polytile.dataclass import dataclass
from polytile.machine import REGISTER_BYTES, Machine
from polytile.scheduling.cost.tile_shape_cost import TileShape, least_step, serial_step
from polytile.scheduling.strategies.tile_sizes import SizeChooser, spread, spread_inner
from polytile.tuning import TileTuning

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
    by several `points` along each, what a product reads that moves along each, the points along others that a thread
    runs all of, the blocks along its other loops, and the bytes of an element."""

    iterations: tuple[int | None, ...]
    mean: tuple[float, ...]
    points: tuple[bool, ...]
    operands: tuple[int, ...]
    other_points: int
    other_blocks: int
    element: int


def preferred(loops: TiledLoops, kernel: int, chooser: SizeChooser, rank: int = 0) -> tuple[TileSizes, bool]:
    """Return the sizes at a rank in the order of preference, and whether there are less preferred ones.

    First comes the first shape of the menu for which products of tiles' operands take about the least time, then, again
    and again, the fastest one with at most half of the points. What was asked for is the only choice.
    """
    machine, tuning = chooser.machine, chooser.machine.tuning.tiles
    serial = max(1, tuning.serial_bytes // loops.element)
    menu = _fitting(loops, tuple(dict.fromkeys(_menu(loops, serial, tuning))), machine)
    chosen = _fastest(loops, menu, machine)
    asked = _asked(chooser, kernel, chosen)
    if asked:
        return asked, False
    for _ in range(rank):
        menu = _smaller(menu, chosen) or menu
        chosen = _fastest(loops, menu, machine)
    return chosen, bool(_smaller(menu, chosen))


def _fitting(loops: TiledLoops, menu: Sequence[TileSizes], machine: Machine) -> tuple[TileSizes, ...]:
    """Return the shapes whose sums find place in registers, or that with fewest."""
    most = machine.tuning.promotion.tile_registers * REGISTER_BYTES // (loops.other_points * loops.element)
    fitting = tuple(sizes for sizes in menu if prod(sizes.points) <= most)
    return fitting or (min(menu, key=lambda sizes: prod(sizes.points)),)


def _smaller(menu: Sequence[TileSizes], than: TileSizes) -> tuple[TileSizes, ...]:
    return tuple(sizes for sizes in menu if 2 * prod(sizes.points) <= prod(than.points))


def _fastest(loops: TiledLoops, menu: Sequence[TileSizes], machine: Machine) -> TileSizes:
    """Return the first shape that takes about the least time; those that cannot by their arithmetic have no price."""
    prices: dict[TileSizes, float] = {}
    about, most = machine.tuning.tiles.clearly, inf
    for sizes in menu:
        shape = _shape(loops, sizes)
        if least_step(shape, machine) <= most:
            prices[sizes] = serial_step(shape, machine)
            most = min(most, about * prices[sizes])
    return next(sizes for sizes, price in prices.items() if price <= most)


def _shape(loops: TiledLoops, sizes: TileSizes) -> TileShape:
    exact = None not in loops.iterations
    along = [n / tile for n, tile in zip(loops.mean, sizes.tile, strict=True)]
    blocks = loops.other_blocks * prod(ceil(n - _ROUNDING) if exact else n for n in along)
    own = sizes.points, sizes.threads, sizes.serial
    return TileShape(*own, loops.operands, loops.other_points, blocks, exact, loops.element)


def _menu(loops: TiledLoops, serial: int, tuning: TileTuning) -> Iterator[TileSizes]:
    """Yield all shapes: those that were measured first, then the larger ones before the smaller."""
    rank = len(loops.iterations)
    others = sorted(product(tuning.counts, repeat=rank), key=lambda points: -prod(points))
    for threads in tuning.threads[rank - 1]:
        for points in (*tuning.points[rank - 1], *others):
            kept = tuple(p if gains else 1 for p, gains in zip(points, loops.points, strict=True))
            kept = tuple(map(_no_more, kept, threads, loops.iterations))
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
