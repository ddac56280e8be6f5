"""What follows from conditions, and what conditions say of others."""

from __future__ import annotations

import pytest

from polytile.ir.affine_facts import Facts
from polytile.ir.arith import add, both, compare, either, lift
from polytile.ir.expr import BOOL, INT, Access, Binary, Declare, Expr, For, Name, Unary
from polytile.ir.ranges import Range

I, N, M = Name("i"), Name("n"), Name("m")  # noqa: E741
KNOWN = Facts.of((Range("n", lift(1), lift(9)), Range("i", lift(0), Binary("-", N, lift(1)))), frozenset())
BELOW, BEHIND = compare("<", I, N), compare(">", I, N)
SECRET = Binary("<", Access("A", (I,), INT), lift(3), BOOL)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (BELOW, True),
        (BEHIND, False),
        (compare("<", I, M), None),
        (both(BELOW, compare("!=", I, N)), True),
        (both(BELOW, SECRET), None),
        (both(BEHIND, SECRET), False),
        (either(BEHIND, SECRET), None),
        (either(BELOW, SECRET), True),
        (Unary("!", either(BEHIND, compare("==", I, N)), BOOL), True),
        (Binary("&&", lift(1), BELOW, BOOL), True),
        (Binary("&", I, N), None),
    ],
)
def test_values_of_conditions(condition: Expr, expected: bool | None) -> None:
    assert KNOWN.value(condition) is expected


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (compare("<", M, I), True),
        (both(SECRET, compare("!=", M, N), compare("<", M, I)), True),
        (either(both(SECRET, compare("<", M, I)), both(compare("<", M, I), BELOW)), True),
        (Binary("||", SECRET, compare(">=", M, I), BOOL), False),
    ],
)
def test_what_holds_behind_a_condition_in_every_alternative(condition: Expr, holds: bool) -> None:
    behind = KNOWN.where(condition, holds)
    assert behind.value(compare("<", add(M, 1), N)) is True
    assert KNOWN.where(condition, not holds).value(compare("<", add(M, 1), N)) is None


def test_many_choices_at_once_are_looked_at_one_by_one() -> None:
    """Sixty choices between two have 2^60 alternatives."""
    others = [either(compare("<", M, add(Name(f"x{k}"), k)), SECRET) for k in range(60)]
    condition = both(*others, compare("<", M, I))
    assert KNOWN.where(condition).value(compare("<", add(M, 1), N)) is True
    assert KNOWN.value(condition) is None
    assert KNOWN.value(both(*(either(BELOW, choice) for choice in others))) is True


def test_loops_say_what_their_iterators_are_inside() -> None:
    loop = For("j", I, compare("<=", Name("j"), N), 2, ())
    assert KNOWN.within(loop).value(both(compare(">=", Name("j"), 0), compare("<=", Name("j"), 9))) is True
    strided = For("j", I, compare("<", Name("j"), N), Name("stride"), ())
    assert KNOWN.within(strided).value(compare(">=", Name("j"), 0)) is None


def test_names_that_change_are_in_no_fact() -> None:
    changing = Facts.of((Range("i", lift(0), lift(3)),), frozenset({"i"}))
    assert changing.value(compare("<", I, 4)) is None
    assert changing.after(Declare("i", INT, lift(2))).value(compare("<", I, 4)) is None
