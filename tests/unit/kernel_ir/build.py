"""Small kernels, and one that uses every node of kernels."""

from __future__ import annotations

from polytile.ir.arith import Value, add, binary, both, compare, either, lift, mul
from polytile.ir.expr import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LLONG,
    Access,
    Assign,
    Cast,
    CType,
    Declare,
    For,
    If,
    Literal,
    Name,
    Scope,
    Stmt,
)
from polytile.ir.expr_trees import walk
from polytile.ir.gpu_ops import (
    BARRIER_TYPE,
    Advance,
    Aligned,
    Arrive,
    AsyncCopy,
    Atomic,
    Await,
    BlockIndex,
    CommitCopies,
    InitBarrier,
    Leave,
    Load,
    MultiplyAccumulate,
    Offset,
    Pointer,
    Prefetch,
    PrivateArray,
    Shuffle,
    Store,
    ThreadIndex,
    WaitCopies,
    WarpReduce,
)
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Comment, Coordinate, Kernel, KernelParameter
from polytile.ir.memory import Space, Storage

N, M, ROUND, T = Name("n"), Name("m"), Name("i"), Name("t")
OWN, SUM, COUNT = Name("own", BOOL), Name("sum", DOUBLE), Name("count")


def ref(array: str, *subscripts: Value, ctype: CType = DOUBLE) -> Access:
    return Access(array, tuple(lift(s) for s in subscripts), ctype)


def row(array: str, count: int, *outer: Value, ctype: CType = DOUBLE) -> tuple[Access, ...]:
    return tuple(ref(array, *outer, k, ctype=ctype) for k in range(count))


def bar(number: int = 0) -> Access:
    return ref("bar", number, ctype=BARRIER_TYPE)


def buffers() -> tuple[KernelParameter, ...]:
    return (
        KernelParameter("n", INT),
        KernelParameter("m", INT),
        KernelParameter("A", DOUBLE, "A", const=True),
        KernelParameter("B", DOUBLE, "B"),
        KernelParameter("F", FLOAT, "F", const=True),
        KernelParameter("C", INT, "C"),
        KernelParameter("L", LLONG, "L"),
    )


def storage() -> tuple[Storage, ...]:
    two, columns = Literal("2"), Literal("512")
    return (
        Storage("A", Space.GLOBAL, DOUBLE, (None, M), "A"),
        Storage("B", Space.GLOBAL, DOUBLE, (None,), "B"),
        Storage("F", Space.GLOBAL, FLOAT, (None,), "F"),
        Storage("C", Space.GLOBAL, INT, (None,), "C"),
        Storage("L", Space.GLOBAL, LLONG, (None,), "L"),
        Storage("s", Space.SHARED, DOUBLE, (two, columns), "s"),
    )


def kernel(*body: Stmt, name: str = "k", block: tuple[int, int, int] = (256, 1, 1), **shape: object) -> Kernel:
    """A kernel of thread t over A[n][m], B, F, C and L, with shared s[2][512], and split barriers if it uses them."""
    split = any(isinstance(n, Access) and n.array == "bar" for s in body for n in walk(s))
    barriers = (Storage("bar", Space.SHARED, BARRIER_TYPE, (Literal("2"),), "bar"),) if split else ()
    coordinates = (Coordinate("t", ThreadIndex("x")), Coordinate("b", BlockIndex("x")))
    return Kernel(name, buffers(), block, coordinates, (*storage(), *barriers), body, **shape)  # type: ignore[arg-type]


def program(*kernels: Kernel) -> HostProgram:
    return HostProgram("everything", (), (), frozenset(), (), kernels, (), "", ())


def names() -> tuple[Stmt, ...]:
    """Registers, locals and pointers."""
    return (
        Comment("names"),
        Declare("own", BOOL, both(compare("<", T, N), compare(">=", add(T, -1), 0))),
        PrivateArray("x", DOUBLE, (2, 2), Literal("0.0", DOUBLE)),
        PrivateArray("ones", DOUBLE, (4,), Literal("1.0", DOUBLE)),
        PrivateArray("grid", DOUBLE, (2, 2), Literal("2.0", DOUBLE)),
        PrivateArray("d", DOUBLE, (4,), Literal("0.0", DOUBLE)),
        PrivateArray("f", FLOAT, (4,)),
        Declare("sum", DOUBLE, None),
        Declare("count", INT, None),
        Pointer("p", ref("A", mul(T, 4), 0), const=True),
        Pointer("q", ref("B", T)),
        Pointer("r", ref("q", 16)),
    )


