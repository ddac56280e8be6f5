"""The results of a contraction on their way from registers to C, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polytile.ir.arith import add, both, compare, fma, lift, mul
from polytile.ir.expr import BOOL, Access, Binary, Expr, If, Literal, Stmt
from polytile.ir.gpu_ops import Load, Pointer, PrivateArray, Store

from .contraction_parts import COLUMN, LDC, NI, NJ, ROW, Contraction, N, Product, R, repeat


@dataclass(frozen=True, slots=True)
class Results:
    spec: Contraction
    product: Product

    def statements(self) -> Iterator[Stmt]:
        """C is reached through one pointer, at the thread's first element."""
        yield Pointer("c", Access("C", (ROW, COLUMN), self.spec.element))
        chunks = repeat(N, self.product.chunks, *self.chunk())
        yield repeat(R, self.product.lines, If(compare("<", add(ROW, self.product.line(R)), NI), (chunks,)))

    def chunk(self) -> Iterator[Stmt]:
        vector = self.spec.vectors[2]
        yield PrivateArray("old", self.spec.element, (vector,))
        for first in range(0, self.product.width, vector):
            whole = self.owned(first, first + vector - 1)
            singles = tuple(
                If(self.owned(e, e), tuple(self.update(e, 1))) for e in range(first, first + vector) if vector > 1
            )
            yield If(whole, tuple(self.update(first, vector)), singles if self.spec.triangle else ())

    def owned(self, first: int, last: int) -> Expr:
        """Whether the elements from `first` to `last` of a chunk are in the domain, of which a vector has all or none
        but at the triangle's side."""
        column = add(COLUMN, mul(N, self.product.spread))
        row = add(ROW, self.product.line(R))
        side = {"lower": [compare("<=", add(column, last), row)], "upper": [compare(">=", add(column, first), row)]}
        return both(compare("<", add(column, last), NJ), *side.get(self.spec.triangle, []))

    def update(self, first: int, count: int) -> Iterator[Stmt]:
        """`count` elements of a chunk, from `first` on."""
        place = add(add(mul(self.product.line(R), LDC), mul(N, self.product.spread)), first)
        target = Access("c", (place,), self.spec.element)
        old = tuple(Access("old", (lift(e),), self.spec.element) for e in range(count))
        alpha, beta = self.spec.scalar("alpha"), self.spec.scalar("beta")
        yield Load(old, target, guard=Binary("!=", beta, self.zero, BOOL))
        values = (fma(alpha, self.sum(first + e), Binary("*", beta, old[e], self.spec.element)) for e in range(count))
        yield Store(target, tuple(values))

    def sum(self, element: int) -> Access:
        return Access("sum", (R, add(mul(N, self.product.width), element)), self.spec.element)

    @property
    def zero(self) -> Literal:
        return Literal("0.0f" if self.spec.element.size == 4 else "0.0", self.spec.element)
