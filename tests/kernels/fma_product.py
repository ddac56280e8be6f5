"""Contractions on fused multiply-adds: each thread owns lines by columns of the sum, and reads vectors of 16 bytes.

Shared memory has A as [k][i] and B as [k][j]; an operand that is contiguous along k is transposed on the way, one
element at a time. The lanes of a warp are `lanes` along i by 32 / `lanes` along j. Their lines and columns come in
vectors, dealt out to the lanes in turn, so that neighbours read neighbouring vectors. A step is one k.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polytile.diagnostics import InternalError
from polytile.ir.arith import add, div, fma, lift, mod, mul, sub
from polytile.ir.expr import INT, Access, Assign, Declare, Expr, Literal, Name, Stmt
from polytile.ir.gpu_ops import Load, PrivateArray
from polytile.ir.kernel import Kernel
from polytile.machine import WARP_SIZE

from .contraction import contraction_kernel, operands
from .contraction_parts import (
    I0,
    J0,
    LANE,
    NEXT,
    READ,
    WARP_I,
    WARP_J,
    Contraction,
    N,
    R,
    repeat,
)
from .staging import Staging

BYTES = 16  # of a vector


def fma_contraction(spec: Contraction, lanes: int = 4) -> Kernel:
    """The kernel, with `lanes` lanes of a warp along i. Raises InternalError for warps that lanes do not share out, and
    for an odd number of steps: registers for two steps take turns."""
    vector = BYTES // spec.element.size
    i, j, k = spec.tile
    if spec.warp[0] % (lanes * vector) or spec.warp[1] % (WARP_SIZE // lanes * vector) or k % 2:
        raise InternalError(f"{spec.name}: warps of {spec.warp} x {k} for {lanes} lanes of vectors of {vector}")
    # Eight threads along k times four along x store into a transposed tile: 4 apart, they reach all banks.
    pitches = (i + 4 * spec.a_along_k, j + 4 * spec.b_along_k)
    staged = operands(spec, pitches, transposed=(spec.a_along_k, spec.b_along_k))
    return contraction_kernel(spec, staged, FmaProduct(spec, *staged, lanes, vector))


@dataclass(frozen=True, slots=True)
class FmaProduct:
    """See Product."""

    spec: Contraction
    a: Staging
    b: Staging
    lanes: int
    width: int

    @property
    def steps(self) -> int:
        return self.spec.tile[2]

    @property
    def turn(self) -> int:
        return self.steps - 1

    @property
    def lines(self) -> int:
        return self.spec.warp[0] // self.lanes

    @property
    def columns(self) -> int:
        return self.spec.warp[1] * self.lanes // WARP_SIZE

    @property
    def chunks(self) -> int:
        return self.columns // self.width

    @property
    def spread(self) -> int:
        return WARP_SIZE // self.lanes * self.width

    def line(self, r: Expr) -> Expr:
        return add(mul(div(r, self.width), self.width * self.lanes), mod(r, self.width))

    def start(self) -> Iterator[Stmt]:
        yield Declare("a_first", INT, add(WARP_I, mul(mod(LANE, self.lanes), self.width)))
        yield Declare("b_first", INT, add(WARP_J, mul(div(LANE, self.lanes), self.width)))
        yield Declare("row", INT, add(I0, Name("a_first")))
        yield Declare("column", INT, add(J0, Name("b_first")))
        yield PrivateArray("sum", self.spec.element, (self.lines, self.columns), Literal("0"))
        yield PrivateArray("a_part", self.spec.element, (2, self.lines))
        yield PrivateArray("b_part", self.spec.element, (2, self.columns))

    # Registers ---------------------------------------------------------------------------------------
    def first(self) -> Iterator[Stmt]:
        yield from self.loads(0, READ)

    def load(self, step: int) -> Iterator[Stmt]:
        following = step + 1
        yield from self.loads(following % self.steps, READ if following < self.steps else NEXT)

    def loads(self, k: int, slot: Name) -> Iterator[Stmt]:
        """A column of A and a row of B."""
        for part, staging, count, lanes in (
            ("a", self.a, self.lines, self.lanes),
            ("b", self.b, self.columns, WARP_SIZE // self.lanes),
        ):
            for e in range(0, count, self.width):
                source = staging.element(slot, add(Name(f"{part}_first"), e * lanes), k)
                yield Load(tuple(self.part(part, k, lift(e + v)) for v in range(self.width)), source)

    def multiply(self, step: int) -> Iterator[Stmt]:
        """The outer product, every other line from right to left: what is used last is used first."""
        forth = repeat(N, self.columns, self.update(step, R, N))
        back = repeat(N, self.columns, self.update(step, add(R, 1), sub(self.columns - 1, N)))
        yield repeat(R, self.lines, forth, back, step=2)

    def update(self, step: int, r: Expr, n: Expr) -> Stmt:
        total = Access("sum", (r, n), self.spec.element)
        return Assign(total, "", fma(self.part("a", step, r), self.part("b", step, n), total))

    def part(self, operand: str, k: int, index: Expr) -> Access:
        return Access(f"{operand}_part", (lift(k % 2), index), self.spec.element)