def memory() -> tuple[Stmt, ...]:
    """Loads, stores and atomics of all kinds."""
    first, second = row("x", 2, 0), row("x", 2, 1)
    return (
        Comment("memory"),
        Load(first, ref("p", mul(ROUND, 2)), "streaming", OWN),
        Load(second, ref("p", mul(ROUND, 2)), "read-only"),
        Load((second[0],), ref("p", ROUND), "l2", OWN),
        Load((SUM,), ref("p", ROUND)),
        If(Aligned((ref("p", ROUND), ref("q", 0)), 16), (Load(first, ref("p", ROUND)),)),
        Prefetch(ref("p", ROUND)),
        Load(row("f", 4, ctype=FLOAT), ref("F", 0, ctype=FLOAT)),
        Advance("p", lift(-5)),
        Advance("p", M),
        Store(ref("q", 8), first, "streaming", OWN),
        Store(ref("q", 10), (ref("d", 0),), "l2"),
        Store(ref("r", 12), (ref("d", 0), SUM)),
        Store(ref("q", 14), (add(ref("d", 0), ref("grid", 1, 1)),), "", either(OWN, compare("==", ROUND, 3))),
        Atomic("+", ref("B", 3), Cast(DOUBLE, ref("f", 3, ctype=FLOAT))),
        Atomic("max", ref("C", 3, ctype=INT), ROUND, COUNT),
        Atomic("+", ref("L", 3, ctype=LLONG), COUNT),
    )


def copies() -> tuple[Stmt, ...]:
    return (
        Comment("copies"),
        AsyncCopy(ref("s", 0, mul(T, 2)), ref("p", 0), 2, OWN),
        AsyncCopy(ref("s", 1, T), ref("p", 8)),
        CommitCopies(),
        WaitCopies(0, "the rows of A have come"),
        Barrier("the rows of A, for all threads"),
    )


def lanes() -> tuple[Stmt, ...]:
    """Values of other lanes."""
    up = Shuffle("up", ref("x", 1, 1), lift(1))
    down = Shuffle("down", ref("x", 1, 1), lift(1), 16)
    return (
        Comment("lanes"),
        Assign(ref("x", 0, 0), "+", up),
        Assign(ref("x", 0, 1), "-", add(down, Shuffle("xor", ref("x", 0, 0), lift(3)))),
        Assign(SUM, "", Shuffle("from", WarpReduce("max", SUM), add(T, 1), 8)),
        *(Assign(SUM, "+", WarpReduce(op, SUM)) for op in ("+", "*", "min")),
        *(Assign(COUNT, "+", WarpReduce(op, COUNT)) for op in ("&", "|", "^")),
        Assign(SUM, "", WarpReduce("*", SUM, more=(ref("x", 0, 0), ref("x", 0, 1), SUM))),
        *(Assign(SUM, "+", WarpReduce(op, SUM, 8)) for op in ("+", "fmin", "fmax")),
        Barrier("the lanes' rows", "warp"),
    )


def split() -> tuple[Stmt, ...]:
    return (
        Comment("split barrier"),
        Arrive(bar(), "the rows are used"),
        Await(bar(), binary("&", ROUND, 1), "the rows are used"),
    )


def tensor() -> tuple[Stmt, ...]:
    d, a = row("d", 4), row("ones", 4)
    return (
        Comment("tensor cores"),
        MultiplyAccumulate("m16n8k8", d, a, row("x", 2, 0)),
        MultiplyAccumulate("m16n8k4", d, a[:2], row("x", 1, 0)),
    )


def loop(*body: Stmt, unroll: int | None = None) -> For:
    return For("i", lift(0), compare("<", ROUND, 8), 1, body, unroll=unroll)


def everything() -> Kernel:
    """Every node, and bounds of the launch."""
    ready = (
        If(compare("==", T, 0), (InitBarrier(bar(), 256),)),
        Barrier("the split barrier is ready"),
    )
    round_trip = loop(*memory(), *lanes(), *split(), *tensor(), unroll=1)
    unrolled = (
        loop(Assign(SUM, "+", ref("s", 1, ROUND)), unroll=4),
        loop(Assign(SUM, "+", ref("s", 0, ROUND)), unroll=0),
        Assign(SUM, "+", ref("q", Offset(T, lift(5)))),
    )
    end = (
        If(compare(">", N, 5), (Leave("nothing is left"),)),
        Scope((Store(ref("q", 9), (add(SUM, Cast(DOUBLE, COUNT)),)),)),
    )
    body = (*names(), *ready, *copies(), round_trip, *unrolled, *end)
    return kernel(*body, name="everything", min_blocks=2)


def portable() -> Kernel:
    """What HIP has too."""
    body = (*names(), *copies(), loop(*memory(), *lanes(), unroll=1))
    return kernel(*body, name="portable", min_blocks=2)
