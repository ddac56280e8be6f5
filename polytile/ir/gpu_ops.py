"""What kernels can do beyond C: vector accesses, running pointers, registers, shuffles, asynchronous copies, split
barriers, tensor cores.

Nodes of ir/expr.py that only kernels hold. Each is checked when it is built; what needs the whole kernel is checked by
verify/kernel.py. Everything that waits says which dependence it keeps (`reason`), for the reader of the code.

Names of arrays are as in `Access`: a parameter, a shared or private array, or a running pointer (one subscript, in
elements from where it points).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field as _field

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, InternalError, Location
from polytile.ir.expr import BOOL, DOUBLE, INT, UINT, Access, CType, Expr, Literal, Name, Stmt
from polytile.machine import ASYNC_COPY_BYTES, SEGMENT_SIZES, VECTOR_BYTES, WARP_SIZE

BARRIER_TYPE = CType("polytile_barrier", "struct", 8)  # of a shared array that holds split barriers
CACHES = ("", "read-only", "streaming", "l2")  # hints: none, ld.global.nc, evict first, cached in L2 alone
SHUFFLES = ("up", "down", "xor", "from")
REDUCTIONS = ("+", "*", "min", "max", "fmin", "fmax", "&", "|", "^")


def require(holds: bool, message: str) -> None:
    """Raise InternalError unless `holds`: whoever builds kernels made a mistake."""
    if not holds:
        raise InternalError(message)


# Places in the grid -------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, init=False)
class BuiltIn(Name):
    """A name whose value the machine gives, along an axis. Targets spell it; with a point in it, it is no program's."""

    def __init__(self, what: str, axis: str, type: CType = INT) -> None:
        require(axis in ("x", "y", "z"), f"unknown axis: {axis}")
        Name.__init__(self, f"{what}.{axis}", type)

    @property
    def axis(self) -> str:
        return self.name[-1]


@dataclass(frozen=True, slots=True, init=False)
class ThreadIndex(BuiltIn):
    """The thread's index in its block."""

    def __init__(self, axis: str, type: CType = INT) -> None:
        BuiltIn.__init__(self, "thread", axis, type)


@dataclass(frozen=True, slots=True, init=False)
class BlockIndex(BuiltIn):
    """The block's index in the grid."""

    def __init__(self, axis: str, type: CType = INT) -> None:
        BuiltIn.__init__(self, "block", axis, type)


@dataclass(frozen=True, slots=True, init=False)
class GridExtent(BuiltIn):
    """How many blocks the grid has."""

    def __init__(self, axis: str, type: CType = INT) -> None:
        BuiltIn.__init__(self, "grid", axis, type)


# Values -------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Shuffle(Expr):
    """The `value` of another lane of the warp, all lanes taking part, in segments of `width` lanes.

    `up` takes from the lane that is `by` below, `down` from `by` above, `xor` from the lane with these bits changed,
    `from` from lane `by` of the segment. At a segment's end it is one's own value.
    """

    kind: str
    value: Expr
    by: Expr
    width: int = WARP_SIZE

    def __post_init__(self) -> None:
        require(self.kind in SHUFFLES, f"unknown shuffle: {self.kind}")
        require(self.width in SEGMENT_SIZES, f"a shuffle of segments of {self.width} lanes")
        require(self.value.type.size in (4, 8), f"a shuffle of {self.value.type}")

    @property
    def type(self) -> CType:
        return self.value.type


@dataclass(frozen=True, slots=True)
class WarpReduce(Expr):
    """The combination of `value` over a segment of `width` lanes, the same in each, always in the same order.

    All lanes of the segment take part; other segments of the warp may be elsewhere. `fmin` and `fmax` are C's
    functions, which pass over NaNs. With `more` values, of a whole warp, lane l has the combination of number
    l / (32 / count), each as if it were alone.
    """

    op: str
    value: Expr
    width: int = WARP_SIZE
    more: tuple[Expr, ...] = ()

    def __post_init__(self) -> None:
        require(self.op in REDUCTIONS, f"unknown reduction: {self.op}")
        require(self.width in SEGMENT_SIZES, f"a reduction over segments of {self.width} lanes")
        count = 1 + len(self.more)
        require(count == 1 or self.width == WARP_SIZE, "reductions of several values over parts of a warp")
        require(count <= WARP_SIZE and not count & (count - 1), f"reductions of {count} values at once")
        require(count == 1 or self.op in ("+", "*", "&", "|", "^"), f"a reduction {self.op} of several values")
        require(all(v.type == self.value.type for v in self.more), "reductions of values of several types at once")

    @property
    def type(self) -> CType:
        return self.value.type


