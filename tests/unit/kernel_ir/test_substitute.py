"""Names, parts and scalars replaced in statements and expressions, with and without folding; names that are free."""

from __future__ import annotations

import pytest

from polytile.codegen.lowering.isl_ast import GridRange, Instance, Marked
from polytile.codegen.lowering.isl_ast import substitute as in_tree
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, compare, lift, mul
from polytile.ir.expr import DOUBLE, INT, Access, Assign, Expr, For, If, Literal, Name
from polytile.ir.name_supply import fresh
from polytile.ir.substitute import substituted, substituted_expr, with_names, with_part, with_values

C, N, T = Name("c"), Name("n"), Name("t")


def plus_twice(value: Expr) -> Expr:
    return add(mul(lift(2), value), T)


def test_values_stand_for_names_and_nothing_is_folded() -> None:
    assert with_values(plus_twice(C), {"c": add(C, 1)}) == plus_twice(add(C, 1))
    assert with_values(plus_twice(C), {"c": lift(3)}) != substituted_expr(plus_twice(C), {"c": lift(3)}) == add(T, 6)
    assert with_values(plus_twice(C), {"d": lift(3)}) == plus_twice(C)


def test_values_in_statements() -> None:
    def store(place: Expr) -> If:
        return If(compare("<", place, N), (Assign(Access("A", (place,), DOUBLE), "", Literal("0.0", DOUBLE)),))

    assert with_values(store(C), {"c": add(T, 1)}) == store(add(T, 1))


def test_a_value_for_what_changes_is_refused_where_code_is_rewritten() -> None:
    loop = For("c", lift(0), compare("<", C, N), 1, (Assign(C, "", lift(1)),))
    with pytest.raises(InternalError, match="not constant"):
        substituted((loop,), {"c": lift(0)})


def test_equal_parts() -> None:
    target = Access("A", (C,), DOUBLE)
    update = Assign(target, "+", Access("B", (C,), DOUBLE))
    register = Name("A_acc", DOUBLE)
    assert with_part(update, target, register) == Assign(register, "+", Access("B", (C,), DOUBLE))


def test_scalars_become_names() -> None:
    scalar, element = Access("n", (), INT), Access("n", (C,), INT)
    assert with_names(add(scalar, element), {"n"}) == add(N, element)
    assert with_names(add(scalar, element), {"m"}) == add(scalar, element)


def test_values_in_the_grids_of_kernels() -> None:
    def tree(value: Expr) -> Marked:
        return Marked("kernel:0", (GridRange(lift(0), value, add(value, 1)),), (Instance("S0", (value, T)),))

    assert in_tree(tree(C), "c", N) == tree(N)


@pytest.mark.parametrize(("taken", "found"), [((), "at"), (("at",), "at_"), (("at", "at_"), "at__"), (("b",), "at")])
def test_fresh_names(taken: tuple[str, ...], found: str) -> None:
    assert fresh("at", taken) == found
