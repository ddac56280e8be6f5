"""Tables in which each element is an extreme, or a sum, over earlier elements of its row and column: wavefronts, whose
threads load for many steps at once."""

from __future__ import annotations

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import source

SIZES = ({"n": 0}, {"n": 1}, {"n": 2}, {"n": 7}, {"n": 34}, {"n": 67}, {"n": 131})
MACRO = "#define largest(a, b) ((a) >= (b) ? (a) : (b))\n"
UP = "for (int k = i + 1; k < j; k++)"
FROM_BELOW = "for (int i = n - 1; i >= 0; i--) for (int j = i + 1; j < n; j++) { t[i][j] += t[i + 1][j]; %s }"
BY_LENGTH = "for (int d = 2; d < n; d++) for (int i = 0; i + d < n; i++) { t[i][i + d] = 9e9; %s }"
PROGRAMS = {
    "a macro, integers": ("int t[n + 1][n]", FROM_BELOW % f"{UP} t[i][j] = largest(t[i][j], t[i][k] + t[k + 1][j]);"),
    "a choice, floats": (
        "float t[n + 1][n]",
        FROM_BELOW % f"{UP} t[i][j] = t[i][j] < t[i][k] * t[k + 1][j] ? t[i][k] * t[k + 1][j] : t[i][j];",
    ),
    "a condition": (
        "double t[n + 1][n]",
        FROM_BELOW % f"{UP} if (t[i][k] - t[k + 1][j] > t[i][j]) t[i][j] = t[i][k] - t[k + 1][j];",
    ),
    "a function": ("double t[n + 1][n]", FROM_BELOW % f"{UP} t[i][j] = fmin(t[i][j], t[i][k] * t[k + 1][j]);"),
    "a sum": ("double t[n + 1][n]", FROM_BELOW % f"{UP} t[i][j] += t[i][k] * t[k + 1][j] * 0.01;"),
    "a chain of products": (
        "double t[n][n], double p[n]",
        BY_LENGTH % "for (int k = i + 1; k < i + d; k++) t[i][i + d] = "
        "fmin(t[i][i + d], t[i][k] + t[k][i + d] + p[i] * p[k] * p[i + d]);",
    ),
    "downwards": (
        "int t[n + 1][n]",
        FROM_BELOW % "for (int k = j - 1; k > i; k--) t[i][j] = largest(t[i][j], t[i][k] + t[k + 1][j]);",
    ),
    "with a table of weights": (
        "double t[n + 1][n], double w[n][n]",
        FROM_BELOW % f"{UP} t[i][j] = largest(t[i][j], t[i][k] + t[k + 1][j] + w[i][k]);",
    ),
}
BATCHED = set(PROGRAMS) - {"a condition"}  # whose stores depend on data

pytestmark = pytest.mark.usefixtures("emulator")


def compiled(name: str, **settings: object) -> polytile.CompiledScop:
    text = f"#include <math.h>\n{MACRO}{source(*PROGRAMS[name])}"
    (scop,) = polytile.compile(text, name="f.c", raise_bugs=True, verify_passes=True, **settings).scops  # type: ignore[arg-type]
    return scop


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    scop = compiled(name)
    for sizes in SIZES:
        scop.validate(on="emulator", parameters=sizes, sanitize=CHECKS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_many_steps_load_at_once(name: str) -> None:
    scop = compiled(name)
    said = scop.compilation.saved_schedule()
    assert ('"loads_first"' in said) == (name in BATCHED), said


@pytest.mark.parametrize("name", ["a macro, integers", "a sum"])
def test_saved(name: str) -> None:
    """A schedule file has what loads come first."""
    first = compiled(name)
    again = compiled(name, load_schedule=first.compilation.saved_schedule())
    lines = [[line for line in scop.cuda.splitlines() if "//" not in line] for scop in (first, again)]
    assert lines[0] == lines[1]


@pytest.mark.quick
def test_other_kernels_are_left_to_the_compiler() -> None:
    """Where a kernel runs once, or over two parallel loops, its threads are many."""
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) x[i] += a[j][i];"
    text = source("double a[n][n], double x[n]", body)
    (scop,) = polytile.compile(text, name="f.c", schedule="classic").scops
    assert '"loads_first"' not in scop.compilation.saved_schedule()