@dataclass(frozen=True, slots=True)
class Aligned(Expr):
    """Whether a vector of so many bytes may be at each of these addresses; nothing is read there."""

    addresses: tuple[Access, ...]
    bytes: int

    def __post_init__(self) -> None:
        require(bool(self.addresses), "no addresses to be aligned")
        require(self.bytes in VECTOR_BYTES, f"vectors of {self.bytes} bytes")

    @property
    def type(self) -> CType:
        return BOOL


@dataclass(frozen=True, slots=True)
class Offset(Expr):
    """`base + by` of 32-bit integers, modulo 2^32 and then signed, that compilers do not keep for later uses."""

    base: Expr
    by: Expr

    def __post_init__(self) -> None:
        require(all(e.type in (INT, UINT) for e in (self.base, self.by)), "an offset of other than 32-bit integers")

    @property
    def type(self) -> CType:
        return INT


# Names --------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class PrivateArray(Stmt):
    """`type name[extents];` of one thread: registers, where all subscripts are constants after unrolling. With a
    `value`, every element starts with it."""

    name: str
    type: CType
    extents: tuple[int, ...]
    value: Literal | None = None
    location: Location = _field(default=NOWHERE, compare=False)

    def __post_init__(self) -> None:
        require(bool(self.extents) and min(self.extents) > 0, f"{self.name}: a private array of extents {self.extents}")


@dataclass(frozen=True, slots=True)
class Pointer(Stmt):
    """`type *name = &target;`: a running pointer, for 64-bit addresses that are computed once.

    before: ... A[(long long)(i + k) * m + j] ...
    after:  const double *a = &A[(long long)i * m + j]; ... a[k * m] ...
    """

    name: str
    target: Access
    const: bool = False
    location: Location = _field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Advance(Stmt):
    """`pointer += by;`, in elements."""

    pointer: str
    by: Expr


# Memory -------------------------------------------------------------------------------------------
def _check_vector(values: Sequence[Expr], memory: Access, cache: str, what: str) -> None:
    size = len(values) * memory.type.size
    require(cache in CACHES, f"unknown cache hint: {cache}")
    require(len(values) == 1 or size in VECTOR_BYTES, f"a vector {what} of {len(values)} x {memory.type}")


@dataclass(frozen=True, slots=True)
class Load(Stmt):
    """`targets` take consecutive elements from `source` on, in one access: aligned, where they are several.

    With a `guard` the access happens only where it holds; elsewhere the targets become 0.
    """

    targets: tuple[Access | Name, ...]
    source: Access
    cache: str = ""
    guard: Expr | None = None
    location: Location = _field(default=NOWHERE, compare=False)

    def __post_init__(self) -> None:
        _check_vector(self.targets, self.source, self.cache, "load")


@dataclass(frozen=True, slots=True)
class Store(Stmt):
    """Consecutive elements from `target` on become `values`, in one access; nothing where the `guard` does not hold."""

    target: Access
    values: tuple[Expr, ...]
    cache: str = ""
    guard: Expr | None = None
    location: Location = _field(default=NOWHERE, compare=False)

    def __post_init__(self) -> None:
        _check_vector(self.values, self.target, self.cache, "store")
        require(self.cache != "read-only", "a store through the read-only path")


@dataclass(frozen=True, slots=True)
class Prefetch(Stmt):
    """The cache that all multiprocessors share fetches the line of `source`, which is in memory; nothing is read."""

    source: Access


@dataclass(frozen=True, slots=True)
class Atomic(Stmt):
    """`target op= value`, indivisibly; the old value goes to `old`. Where it is `aggregated`, lanes of a warp that come
    to it together combine what they have for one element first."""

    op: str
    target: Access
    value: Expr
    old: Name | None = None
    location: Location = _field(default=NOWHERE, compare=False)
    aggregated: bool = False

    def __post_init__(self) -> None:
        require(not (self.aggregated and self.old is not None), "lanes that update together have no old values")
        require(self.op in ("+", "min", "max", "&", "|", "^"), f"unknown atomic operation: {self.op}")


