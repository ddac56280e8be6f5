"""Every pass leaves what a kernel computes as it was, bit for bit, at small and odd sizes; no check finds anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polytile.codegen.passes import WAITING_FOR_A_STRATEGY
from polytile.codegen.passes.alignment import Alignment
from polytile.ir.arith import add, both, compare, div, fma, lift, mul, select, sub
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
    Load,
    Pointer,
    PrivateArray,
    Rotate,
    Store,
    ThreadIndex,
    WaitCopies,
)
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Coordinate, Kernel, KernelParameter, Launch
from polytile.ir.memory import Space, Storage
from polytile.ir.plan import LoopPlan
from polytile.ir.ranges import Range
from polytile.ir.scop import Array

from .common import UNROLL, Built, Numbers, build_checked, host_program, optimised

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
QUAD = Declare("j", INT, mul(add(mul(B, THREADS), T), 4))
ALIGNED = Alignment({"A": 16, "B": 16}, {"m": 2})
SMALL = (Range("n", lift(1), lift(1000)), Range("m", lift(1), lift(1000)))


def rotating(factor: int | None, names: tuple[str, ...]) -> Kernel:
    """Four columns a thread; each row is joined with those before, which are kept in rotating registers."""
    row = loop(V, 4, Assign(at(names[-1], V), "", at("A", I, add(J, V))), unroll=0)
    left = select(compare("==", V, 0), real("0.5"), at(names[0], sub(V, 1)))
    joined = fma(left, real("0.25"), at(names[-1], V))
    store = loop(V, 4, Assign(at("B", I, add(J, V)), "", joined), unroll=0)
    declared = tuple(PrivateArray(name, DOUBLE, (4,), real("0.0")) for name in names)
    rows = loop(I, N, row, store, Rotate(names), unroll=factor)
    return kernel(QUAD, If(compare("<", J, M), (*declared, rows)))


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


def quads() -> Kernel:
    """Four columns a thread, loaded and stored one by one."""
    loads = [Assign(at("x", k), "", at("A", I, add(J, k))) for k in range(4)]
    stores = [Assign(at("B", I, add(J, k)), "", add(at("x", 3 - k), real("1.0"))) for k in range(4)]
    body = If(compare("<", J, M), (PrivateArray("x", DOUBLE, (4,)), *loads, *stores))
    return kernel(QUAD, loop(I, N, body))


def flat() -> Kernel:
    """Addresses within one row are written out, behind guards."""
    place = add(mul(add(mul(B, 2), 0), 16), mul(T, 1))
    far = sub(add(mul(place, 1), mul(B, 3)), mul(B, 3))
    body = [
        If(compare("<", J, M), (Assign(at("B", I, far), "", at("A", I, far)),)),
        If(compare("<", add(J, 1), M), (Assign(at("B", I, far), "+", at("A", I, add(far, 1))),)),
    ]
    return kernel(COLUMN, loop(I, N, *body))


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


def exchanging() -> Kernel:
    """Threads pass values round through shared memory; no barrier is there yet."""
    x = Name("x", DOUBLE)
    body = (
        Assign(at("s", T), "", x),
        Assign(x, "+", at("s", T)),
        Assign(x, "", fma(x, real("0.5"), at("s", sub(THREADS - 1, T)))),
        If(compare("<", J, M), (Assign(at("B", I, J), "", x),)),
    )
    start = Declare("x", DOUBLE, select(compare("<", J, M), at("A", 0, J), real("0.0")))
    return kernel(COLUMN, start, loop(I, N, *body), shared=SHARED)


def everywhere(made: Kernel) -> Kernel:
    """A barrier before every statement of the kernel's loop."""

    def padded(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For):
            return stmt
        return replace(stmt, body=tuple(s for inner in stmt.body for s in (Barrier("all"), inner)))

    return replace(made, body=tuple(padded(s) for s in made.body))


Change = Callable[[Kernel], Kernel]


def by(*requested: str, **plan: Any) -> Change:
    """What the passes that a plan asks for make of a kernel."""
    return lambda kernel: optimised(kernel, *requested, **plan)


PAIRS: dict[str, tuple[Kernel, Change]] = {
    "rotate_two": (rotating(2, ("a", "c")), by(UNROLL)),
    "rotate_three": (rotating(3, ("a", "c", "d")), by(UNROLL)),
    "rotate_six": (rotating(6, ("a", "c", "d")), by(UNROLL)),
    "pointers": (smoothing(), by("strength-reduction")),
    "separate": (smoothing(), by("partition-tiles")),
    "rows_separate": (smoothing(), by(loops={"i": LoopPlan("i", partition=True)})),
    "simplify": (smoothing(), by("simplify")),
    "all": (smoothing(), by("partition-tiles", "strength-reduction", "index-width")),
    "hoist": (flat(), by("common-subexpressions")),
    "vectors": (quads(), by(alignment=ALIGNED)),
    "vectors_through_pointers": (quads(), by("strength-reduction", alignment=ALIGNED)),
    **{f"stages_{s}": (tiled(), by(stages={"k": s})) for s in (2, 3, 4)},
    "barriers": (everywhere(exchanging()), lambda _: by("insert-barriers")(exchanging())),
    "fewer_barriers": (everywhere(everywhere(exchanging())), by("remove-barriers")),
}


