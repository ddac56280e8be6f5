"""What the parts of contractions share: the names in their kernels, what to build, and how a warp multiplies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from polytile.diagnostics import InternalError
from polytile.ir.arith import compare, lift
from polytile.ir.expr import Access, CType, Expr, For, Name, Stmt
from polytile.machine import WARP_SIZE

NI, NJ, NK, LDA, LDB, LDC = SIZES = tuple(Name(n) for n in ("ni", "nj", "nk", "lda", "ldb", "ldc"))
BLOCK, THREAD, LANE, WARP_I, WARP_J, I0, J0, ROW, COLUMN, READ, NEXT, WRITE = (
    Name(n)
    for n in ("block", "thread", "lane", "warp_i", "warp_j", "i0", "j0", "row", "column", "read", "next", "write")
)
R, N = Name("r"), Name("n")


def repeat(iterator: Name, count: int, *body: Stmt, step: int = 1) -> For:
    """An unrolled loop."""
    return For(iterator.name, lift(0), compare("<", iterator, count), step, body, unroll=0)


@dataclass(frozen=True, slots=True)
class Contraction:
    """What to build: extents (i, j, k) of a tile, those (i, j) of a warp, slots of the ring.

    A is A[i][k] or, with `a_along_k` false, A[k][i]; B is B[j][k] with `b_along_k`, else B[k][j]. `vectors` are the
    elements of A, B and C that one access takes: their pitches, their extents along rows and the distances of the
    arrays from an address that 16 divides are multiples of them. `triangle` keeps j <= i ("lower") or j >= i ("upper").
    `group` rows of tiles are neighbours in time, to share what they read of B.
    """

    name: str
    element: CType
    tile: tuple[int, int, int]
    warp: tuple[int, int]
    stages: int = 4
    a_along_k: bool = True
    b_along_k: bool = False
    triangle: str = ""
    vectors: tuple[int, int, int] = (1, 1, 1)
    group: int = 8
    min_blocks: int = 0

    def __post_init__(self) -> None:
        if self.tile[0] % self.warp[0] or self.tile[1] % self.warp[1] or self.triangle not in ("", "lower", "upper"):
            raise InternalError(f"{self.name}: tiles of {self.tile} for warps of {self.warp}, {self.triangle}")

    @property
    def threads(self) -> int:
        return WARP_SIZE * (self.tile[0] // self.warp[0]) * (self.tile[1] // self.warp[1])

    def scalar(self, name: str) -> Access:
        return Access(name, (), self.element)


class Product(Protocol):
    """How a warp multiplies: a tile in `steps` steps, whose registers are loaded while the step before multiplies.

    From step `turn` on the next tile is loaded from. The thread's part of the sum is `sum[lines][chunks * width]`:
    line r is row `line(r)` from the thread's first, chunk n is `width` columns, `spread` columns after the one before.
    """

    @property
    def steps(self) -> int: ...
    @property
    def turn(self) -> int: ...
    @property
    def lines(self) -> int: ...
    @property
    def chunks(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def spread(self) -> int: ...

    def line(self, r: Expr) -> Expr: ...
    def start(self) -> Iterator[Stmt]: ...
    def first(self) -> Iterator[Stmt]: ...
    def load(self, step: int) -> Iterator[Stmt]: ...
    def multiply(self, step: int) -> Iterator[Stmt]: ...
