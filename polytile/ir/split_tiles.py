"""Plans of kernels whose split tiles live in registers: a block keeps the values of a tile while time goes on.

before: for (t) { for (i) B[i] = f(A[i-1], A[i], A[i+1]);  for (i) A[i] = g(B[i-1], B[i], B[i+1]); }
after:  for each band of H steps, for each phase (tiles that shrink; then those that grow between them)
            a[v] = A[..]; b[v] = B[..]                  each thread fills its cells of the tile
            for (u = 0 .. H - 1)                        columns of other lanes by shuffles, rows of other warps through
                b[v] = f(a[v-1], a[v], a[v+1])          shared memory, of cells between the sides of the tile at step u
                a[v] = g(b[v-1], b[v], b[v+1])
            A[..] = a[v]; B[..] = b[v]                  what the tile wrote, of what is read or seen later

Along each dimension, at step u of a band, a statement with the offsets lo and hi of the cone writes, from place P K on,

    in shrinking tiles  a u + lo .. G - 1 - b u - hi
    in growing tiles    G - b u - hi .. P - 1 + a u + lo

Grosser, Cohen, Kelly, Ramanujam, Sadayappan, Verdoolaege: Split tiling for GPUs (GPGPU-6, 2013), sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from itertools import product

from polytile.dataclass import dataclass
from polytile.ir.gpu_ops import require
from polytile.ir.time_tile import Exchange, TileRead, TileThreads, TimeTile
from polytile.machine import WARP_SIZE

Colour = tuple[bool, ...]  # whether tiles grow, by dimension
Reach = tuple[tuple[int, int], ...]  # the least and the greatest offset along each dimension
Field = tuple[str, int]  # an array, and which of its versions


@dataclass(frozen=True, slots=True)
class SplitCut:
    """One dimension: the places a step by which tiles shrink at their `lower` and `upper` side, the `width` G of a
    shrinking tile at its first step, and the `period` P from one tile to the next."""

    lower: int
    upper: int
    width: int
    period: int

    def __post_init__(self) -> None:
        require(min(self.lower, self.upper) >= 0, "tiles do not shrink by negative places")
        require(0 < self.width <= self.period, f"tiles {self.width} wide, {self.period} apart")

    def lower_growth(self, height: int) -> int:
        """Return by how many places growing tiles are wider below at the last step of a band than at the first."""
        return self.upper * (height - 1)

    def upper_growth(self, height: int) -> int:
        return self.lower * (height - 1)


@dataclass(frozen=True, slots=True)
class SplitWrite:
    """A statement by the element that it writes, at a `level` of each step, with its offsets of the cone along each
    dimension. It writes version (t + `version`) mod versions of `array`."""

    statement: str
    level: int
    array: str
    version: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SplitRead(TileRead):
    """An access of a statement that reads a version of `array`, (t + `version`) mod versions."""

    array: str
    version: int


def tile_threads(warps: int, points: tuple[int, ...], *, one_tile: bool = False) -> TileThreads:
    """Return the threads of a block: in one dimension each warp has a tile, or, `one_tile`, one tile has them beside
    one another; in two they lie below one another in one."""
    if len(points) == 1 and not one_tile:
        return TileThreads(Exchange.WARP, (warps,), points)
    return TileThreads(Exchange.BLOCK, (WARP_SIZE * warps,) if len(points) == 1 else (warps, WARP_SIZE), points)


@dataclass(frozen=True, slots=True)
class Window:
    """The places along one dimension that something touches at step u, counted from place P K, for shrinking and for
    growing tiles: `low[0] + a u .. high[0] - b u` and `low[1] - b u .. high[1] + a u`."""

    low: tuple[int, int]
    high: tuple[int, int]

    def joined(self, other: Window) -> Window:
        """Return the window that holds both."""
        (a, b), (c, d) = self.low, self.high
        return Window((min(a, other.low[0]), min(b, other.low[1])), (max(c, other.high[0]), max(d, other.high[1])))

    def moved(self, first: int, last: int) -> Window:
        """Return the window from `first` before (negative) to `last` after its places."""
        (a, b), (c, d) = self.low, self.high
        return Window((a + first, b + first), (c + last, d + last))

    def holds(self, other: Window) -> bool:
        return self.joined(other) == self


@dataclass(frozen=True)
class SplitTiles(TimeTile):
    """Bands of `iterations` steps, cut along each dimension of space.

    A thread keeps `points` neighbouring cells along each dimension, of each of the `versions` of each array (by name);
    lanes lie across the last one. Values of `transient` arrays are made anew in each step before they are read.
    `merged`: tiles that grow along equally many dimensions run in one launch. `split_barrier` (two dimensions): warps
    arrive when they have shown rows, and wait for those of others when all rows that need none of them are computed.
    `exact`: tiles load the very places that they read, not boxes around them, in which others of a launch may write.
    """

    shape = "split"
    reads: tuple[SplitRead, ...]
    cuts: tuple[SplitCut, ...]
    writes: tuple[SplitWrite, ...]
    versions: tuple[tuple[str, int], ...]
    transient: tuple[str, ...]
    merged: bool = True
    split_barrier: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        require(self.iterations > 0 and self.dims in (1, 2), "bands of steps over one or two dimensions")
        require(len(self.points) == self.dims and min(self.points) > 0, "points along each dimension")
        require(min(self.threads, default=0) > 0, "a block has warps")
        known = tile_threads(self.warps, self.points, one_tile=self.exchange is Exchange.BLOCK)
        require(self.block == known, "warps have tiles of their own, or lie side by side in one")
        arrays = dict(self.versions)
        require(len(arrays) == len(self.versions), "an array has one number of versions")
        same = all(self.iterations % n == 0 for _, n in self.versions)
        require(same, "bands begin with the same version of each array")
        own = {w.statement for w in self.writes}
        require(len(own) == len(self.writes), "a statement writes one element")
        sides = [side for w in self.writes for side in (w.lower, w.upper)]
        sides += [r.offset for r in self.reads]
        require(all(len(side) == self.dims for side in sides), f"offsets along {self.dims} dimensions")
        require(all(r.statement in own for r in self.reads), "who reads writes, too")
        used = {w.array for w in self.writes} | {r.array for r in self.reads}
        require(not self.split_barrier or self.dims == 2, "warps beside one another meet at whole barriers")
        require(not (self.exact and self.transient), "what is made anew in each step is read in boxes")
        require(used == set(arrays) and set(self.transient) <= used, "all arrays have versions")
        for k in range(self.dims):
            places, cells = max(self.sizes(k)), self.tile[k]
            require(places <= cells, f"tiles of {places} places along dimension {k} have {cells} cells")

    @property
    def title(self) -> str:
        return "split tiles in registers"

    @property
    def dims(self) -> int:
        return len(self.cuts)

    @property
    def levels(self) -> range:
        return range(1 + max(w.level for w in self.writes))

    @property
    def period(self) -> int:
        """Return the number of steps after which values are in the same registers again."""
        return reduce(lambda a, b: max(a, b), (n for _, n in self.versions))

    @cached_property
    def block(self) -> TileThreads:
        return TileThreads(self.exchange, self.threads, self.points)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple((array, k) for array, n in self.versions for k in range(n))

    @property
    def phases(self) -> tuple[tuple[Colour, ...], ...]:
        """Return the colours of each launch of a band, in order."""
        every = sorted(product((False, True), repeat=self.dims), key=lambda colour: (sum(colour), colour))
        if not self.merged:
            return tuple((colour,) for colour in every)
        return tuple(tuple(c for c in every if sum(c) == n) for n in range(self.dims + 1))

    def writer(self, statement: str) -> SplitWrite:
        return next(w for w in self.writes if w.statement == statement)

    @cached_property
    def _reads(self) -> dict[str, tuple[SplitRead, ...]]:
        return {w.statement: tuple(r for r in self.reads if r.statement == w.statement) for w in self.writes}

    def reads_of(self, statement: str) -> tuple[SplitRead, ...]:
        return self._reads.get(statement, ())

    # Places ------------------------------------------------------------------------------------------
    def written(self, write: SplitWrite, k: int) -> Window:
        """Return the places that a statement writes along a dimension."""
        cut, lo, hi = self.cuts[k], write.lower[k], write.upper[k]
        return Window((lo, cut.width - hi), (cut.width - 1 - hi, cut.period - 1 + lo))

    def reaches(self, statement: str, array: str) -> tuple[tuple[int, Reach], ...]:
        """Return the versions of an array that a statement reads, and how far from the place that it writes.

        The distances are a box, or each place by itself.
        """
        own = [r for r in self.reads_of(statement) if r.array == array]
        if self.exact:
            return tuple(dict.fromkeys((r.version, tuple((d, d) for d in r.offset)) for r in own))
        groups = {version: [r for r in own if r.version == version] for version in sorted({r.version for r in own})}
        return tuple((v, tuple(self.hull(reads, k) for k in range(self.dims))) for v, reads in groups.items())

    def hull(self, reads: Iterable[SplitRead], k: int) -> tuple[int, int]:
        """Return the least and the greatest offset of a statement's reads, if any, from the place that it writes."""
        offsets = [r.offset[k] for r in reads]
        return min(offsets), max(offsets)

    @cached_property
    def _margins(self) -> tuple[Window, ...]:
        """Return how far statements read and write beyond the sides of tiles, along each dimension."""
        return tuple(reduce(Window.joined, (self._margin(w, k) for w in self.writes)) for k in range(self.dims))

    def _margin(self, write: SplitWrite, k: int) -> Window:
        lo, hi, reads = write.lower[k], write.upper[k], self.reads_of(write.statement)
        first, last = self.hull(reads, k) if reads else (0, 0)
        return Window((lo, -hi), (-hi, lo)).moved(min(first, 0), max(last, 0))

    def corner(self, k: int, grows: bool) -> int:
        """Return the first place that a tile touches at any step, from place P K."""
        return self._ends(k, self.cuts[k], self.iterations)[grows][0]

    def sizes(self, k: int) -> tuple[int, int]:
        """Return the number of places that shrinking and growing tiles touch along a dimension."""
        return self.sizes_of(k, self.cuts[k], self.iterations)

    def sizes_of(self, k: int, cut: SplitCut, height: int) -> tuple[int, int]:
        """Return the number of places along a dimension, as `sizes` does, of tiles that are cut otherwise."""
        shrinking, growing = (last - first + 1 for first, last in self._ends(k, cut, height))
        return shrinking, growing

    def _ends(self, k: int, cut: SplitCut, height: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the first and the last place of shrinking and of growing tiles, at any step."""
        (shrinking, growing), (shrunk, grown) = self._margins[k].low, self._margins[k].high
        growing += cut.width - cut.lower_growth(height)
        grown += cut.period - 1 + cut.upper_growth(height)
        return (shrinking, cut.width - 1 + shrunk), (growing, grown)

    def lines(self) -> Iterator[str]:
        box = " x ".join(map(str, self.tile))
        points = " x ".join(map(str, self.points))
        tiles = " x ".join(str(cut.width) for cut in self.cuts)
        waits = ", which wait for one another only where they read rows" if self.split_barrier else ""
        what = f"{self.warps} warp{'s' * (self.warps != 1)} a block{' and tile' * (self.tile_warps > 1)}"
        where = f"tiles {tiles} wide in {box} cells; {what}{waits}"
        yield f"bands of {self.iterations} steps, {where}, {points} cells a thread"
        for array, versions in self.versions:
            many = f"{versions} versions of " if versions > 1 else ""
            made = ", made anew in each step" if array in self.transient else ""
            yield f"{many}{array} in registers{made}"
        launches = "; ".join(" and ".join(_named(c) for c in phase) for phase in self.phases)
        yield f"{len(self.phases)} launches a band: {launches}"


def _named(colour: Colour) -> str:
    return " x ".join("growing" if grows else "shrinking" for grows in colour)
