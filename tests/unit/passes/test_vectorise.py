"""Neighbouring scalar accesses become vectors where the first is aligned, and nowhere else."""

from __future__ import annotations

import pytest

from polytile.codegen.passes.alignment import Alignment, Divisors
from polytile.codegen.passes.vectorise import vectorise
from polytile.ir.arith import add, compare, lift, mul, sub
from polytile.ir.expr import DOUBLE, FLOAT, Access, Assign, CType, Declare, Expr, For, Literal, Name, Stmt
from polytile.ir.gpu_ops import Advance, Load, Pointer, PrivateArray, Store
from polytile.ir.kernel import Kernel, KernelParameter
from polytile.ir.memory import Space, Storage

I, J, M = (Name(name) for name in "ijm")  # noqa: E741
ALIGNED = Alignment({"A": 16, "s": 16}, {"m": 4, "j": 4})


def kernel(*body: Stmt, of: CType = DOUBLE) -> Kernel:
    storage = (
        Storage("A", Space.GLOBAL, of, (None, M), "A"),
        Storage("s", Space.SHARED, of, (lift(4), lift(10)), "s"),
    )
    return Kernel("k", (KernelParameter("A", of, "A"),), (1, 1, 1), (), storage, (PrivateArray("x", of, (8,)), *body))


def at(array: str, *subscripts: Expr | int, of: CType = DOUBLE) -> Access:
    return Access(array, tuple(lift(s) for s in subscripts), of)


def after(*body: Stmt, of: CType = DOUBLE, alignment: Alignment = ALIGNED) -> tuple[Stmt, ...]:
    return vectorise(kernel(*body, of=of), alignment).body[1:]


def loads(start: Expr, count: int, of: CType = DOUBLE) -> list[Stmt]:
    return [Assign(at("x", k, of=of), "", at("A", I, add(start, k), of=of)) for k in range(count)]


def test_doubles_in_pairs() -> None:
    expected = [Load((at("x", k), at("x", k + 1)), at("A", I, add(J, k))) for k in (0, 2)]
    assert after(*loads(J, 4)) == tuple(expected)


def test_floats_in_fours() -> None:
    (got,) = after(*loads(J, 4, FLOAT), of=FLOAT)
    assert got == Load(tuple(at("x", k, of=FLOAT) for k in range(4)), at("A", I, J, of=FLOAT))


def test_a_start_that_is_not_aligned() -> None:
    """The first element alone, then a vector."""
    (first, *rest) = loads(add(J, 1), 3)
    assert after(first, *rest) == (first, Load((at("x", 1), at("x", 2)), at("A", I, add(add(J, 1), 1))))


@pytest.mark.parametrize(
    "alignment",
    [
        Alignment({}, {"m": 4, "j": 4}),
        Alignment({"A": 16}, {"j": 4}),
        Alignment({"A": 16}, {"m": 4}),
        Alignment({"A": 8}, {"m": 4, "j": 4}),
    ],
)
def test_nothing_without_all_of_base_pitch_and_column(alignment: Alignment) -> None:
    assert after(*loads(J, 4), alignment=alignment) == tuple(loads(J, 4))


def test_stores_of_registers() -> None:
    stores = [Assign(at("A", I, add(J, k)), "", at("x", k)) for k in range(2)]
    assert after(*stores) == (Store(at("A", I, J), (at("x", 0), at("x", 1))),)


@pytest.mark.parametrize(
    "body",
    [
        [Assign(at("A", I, add(J, k)), "", at("A", I, sub(J, k))) for k in range(2)],  # may read what was stored
        [Assign(at("A", I, add(J, k)), "+", at("x", k)) for k in range(2)],
        [Assign(at("x", 0), "", at("A", I, J)), Assign(at("x", 0), "", at("A", I, add(J, 1)))],
        [Assign(at("x", 0), "", at("A", I, J)), Assign(at("x", 1), "", at("A", add(I, 1), add(J, 1)))],
        [Assign(at("x", 0), "", at("A", I, J)), Assign(at("x", 1), "", at("A", I, sub(J, 1)))],
        [Load((at("x", 0),), at("A", I, J)), Load((at("x", 1),), at("A", I, add(J, 1)), "streaming")],
        [
            Load((at("x", k),), at("A", I, add(J, k)), guard=compare("<", at("x", 0), Literal("1.0", DOUBLE)))
            for k in range(2)
        ],
    ],
)
def test_what_is_no_vector(body: list[Stmt]) -> None:
    assert after(*body) == tuple(body)


def test_guards_and_hints_are_kept() -> None:
    guard = compare("<", I, M)
    body = [Load((at("x", k),), at("A", I, add(J, k)), "read-only", guard) for k in range(2)]
    assert after(*body) == (Load((at("x", 0), at("x", 1)), at("A", I, J), "read-only", guard),)


def test_shared_rows_of_even_pitch() -> None:
    body = [Assign(at("x", k), "", at("s", 3, 2 + k)) for k in range(2)]
    assert after(*body) == (Load((at("x", 0), at("x", 1)), at("s", 3, 2)),)


def test_running_pointers_stay_aligned_by_their_steps() -> None:
    def body(step: Expr | int) -> tuple[Stmt, ...]:
        inside = [Assign(at("x", k), "", at("a", k)) for k in range(2)]
        loop = For("i", lift(0), compare("<", I, M), 1, (*inside, Advance("a", lift(step))))
        return Pointer("a", at("A", 0, J)), loop

    assert after(*body(M))[1].body[0] == Load((at("x", 0), at("x", 1)), at("a", 0))  # type: ignore[attr-defined]
    assert after(*body(3)) == body(3)


def test_divisors_of_declared_names_and_iterators() -> None:
    body = (Declare("j2", J.type, mul(I, 6)), For("k", J, compare("<", Name("k"), M), 2, ()))
    divisors = Divisors(kernel(*body), ALIGNED)
    assert [divisors(e) for e in (Name("j2"), Name("k"), mul(Name("k"), 3), sub(J, 8), lift(0))] == [6, 2, 6, 4, 0]
