"""C[i][j] = beta * C[i][j] + alpha * sum over k of A(i, k) * B(k, j), for any layout of A and B and any extents.

Before, one thread an element of C:

    for each i, j (all, j <= i, or j >= i)
        sum = 0; for each k: sum += A(i, k) * B(k, j)
        C[i][j] = beta * C[i][j] + alpha * sum

After: a block computes a tile of C, each of its warps a part of that in registers. Tiles of A and B along k go round a
ring of `stages` slots in shared memory (staging.py). A tile is multiplied in `steps` steps. At each step a few copies
of a later tile are issued, and the registers of the next step are loaded. There is one barrier a tile, before the step
(`turn`) that first loads from the next tile: it says that the next tile has arrived, and that nobody reads the slot any
more in which copies begin.

What multiplies is a `Product`: tensor cores (tensor_product.py) or fused multiply-adds (fma_product.py). C is not read
where beta is 0, and only written where the domain has points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polytile.diagnostics import InternalError
from polytile.ir.arith import Value, add, compare, div, least, lift, mod, mul, select, sub
from polytile.ir.expr import INT, Assign, Declare, Expr, For, If, Name, Stmt
from polytile.ir.gpu_ops import BlockIndex, CommitCopies, Leave, ThreadIndex, WaitCopies
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.scop import Array
from polytile.machine import WARP_SIZE

from .common import host_program
from .contraction_parts import (
    BLOCK,
    I0,
    J0,
    LDA,
    LDB,
    LDC,
    NEXT,
    NI,
    NJ,
    NK,
    READ,
    SIZES,
    THREAD,
    WRITE,
    Contraction,
    Product,
    repeat,
)
from .contraction_results import Results
from .staging import Staging


def operands(spec: Contraction, pitches: tuple[int, int], *, transposed: tuple[bool, bool]) -> tuple[Staging, Staging]:
    """How A and B reach shared memory."""
    (i, j, k), (of_a, of_b, _) = spec.tile, spec.vectors
    along_k, element, threads = (spec.a_along_k, spec.b_along_k), spec.element, spec.threads
    return (
        Staging("a", "A", element, along_k[0], transposed[0], i, k, pitches[0], threads, of_a, NI, NK, LDA),
        Staging("b", "B", element, along_k[1], transposed[1], j, k, pitches[1], threads, of_b, NJ, NK, LDB),
    )


def contraction_kernel(spec: Contraction, staged: Sequence[Staging], product: Product) -> Kernel:
    """The kernel. It takes the extents, the pitches, alpha and beta, and the arrays; a block computes one tile."""
    values = [KernelParameter(n, spec.element) for n in ("alpha", "beta")]
    arrays = [KernelParameter(n, spec.element, n, const=n != "C") for n in "ABC"]
    homes = [Storage(n, Space.VALUE, spec.element, (), n, read_only=True) for n in ("alpha", "beta")]
    for name, row in (("A", LDA), ("B", LDB), ("C", LDC)):
        homes.append(Storage(name, Space.GLOBAL, spec.element, (None, row), name, read_only=name != "C"))
    return Kernel(
        spec.name,
        (*(KernelParameter(n.name, INT) for n in SIZES), *values, *arrays),
        (spec.threads, 1, 1),
        (Coordinate("block", BlockIndex("x")), Coordinate("thread", ThreadIndex("x"))),
        (*homes, *(s.storage(spec.stages) for s in staged)),
        tuple(_Body(spec, staged, product).statements()),
        (f"tiles of {' x '.join(map(str, spec.tile))}, warps of {' x '.join(map(str, spec.warp))}",),
        min_blocks=spec.min_blocks,
    )


@dataclass(frozen=True, slots=True)
class _Body:
    spec: Contraction
    staged: Sequence[Staging]
    product: Product

    @property
    def ahead(self) -> int:
        """How many tiles beyond the one that is multiplied are on their way; one slot less where a tile is still read
        behind the barrier."""
        behind = self.product.turn < self.product.steps - 1
        return self.spec.stages - 1 - behind

    def statements(self) -> Iterator[Stmt]:
        if self.ahead < 1 or self.product.turn < 1:
            raise InternalError(f"{self.spec.name}: {self.spec.stages} slots, {self.product.turn} steps for the copies")
        yield from self.place()
        yield from self.staged[0].start(THREAD, I0)
        yield from self.staged[1].start(THREAD, J0)
        yield from self.product.start()
        slot = Name("s")
        fill = (*(s.copy(n, slot) for s in self.staged for n in range(s.copies)), *self.issued())
        yield repeat(slot, self.ahead, *fill)
        yield from self.arrival("the first tile")
        yield Declare("read", INT, lift(0))
        yield Declare("write", INT, lift(self.ahead))
        yield from self.product.first()
        k = Name("k")
        yield For("k", lift(0), compare("<", k, NK), self.spec.tile[2], tuple(self.iteration()), unroll=1)
        yield WaitCopies(0, "no copy outlives its thread")
        yield from Results(self.spec, self.product).statements()

    def place(self) -> Iterator[Stmt]:
        """Which tile and which part of it; blocks without points of the domain leave."""
        i, j, _ = self.spec.tile
        group, first, tall, inside = self.spec.group, Name("first"), Name("tall"), Name("inside")
        yield Declare("inside", INT, mul(div(add(NJ, j - 1), j), group))
        yield Declare("first", INT, mul(div(BLOCK, inside), group))
        yield Declare("tall", INT, least(group, sub(div(add(NI, i - 1), i), first)))
        yield Declare("i0", INT, mul(add(first, mod(mod(BLOCK, inside), tall)), i))
        yield Declare("j0", INT, mul(div(mod(BLOCK, inside), tall), j))
        empty = {"lower": compare(">=", J0, add(I0, i)), "upper": compare(">=", I0, add(J0, j))}
        if self.spec.triangle:
            yield If(empty[self.spec.triangle], (Leave("no element of the tile is in the triangle"),))
        warps, warp = i // self.spec.warp[0], div(THREAD, WARP_SIZE)
        yield Declare("lane", INT, mod(THREAD, WARP_SIZE))
        yield Declare("warp_i", INT, mul(mod(warp, warps), self.spec.warp[0]))
        yield Declare("warp_j", INT, mul(div(warp, warps), self.spec.warp[1]))

    # The ring ----------------------------------------------------------------------------------------
    def issued(self) -> Iterator[Stmt]:
        """All copies of a tile are issued."""
        for staging in self.staged:
            yield from staging.advance()
        yield CommitCopies()

    def arrival(self, what: str) -> Iterator[Stmt]:
        yield WaitCopies(self.ahead - 1, f"{what} has arrived")
        yield Barrier(f"{what} is there for all, and nobody reads the slot that is filled next")

    def iteration(self) -> Iterator[Stmt]:
        """One tile: its products, the loads of the next step's registers, the copies of a later tile."""
        copies = [s.copy(n, WRITE) for s in self.staged for n in range(s.copies)]
        for step in range(self.product.steps):
            for number, copy in enumerate(copies):
                if number * self.product.turn // len(copies) == step:
                    yield copy
            if step == self.product.turn:
                yield from self.issued()
                yield from self.arrival("the next tile")
                yield Declare("next", INT, self.after(READ))
                yield Assign(WRITE, "", self.after(WRITE))
            yield from self.product.load(step)
            yield from self.product.multiply(step)
        yield Assign(READ, "", NEXT)

    def after(self, slot: Name) -> Expr:
        return select(compare("==", slot, self.spec.stages - 1), lift(0), add(slot, 1))


def contraction_program(spec: Contraction, kernel: Kernel) -> HostProgram:
    """`run_NAME(ni, nj, nk, lda, ldb, ldc, A, B, C, alpha, beta)`: one launch."""
    a = Array("A", spec.element, (NI if spec.a_along_k else NK, LDA))
    b = Array("B", spec.element, (NJ if spec.b_along_k else NK, LDB))
    scalars = tuple(Array(n, spec.element) for n in ("alpha", "beta"))
    blocks = mul(_tiles(NI, spec.tile[0]), _tiles(NJ, spec.tile[1]))
    launch = Launch(spec.name, (blocks, lift(1), lift(1)))
    arrays = (a, b, Array("C", spec.element, (NI, LDC)))
    program = host_program(f"run_{spec.name}", [kernel], SIZES, arrays, [launch])
    return replace(program, arguments=(*arrays, *scalars), by_value=frozenset(s.name for s in scalars))


def _tiles(extent: Value, by: int) -> Expr:
    return div(add(extent, by - 1), by)