def before(name: str) -> Kernel:
    """The kernel as it runs without the pass: `Rotate` says nothing to a printer, and becomes moves."""
    made = PAIRS[name][0]
    plain = _serial(made) if name.startswith("rotate") else made
    return optimised(plain, UNROLL)


def _serial(made: Kernel) -> Kernel:
    def change(node: object) -> object:
        return replace(node, unroll=None) if isinstance(node, For) and node.iterator == "i" else node

    return replace(made, body=tuple(rewrite(s, change) for s in made.body))


@pytest.fixture(scope="module")
def built(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Built:
    programs = [program(f"{name}_before", before(name)) for name in PAIRS]
    programs += [program(f"{name}_after", change(made)) for name, (made, change) in PAIRS.items()]
    return build_checked(programs, tmp_path_factory.mktemp("passes"))


def results(built: Built, name: str, rows: int, columns: int) -> Numbers:
    start = np.random.default_rng(rows * columns).standard_normal((rows, columns))
    result = np.full_like(start, 7.0)
    assert built(f"run_{name}", rows, columns, start, result) == ()
    return result


@pytest.mark.slow(but="simplify")
@pytest.mark.parametrize("name", PAIRS)
def test_the_results_are_the_same(built: Built, name: str) -> None:
    made, change = PAIRS[name]
    assert change(made) != before(name)
    for rows, columns in SIZES:
        old, new = (results(built, f"{name}_{side}", rows, columns) for side in ("before", "after"))
        np.testing.assert_array_equal(old, new)
        assert (old != 7.0).any() or min(rows, columns) < 3


def test_what_the_passes_made() -> None:
    """The pairs differ by what the pass is for."""
    after = {name: [type(n) for s in change(made).body for n in walk(s)] for name, (made, change) in PAIRS.items()}
    assert {Pointer, Advance} <= set(after["pointers"]) and Pointer in after["all"]
    for name in ("vectors", "vectors_through_pointers"):
        assert (after[name].count(Load), after[name].count(Store)) == (2, 2)
    assert after["barriers"].count(Barrier) == 2 and after["fewer_barriers"].count(Barrier) == 4
    assert after["stages_3"].count(AsyncCopy) == 6 and after["stages_3"].count(CommitCopies) == 3
    main = next(s for s in walk(Scope(change_of("rotate_six"))) if isinstance(s, For))
    assert main.step == 6 and Scope not in {type(n) for n in walk(main)}


def change_of(name: str) -> tuple[Stmt, ...]:
    made, change = PAIRS[name]
    return change(made).body


@pytest.mark.slow
def test_without_its_barriers_the_exchange_is_a_race(emulator: None, tmp_path: Path) -> None:
    built = build_checked([program("racing", exchanging())], tmp_path)
    start = np.random.default_rng(1).standard_normal((4, 40))
    assert "race" in {f.check for f in built("run_racing", 4, 40, start, np.zeros_like(start))}


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


def _fewer_rows(node: object) -> object:
    unrolled = isinstance(node, For) and node.iterator == "i" and node.step > 1
    return replace(node, step=node.step + 1) if unrolled else node


def _unguarded(node: object) -> object:
    return Scope(node.then) if isinstance(node, If) else node


def _without_partial_tiles(node: object) -> object:
    return replace(node, otherwise=()) if isinstance(node, If) else node


def _without(kind: type[Stmt]) -> Callable[[object], object]:
    return lambda node: Scope(()) if isinstance(node, kind) else node


def _backwards(node: object) -> object:
    return replace(node, targets=node.targets[::-1]) if isinstance(node, Load) else node


def _next_to_it(node: object) -> object:
    named = isinstance(node, Declare) and node.name != "j" and node.type in (INT, LLONG) and node.value is not None
    return replace(node, value=add(node.value, 1)) if named else node


def _narrow(node: object) -> object:
    return node.operand if isinstance(node, Cast) and node.type == LLONG else node


PLANTED: dict[str, tuple[Kernel, Change, Callable[[object], object]]] = {
    "unroll-and-rotate": (rotating(2, ("a", "c")), by(UNROLL), _fewer_rows),
    "simplify": (smoothing(), by("simplify"), _unguarded),
    "partition-tiles": (smoothing(), by("partition-tiles"), _without_partial_tiles),
    "software-pipeline": (tiled(), by(stages={"k": 3}), _late),
    "insert-barriers": (exchanging(), by("insert-barriers"), _without(Barrier)),
    "strength-reduction": (smoothing(), by("strength-reduction"), _without(Advance)),
    "vectorise": (quads(), by(alignment=ALIGNED), _backwards),
    "common-subexpressions": (flat(), by("common-subexpressions"), _next_to_it),
    "index-width": (overflowing(), by("index-width"), _narrow),
    "remove-barriers": (everywhere(exchanging()), by("remove-barriers"), _without(Barrier)),
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
