"""What a 3-D block sweep is made of, and where its tiles and their cells are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import gcd

from polytile.diagnostics import InternalError
from polytile.ir.arith import add, both, compare, div, either, lift, most, mul, select, sub
from polytile.ir.expr import BOOL, INT, LLONG, Cast, CType, Declare, Expr, Literal, Name, Stmt
from polytile.ir.kernel import ceil_div
from polytile.machine import WARP_SIZE

VECTOR = 16  # bytes of the widest access
NZ, NY, NX, ROWS, PITCH, SPAN = SIZES = tuple(Name(n) for n in ("nz", "ny", "nx", "rows", "pitch", "span"))
ACROSS, DOWN = TILES = Name("across"), Name("down")
LANE, GROUP, LEFT, TOP = (Name(n) for n in ("lane", "group", "left", "top"))


@dataclass(frozen=True, slots=True)
class BlockSweep:
    """A star of coefficients by (plane, row, column) offset, `steps` steps T, and a tile of `groups` by `lanes` threads
    of `rows` x `columns` cells.

    Planes are copied `ahead` planes ahead, `vector` elements at once. With `rotate` registers change roles instead of
    places, and with `split` planes away from the domain's ends run in a loop of their own without tests for the ends,
    `trip` planes a trip where nothing rotates. With `predicated` no branch leads around the stores of a plane.
    The kernel takes sizes of at least one tile, row lengths and pitches that `vector` divides, and arrays at multiples
    of 16 bytes; with `anywhere` all sizes.

    Raises InternalError for anything but a whole star, and where the overlap leaves nothing of a tile.
    """

    name: str
    element: CType
    terms: Mapping[tuple[int, int, int], float]
    steps: int
    rows: int
    columns: int
    lanes: int
    groups: int
    ahead: int = 2
    vector: int = 1
    rotate: bool = False
    split: bool = False
    trip: int = 1
    predicated: bool = False
    anywhere: bool = False
    radius: int = field(init=False)

    def __post_init__(self) -> None:
        radius = max(abs(offset) for at in self.terms for offset in at)
        line = range(-radius, radius + 1)
        star = {(i, 0, 0) for i in line} | {(0, i, 0) for i in line} | {(0, 0, i) for i in line}
        threads = self.lanes * self.groups
        object.__setattr__(self, "radius", radius)
        for holds, what in (
            (set(self.terms) == star and radius > 0, "not a star with all its terms"),
            (
                self.width > 2 * self.halo and self.height > 2 * self.reach,
                f"{self.steps} steps leave nothing of a tile",
            ),
            (
                WARP_SIZE % self.lanes == 0 and threads % WARP_SIZE == 0,
                f"{self.lanes} x {self.groups} threads are no whole warps",
            ),
            (self.columns % self.vector == 0, f"{self.columns} columns are no vectors of {self.vector}"),
            (self.rows * self.vectors < 32, f"more than 31 vectors of {self.vector} in a thread"),
        ):
            if not holds:
                raise InternalError(f"{self.name}: {what}")

    @property
    def threads(self) -> int:
        return self.lanes * self.groups

    @property
    def width(self) -> int:
        """Columns of a tile."""
        return self.lanes * self.columns

    @property
    def height(self) -> int:
        """Rows of a tile."""
        return self.groups * self.rows

    @property
    def reach(self) -> int:
        """How many planes the last step is behind the first, and how far tiles see over their rims."""
        return self.steps * self.radius

    @property
    def halo(self) -> int:
        """Columns that a tile shares with the next one, at either end."""
        return ceil_div(self.reach, self.vector) * self.vector

    @property
    def slots(self) -> int:
        """Planes of the ring: those on their way, the latest, and one that others may still read."""
        return self.ahead + 2

    @property
    def vectors(self) -> int:
        """Copies of a row of a thread."""
        return self.columns // self.vector

    @property
    def pack(self) -> int:
        """Elements of an access to rows that are exchanged."""
        return gcd(self.columns, VECTOR // self.element.size)

    @property
    def shown(self) -> tuple[int, ...]:
        """The rows of a thread that others need."""
        return tuple(u for u in range(self.rows) if u < self.radius or u >= self.rows - self.radius)

    @property
    def packs(self) -> int:
        """Accesses to a row of a thread that is exchanged."""
        return self.columns // self.pack

    @property
    def turns(self) -> int:
        """Planes of a trip away from the domain's ends."""
        return 2 * self.radius + 1 if self.rotate else self.trip

    @property
    def coefficients(self) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
        """By offset along the planes, the rows and the columns; the middle one is among the columns."""
        planes = {at[0]: c for at, c in sorted(self.terms.items()) if at[0]}
        rows = {at[1]: c for at, c in sorted(self.terms.items()) if at[1]}
        return planes, rows, {at[2]: c for at, c in sorted(self.terms.items()) if not (at[0] or at[1])}

    def for_all_sizes(self) -> BlockSweep:
        """One for sizes that this one does not take."""
        return replace(self, name=f"{self.name}_anywhere", vector=1, rotate=False, split=False, trip=1, anywhere=True)

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """Along the rows, along the columns."""
        r, reach, anywhere = self.radius, self.reach, self.anywhere
        return (
            Axis("x", NX, ACROSS, LEFT, self.columns, LANE, self.lanes, self.halo, self.vector, r, anywhere),
            Axis("y", NY, DOWN, TOP, self.rows, GROUP, self.groups, reach, 1, r, anywhere),
        )


