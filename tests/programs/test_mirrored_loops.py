"""Loops that run downwards, or from the far corner: they get the kernels that their mirror images get."""

from __future__ import annotations

import pytest

import polytile
from polytile.runtime.emulator.instrument import CHECKS
from tests.every_schedule import source

SIZES = ({"n": 0, "m": 0}, {"n": 1, "m": 3}, {"n": 7, "m": 5}, {"n": 67, "m": 9}, {"n": 300, "m": 2})
FEW = ({"n": 2, "m": 1}, {"n": 9, "m": 12}, {"n": 35, "m": 3})  # for three dimensions
PAIRS = {
    "solve w, mirrored": (
        "double A[n][n], double y[n], double x[n]",
        "for (int i = 0; i < n; i++) { double w = y[i]; for (int j = 0; j < i; j++) w -= A[i][j] * x[j]; x[i] = w / "
        "A[i][i]; }",
        "for (int i = n-1; i >= 0; i--) { double w = y[i]; for (int j = i+1; j < n; j++) w -= A[i][j] * x[j]; x[i] = "
        "w / A[i][i]; }",
    ),
    "solve w, up with inner down": (
        "double A[n][n], double y[n], double x[n]",
        "for (int i = 0; i < n; i++) { double w = y[i]; for (int j = 0; j < i; j++) w -= A[i][j] * x[j]; x[i] = w / "
        "A[i][i]; }",
        "for (int i = 0; i < n; i++) { double w = y[i]; for (int j = i-1; j >= 0; j--) w -= A[i][j] * x[j]; x[i] = w "
        "/ A[i][i]; }",
    ),
    "solve in place": (
        "double A[n][n], double y[n], double x[n]",
        "for (int i = 0; i < n; i++) { x[i] = y[i]; for (int j = 0; j < i; j++) x[i] -= A[i][j] * x[j]; "
        "x[i] /= A[i][i]; }",
        "for (int i = n-1; i >= 0; i--) { x[i] = y[i]; for (int j = i+1; j < n; j++) x[i] -= A[i][j] * x[j]; "
        "x[i] /= A[i][i]; }",
    ),
    "solve in place, ones on the diagonal": (
        "float A[n][n], float x[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) x[i] = x[i] - A[i][j] * x[j];",
        "for (int i = n-1; i >= 0; i--) for (int j = i+1; j < n; j++) x[i] = x[i] - A[j][i] * x[j];",
    ),
    "largest of later values in place": (
        "double A[n][n], double x[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) "
        "x[i] = x[i] >= A[i][j] + x[j] ? x[i] : A[i][j] + x[j];",
        "for (int i = n-1; i >= 0; i--) for (int j = i+1; j < n; j++) "
        "x[i] = x[i] >= A[i][j] + x[j] ? x[i] : A[i][j] + x[j];",
    ),
    "forward and backward solve": (
        "double A[n][n], double x[n]",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) x[i] -= A[i][j] * x[j]; x[i] /= A[i][i]; } "
        "for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) x[i] -= A[j][i] * x[j]; x[i] /= A[i][i]; }",
        "for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) x[i] -= A[i][j] * x[j]; x[i] /= A[i][i]; } "
        "for (int i = n-1; i >= 0; i--) { for (int j = i+1; j < n; j++) x[i] -= A[j][i] * x[j]; x[i] /= A[i][i]; }",
    ),
    "cholesky back solve, transposed": (
        "double A[n][n], double y[n], double x[n]",
        "for (int i = 0; i < n; i++) { double w = y[i]; for (int j = 0; j < i; j++) w -= A[i][j] * x[j]; x[i] = w / "
        "A[i][i]; }",
        "for (int i = n-1; i >= 0; i--) { double w = y[i]; for (int j = i+1; j < n; j++) w -= A[j][i] * x[j]; x[i] = "
        "w / A[i][i]; }",
    ),
    "many right sides": (
        "double A[n][n], double B[n][n]",
        "for (int c = 0; c < n; c++) for (int i = 0; i < n; i++) { double w = B[i][c]; for (int j = 0; j < i; j++) w "
        "-= A[i][j] * B[j][c]; B[i][c] = w / A[i][i]; }",
        "for (int c = 0; c < n; c++) for (int i = n-1; i >= 0; i--) { double w = B[i][c]; for (int j = i+1; j < n; "
        "j++) w -= A[i][j] * B[j][c]; B[i][c] = w / A[i][i]; }",
    ),
    "suffix sums": (
        "double a[n], double b[n]",
        "double s = 0; for (int i = 0; i < n; i++) { s += a[i]; b[i] = s; }",
        "double s = 0; for (int i = n-1; i >= 0; i--) { s += a[i]; b[i] = s; }",
    ),
    "recurrence rows": (
        "double a[n][n], double b[n][n]",
        "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) b[i][j] = b[i-1][j] * 0.5 + a[i][j];",
        "for (int i = n-2; i >= 0; i--) for (int j = 0; j < n; j++) b[i][j] = b[i+1][j] * 0.5 + a[i][j];",
    ),
    "wavefront": (
        "double b[n][n]",
        "for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) b[i][j] = (b[i-1][j] + b[i][j-1]) * 0.5;",
        "for (int i = n-2; i >= 0; i--) for (int j = n-2; j >= 0; j--) b[i][j] = (b[i+1][j] + b[i][j+1]) * 0.5;",
    ),
    "seidel": (
        "double b[n][n]",
        "for (int t = 0; t < m; t++) for (int i = 1; i < n-1; i++) for (int j = 1; j < n-1; j++) b[i][j] = "
        "(b[i-1][j] + b[i][j-1] + b[i][j] + b[i+1][j] + b[i][j+1]) * 0.2;",
        "for (int t = 0; t < m; t++) for (int i = n-2; i >= 1; i--) for (int j = n-2; j >= 1; j--) b[i][j] = "
        "(b[i-1][j] + b[i][j-1] + b[i][j] + b[i+1][j] + b[i][j+1]) * 0.2;",
    ),
    "time loop": (
        "double a[n], double b[n]",
        "for (int t = 0; t < m; t++) { for (int i = 1; i < n-1; i++) b[i] = (a[i-1] + a[i] + a[i+1]) * 0.3; for (int "
        "i = 1; i < n-1; i++) a[i] = b[i]; }",
        "for (int t = m-1; t >= 0; t--) { for (int i = n-2; i >= 1; i--) b[i] = (a[i-1] + a[i] + a[i+1]) * 0.3; for "
        "(int i = n-2; i >= 1; i--) a[i] = b[i]; }",
    ),
    "stride 2 recurrence": (
        "double b[n][n]",
        "for (int i = 2; i < n; i += 2) for (int j = 0; j < n; j++) b[i][j] = b[i-2][j] * 0.5;",
        "for (int i = n-3; i >= 0; i -= 2) for (int j = 0; j < n; j++) b[i][j] = b[i+2][j] * 0.5;",
    ),
    "stride 2 sum": (
        "double A[n][n], double x[n], double y[n]",
        "for (int i = 0; i < n; i++) { double s = 0; for (int j = 0; j < n; j += 2) s += A[i][j] * x[j]; y[i] = s; }",
        "for (int i = n-1; i >= 0; i--) { double s = 0; for (int j = n-1; j >= 0; j -= 2) s += A[i][j] * x[j]; y[i] "
        "= s; }",
    ),
    "products of earlier values": (
        "double c[n][n], double p[n]",
        "for (int i = 0; i < n; i++) { double w = 1; for (int j = 0; j < i; j++) w *= 1 + c[i][j] / (n + p[j] * p[j]); "
        "p[i] = w; }",
        "for (int i = n-1; i >= 0; i--) { double w = 1; for (int j = i+1; j < n; j++) "
        "w *= 1 + c[i][j] / (n + p[j] * p[j]); p[i] = w; }",
    ),
    "longest path": (
        "double c[n][n], double p[n]",
        "for (int i = 0; i < n; i++) { double w = 0; for (int j = 0; j < i; j++) w = fmax(w, c[i][j] + p[j]); p[i] = "
        "w; }",
        "for (int i = n-1; i >= 0; i--) { double w = 0; for (int j = i+1; j < n; j++) w = fmax(w, c[i][j] + p[j]); "
        "p[i] = w; }",
    ),
    "two sums": (
        "double A[n][n], double B[n][n], double x[n], double z[n]",
        "for (int i = 0; i < n; i++) { double w = 1, v = 2; for (int j = 0; j < i; j++) { w -= A[i][j] * x[j]; v -= "
        "B[i][j] * z[j]; } x[i] = w; z[i] = v; }",
        "for (int i = n-1; i >= 0; i--) { double w = 1, v = 2; for (int j = i+1; j < n; j++) { w -= A[i][j] * x[j]; "
        "v -= B[i][j] * z[j]; } x[i] = w; z[i] = v; }",
    ),
    "inverse": (
        "double A[n][n], double X[n][n]",
        "for (int c = 0; c < n; c++) for (int i = 0; i < n; i++) { double w = i == c; for (int j = 0; j < i; j++) w "
        "-= A[i][j] * X[j][c]; X[i][c] = w / A[i][i]; }",
        "for (int c = 0; c < n; c++) for (int i = n-1; i >= 0; i--) { double w = i == c; for (int j = i+1; j < n; "
        "j++) w -= A[i][j] * X[j][c]; X[i][c] = w / A[i][i]; }",
    ),
    "dot": (
        "double a[n], double b[n], double o[1]",
        "double s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; o[0] = s;",
        "double s = 0; for (int i = n-1; i >= 0; i--) s += a[i] * b[i]; o[0] = s;",
    ),
    "residual with a store": (
        "double a[n], double b[n], double o[1]",
        "double s = 0; for (int i = 0; i < n; i++) { double d = a[i] - b[i]; b[i] = a[i]; s += d * d; } o[0] = s;",
        "double s = 0; for (int i = n-1; i >= 0; i--) { double d = a[i] - b[i]; b[i] = a[i]; s += d * d; } o[0] = s;",
    ),
    "total of a matrix": (
        "double a[n][n], double o[1]",
        "double s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s += a[i][j]; o[0] = s;",
        "double s = 0; for (int i = n-1; i >= 0; i--) for (int j = n-1; j >= 0; j--) s += a[i][j]; o[0] = s;",
    ),
    "maximum": (
        "double a[n], double o[1]",
        "double s = -9; for (int i = 0; i < n; i++) if (a[i] > s) s = a[i]; o[0] = s;",
        "double s = -9; for (int i = n-1; i >= 0; i--) if (a[i] > s) s = a[i]; o[0] = s;",
    ),
    "column sums": (
        "double a[n][n], double o[n]",
        "for (int j = 0; j < n; j++) { o[j] = 0; for (int i = 0; i < n; i++) o[j] += a[i][j]; }",
        "for (int j = n-1; j >= 0; j--) { o[j] = 0; for (int i = n-1; i >= 0; i--) o[j] += a[i][j]; }",
    ),
    "row sums": (
        "double a[n][n], double o[n]",
        "for (int j = 0; j < n; j++) { o[j] = 0; for (int i = 0; i < n; i++) o[j] += a[j][i]; }",
        "for (int j = n-1; j >= 0; j--) { o[j] = 0; for (int i = n-1; i >= 0; i--) o[j] += a[j][i]; }",
    ),
    "pairs": (
        "double x[n], double o[1]",
        "double s = 0; for (int i = 0; i < n; i++) for (int j = i + 1; j < n; j++) s += x[i] * x[j]; o[0] = s;",
        "double s = 0; for (int i = n-1; i >= 0; i--) for (int j = n-1; j > i; j--) s += x[i] * x[j]; o[0] = s;",
    ),
    "count": (
        "int x[n], int o[1]",
        "int s = 0; for (int i = 0; i < n; i++) if (x[i] > 3) s++; o[0] = s;",
        "int s = 0; for (int i = n-1; i >= 0; i--) if (x[i] > 3) s++; o[0] = s;",
    ),
    "stencil": (
        "double a[n][n], double b[n][n]",
        "for (int i = 1; i < n-1; i++) for (int j = 1; j < n-1; j++) b[i][j] = a[i-1][j] + a[i+1][j] + a[i][j-1] + "
        "a[i][j+1];",
        "for (int i = n-2; i >= 1; i--) for (int j = n-2; j >= 1; j--) b[i][j] = a[i-1][j] + a[i+1][j] + a[i][j-1] + "
        "a[i][j+1];",
    ),
    "gemver like": (
        "double A[n][n], double x[n], double y[n], double z[n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { x[i] += A[i][j] * y[j]; z[j] += A[i][j] * y[i]; }",
        "for (int i = n-1; i >= 0; i--) for (int j = n-1; j >= 0; j--) { x[i] += A[i][j] * y[j]; z[j] += A[i][j] * "
        "y[i]; }",
    ),
    "unrolled by two": (
        "double a[n], double o[1]",
        "double s = 0; for (int i = 0; i < n; i += 2) s += a[i]; o[0] = s;",
        "double s = 0; for (int i = n-1; i >= 0; i -= 2) s += a[i]; o[0] = s;",
    ),
    "countdown of steps": (
        "double a[n], double b[n]",
        "for (int t = 0; t < m; t++) { for (int i = 1; i < n-1; i++) b[i] = (a[i-1] + a[i+1]) * 0.5; for (int i = 1; "
        "i < n-1; i++) a[i] = (b[i-1] + b[i+1]) * 0.5; }",
        "for (int t = m; t > 0; --t) { for (int i = 1; i < n-1; i++) b[i] = (a[i-1] + a[i+1]) * 0.5; for (int i = 1; "
        "i < n-1; i++) a[i] = (b[i-1] + b[i+1]) * 0.5; }",
    ),
    "3-D steps": (
        "double a[n][n][n], double b[n][n][n]",
        "for (int t = 0; t < m; t++) { for (int i = 1; i < n-1; i++) for (int j = 1; j < n-1; j++) for (int k = 1; k "
        "< n-1; k++) b[i][j][k] = a[i][j][k] + a[i-1][j][k] + a[i+1][j][k]; for (int i = 1; i < n-1; i++) for (int j "
        "= 1; j < n-1; j++) for (int k = 1; k < n-1; k++) a[i][j][k] = b[i][j][k]; }",
        "for (int t = m-1; t >= 0; t--) { for (int i = n-2; i >= 1; i--) for (int j = n-2; j >= 1; j--) for (int k = "
        "n-2; k >= 1; k--) b[i][j][k] = a[i][j][k] + a[i-1][j][k] + a[i+1][j][k]; for (int i = n-2; i >= 1; i--) for "
        "(int j = n-2; j >= 1; j--) for (int k = n-2; k >= 1; k--) a[i][j][k] = b[i][j][k]; }",
    ),
    "floyd warshall": (
        "int p[n][n]",
        "for (int k = 0; k < n; k++) for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) p[i][j] = p[i][j] < "
        "p[i][k] + p[k][j] ? p[i][j] : p[i][k] + p[k][j];",
        "for (int k = n-1; k >= 0; k--) for (int i = n-1; i >= 0; i--) for (int j = n-1; j >= 0; j--) p[i][j] = "
        "p[i][j] < p[i][k] + p[k][j] ? p[i][j] : p[i][k] + p[k][j];",
    ),
    "thomas": (
        "double a[n], double b[n], double c[n], double d[n]",
        "for (int i = 1; i < n; i++) { double w = a[i] / b[i-1]; b[i] = b[i] - w * c[i-1]; d[i] = d[i] - w * d[i-1]; "
        "}",
        "for (int i = n-2; i >= 0; i--) { double w = a[i] / b[i+1]; b[i] = b[i] - w * c[i+1]; d[i] = d[i] - w * "
        "d[i+1]; }",
    ),
    "thomas of many": (
        "double a[n][n], double b[n][n], double c[n][n]",
        "for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) { double w = a[i][j] / b[i-1][j]; b[i][j] = b[i][j] "
        "- w * c[i-1][j]; }",
        "for (int i = n-2; i >= 0; i--) for (int j = n-1; j >= 0; j--) { double w = a[i][j] / b[i+1][j]; b[i][j] = "
        "b[i][j] - w * c[i+1][j]; }",
    ),
    "lower product in place": (
        "double A[n][n], double B[n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { for (int k = i + 1; k < n; k++) B[i][j] += "
        "A[k][i] * B[k][j]; B[i][j] = 2 * B[i][j]; }",
        "for (int i = n-1; i >= 0; i--) for (int j = n-1; j >= 0; j--) { for (int k = i - 1; k >= 0; k--) B[i][j] += "
        "A[k][i] * B[k][j]; B[i][j] = 2 * B[i][j]; }",
    ),
    "lu": (
        "double A[n][n]",
        "for (int k = 0; k < n; k++) { for (int i = k + 1; i < n; i++) A[i][k] = A[i][k] / A[k][k]; for (int i = k + "
        "1; i < n; i++) for (int j = k + 1; j < n; j++) A[i][j] -= A[i][k] * A[k][j]; }",
        "for (int k = n-1; k >= 0; k--) { for (int i = k - 1; i >= 0; i--) A[i][k] = A[i][k] / A[k][k]; for (int i = "
        "k - 1; i >= 0; i--) for (int j = k - 1; j >= 0; j--) A[i][j] -= A[i][k] * A[k][j]; }",
    ),
    "cumulative products of rows": (
        "double a[n][n]",
        "for (int i = 0; i < n; i++) { double p = 1; for (int j = 0; j < n; j++) { p *= a[i][j]; a[i][j] = p; } }",
        "for (int i = n-1; i >= 0; i--) { double p = 1; for (int j = n-1; j >= 0; j--) { p *= a[i][j]; a[i][j] = p; "
        "} }",
    ),
}

