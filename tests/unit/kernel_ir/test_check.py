"""Kernels that were built wrongly are refused before they are printed: each rule by the smallest mistake."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from polytile.codegen.targets.cuda.cuda import print_kernel
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, binary, compare, div, lift, mul
from polytile.ir.expr import DOUBLE, INT, Access, Assign, Declare, Expr, For, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.gpu_ops import (
    Advance,
    Arrive,
    AsyncCopy,
    Await,
    BlockIndex,
    CommitCopies,
    GridExtent,
    InitBarrier,
    Leave,
    Load,
    Pointer,
    PrivateArray,
    Shuffle,
    Store,
    ThreadIndex,
    WaitCopies,
    WarpReduce,
)
from polytile.ir.kernel import Barrier, Coordinate, Kernel
from polytile.ir.memory import Space, Storage
from polytile.ir.verify.kernel import check_kernel
from polytile.machine import machine_of

from .build import ROUND, SUM, N, T, bar, everything, kernel, loop, names, portable, ref, row

ZERO = Literal("0.0", DOUBLE)
X = PrivateArray("x", DOUBLE, (4,))
SYNC = Barrier("a test")
COPY = AsyncCopy(ref("s", 0, T), ref("A", 0, T))
COMMIT, WAIT = CommitCopies(), WaitCopies(0, "a test")
READY = (InitBarrier(bar(), 256), SYNC)
ARRIVE, AWAIT = Arrive(bar(), "a test"), Await(bar(), lift(0), "a test")
FIRST = compare("==", T, 0)


def write(index: Expr | int) -> Store:
    return Store(ref("B", index), (ZERO,))


def refused(message: str, *body: Stmt, **shape: object) -> None:
    with pytest.raises(InternalError) as error:
        check_kernel(kernel(*body, name="wrong", **shape))  # type: ignore[arg-type]
    assert error.value.message.startswith("kernel wrong: ")
    assert message in error.value.message


def accepted(*body: Stmt) -> None:
    check_kernel(kernel(*body))


def test_right_kernels_pass() -> None:
    for built in (everything(), portable()):
        check_kernel(built)


def test_printing_checks() -> None:
    with pytest.raises(InternalError, match=r"kernel k: u is not defined here, at u"):
        print_kernel(kernel(write(Name("u"))))


# Names ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([write(Name("u")), Declare("u", INT, lift(0))], "u is not defined here"),
        ([Scope((Declare("u", INT, lift(0)),)), write(Name("u"))], "u is not defined here"),
        ([If(FIRST, (Declare("u", INT, lift(0)),), (write(Name("u")),))], "u is not defined here"),
        ([loop(write(ROUND)), write(ROUND)], "i is not defined here"),
        ([For("i", ROUND, compare("<", ROUND, 8), 1, ())], "i is not defined here"),
        ([For("i", lift(0), compare("<", ROUND, 8), Name("u"), ())], "u is not defined here"),
        ([Load((ref("x", 0),), ref("B", 0)), X], "x is not defined here"),
        ([write(0), Advance("q", lift(1)), Pointer("q", ref("B", 0))], "q is no running pointer here"),
        ([Advance("B", lift(1))], "B is no running pointer here"),
        ([write(binary("+", T, Access("B", (), DOUBLE)))], "B takes 1 subscripts, not 0"),
        ([Store(ref("A", 0), (ZERO,))], "A takes 2 subscripts, not 1"),
        ([Pointer("q", ref("B", 0)), Store(ref("q", 0, 0), (ZERO,))], "q takes 1 subscripts, not 2"),
    ],
)
def test_names(body: list[Stmt], message: str) -> None:
    refused(message, *body)


def test_coordinates_of_the_machine_are_names() -> None:
    accepted(write(BlockIndex("x")))


def test_extents_are_known_in_the_kernel() -> None:
    built = kernel(Store(ref("A", 0, 0), (ZERO,)))
    foreign = replace(built.storage[0], extents=(None, Name("columns")))
    with pytest.raises(InternalError, match="columns is not defined here"):
        check_kernel(replace(built, storage=(foreign, *built.storage[1:])))


def test_only_subscripts_that_are_kept_count() -> None:
    one = Storage("t", Space.PRIVATE, DOUBLE, (Literal("4"),), "t_private", keeps=(1,))
    body = Assign(Access("t", (Name("gone"), lift(0)), DOUBLE), "", ZERO)
    check_kernel(replace(kernel(body), storage=(one,)))
    with pytest.raises(InternalError, match="t keeps more than 1 subscripts"):
        check_kernel(replace(kernel(Assign(Access("t", (lift(0),), DOUBLE), "", ZERO)), storage=(one,)))


# Memory --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([AsyncCopy(ref("B", T), ref("A", 0, T)), COMMIT, WAIT], "a copy to global memory"),
        ([AsyncCopy(ref("s", 0, T), ref("s", 1, T)), COMMIT, WAIT], "a copy from shared memory"),
        ([X, AsyncCopy(ref("s", 0, 0), ref("x", 0)), COMMIT, WAIT], "a copy from private memory"),
        ([X, Load((ref("x", 0),), ref("B", 0), "read-only"), write(1)], "a read-only load of B, which is written"),
        ([X, Load((ref("x", 0),), ref("s", 0, 0), "read-only")], "a read-only load from other than global memory"),
        ([X, Pointer("q", ref("x", 0))], "a pointer to what is no element of global or shared memory"),
    ],
)
def test_spaces(body: list[Stmt], message: str) -> None:
    refused(message, *body)


def test_pointers_into_the_right_memory_pass() -> None:
    to, source = Pointer("to", ref("s", 0, 0)), Pointer("of", ref("A", 0, 0), const=True)
    accepted(to, source, AsyncCopy(ref("to", T), ref("of", T)), COMMIT, WAIT, SYNC)


def pair(access: Access) -> list[Stmt]:
    return [X, Load(row("x", 2), access)]


@pytest.mark.parametrize(
    "body",
    [
        pair(ref("B", 1)),
        pair(ref("B", add(mul(T, 4), 3))),
        pair(ref("B", binary("-", mul(T, 2), 1))),
        pair(ref("s", 1, 7)),
        [Pointer("q", ref("B", 1)), *pair(ref("q", mul(T, 2)))],
        [Pointer("q", ref("B", 2)), Advance("q", lift(6)), *pair(ref("q", 1))],
        [Store(ref("B", 5), (ZERO, ZERO))],
        [AsyncCopy(ref("s", 0, 1), ref("A", 0, 0), 2), COMMIT, WAIT],
        [PrivateArray("f", INT, (4,)), Load(row("f", 4, ctype=INT), ref("C", 2, ctype=INT))],
    ],
)
def test_misaligned(body: list[Stmt]) -> None:
    refused("elements at once", *body)


@pytest.mark.parametrize(
    "body",
    [
        pair(ref("B", 2)),
        pair(ref("B", T)),
        pair(ref("A", T, 2)),
        pair(ref("s", T, 4)),
        [Pointer("q", ref("B", 1)), *pair(ref("q", 1))],
        [Pointer("q", ref("B", 2)), Advance("q", lift(1)), *pair(ref("q", 1))],
    ],
)
def test_aligned_or_unknown(body: list[Stmt]) -> None:
    accepted(*body)


@pytest.mark.parametrize(
    ("subscript", "unroll", "right"),
    [(lift(1), 1, True), (ROUND, 0, True), (ROUND, 1, False), (ROUND, 4, False), (T, 0, False)],
)
def test_registers(subscript: Expr, unroll: int, right: bool) -> None:
    body = kernel(X, loop(Assign(Access("x", (subscript,), DOUBLE), "+", ZERO), unroll=unroll))
    check_kernel(body)
    if right:
        check_kernel(body, registers_only=True)
    else:
        with pytest.raises(InternalError, match="registers at a place that is not constant"):
            check_kernel(body, registers_only=True)


# Order ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([COPY, COMMIT, SYNC, WAIT], "a barrier follows a copy without a wait"),
        ([COPY, WAIT, SYNC], "a barrier follows a copy that is in no group"),
        ([COPY, COMMIT], "nobody waits for this copy"),
        ([COPY, COMMIT, If(compare("<", N, 5), (WAIT,)), SYNC], "a barrier follows a copy without a wait"),
        ([loop(SYNC, COPY, COMMIT), WAIT], "a barrier follows a copy without a wait"),
        ([loop(COPY), COMMIT, SYNC, WAIT], "a barrier follows a copy without a wait"),
        ([loop(WAIT, SYNC, loop(COPY), Scope((SYNC,)), COMMIT)], "a barrier follows a copy that is in no group"),
    ],
)
def test_copies(body: list[Stmt], message: str) -> None:
    refused(message, *body)


def test_pipelines_of_copies_pass() -> None:
    accepted(COPY, COMMIT, loop(WAIT, SYNC, COPY, COMMIT), WAIT, SYNC)
    accepted(COPY, COMMIT, WAIT, SYNC, loop(If(compare("<", ROUND, 7), (COPY,)), COMMIT, WAIT, SYNC))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([ARRIVE, AWAIT], "bar is not initialised"),
        ([AWAIT, *READY, ARRIVE], "bar is not initialised"),
        ([READY[0], ARRIVE, AWAIT], "no barrier follows the initialisation of bar"),
        ([READY[0], Barrier("lanes", "warp"), ARRIVE, AWAIT], "no barrier follows the initialisation of bar"),
        ([*READY, ARRIVE], "nobody waits for this arrival in the same loop"),
        ([*READY, loop(ARRIVE), AWAIT], "nobody waits for this arrival in the same loop"),
        ([*READY, ARRIVE, loop(AWAIT)], "nobody arrives for this wait in the same loop"),
        ([*READY, AWAIT], "nobody arrives for this wait in the same loop"),
    ],
)
def test_split_barriers(body: list[Stmt], message: str) -> None:
    refused(message, *body)


def test_one_arrival_a_warp_passes() -> None:
    leader = compare("==", binary("&", T, 31), 0)
    accepted(*READY, loop(If(leader, (ARRIVE,)), write(T), AWAIT))


# Barriers that all threads reach -------------------------------------------------------------------
U = Name("u")
BELOW_THREADS: Iterable[list[Stmt]] = [
    [If(FIRST, (SYNC,))],
    [If(compare("<", ThreadIndex("y"), 3), (), (SYNC,))],
    [If(FIRST, (Leave("a test"),))],
    [Declare("u", INT, add(T, 1)), If(compare("<", U, 3), (Scope((SYNC,)),))],
    [Declare("u", INT, lift(0)), If(FIRST, (Assign(U, "", lift(1)),)), If(compare("<", U, 1), (SYNC,))],
    [Declare("u", INT, lift(0)), loop(If(compare("<", U, 1), (SYNC,)), Assign(U, "+", T))],
    [Declare("u", INT, None), Load((U,), ref("C", 0, ctype=INT)), If(compare("<", U, 1), (SYNC,))],
    [If(compare("<", ref("C", 0, ctype=INT), 3), (SYNC,))],
    [If(compare("<", Shuffle("up", N, lift(1)), 3), (SYNC,))],
    [For("i", T, compare("<", ROUND, N), 256, (SYNC,))],
    [For("i", lift(0), compare("<", ROUND, T), 1, (SYNC,))],
    [For("i", lift(0), compare("<", ROUND, N), T, (SYNC,))],
    [For("j", T, compare("<", Name("j"), N), 1, (loop(SYNC),))],
]


@pytest.mark.parametrize("body", BELOW_THREADS)
def test_barriers_below_conditions_of_threads(body: list[Stmt]) -> None:
    refused("below a condition that may differ between the threads of a block", *body)


@pytest.mark.parametrize("body", BELOW_THREADS)
def test_a_block_of_one_thread_cannot_part(body: list[Stmt]) -> None:
    check_kernel(kernel(*body, block=(1, 1, 1)))


@pytest.mark.parametrize(
    "body",
    [
        [If(compare("<", Name("b"), N), (SYNC,))],
        [loop(If(compare("<", ROUND, N), (SYNC,)))],
        [For("i", Name("b"), compare("<", ROUND, N), GridExtent("x"), (SYNC,))],
        [Declare("u", INT, add(Name("b"), 1)), If(compare("<", U, 3), (Leave("a test"),))],
        [If(FIRST, (Barrier("lanes", "warp"),))],
    ],
)
def test_barriers_that_all_threads_reach(body: list[Stmt]) -> None:
    accepted(*body)


def test_coordinates_of_threads_through_others() -> None:
    built = kernel(If(compare("<", Name("k"), 3), (SYNC,)))
    with pytest.raises(InternalError, match="below a condition"):
        warp = add(mul(Name("b"), 4), div(Name("t"), 32))
        check_kernel(replace(built, coordinates=(*built.coordinates, Coordinate("k", warp))))


# Lanes that combine their values together ----------------------------------------------------------
TOGETHER = Assign(SUM, "", WarpReduce("+", SUM, 8))
START = Declare("sum", DOUBLE, ZERO)
Y = ThreadIndex("y")


@pytest.mark.parametrize(
    "guarded",
    [
        If(FIRST, (TOGETHER,)),
        If(compare("<", T, 12), (TOGETHER,)),
        If(compare("<=", T, 8), (), (Scope((TOGETHER,)),)),
        If(compare("<", 8, T), (loop(TOGETHER),)),
        If(binary("&&", compare("<", Y, 3), compare("<", ref("B", 0), ZERO)), (TOGETHER,)),
        For("i", T, compare("<", ROUND, N), 1, (TOGETHER,)),
        For("i", lift(0), compare("<", ROUND, add(N, T)), 1, (If(compare("<", ROUND, N), (TOGETHER,)),)),
    ],
)
def test_reductions_that_lanes_of_a_segment_miss(guarded: Stmt) -> None:
    message = "a reduction of lanes below a condition that may differ between them"
    refused(message, START, guarded, block=(32, 8, 1))


@pytest.mark.parametrize(
    "guarded",
    [
        If(compare("<", T, 16), (TOGETHER,)),
        If(compare("<=", T, 7), (TOGETHER,), (TOGETHER,)),
        If(compare("<=", 24, T), (TOGETHER,)),
        If(binary("&&", compare("<", Y, 3), compare("<", N, 9)), (loop(TOGETHER),)),
        For("i", Y, compare("<", ROUND, N), 1, (TOGETHER,)),
    ],
)
def test_reductions_of_whole_segments(guarded: Stmt) -> None:
    check_kernel(kernel(START, guarded, block=(32, 8, 1)))


def test_variables_of_one_name_are_told_apart() -> None:
    """A loop over rows of threads is the same for all lanes, whatever its iterator's name stands for elsewhere."""
    before = For("i", T, compare("<", ROUND, N), 1, (Assign(SUM, "", N),))
    rows = For("i", Y, compare("<", ROUND, N), 1, (TOGETHER,))
    check_kernel(kernel(START, before, rows, block=(32, 8, 1)))
    check_kernel(kernel(START, rows, before, block=(32, 8, 1)))
    inside = replace(before, body=(rows, If(compare("<", ROUND, N), (TOGETHER,))))
    refused("a reduction of lanes below a condition", START, inside, block=(32, 8, 1))


