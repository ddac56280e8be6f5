"""Functions that return in several places, and subscripts that choose."""

from __future__ import annotations

import pytest

import polytile
from polytile.diagnostics import UserError
from tests.every_schedule import same_in_every_schedule, source

SIZES = [{"n": 0, "m": 0}, {"n": 1, "m": 1}, {"n": 7, "m": 5}, {"n": 41, "m": 33}]
FUNCTIONS = {
    "clamp": "static int clamp(int x, int lo, int hi) { if (x < lo) return lo; if (x > hi) return hi; return x; }",
    "largest": "static int largest(int a, int b, int c)"
    " { int k; if (a <= b) k = b; else k = a; if (k <= c) return c; else return k; }",
    "sign": "static double sign(float x) { if (x > 0) { return 1; } else if (x < 0) { return -1; } return x; }",
    "part": "static double part(double x)"
    " { double y = x * 2; if (y > 1) { y -= 1; if (y > 0.5) return y; y = y * y; } else return 0; return y + 1; }",
    "next": "static int next(double x) { int k = (int) (x * 8); if (k > 3) return k; else return k++; }",
    "add": "static void add(double *y, double x) { if (x < 0) return; y[0] += x; if (x > 0.5) return; y[0] *= 2; }",
    "nested": "static int small(int x) { if (x < 3) return 1; return 0; }"
    " static int nested(int x) { if (small(x)) return -x; else if (small(x - 5)) return x * 2; return small(-x); }",
}
PROGRAMS = {
    "clamp": ("double *a, const double *b", "for (int i = 0; i < n; i++) a[i] = b[clamp(i - 2, 0, n - 1)];"),
    "largest": ("int a[n], const int b[n]", "for (int i = 0; i < n; i++) a[i] = largest(b[i], 3, a[i]) + 1;"),
    "sign": ("double a[n], const double b[n]", "for (int i = 0; i < n; i++) a[i] = sign(b[i] - 0.5) + 0.5;"),
    "part": ("double a[n], const double b[n]", "for (int i = 0; i < n; i++) a[i] = part(b[i]) + part(a[i]);"),
    "next": ("int a[n], const double b[n]", "for (int i = 0; i < n; i++) a[i] = next(b[i]);"),
    "add": ("double a[n], const double b[n]", "for (int i = 0; i < n; i++) add(&a[i], b[i]);"),
    "nested": ("int a[n]", "for (int i = 0; i < n; i++) a[i] = nested(i) + 10 * nested(a[i]);"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_with_several_returns(name: str) -> None:
    assert not same_in_every_schedule(f"{FUNCTIONS[name]}\n{source(*PROGRAMS[name])}", SIZES)


@pytest.mark.quick
@pytest.mark.parametrize(
    "function",
    [
        "static int f1(int x) { for (int k = 0; k < 9; k++) if (k == x) return k; return 9; }",
        "static int count; static int f1(int x) { if (x > 3) return count++; return 0; }",
    ],
    ids=["in a loop", "that counts"],
)
def test_returns_that_stay(function: str) -> None:
    with pytest.raises(UserError):
        polytile.compile(f"{function}\n{source('int a[n]', 'for (int i = 0; i < n; i++) a[i] = f1(a[i]);')}")


SUBSCRIPTS = {
    "at the borders of a plane": (
        "double *restrict a, const double *restrict b",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { int k = i * m + j;"
        " int w = j == 0 ? k : k - 1, e = j == m - 1 ? k : k + 1, s = i == 0 ? k : k - m;"
        " a[k] = b[k] + 2 * b[w] + 3 * b[e] + 4 * b[s]; }",
    ),
    "one choice in another": (
        "double *restrict a, const double *restrict b",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " a[i * m + j] = b[j == 0 ? i * m : i > j ? i * m + j - 1 : (i == 0 ? j : i * m)];",
    ),
    "by data": (
        "double a[n], const double b[n + 1]",
        "for (int i = 0; i < n; i++) a[i] = b[b[i] > 0.5 ? i : i + 1] - b[a[i] > 0 ? n - i : 0];",
    ),
    "on both sides": (
        "double a[n + 1][m + 1]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i > 0 ? i - 1 : n][j] += a[i][a[i][j] > 0 ? j : m];",
    ),
}


@pytest.mark.parametrize("name", SUBSCRIPTS)
def test_subscripts_that_choose(name: str) -> None:
    same_in_every_schedule(source(*SUBSCRIPTS[name]), SIZES)


def test_stencils_with_chosen_neighbours_are_parallel() -> None:
    assert not same_in_every_schedule(source(*SUBSCRIPTS["at the borders of a plane"]), SIZES[:1])
