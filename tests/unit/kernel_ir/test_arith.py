"""Constants fold where expressions are built."""

from __future__ import annotations

import pytest

from polytile.ir.arith import add, count_between, mul, shifted, sub
from polytile.ir.expr import LLONG, Expr, Name
from polytile.ir.node_text import expression_text

N, M = Name("n", LLONG), Name("m", LLONG)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (count_between(1, sub(N, 2)), "(n - 2)"),
        (count_between(0, sub(N, 1)), "n"),
        (count_between(add(M, 3), add(sub(N, 2), 1)), "((n - m) - 3)"),
        (count_between(2, 9), "8"),
        (shifted(sub(add(sub(N, 2), 2), 24), 71), "(n + 47)"),
        (shifted(mul(N, 2), -1), "((n * 2) - 1)"),
    ],
)
def test_constants_fold(built: Expr, text: str) -> None:
    assert expression_text(built) == text