@dataclass(frozen=True, slots=True)
class AsyncCopy(Stmt):
    """`elements` of global memory from `source` on go to shared memory from `target` on, some time before the
    `WaitCopies` that covers them; zeros where the `guard` does not hold (`source` is not read then).

    Nobody may read or write the target meanwhile. Another thread sees them behind that wait and a barrier.
    """

    target: Access
    source: Access
    elements: int = 1
    guard: Expr | None = None
    location: Location = _field(default=NOWHERE, compare=False)

    def __post_init__(self) -> None:
        size = self.elements * self.source.type.size
        require(self.target.type == self.source.type, "an asynchronous copy between types")
        require(size in ASYNC_COPY_BYTES, f"an asynchronous copy of {size} bytes")


@dataclass(frozen=True, slots=True)
class CommitCopies(Stmt):
    """The thread's copies since the last commit become a group."""


@dataclass(frozen=True, slots=True)
class WaitCopies(Stmt):
    """Until at most `pending` of the thread's latest groups are on their way."""

    pending: int
    reason: str

    def __post_init__(self) -> None:
        require(self.pending >= 0, "a wait for copies to come")


# Order --------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class InitBarrier(Stmt):
    """A split barrier that `arrivals` arrivals complete; one thread does this, and a barrier follows."""

    barrier: Access
    arrivals: int

    def __post_init__(self) -> None:
        require(self.arrivals > 0, "a split barrier without arrivals")
        require(self.barrier.type == BARRIER_TYPE, f"{self.barrier.array} holds no split barriers")


@dataclass(frozen=True, slots=True)
class Arrive(Stmt):
    """What the thread did before is done for whoever waits for this phase; the thread goes on.

    A thread arrives at most once in a phase, and in the next one only when something has told it that this one is over.
    """

    barrier: Access
    reason: str

    def __post_init__(self) -> None:
        require(self.barrier.type == BARRIER_TYPE, f"{self.barrier.array} holds no split barriers")


@dataclass(frozen=True, slots=True)
class Await(Stmt):
    """Until the phase of this parity (0 first, then alternating) is complete."""

    barrier: Access
    parity: Expr
    reason: str

    def __post_init__(self) -> None:
        require(self.barrier.type == BARRIER_TYPE, f"{self.barrier.array} holds no split barriers")


@dataclass(frozen=True, slots=True)
class Leave(Stmt):
    """The thread ends; all threads of its block do so together."""

    reason: str


@dataclass(frozen=True, slots=True)
class AwaitLaunches(Stmt):
    """Until the kernels launched before this one have ended and what they wrote can be read.

    It opens a kernel: only values that need no memory are found before. The kernel may then be launched while the one
    before it ends, which hides the time that a launch takes (programmatic dependent launch, CUDA C++ Programming
    Guide); where the machine cannot, nothing waits.
    """


# Tensor cores -------------------------------------------------------------------------------------
FRAGMENTS = {"m16n8k8": (4, 4, 2), "m16n8k4": (4, 2, 1)}  # registers of a lane: of d, of a, of b


@dataclass(frozen=True, slots=True)
class MultiplyAccumulate(Stmt):
    """`d += a * b` of double matrices, by a whole warp; each lane holds its registers of the fragments.

    Lane l = 4 g + t holds, of the 16 x 8 matrix d, rows g, g, g + 8, g + 8 at columns 2 t, 2 t + 1, 2 t, 2 t + 1; of
    the 16 x k matrix a, at columns t and t + 4 (k = 8), rows g and g + 8 of the first, then of the second; of the k x 8
    matrix b, rows t and t + 4 of column g (PTX ISA, mma for .f64).
    """

    shape: str
    d: tuple[Access, ...]
    a: tuple[Access, ...]
    b: tuple[Access, ...]
    location: Location = _field(default=NOWHERE, compare=False)

    def __post_init__(self) -> None:
        require(self.shape in FRAGMENTS, f"unknown shape of a matrix product: {self.shape}")
        found = len(self.d), len(self.a), len(self.b)
        require(found == FRAGMENTS[self.shape], f"{self.shape} takes {FRAGMENTS[self.shape]} registers, not {found}")
        require(all(r.type == DOUBLE for r in (*self.d, *self.a, *self.b)), "a matrix product of doubles")
