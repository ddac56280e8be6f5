"""What the text of vectors, guards, pointers, lanes and atomics does, in the emulator with all its checks."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.ir.arith import add, compare, lift, mul
from polytile.ir.expr import DOUBLE, INT, Access, Assign, Binary, Declare, Expr, If, Literal, Name, Stmt
from polytile.ir.gpu_ops import Advance, Atomic, Load, Pointer, PrivateArray, Shuffle, Store, ThreadIndex, WarpReduce
from polytile.ir.host import Buffer, HostProgram
from polytile.ir.kernel import Barrier, Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.scop import Array, Parameter
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Reader
from polytile.runtime.emulator.instrument import CHECKS, checked

from .build import N, T, ref, row

LANES, SIZE = 64, 256
SEVERAL = (2, 8, 32)  # values whose sums a warp finds together
OPS = ("+", "*", "min", "max", "&", "|", "^")


def program(name: str, *body: Stmt) -> HostProgram:
    """One block of 64 threads t over A and B of 256 doubles and C of 256 ints."""
    types = {"A": DOUBLE, "B": DOUBLE, "C": INT}
    parameters = (KernelParameter("n", INT), *(KernelParameter(a, t, a, const=a == "A") for a, t in types.items()))
    storage = tuple(Storage(a, Space.GLOBAL, t, (None,), a) for a, t in types.items())
    shared = (Storage("s", Space.SHARED, DOUBLE, (Literal(str(SIZE)),), "s"),) if name == "shared" else ()
    thread = (Coordinate("t", ThreadIndex("x")),)
    built = Kernel(f"{name}_kernel", parameters, (LANES, 1, 1), thread, (*storage, *shared), body)
    arrays = tuple(Array(a, t, (lift(SIZE),)) for a, t in types.items())
    buffers = tuple(Buffer(a, lift(0), lift(SIZE), copy_in=True, copy_out=a.name != "A") for a in arrays)
    launch = Launch(built.name, (lift(1), lift(1), lift(1)))
    return HostProgram(name, (Parameter("n", INT),), arrays, frozenset(), buffers, (built,), (launch,))


def vectors() -> HostProgram:
    """B[k] = A[k] + 1 for pairs below n, zeros + 1 for the next pairs; nothing above 2 * LANES."""
    x = PrivateArray("x", DOUBLE, (2,))
    source, target = Pointer("p", ref("A", mul(T, 2)), const=True), Pointer("q", ref("B", add(mul(T, 2), 64)))
    load = Load(row("x", 2), ref("p", 0), "read-only", compare("<", add(mul(T, 2), 1), N))
    more = tuple(Assign(r, "+", Literal("1.0", DOUBLE)) for r in row("x", 2))
    return program("vectors", x, source, target, Advance("q", lift(-64)), load, *more, Store(ref("q", 0), row("x", 2)))


def guarded() -> HostProgram:
    """B[t] = A[t] where t < n, else 0; B[t + 64] = A[t] where t < n, else as before."""
    load = Load((Name("x", DOUBLE),), ref("A", T), "streaming", compare("<", T, N))
    store = Store(ref("B", add(T, LANES)), (Name("x", DOUBLE),), "streaming", compare("<", T, N))
    plain = Store(ref("B", T), (Name("x", DOUBLE),), "l2")
    return program("guarded", Declare("x", DOUBLE, None), load, plain, store)


def lanes() -> HostProgram:
    """C[t], C[t + 64], ... are the neighbours of t; segments of 8 lanes end in their own values."""
    kinds = ("up", "down", "xor", "from")
    values = [Shuffle(kind, T, lift(3), 8) for kind in kinds]
    return program("lanes", *(Store(ref("C", add(T, k * LANES), ctype=INT), (v,)) for k, v in enumerate(values)))


def reductions(ops: tuple[str, ...], name: str) -> HostProgram:
    """C[t], C[t + 64], ... are the combinations over t's warp of t % 3 + 1."""
    value: Expr = add(Binary("%", T, lift(3), INT), 1)
    stores = (Store(ref("C", add(T, k * LANES), ctype=INT), (WarpReduce(op, value),)) for k, op in enumerate(ops))
    return program(name, *stores)


def several(count: int) -> HostProgram:
    """C[t], C[t + 64], C[t + 128] are the sum, "or" and "xor" of number t / (32 / count) of the values t % 3 + k."""
    values = [add(Binary("%", T, lift(3), INT), k) for k in range(count)]
    reduced = [WarpReduce(op, values[0], more=tuple(values[1:])) for op in ("+", "|", "^")]
    stores = [Store(ref("C", add(T, k * LANES), ctype=INT), (v,)) for k, v in enumerate(reduced)]
    return program(f"several{count}", *stores)


def segments() -> HostProgram:
    """C[t], C[t + 64], ... are sums, the least and the largest over segments of 4 lanes of t; not in lanes 8..11."""
    reduced = [WarpReduce(op, T, 4) for op in ("+", "min", "fmax")]
    stores = [Store(ref("C", add(T, k * LANES), ctype=INT), (v,)) for k, v in enumerate(reduced)]
    elsewhere = Binary("||", compare("<", T, lift(8)), compare("<=", lift(12), T), INT)
    return program("segments", If(elsewhere, tuple(stores)))