pytestmark = pytest.mark.usefixtures("emulator")


def compiled(arguments: str, body: str, **settings: bool) -> polytile.CompiledScop:
    text = f"#include <math.h>\n{source(arguments, body)}"
    (scop,) = polytile.compile(text, name="f.c", raise_bugs=True, **settings).scops
    return scop


def shape(scop: polytile.CompiledScop) -> list[object]:
    """How a SCoP runs: its strategy, the threads of each kernel, and what runs alone."""
    strategy = scop.compilation.schedule.strategy if scop.compilation.schedule else "host"
    blocks = [kernel.block for kernel in scop.program.kernels] if scop.program else []
    return [strategy, blocks, sum("one GPU thread" in remark.message for remark in scop.remarks)]


@pytest.mark.parametrize("name", PAIRS)
def test_mirrored(name: str) -> None:
    arguments, forwards, backwards = PAIRS[name]
    scop = compiled(arguments, backwards)
    assert shape(scop) == shape(compiled(arguments, forwards))
    names = {p.name for p in scop.compilation.scop.parameters}
    for sizes in SIZES if scop.program and "[n][n][n]" not in arguments else FEW if scop.program else ():
        scop.validate(on="emulator", parameters={k: v for k, v in sizes.items() if k in names}, sanitize=CHECKS)


STRICT = ["solve w, mirrored", "solve in place", "longest path", "total of a matrix", "residual with a store"]


@pytest.mark.slow(but="longest path")
@pytest.mark.parametrize("name", STRICT)
def test_strict(name: str) -> None:
    """In C's order, bit for bit."""
    arguments, _, backwards = PAIRS[name]
    scop = compiled(arguments, backwards, strict=True)
    assert scop.compilation.scop.backwards == ()
    if scop.program is not None:
        for n in (0, 1, 7, 67):
            scop.validate(on="emulator", parameters={"n": n}, sanitize=CHECKS)
