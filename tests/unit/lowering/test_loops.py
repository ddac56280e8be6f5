"""Loops of every kind that C allows, in kernels and around them: bounds, steps, directions, empty ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Validated = Callable[..., Any]

N = [{"n": n} for n in (0, 1, 2, 7, 40)]
NM = [{"n": n, "m": m} for n in (0, 1, 9, 33) for m in (0, 1, 5)]
VECTOR = "int n, double x[n + 8], double y[n + 8]"
MATRIX = "int n, int m, double A[n + 8][m + 8], double B[n + 8][m + 8]"

STEPS = ["i++", "i += 2", "i += 3", "i += 7"]
DOWNWARD = ["i--", "i -= 2", "i -= 3"]


@pytest.mark.slow(but="1-i++")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("lower", ["0", "1", "-3", "-n"])
def test_upward_loops(validated: Validated, step: str, lower: str) -> None:
    shift = {"0": "i", "1": "i", "-3": "i + 3", "-n": "i + n"}[lower]
    arguments = "int n, double x[2 * n + 8], double y[2 * n + 8]"
    validated((arguments, f"for (int i = {lower}; i < n; {step}) x[{shift}] = y[{shift}] + i;"), *N)


@pytest.mark.slow(but="i >= -4-i--")
@pytest.mark.parametrize("step", DOWNWARD)
@pytest.mark.parametrize("bound", ["i >= 0", "i > 2", "i >= -4"])
def test_downward_loops(validated: Validated, step: str, bound: str) -> None:
    validated((VECTOR, f"for (int i = n - 1; {bound}; {step}) x[i + 4] = y[i + 4] - i;"), *N)


@pytest.mark.slow
@pytest.mark.parametrize("tile", [(), (1,), (3,), (5, 2)])
@pytest.mark.parametrize(
    "inner",
    [
        "for (int j = 0; j <= i; j++)",
        "for (int j = i; j < m; j++)",
        "for (int j = m - 1; j > i; j--)",
        "for (int j = i % 2; j < m; j += 2)",
        "for (int j = i / 3; j < m - i; j++)",
    ],
)
def test_triangles(validated: Validated, inner: str, tile: tuple[int, ...]) -> None:
    arguments = "int n, int m, double A[n + 8][n + m + 8], double B[n + 8][n + m + 8]"
    validated((arguments, f"for (int i = 0; i < n; i++) {inner} A[i][j] = 0.5 * B[i][j] + i - j;"), *NM, tile=tile)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["t++", "t += 2"])
def test_a_stepped_time_loop_stays_on_the_host(validated: Validated, step: str) -> None:
    body = f"""for (int t = 1; t < m; {step}) {{
        for (int i = 1; i < n; i++) x[i] = y[i - 1] + y[i + 1] + t;
        for (int i = 1; i < n; i++) y[i] = 0.25 * x[i] + x[i + 1];
    }}"""
    found = validated(("int n, int m, double x[n + 8], double y[n + 8]", body), *NM, schedule="classic")
    assert len(found.program.kernels) == 2
    assert {p.name for k in found.program.kernels for p in k.parameters} >= {"t"}


def test_a_reversed_time_loop(validated: Validated) -> None:
    body = """for (int t = m; t > 0; t--) {
        for (int i = 1; i < n; i++) x[i] = y[i - 1] + y[i + 1] - t;
        for (int i = 1; i < n; i++) y[i] = 0.25 * x[i] + x[i + 1];
    }"""
    validated(("int n, int m, double x[n + 8], double y[n + 8]", body), *NM)


def test_bounds_from_the_host_loop(validated: Validated) -> None:
    """Grid sizes depend on the iteration of the host's loop, down to nothing."""
    body = """for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; j < m; j++)
                A[i][j] -= A[i][k] * A[k][j];"""
    arguments = "int n, int m, double A[n + 8][n + m + 8]"
    found = validated((arguments, body), *NM)
    assert "k" in {p.name for p in found.program.kernels[0].parameters}


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition",
    ["i % 2 == 0", "i % 3 != 1", "i > 2 && i < m", "i < 2 || i > m", "!(i == 3)", "i / 2 % 2 == 1", "2 * i <= m"],
)
def test_affine_conditions(validated: Validated, condition: str) -> None:
    body = f"for (int i = 0; i < n; i++) {{ if ({condition}) x[i] = y[i]; else x[i] = -y[i] - m; }}"
    validated((VECTOR + ", int m", body), *NM)


def test_an_inner_loop_that_is_always_empty(validated: Validated) -> None:
    body = "for (int i = 0; i < n; i++) { x[i] = 1; for (int j = 5; j < 3; j++) x[i] = y[j]; }"
    validated((VECTOR, body), *N)


def test_nothing_runs_but_inner_bounds_are_constant(validated: Validated) -> None:
    """The grid is computed from the inner loop alone, so the launch needs a guard."""
    body = "for (int i = 0; i < n - 1; i++) for (int j = 0; j < 5; j++) A[i][j] = B[j][i % 3];"
    validated((MATRIX, body), *NM)


def test_64_bit_parameters(validated: Validated) -> None:
    body = "for (long i = 0; i < n; i++) for (long j = i; j < m; j++) A[i][j] = B[j][i] + i;"
    arguments = "long n, long m, double A[n + 8][n + m + 8], double B[n + m + 8][n + 8]"
    found = validated((arguments, body), *NM)
    assert {k.index_type for k in found.program.kernels} == {"long"}


@pytest.mark.slow(but="unsigned char")
@pytest.mark.parametrize("kind", ["unsigned", "short", "long long", "unsigned char", "unsigned long"])
def test_parameters_of_other_types(validated: Validated, kind: str) -> None:
    arguments = f"{kind} n, double x[n + 8], double y[n + 8]"
    validated((arguments, "for (int i = 0; i < n; i++) x[i] = y[n - i] + i;"), *N)


def test_a_large_64_bit_size_does_not_wrap(compiled: Callable[..., Any]) -> None:
    """Index arithmetic of kernels and grid is done in 64 bits when a parameter has them."""
    found = compiled("long n, double *x", "for (long i = 0; i < n; i++) x[i] = 1;")
    assert "const long bi = blockIdx.x;" in found.cuda