def test_segments_across_rows() -> None:
    rows = If(compare("<", Y, 3), (TOGETHER,))
    refused("a reduction of lanes below a condition", START, rows, block=(4, 8, 1))
    refused("segments of 8 lanes in rows of 12 threads", START, TOGETHER, block=(12, 8, 1))


# Launches ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"block": (1025, 1, 1)}, "a block of (1025, 1, 1) threads"),
        ({"block": (64, 32, 1)}, "a block of (64, 32, 1) threads"),
        ({"block": (1, 1, 65)}, "a block of (1, 1, 65) threads"),
        ({"min_blocks": 9}, "9 blocks of 256 threads"),
        ({"max_registers": 8}, "a cap of 8 registers"),
        ({"max_registers": 256}, "a cap of 256 registers"),
        ({"block": (1024, 1, 1), "max_registers": 128}, "1024 threads of 128 registers"),
        ({"min_blocks": 2, "max_registers": 64}, "both a cap on registers and a number of blocks"),
    ],
)
def test_launch_shapes(shape: dict[str, object], message: str) -> None:
    refused(message, **shape)


def test_shared_memory() -> None:
    def sized(elements: int) -> Kernel:
        return replace(kernel(), storage=(Storage("s", Space.SHARED, DOUBLE, (Literal(str(elements)),), "s"),))

    check_kernel(sized(227 * 128))
    with pytest.raises(InternalError, match="232464 bytes of shared memory"):
        check_kernel(sized(227 * 128 + 1))
    with pytest.raises(InternalError, match="bytes of shared memory"):
        check_kernel(sized(100 * 128), machine=machine_of("sm_86"))