@dataclass(frozen=True, slots=True)
class Axis:
    """`tiles` tiles over `extent` cells, each of `threads` threads of `cells` cells, which begin at `start`. A tile
    begins at a multiple of `align`, and leaves the `halo` cells at either end to its neighbours."""

    name: str
    extent: Expr
    tiles: Expr
    start: Name
    cells: int
    thread: Name
    threads: int
    halo: int
    align: int
    radius: int
    anywhere: bool

    @property
    def size(self) -> int:
        return self.threads * self.cells

    @property
    def index(self) -> Name:
        return Name(f"t{self.name}")

    @property
    def owned(self) -> tuple[Name, Name]:
        """The first cell that the tile stores, and the first that it does not any more."""
        return Name(f"first_{self.name}"), Name(f"last_{self.name}")

    def count(self, extent: Expr) -> Expr:
        """How many tiles it takes."""
        inner = self.size - 2 * self.halo
        return most(div(add(sub(extent, 2 * self.halo), inner - 1), inner), 1)

    def begin(self, index: Expr) -> Expr:
        """The first cell of a tile: of the first tile 0; the last tile ends with the extent."""
        place = div(mul(Cast(LLONG, index), sub(self.extent, self.size)), most(sub(self.tiles, 1), 1))
        return Cast(INT, mul(div(place, self.align), self.align))

    def place(self) -> Iterator[Stmt]:
        """Where the tile and the thread's cells are."""
        first, last = self.owned
        tile = Name(f"{self.name}0")
        after = add(self.begin(add(self.index, 1)), self.halo)
        yield Declare(tile.name, INT, self.begin(self.index))
        yield Declare(first.name, INT, select(self.is_first, lift(0), add(tile, self.halo)))
        yield Declare(last.name, INT, select(self.is_last, self.extent, after))
        yield Declare(self.start.name, INT, add(tile, mul(self.thread, self.cells)))

    @property
    def is_first(self) -> Expr:
        return compare("==", self.index, 0)

    @property
    def is_last(self) -> Expr:
        return compare("==", self.index, sub(self.tiles, 1))

    def owns(self, cell: Expr) -> Expr:
        """Whether this tile stores the cell of the thread."""
        at = add(self.start, cell)
        return both(compare(">=", at, self.owned[0]), compare("<", at, self.owned[1]))

    def keeps(self, cell: int) -> Expr:
        """Whether the cell is near a side and keeps its value; where tiles fit, some of the outermost threads' are."""
        at, r = add(self.start, cell), self.radius
        if self.anywhere:
            return either(compare("<", at, r), compare(">=", at, sub(self.extent, r)))
        low, high = ceil_div(r - cell, self.cells), ceil_div(r - (self.cells - 1 - cell), self.cells)
        near = both(self.is_first, compare("<", self.thread, low)) if low > 0 else NEVER
        far = both(self.is_last, compare(">=", self.thread, self.threads - high)) if high > 0 else NEVER
        return either(near, far)


NEVER = Literal("0", BOOL)
