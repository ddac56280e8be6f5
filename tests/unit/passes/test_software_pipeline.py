"""Tiles on their way while earlier ones are worked on: what is copied when, and what waits for it."""

from __future__ import annotations

import pytest

from polytile.codegen.passes.software_pipeline import pipeline
from polytile.codegen.targets.cuda.cuda import print_kernel
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, compare, lift, mul, sub
from polytile.ir.expr import DOUBLE, Access, Assign, Cast, Declare, Expr, For, Literal, Name, Stmt
from polytile.ir.gpu_ops import Advance, AsyncCopy, CommitCopies, Pointer, ThreadIndex, WaitCopies
from polytile.ir.kernel import Barrier, Coordinate, Kernel, KernelParameter
from polytile.ir.memory import Space, Storage

K, N, T, SUM = Name("k"), Name("n"), Name("t"), Name("sum", DOUBLE)


def at(array: str, *subscripts: Expr | int) -> Access:
    return Access(array, tuple(lift(s) for s in subscripts))


def kernel(*body: Stmt, before: tuple[Stmt, ...] = ()) -> Kernel:
    storage = (
        Storage("s", Space.SHARED, DOUBLE, (lift(64),), "s"),
        Storage("A", Space.GLOBAL, DOUBLE, (None,), "A", read_only=True),
        Storage("B", Space.GLOBAL, DOUBLE, (None,), "B"),
    )
    parameters = (
        KernelParameter("n", N.type),
        KernelParameter("A", DOUBLE, "A", const=True),
        KernelParameter("B", DOUBLE, "B"),
    )
    loop = For("k", lift(0), compare("<", K, N), 1, body)
    start = Declare("sum", DOUBLE, Literal("0.0", DOUBLE))
    end = Assign(at("B", T), "", SUM)
    thread = Coordinate("t", ThreadIndex("x"))
    return Kernel("k", parameters, (32, 1, 1), (thread,), storage, (start, *before, loop, end))


PLACE = Declare("from", T.type, add(mul(K, 64), T))
COPIES = [
    AsyncCopy(
        at("s", add(T, 32 * half)), at("A", add(Name("from"), 32 * half)), guard=compare("<", T, 30) if half else None
    )
    for half in (0, 1)
]
STEPS = [Assign(SUM, "+", at("s", sub(31, T))), Assign(SUM, "+", at("s", sub(63, T)))]
BODY = (PLACE, *COPIES, CommitCopies(), WaitCopies(0, "there"), Barrier("there"), *STEPS, Barrier("read"))


def lines(k: Kernel) -> list[str]:
    text = print_kernel(k)
    return [line.partition("  //")[0].strip() for line in text[text.index("{") :].splitlines()[1:-1]]


def test_three_stages() -> None:
    got = lines(pipeline(kernel(*BODY), "k", 3))
    assert got == [
        "const int t = threadIdx.x;",
        "__shared__ double s[3][64];",
        "",
        "double sum = 0.0;",
        "polytile_copy_async<8>(&s[0][t], &A[t], 0 < n);",
        "polytile_copy_async<8>(&s[0][t + 32], &A[t + 32], (0 < n) & (t < 30));",
        "polytile_commit_copies();",
        "polytile_copy_async<8>(&s[1][t], &A[t + 64], 1 < n);",
        "polytile_copy_async<8>(&s[1][t + 32], &A[t + 96], (1 < n) & (t < 30));",
        "polytile_commit_copies();",
        "int read = 0;",
        "int write = 2;",
        "for (int k = 0; k < n; ++k) {",
        "polytile_wait_copies<1>();",
        "__syncthreads();",
        "polytile_copy_async<8>(&s[write][t], &A[(k + 2) * 64 + t], k < n - 2);",
        "sum += s[read][31 - t];",
        "polytile_copy_async<8>(&s[write][t + 32], &A[(k + 2) * 64 + t + 32], (k < n - 2) & (t < 30));",
        "sum += s[read][63 - t];",
        "polytile_commit_copies();",
        "write = read;",
        "read = read == 2 ? 0 : read + 1;",
        "}",
        "polytile_wait_copies<0>();",
        "B[t] = sum;",
    ]


def test_pointers_advance_with_the_copies() -> None:
    """They are as many tiles ahead as the copies are."""
    pointer = Pointer("a", at("A", T), const=True)
    copies = [AsyncCopy(at("s", T), at("a", 0)), Advance("a", lift(32))]
    got = pipeline(kernel(*copies, Barrier("there"), *STEPS, before=(pointer,)), "k", 2)
    loop = next(s for s in got.body if isinstance(s, For))
    inside = [type(s).__name__ for s in loop.body]
    assert [type(s).__name__ for s in got.body[2:5]] == ["AsyncCopy", "Advance", "CommitCopies"]
    assert inside[:6] == ["WaitCopies", "Barrier", "AsyncCopy", "Assign", "Advance", "Assign"]


def test_constants_that_the_steps_use_stay() -> None:
    body = (*BODY[:6], Assign(SUM, "+", at("A", Name("from"))), *STEPS)
    loop = next(s for s in pipeline(kernel(*body), "k", 2).body if isinstance(s, For))
    assert loop.body[2] == PLACE


@pytest.mark.parametrize(
    ("made", "stages", "message"),
    [
        (kernel(*BODY), 1, "no loop over k"),
        (kernel(*COPIES, *STEPS), 2, "no barrier between"),
        (
            kernel(Declare("from", T.type, Cast(T.type, at("A", K))), *BODY[1:]),
            2,
            "depends on memory",
        ),
        (kernel(STEPS[0], *BODY), 2, "begins with more than copies"),
        (kernel(*BODY, before=(Assign(at("s", T), "", Literal("0.0", DOUBLE)),)), 2, "used outside it"),
    ],
)
def test_other_loops(made: Kernel, stages: int, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        pipeline(made, "k", stages)