# Whole kernels -------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [WaitCopies, CommitCopies, InitBarrier, Await, Arrive])
def test_dropping_one_step_of_a_kernel_is_noticed(kind: type[Stmt]) -> None:
    built = everything()
    body = tuple(rewrite(s, lambda n: Scope(()) if isinstance(n, kind) else n) for s in built.body)
    assert body != built.body
    with pytest.raises(InternalError, match="kernel everything: "):
        check_kernel(replace(built, body=body))


def test_dropping_the_declarations_is_noticed() -> None:
    built = everything()
    for k, declaration in enumerate(names()):
        if not isinstance(declaration, Declare | PrivateArray | Pointer):
            continue
        with pytest.raises(InternalError, match=f"{declaration.name} "):
            check_kernel(replace(built, body=(*built.body[:k], *built.body[k + 1 :])))


def test_messages_name_the_kernel_and_the_node() -> None:
    with pytest.raises(InternalError) as error:
        check_kernel(kernel(Assign(SUM, "", ZERO)))
    assert error.value.message == "kernel k: sum is not defined here, at sum"


@pytest.mark.parametrize(
    ("op", "count", "width", "refused"),
    [("min", 4, 32, "a reduction min of several"), ("+", 3, 32, "of 3 values"), ("+", 2, 16, "parts of a warp")],
)
def test_reductions_of_several_values(op: str, count: int, width: int, refused: str) -> None:
    with pytest.raises(InternalError, match=refused):
        WarpReduce(op, SUM, width, (SUM,) * (count - 1))
