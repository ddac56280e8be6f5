"""What statements read, write and declare; where accesses are."""

from __future__ import annotations

import pytest

from polytile.ir.arith import add, compare, div, lift, mul, sub
from polytile.ir.def_use import assigned_names, declared_names, elements, names_of, reads, targets, value_names
from polytile.ir.expr import DOUBLE, INT, Access, Assign, Binary, Declare, Expr, For, If, Name, Stmt
from polytile.ir.expr_trees import bodies, expressions
from polytile.ir.gpu_ops import Advance, AsyncCopy, Atomic, Load, Pointer, Store, ThreadIndex
from polytile.ir.kernel import Coordinate, Kernel, KernelParameter
from polytile.ir.memory import Space, Storage
from polytile.ir.polynomial import Places, constant_difference, divisor, linear
from polytile.ir.trip_count import consecutive

I, J, M = Name("i"), Name("j"), Name("m")  # noqa: E741
X, OLD = Name("x", DOUBLE), Name("old", DOUBLE)


def at(array: str, *subscripts: Expr | int) -> Access:
    return Access(array, tuple(lift(s) for s in subscripts))


@pytest.mark.parametrize(
    ("stmt", "read", "written"),
    [
        (Assign(X, "", X), {"x"}, {"x"}),
        (Assign(X, "+", at("A", I)), {"x", "A", "i"}, {"x"}),
        (Assign(at("A", I), "", X), {"i", "x"}, {"A"}),
        (Load((X, at("y", J)), at("A", I), guard=Binary("<", I, M)), {"A", "i", "j", "m"}, {"x", "y"}),
        (Store(at("A", I), (X, X)), {"i", "x"}, {"A"}),
        (AsyncCopy(at("s", J), at("A", I)), {"j", "A", "i"}, {"s"}),
        (Atomic("+", at("A", I), X, OLD), {"A", "i", "x"}, {"A", "old"}),
        (Advance("p", M), {"p", "m"}, set()),
    ],
)
def test_what_is_read_and_written(stmt: Stmt, read: set[str], written: set[str]) -> None:
    assert set(reads(stmt)) == read
    assert {t.name if isinstance(t, Name) else t.array for t in targets(stmt)} == written


def test_names_that_change_and_names_that_begin() -> None:
    loop = For("i", lift(0), Binary("<", I, M), Name("stride"), (Declare("j", INT, I), Advance("p", J)))
    assert set(assigned_names(loop)) == {"p"} and set(declared_names(loop)) == {"i", "j"}
    assert names_of([loop]) == {"i", "j", "m", "p"}
    assert expressions(loop) == (lift(0), loop.condition, Name("stride")) and bodies(loop) == (loop.body,)
    branch = If(Binary("<", I, M), (loop,))
    assert expressions(branch) == (branch.condition,) and bodies(branch) == ((loop,), ())


def test_elements_at_once() -> None:
    assert [elements(n) for n in (Store(at("A", I), (X, X)), AsyncCopy(at("s", I), at("A", I)), Assign(X, "", X))] == [
        2,
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("a", "b", "apart"),
    [({"i": 2, "": 5}, {"i": 2, "": 1}, 4), ({"i": 2}, {"i": 2}, 0), ({"i": 2}, {"i": 1}, None), ({"i": 1}, {}, None)],
)
def test_constant_differences_of_linear_forms(a: dict[str, int], b: dict[str, int], apart: int | None) -> None:
    assert constant_difference(a, b) == apart


def test_loops_over_consecutive_numbers() -> None:
    i, n = Name("i"), Name("n")

    def loop(condition: Expr, step: int = 1) -> For:
        return For("i", lift(0), condition, step, ())

    assert consecutive(loop(compare("<", i, n))) == compare("<", i, n)
    assert consecutive(loop(compare("<=", i, n))) == compare("<=", i, n)
    for other in (loop(compare("<", i, n), 2), loop(compare("<", i, add(i, 1))), loop(compare(">", i, n))):
        assert consecutive(other) is None


def test_names_of_values_are_not_those_of_arrays() -> None:
    assert value_names(add(Access("A", (Name("i"),), INT), Name("n"))) == {"i", "n"}


def test_linear_forms() -> None:
    assert linear(sub(mul(2, add(I, J)), add(I, 3))) == {"i": 1, "j": 2, "": -3}
    assert linear(sub(mul(I, J), mul(J, I))) == {}
    assert linear(mul(I, J)) is None and linear(div(I, 2)) is None and linear(at("A", I)) is None


def places(*body: Stmt) -> Places:
    storage = (Storage("A", Space.GLOBAL, DOUBLE, (M, mul(M, 4)), "A"),)
    parameters = (KernelParameter("m", INT), KernelParameter("A", DOUBLE, "A"))
    return Places(Kernel("k", parameters, (32, 1, 1), (Coordinate("i", ThreadIndex("x")),), storage, body))


@pytest.mark.parametrize(
    ("body", "divides"),
    [
        ((Pointer("p", at("A", I, 8)),), 4),
        ((Pointer("p", at("A", I, 8)), Advance("p", mul(M, 6))), 2),
        ((Pointer("p", at("A", I, mul(div(I, 2), 8))), Advance("p", lift(12))), 4),
        ((Pointer("p", at("A", I, I)),), 1),
        ((Pointer("p", at("A", I, 8)), Pointer("p", at("A", I, 2))), 2),
    ],
)
def test_what_divides_places_behind_pointers(body: tuple[Stmt, ...], divides: int) -> None:
    """A pointer is where it starts, moved by any number of its steps."""
    found = [divisor(part) for part in places(*body)(at("p", 16))]
    assert all(f % divides == 0 for f in found) and any(f % (2 * divides) for f in found)
