"""Every pass leaves what a kernel computes as it was, bit for bit, at small and odd sizes; no check finds anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polytile.codegen.passes import WAITING_FOR_A_STRATEGY
from polytile.ir.arith import add, both, compare, div, fma, lift, mul, sub
from polytile.ir.expr import (
    DOUBLE,
    INT,
    LLONG,
    Access,
    Assign,
    Cast,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Scope,
    Stmt,
)
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import (
    Advance,
    AsyncCopy,
    BlockIndex,
    CommitCopies,
    Pointer,
    ThreadIndex,
    WaitCopies,
)
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.plan import LoopPlan
from polytile.ir.ranges import Range
from polytile.ir.scop import Array

from .common import Built, Numbers, build_checked, host_program, optimised

N, M, B, T, I, J, K, V = (Name(name) for name in "nmbtijkv")  # noqa: E741
THREADS = 32
SHARED = (Storage("s", Space.SHARED, DOUBLE, (lift(2 * THREADS),), "s"),)
SIZES = [(1, 4), (2, 8), (3, 36), (5, 132), (7, 256), (13, 40)]


def at(array: str, *subscripts: Expr | int) -> Access:
    return Access(array, tuple(lift(s) for s in subscripts))


def real(text: str) -> Literal:
    return Literal(text, DOUBLE)


def loop(iterator: Name, end: Expr | int, *body: Stmt, unroll: int | None = None) -> For:
    return For(iterator.name, lift(0), compare("<", iterator, end), 1, body, unroll=unroll)


def kernel(*body: Stmt, shared: Sequence[Storage] = (), ranges: Sequence[Range] = ()) -> Kernel:
    """A kernel from the n x m array A to B, a thread a column or four."""
    globals_ = tuple(Storage(a, Space.GLOBAL, DOUBLE, (N, M), a, read_only=a == "A") for a in "AB")
    parameters = (
        KernelParameter("n", INT),
        KernelParameter("m", INT),
        KernelParameter("A", DOUBLE, "A", const=True),
        KernelParameter("B", DOUBLE, "B"),
    )
    coordinates = (Coordinate("b", BlockIndex("x")), Coordinate("t", ThreadIndex("x")))
    storage = (*globals_, *shared)
    return Kernel("k", parameters, (THREADS, 1, 1), coordinates, storage, body, ranges=tuple(ranges))


def program(name: str, made: Kernel) -> HostProgram:
    made = replace(made, name=name)
    rows, columns = Name("n", LLONG), Name("m", LLONG)
    arrays = tuple(Array(a, DOUBLE, (rows, columns)) for a in "AB")
    blocks = div(add(columns, THREADS - 1), THREADS)
    launch = Launch(name, (blocks, lift(1), lift(1)))
    return host_program(f"run_{name}", (made,), (N, M), arrays, (launch,))


# Kernels ------------------------------------------------------------------------------------------
COLUMN = Declare("j", INT, add(mul(B, THREADS), T))
SMALL = (Range("n", lift(1), lift(1000)), Range("m", lift(1), lift(1000)))


def smoothing() -> Kernel:
    """Columns of a 2-D stencil, guarded at every side."""
    inside = both(
        compare(">=", I, 1),
        compare("<", I, N),
        compare("<", add(I, 1), N),
        compare(">=", J, 1),
        compare("<", add(J, 1), M),
    )
    neighbours = [at("A", sub(I, 1), J), at("A", add(I, 1), J), at("A", I, sub(J, 1)), at("A", I, add(J, 1))]
    total: Expr = at("A", I, J)
    for neighbour in neighbours:
        total = fma(real("0.125"), neighbour, total)
    return kernel(COLUMN, loop(I, N, If(inside, (Assign(at("B", I, J), "", total),))), ranges=SMALL)


def tiled() -> Kernel:
    """Each thread adds up, over rows, what two threads of the block have copied to shared memory."""
    total = Name("total", DOUBLE)
    copies = [
        AsyncCopy(at("s", add(T, THREADS * h)), at("A", K, select_column(h)), guard=compare("<", J, M)) for h in (0, 1)
    ]
    steps = [
        Assign(total, "+", at("s", sub(THREADS - 1, T))),
        Assign(total, "", fma(total, real("0.5"), at("s", add(T, THREADS)))),
    ]
    body = (*copies, CommitCopies(), WaitCopies(0, "there"), Barrier("all there"), *steps, Barrier("all read"))
    result = If(compare("<", J, M), (Assign(at("B", 0, J), "", total),))
    return kernel(COLUMN, Declare("total", DOUBLE, real("0.0")), loop(K, N, *body), result, shared=SHARED)


def select_column(half: int) -> Expr:
    return J if half == 0 else sub(sub(M, 1), J)


Change = Callable[[Kernel], Kernel]
ROWS = {"i": LoopPlan("i", partition=True)}


def by(*requested: str, **plan: Any) -> Change:
    """What the passes that a plan asks for make of a kernel."""
    return lambda kernel: optimised(kernel, *requested, **plan)


PAIRS: dict[str, tuple[Kernel, Change]] = {
    "pointers": (smoothing(), by("strength-reduction")),
    "rows_separate": (smoothing(), by(loops=ROWS)),
    "all": (smoothing(), by("strength-reduction", "index-width", loops=ROWS)),
    **{f"stages_{s}": (tiled(), by(stages={"k": s})) for s in (2, 3, 4)},
}


@pytest.fixture(scope="module")
def built(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Built:
    programs = [program(f"{name}_before", optimised(PAIRS[name][0])) for name in PAIRS]
    programs += [program(f"{name}_after", change(made)) for name, (made, change) in PAIRS.items()]
    return build_checked(programs, tmp_path_factory.mktemp("passes"))


def results(built: Built, name: str, rows: int, columns: int) -> Numbers:
    start = np.random.default_rng(rows * columns).standard_normal((rows, columns))
    result = np.full_like(start, 7.0)
    assert built(f"run_{name}", rows, columns, start, result) == ()
    return result


@pytest.mark.slow(but="pointers")
@pytest.mark.parametrize("name", PAIRS)
def test_the_results_are_the_same(built: Built, name: str) -> None:
    made, change = PAIRS[name]
    assert change(made) != optimised(made)
    for rows, columns in SIZES:
        old, new = (results(built, f"{name}_{side}", rows, columns) for side in ("before", "after"))
        np.testing.assert_array_equal(old, new)
        assert (old != 7.0).any() or min(rows, columns) < 3


def test_what_the_passes_made() -> None:
    """The pairs differ by what the pass is for."""
    after = {name: [type(n) for s in change(made).body for n in walk(s)] for name, (made, change) in PAIRS.items()}
    assert {Pointer, Advance} <= set(after["pointers"]) and Pointer in after["all"]
    assert after["stages_3"].count(AsyncCopy) == 6 and after["stages_3"].count(CommitCopies) == 3


def _late(node: object) -> object:
    return replace(node, pending=node.pending + 1) if isinstance(node, WaitCopies) and node.pending else node


def _unsynchronised(node: object) -> object:
    return replace(node, scope="warp") if isinstance(node, Barrier) else node


@pytest.mark.slow
@pytest.mark.parametrize("fault", [_late, _unsynchronised])
def test_a_pipeline_that_waits_too_little_is_caught(
    emulator: None, tmp_path: Path, fault: Callable[[object], object]
) -> None:
    """With 64 threads, so that a barrier of a warp is not enough."""
    made = optimised(tiled(), stages={"k": 3})
    broken = replace(made, block=(THREADS, 2, 1), body=tuple(rewrite(s, fault) for s in made.body))
    built = build_checked([program("broken", broken)], tmp_path)
    start = np.random.default_rng(1).standard_normal((5, 40))
    assert built("run_broken", 5, 40, start, np.zeros_like(start))


# An error planted in each pass --------------------------------------------------------------------
def overflowing() -> Kernel:
    """The products of a subscript need 64 bits, though their difference does not."""
    column = sub(mul(J, 100_000_000), mul(J, 99_999_999))
    store = Assign(at("B", I, column), "", at("A", I, column))
    return kernel(COLUMN, loop(I, N, If(compare("<", J, M), (store,))), ranges=SMALL)


def _without_partial_tiles(node: object) -> object:
    return replace(node, otherwise=()) if isinstance(node, If) else node


def _without(kind: type[Stmt]) -> Callable[[object], object]:
    return lambda node: Scope(()) if isinstance(node, kind) else node


def _narrow(node: object) -> object:
    return node.operand if isinstance(node, Cast) and node.type == LLONG else node


PLANTED: dict[str, tuple[Kernel, Change, Callable[[object], object]]] = {
    "partition-tiles": (smoothing(), by(loops=ROWS), _without_partial_tiles),
    "software-pipeline": (tiled(), by(stages={"k": 3}), _late),
    "strength-reduction": (smoothing(), by("strength-reduction"), _without(Advance)),
    "index-width": (overflowing(), by("index-width"), _narrow),
}


def test_an_error_is_planted_in_each_pass() -> None:
    assert {*WAITING_FOR_A_STRATEGY} <= {*PLANTED}


@pytest.mark.slow
def test_errors_that_are_planted_are_found(emulator: None, tmp_path: Path) -> None:
    """By the checks of the emulator, or as another result; without the error nothing is found."""
    programs = []
    for number, (made, change, fault) in enumerate(PLANTED.values()):
        right = change(made)
        broken = replace(right, body=tuple(rewrite(stmt, fault) for stmt in right.body))
        assert broken != right
        programs += [program(f"right{number}", right), program(f"broken{number}", broken)]
    built = build_checked(programs, tmp_path)
    start = np.random.default_rng(1).standard_normal((5, 40))
    for number, name in enumerate(PLANTED):
        results = [np.full_like(start, 7.0) for _ in range(2)]
        assert built(f"run_right{number}", 5, 40, start, results[0]) == (), name
        found = built(f"run_broken{number}", 5, 40, start, results[1])
        assert found or not np.array_equal(*results), name
