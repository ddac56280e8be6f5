"""What a warp sweep is built from, and how it names its registers."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

from polytile.diagnostics import InternalError
from polytile.ir.arith import add, compare, lift
from polytile.ir.expr import FLOAT, Access, CType, Expr, For, Literal, Name, Stmt
from polytile.ir.kernel import ceil_div
from polytile.machine import WARP_SIZE

from .stencils import Terms, reach_of

STEP, V = Name("s"), Name("v")
VECTOR = 16  # bytes of the widest access


@dataclass(frozen=True, slots=True)
class Sweep:
    """What to build: coefficients by (row, column) offset, steps T, columns V of a lane.

    `align` elements divide the pitch and the distance of the arrays from an address that 16 divides. Raises
    InternalError where some row of the stencil has no term or the overlap leaves nothing of a strip.
    """

    name: str
    element: CType
    terms: Terms
    steps: int
    columns: int
    align: int = 1
    warps: int = 4
    min_blocks: int = 0
    unroll: int = 1  # rows of one turn of the loop without selects: several save moves, where the code stays short
    radius: int = field(init=False)
    halo: int = field(init=False)  # columns on either side of a strip, in whole lanes

    def __post_init__(self) -> None:
        radius = reach_of(self.terms)
        if {row for row, _ in self.terms} != set(range(-radius, radius + 1)):
            raise InternalError(f"{self.name}: a stencil without a term in each of its rows")
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "halo", ceil_div(self.steps * radius, self.columns) * self.columns)
        if self.width <= 0:
            strip = WARP_SIZE * self.columns
            raise InternalError(f"{self.name}: {self.steps} steps leave nothing of a strip of {strip}")

    @property
    def width(self) -> int:
        """The distance of one strip from the next."""
        return WARP_SIZE * self.columns - 2 * self.halo

    @property
    def reach(self) -> int:
        """How many rows the last step is behind the first."""
        return self.steps * self.radius

    @property
    def vector(self) -> int:
        """Elements of one access."""
        return gcd(self.align, self.columns, VECTOR // self.element.size)

    # Registers ---------------------------------------------------------------------------------------
    def line(self, column: Expr | int, beside: int = 0) -> Access:
        """The row that arrives at a step, `beside` a column of the lane: from -r to V - 1 + r."""
        return Access("line", (add(column, self.radius + beside),), self.element)

    def sums(self, slot: int) -> Access:
        """The sum of the output `slot` rows behind the one that is completed next."""
        return Access("sums", (lift(slot), STEP, V), self.element)

    def register(self, array: str, index: Expr | int) -> Access:
        return Access(array, (lift(index),), self.element)

    def each(self, *body: Stmt) -> For:
        """A statement for each column of the lane."""
        return For("v", lift(0), compare("<", V, self.columns), 1, body, unroll=0)

    def constant(self, value: float) -> Literal:
        return Literal(f"{value!r}f" if self.element == FLOAT else repr(value), self.element)
