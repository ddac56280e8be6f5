"""Contractions of doubles on tensor cores: fragments of 16 x 8 by 8 x 8 (or twice 16 x 4 by 4 x 8) products.

Shared memory has A and B as global memory has them. Lane 4 g + t reads elements at (g, t) of a fragment, one after the
other: where rows are 4 elements more than a multiple of 16 apart, the 16 lanes that are served together reach different
banks, whichever of the two indices is contiguous. A step is one strip of 16 rows of A by 8 of k with all columns of the
warp; the fragments of B for the next 8 of k are loaded over the steps of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polytile.diagnostics import InternalError
from polytile.ir.arith import Value, add, div, lift, mod, mul, sub
from polytile.ir.expr import DOUBLE, INT, Access, Declare, Expr, Literal, Name, Stmt
from polytile.ir.gpu_ops import Load, MultiplyAccumulate, PrivateArray
from polytile.ir.kernel import Kernel

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
    repeat,
)
from .staging import Staging

STRIP, COLUMNS, DEPTH = 16, 8, 8  # of a fragment: rows of A, columns of B, elements along k
A_FIRST, B_FIRST, G, T = Name("a_first"), Name("b_first"), Name("g"), Name("t")


def tensor_contraction(spec: Contraction, shape: str = "m16n8k8") -> Kernel:
    """The kernel, on tensor cores by products of this shape. Raises InternalError for tiles that do not fit them."""
    whole = spec.warp[0] % STRIP == spec.warp[1] % COLUMNS == spec.tile[2] % (2 * DEPTH) == 0
    if spec.element != DOUBLE or not whole:
        raise InternalError(f"{spec.name}: tensor cores for warps of {spec.warp} x {spec.tile[2]} {spec.element}")
    i, j, k = spec.tile
    pitches = (pitch(k if spec.a_along_k else i), pitch(k if spec.b_along_k else j))
    staged = operands(spec, pitches, transposed=(False, False))
    return contraction_kernel(spec, staged, TensorProduct(spec, *staged, shape))


def pitch(width: int) -> int:
    """The least pitch of rows of `width` that is 4 beyond a multiple of 16."""
    return width + (4 - width) % 16


@dataclass(frozen=True, slots=True)
class TensorProduct:
    """See Product."""

    spec: Contraction
    a: Staging
    b: Staging
    shape: str
    width: int = 2
    spread: int = COLUMNS

    @property
    def strips(self) -> int:
        return self.spec.warp[0] // STRIP

    @property
    def depths(self) -> int:
        return self.spec.tile[2] // DEPTH

    @property
    def steps(self) -> int:
        return self.depths * self.strips

    @property
    def turn(self) -> int:
        return self.steps - self.strips

    @property
    def lines(self) -> int:
        return 2 * self.strips

    @property
    def chunks(self) -> int:
        return self.spec.warp[1] // COLUMNS

    def line(self, r: Expr) -> Expr:
        return mul(r, STRIP // 2)

    def start(self) -> Iterator[Stmt]:
        yield Declare("g", INT, div(LANE, 4))
        yield Declare("t", INT, mod(LANE, 4))
        yield Declare("a_first", INT, add(WARP_I, G))
        yield Declare("b_first", INT, add(WARP_J, G))
        yield Declare("row", INT, add(I0, A_FIRST))
        yield Declare("column", INT, add(J0, WARP_J, mul(T, 2)))
        yield PrivateArray("sum", DOUBLE, (self.lines, self.chunks * self.width), Literal("0"))
        yield PrivateArray("a_part", DOUBLE, (2, 4))
        yield PrivateArray("b_part", DOUBLE, (2, self.chunks, 2))

    # Fragments ---------------------------------------------------------------------------------------
    def first(self) -> Iterator[Stmt]:
        yield from self.load_a(0, READ)
        for n in range(self.chunks):
            yield from self.load_b(0, n, READ)

    def load(self, step: int) -> Iterator[Stmt]:
        """The strip of the next step, and a share of the columns of the next 8 of k."""
        following = step + 1
        yield from self.load_a(following % self.steps, READ if following < self.steps else NEXT)
        depth, strip = divmod(step, self.strips)
        for n in range(self.chunks):
            if n * self.strips // self.chunks == strip:
                last = depth + 1 == self.depths
                yield from self.load_b(0 if last else depth + 1, n, NEXT if last else READ)

    def load_a(self, step: int, slot: Name) -> Iterator[Stmt]:
        depth, strip = divmod(step, self.strips)
        for register in range(4):
            x = add(A_FIRST, strip * STRIP + register % 2 * 8)
            source = self.a.element(slot, x, add(T, depth * DEPTH + register // 2 * 4))
            yield Load((self.a_part(step, register),), source)

    def load_b(self, depth: int, n: int, slot: Name) -> Iterator[Stmt]:
        for register in range(2):
            source = self.b.element(slot, add(B_FIRST, n * COLUMNS), add(T, depth * DEPTH + register * 4))
            yield Load((self.b_part(depth, lift(n), register),), source)

    def multiply(self, step: int) -> Iterator[Stmt]:
        """Every other step from right to left: what is used last is used first."""
        depth, strip = divmod(step, self.strips)
        n = sub(self.chunks - 1, N) if strip % 2 else N
        d = tuple(self.sum(2 * strip + h, add(mul(n, 2), e)) for h in range(2) for e in range(2))
        a = tuple(self.a_part(step, register) for register in range(4))
        b = tuple(self.b_part(depth, n, register) for register in range(2))
        if self.shape == "m16n8k8":
            yield repeat(N, self.chunks, MultiplyAccumulate(self.shape, d, a, b))
        else:
            halves = (MultiplyAccumulate(self.shape, d, a[2 * h : 2 * h + 2], b[h : h + 1]) for h in range(2))
            yield repeat(N, self.chunks, *halves)

    def sum(self, line: int, column: Expr) -> Access:
        return Access("sum", (lift(line), column), DOUBLE)

    def a_part(self, step: int, register: int) -> Access:
        return Access("a_part", (lift(step % 2), lift(register)), DOUBLE)

    def b_part(self, depth: int, n: Value, register: int) -> Access:
        return Access("b_part", (lift(depth % 2), lift(n), lift(register)), DOUBLE)
