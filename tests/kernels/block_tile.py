"""What a 3-D block sweep is made of, and its host program: which tiles there are, and which kernel takes which sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import gcd

from polytile.diagnostics import InternalError
from polytile.ir.device import WARP
from polytile.ir.expr import CType
from polytile.ir.kernel import ceil_div

VECTOR = 16  # bytes of the widest access


@dataclass(frozen=True, slots=True)
class BlockSweep:
    """A star of coefficients by (plane, row, column) offset, `steps` steps T, and a tile of `groups` by `lanes` threads
    of `rows` x `columns` cells.

    Planes are copied `ahead` planes ahead, `vector` elements at once. With `rotate` registers change roles instead of
    places, and with `split` planes away from the domain's ends run in a loop of their own without tests for the ends.
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
            (self.width > 2 * self.halo and self.height > 2 * self.reach, f"{self.steps} steps leave nothing of a tile"),
            (WARP % self.lanes == 0 and threads % WARP == 0, f"{self.lanes} x {self.groups} threads are no whole warps"),
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
    def coefficients(self) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
        """By offset along the planes, the rows and the columns; the middle one is among the columns."""
        planes = {at[0]: c for at, c in sorted(self.terms.items()) if at[0]}
        rows = {at[1]: c for at, c in sorted(self.terms.items()) if at[1]}
        return planes, rows, {at[2]: c for at, c in sorted(self.terms.items()) if not (at[0] or at[1])}

    def for_all_sizes(self) -> BlockSweep:
        """The same for sizes that this one does not take."""
        return replace(self, name=f"{self.name}_anywhere", vector=1, anywhere=True)
