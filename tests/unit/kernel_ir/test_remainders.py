"""Remainders that tell elements apart: `A[t % 2][i]` and `A[(t + 1) % 2][j]`."""

from __future__ import annotations

from itertools import product

import pytest

from polytile.ir.arith import add, lift, mul
from polytile.ir.expr import INT, LONG, UINT, Binary, Cast, Expr, Name
from polytile.ir.polynomial import have_other_remainders

T, N = Name("t", INT), Name("n", INT)


def remainder(value: Expr, divisor: Expr) -> Expr:
    return Binary("%", value, divisor, INT)


@pytest.mark.parametrize("modulus", [1, 2, 3, 5])
def test_what_is_told_apart_is_apart_for_every_value(modulus: int) -> None:
    def c_remainder(value: int) -> int:
        return value - modulus * int(value / modulus)

    for a, b in product(range(-4, 5), repeat=2):
        left, right = (remainder(add(T, lift(k)), lift(modulus)) for k in (a, b))
        apart = all(c_remainder(t + a) != c_remainder(t + b) for t in range(-20, 21))
        assert have_other_remainders(left, right) == ((a - b) % modulus != 0)
        assert apart or not have_other_remainders(left, right)


def test_conversions_that_keep_values_do_not_matter() -> None:
    wide = Cast(LONG, remainder(T, lift(2)))
    assert have_other_remainders(wide, remainder(add(T, lift(1)), lift(2)))


def test_what_is_not_known_is_not_told_apart() -> None:
    plain = remainder(T, lift(2))
    for other in (
        remainder(N, lift(2)),
        remainder(add(T, lift(1)), lift(4)),
        remainder(add(mul(T, lift(2)), lift(1)), lift(2)),
        Name("t", INT),
        lift(1),
        remainder(Cast(UINT, add(T, lift(1))), lift(2)),
    ):
        assert not have_other_remainders(plain, other)
    assert not have_other_remainders(remainder(T, N), remainder(add(T, lift(1)), N))