def atomics() -> HostProgram:
    """B[0] = the sum, C[0] = the largest of all threads, C[64 + t] = how many threads came before."""
    old = Name("old")
    return program(
        "atomics",
        Declare("old", INT, None),
        Atomic("+", ref("B", 0), ref("A", T)),
        Atomic("max", ref("C", 0, ctype=INT), T),
        Atomic("+", ref("C", 1, ctype=INT), lift(1), old),
        Store(ref("C", add(T, LANES), ctype=INT), (old,)),
    )


def shared() -> HostProgram:
    """B[t] = A[2 t + 1], by way of shared memory and a pointer into it."""
    own = Pointer("p", ref("s", mul(T, 2)))
    pair = (ref("A", mul(T, 2)), ref("A", add(mul(T, 2), 1)))
    read: Access = ref("p", 1)
    return program("shared", own, Store(ref("p", 0), pair), Barrier("pairs"), Store(ref("B", T), (read,)))


PROGRAMS = (
    vectors(),
    guarded(),
    lanes(),
    reductions(OPS[:4], "some"),
    reductions(OPS[4:], "others"),
    segments(),
    *(several(count) for count in SEVERAL),
    atomics(),
    shared(),
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EmulatorLibrary, Reader]]:
    folder = tmp_path_factory.mktemp("runs")
    text = print_unit(PROGRAMS, header="unit.h", title=[])
    (folder / "unit.h").write_text(print_header(PROGRAMS, guard_name="UNIT_H"))
    (folder / "unit.cu").write_text(text)
    kind = checked(CHECKS)
    library = EmulatorLibrary.open(compile_shared(folder / "unit.cu", folder / "unit.so", instrumentation=kind))
    yield library, Reader(library, text)


class Run:
    """The arrays of a program after it ran on A = 1.5, 2.5, ... without a finding."""

    def __init__(self, built: tuple[EmulatorLibrary, Reader], name: str, n: int = 0) -> None:
        library, reader = built
        self.a, self.b, self.c = np.arange(SIZE) + 1.5, np.full(SIZE, -1.0), np.full(SIZE, -1, np.int32)
        reader.clear()
        pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (self.a, self.b, self.c)]
        assert library.function(name)(ctypes.c_int(n), *pointers) == 0, library.message()
        assert reader.read() == ()


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 2, 99, 128])
def test_vectors(built: tuple[EmulatorLibrary, Reader], n: int) -> None:
    run = Run(built, "vectors", n)
    read = np.where(np.arange(2 * LANES) < n // 2 * 2, run.a[: 2 * LANES], 0.0)
    assert np.array_equal(run.b[: 2 * LANES], read + 1)
    assert np.all(run.b[2 * LANES :] == -1)


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 5, 64])
def test_guards(built: tuple[EmulatorLibrary, Reader], n: int) -> None:
    run, below = Run(built, "guarded", n), np.arange(LANES) < n
    assert np.array_equal(run.b[:LANES], np.where(below, run.a[:LANES], 0.0))
    assert np.array_equal(run.b[LANES : 2 * LANES], np.where(below, run.a[:LANES], -1.0))


def test_lanes(built: tuple[EmulatorLibrary, Reader]) -> None:
    t = np.arange(LANES)
    in_segment = t % 8
    expected = [
        np.where(in_segment < 3, t, t - 3),
        np.where(in_segment + 3 > 7, t, t + 3),
        t ^ 3,
        t - in_segment + 3,
    ]
    assert np.array_equal(Run(built, "lanes").c, np.concatenate(expected))


@pytest.mark.parametrize("name", ["some", "others"])
def test_reductions(built: tuple[EmulatorLibrary, Reader], name: str) -> None:
    functions = [np.add, np.multiply, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor]
    chosen = functions[:4] if name == "some" else functions[4:]
    warps = (np.arange(LANES, dtype=np.int32) % 3 + 1).reshape(2, 32)
    expected = [np.repeat(f.reduce(warps, axis=1, dtype=np.int32), 32) for f in chosen]
    assert np.array_equal(Run(built, name).c[: len(chosen) * LANES], np.concatenate(expected))


@pytest.mark.parametrize("count", SEVERAL)
def test_reductions_of_several_values(built: tuple[EmulatorLibrary, Reader], count: int) -> None:
    t = np.arange(LANES, dtype=np.int64)
    values = (t % 3).reshape(2, 1, 32) + np.arange(count).reshape(1, count, 1)
    functions = (np.add, np.bitwise_or, np.bitwise_xor)
    each = [np.repeat(f.reduce(values, axis=2), 32 // count, axis=1).ravel() for f in functions]
    assert np.array_equal(Run(built, f"several{count}").c[: 3 * LANES], np.concatenate(each))


def test_segments_that_are_not_all_there(built: tuple[EmulatorLibrary, Reader]) -> None:
    t = np.arange(LANES)
    first = t // 4 * 4
    expected = np.concatenate([np.where(t // 4 == 2, -1, values) for values in (4 * first + 6, first, first + 3)])
    assert np.array_equal(Run(built, "segments").c[: 3 * LANES], expected)


def test_atomics(built: tuple[EmulatorLibrary, Reader]) -> None:
    run = Run(built, "atomics")
    assert run.b[0] == -1 + run.a[:LANES].sum()
    assert tuple(run.c[:2]) == (LANES - 1, LANES - 1)
    assert sorted(run.c[LANES : 2 * LANES]) == list(range(-1, LANES - 1))


def test_shared_memory(built: tuple[EmulatorLibrary, Reader]) -> None:
    run = Run(built, "shared")
    assert np.array_equal(run.b[:LANES], run.a[1 : 2 * LANES : 2])
