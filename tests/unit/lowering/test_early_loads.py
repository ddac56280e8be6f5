"""Updates behind a meeting of threads, whose elements and operands are loaded before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polytile.codegen.passes.early_loads import update_early
from polytile.ir.expr import DOUBLE, INT, Access, Assign, Binary, Expr, If, Literal, Name, Stmt
from polytile.ir.kernel import Barrier
from polytile.ir.name_supply import Names
from polytile.tuning import LoadTuning

CHAIN = (
    "int n, int m, double A[n][m], double x[m], double y[n], double z[n]",
    "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) y[i] += A[i][j] * x[j];"
    " y[i] = 2 * y[i] - z[i]; y[i] += z[i] + y[i]; }",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "t[0] = 1; for (int j = 0; j < m; j++) s[0] += A[j]; s[0] += t[0];",
        "s[0] = 2; for (int j = 0; j < m; j++) s[0] += A[j]; s[0] += t[0];",
        "s[0] = t[0]; for (int j = 0; j < m; j++) s[0] += A[j];",
        "for (int j = 0; j < m; j++) s[0] += A[j]; for (int j = 0; j < m; j++) s[1] += A[j] * A[j];",
        "for (int j = 0; j < m; j++) s[0] += A[j]; for (int j = 0; j < m; j++) s[k] += A[j] * A[j];",
        "for (int j = 0; j < m; j++) s[0] += A[j]; s[0] = s[0] * s[0] - t[0]; s[0] = 3 - s[0];",
        "for (int j = 0; j < m; j++) s[0] += A[j]; s[0] = s[1] * s[0];",
        "for (int j = 0; j < m; j++) s[0] += A[j]; s[1] = s[0]; s[0] = s[0] + s[1];",
        "for (int j = 0; j < m; j++) s[0] += A[j]; if (k > 0) s[0] = s[0] / 2; s[0] = s[0] + 1;",
        "for (int j = 0; j < m; j++) s[0] += A[j]; t[0] = s[0]; s[0] = s[0] + t[0];",
        "for (int j = 0; j < m; j++) s[0] += A[j]; s[0] = s[0] * u[1] + u[0]; s[0] += u[1] - u[k];",
    ],
)
def test_other_uses_of_what_is_updated(emulator: None, compiled: Callable[..., Any], body: str) -> None:
    arguments = "int m, int k, double A[m], double s[4], double t[1], double u[2]"
    found = compiled(arguments, body, schedule="superposed")
    given = {"k": 0} if "k" in body else {}
    for m in (0, 1, 33, 1000):
        found.validate(on="emulator", parameters={"m": m, **given}, seed=1, sanitize=("address", "race"))


@pytest.mark.slow
@pytest.mark.parametrize("element", ["double", "float", "int", "short", "unsigned char"])
def test_chains_of_updates(emulator: None, compiled: Callable[..., Any], element: str) -> None:
    """The element is loaded once, with what the updates read of other arrays, and stored after each of them."""
    arguments, body = CHAIN
    found = compiled(arguments.replace("double", element), body, schedule="superposed")
    lines = found.cuda.partition("// Shared by the entry points")[0].splitlines()
    text = " ".join(line.strip() for line in lines if not line.startswith("//"))
    assert text.count("? y[") == text.count("? z[") == 1 and text.index("? z[") < text.index("y_part += ")
    assert text.count("y[i] = y_held;") == text.count("y[i]") == 3 and text.count("z_held") == 3
    for n, m in ((0, 3), (1, 0), (1, 1), (7, 33), (130, 70), (3, 1030)):
        found.validate(on="emulator", parameters={"n": n, "m": m}, seed=1, sanitize=("address", "undefined", "race"))


T = Name("t", INT)


def at(place: Expr) -> Assign:
    return Assign(Access("y", (place,), DOUBLE), "+", Name("s", DOUBLE))


def four_times(place: Expr) -> Expr:
    return Binary("*", Literal("4", INT), place, INT)


def next_to(place: Expr) -> Expr:
    return Binary("+", place, Literal("1", INT), INT)


@pytest.mark.parametrize(
    ("first", "second", "meet", "held"),
    [
        (T, next_to(T), False, True),  # or two threads would change an element at once
        (T, next_to(T), True, False),  # another thread's, which it changes in between
        (four_times(T), next_to(four_times(T)), True, True),
        (T, T, True, True),
        (Literal("0", INT), Literal("1", INT), True, True),
    ],
)
def test_elements_of_other_threads(first: Expr, second: Expr, meet: bool, held: bool) -> None:
    barrier = Barrier("a meeting")
    body: tuple[Stmt, ...] = (barrier, at(first), *((barrier,) if meet else ()), at(second))
    after = update_early(body, frozenset(), Names(set()), LoadTuning())
    assert (after != body) == held


def test_a_thread_that_has_run_one_update_runs_the_weakest() -> None:
    """What holds the element has nothing where that one's condition does not hold, and the element may not exist."""
    small, large = Binary("<", T, Literal("8", INT), INT), Binary("<", Literal("3", INT), T, INT)
    one, other, always = If(small, (at(T),)), If(large, (at(T),)), at(T)
    bodies: list[tuple[Stmt, ...]] = [(one, always), (always, one), (one, If(large, (one,))), (one, other)]
    for body, held in zip(bodies, (True, True, True, False), strict=True):
        met: tuple[Stmt, ...] = (Barrier("a meeting"), *body)
        assert (update_early(met, frozenset(), Names(set()), LoadTuning()) != met) == held
