"""`float _Complex` and `double _Complex`: computed by their parts, as C computes them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.diagnostics import UsageError, UserError
from tests.every_schedule import same_in_every_schedule, source

SIZES = ({"n": 0, "m": 2}, {"n": 1, "m": 1}, {"n": 7, "m": 9}, {"n": 33, "m": 40})
HEAD = """#include <complex.h>
#include <math.h>
struct wave { double complex at[2]; double k; };
static double complex square(double complex z) { return z * z; }
static float complex scaled(float complex z, float by) { float complex w = z * by; w += 1; return w; }
static double length(double complex z) { return cabs(z) + creal(z); }
"""
PROGRAMS = {
    "sums and products": (
        "double complex *a, const double complex *b, double complex w",
        "for (int i = 0; i < n; i++) a[i] = a[i] * b[i] - w * conj(a[i]) + 2 * b[i] - 1.5 - b[i] * 3 + (4 - a[i]);",
    ),
    "quotients": (
        "double complex *a, double complex *b, double *r",
        "for (int i = 0; i < n; i++) { a[i] = a[i] / b[i]; b[i] = r[i] / b[i] + b[i] / r[i]; }",
    ),
    "of floats": (
        "float complex *a, float complex *b, float w",
        "for (int i = 0; i < n; i++) { a[i] = a[i] / b[i] + w * a[i]; b[i] *= a[i] - 1; b[i] /= 1.0f + b[i] * w; }",
    ),
    # Nothing reads c here: gcc 12 -O2 would give it the value from before it was rounded.
    "of two precisions": (
        "float complex *a, double complex *b, float complex *c",
        "for (int i = 0; i < n; i++) { c[i] = a[i] * b[i]; b[i] = a[i] + 0.1 * a[i] / 3; }",
    ),
    "the imaginary unit": (
        "double complex *a, double *r",
        "for (int i = 0; i < n; i++) a[i] = cos(r[i]) + I * sin(r[i]) - a[i] * I;",
    ),
    "parts": (
        "double complex *a, double *r, float complex *f",
        "for (int i = 0; i < n; i++)"
        " r[i] = creal(a[i]) * cimag(a[i] * a[i]) + cabs(a[i]) - crealf(f[i]) + cimagf(f[i]);",
    ),
    "a matrix product": (
        "double complex A[n][m], double complex B[m][n], double complex C[n][n]",
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { C[i][j] = 0;"
        " for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j]; }",
    ),
    "a product that is updated": ("double complex *a", "for (int i = 1; i < n; i++) a[i] *= a[i - 1] * (a[i] - 1);"),
    "conditions": (
        "double complex *a, double *r",
        "for (int i = 0; i < n; i++) { double complex z = r[i] * I - r[i] * I; r[i] = !(2 * I) ? 8 : 1; if (z + I)"
        " r[i] += 2; if (!z) r[i] += 4; if (I && creal(a[i]) > 0) r[i] += 16;"
        " _Bool b = z + I, c; c = z * I; r[i] += b * 32 + (_Bool)(z - I) * 64 + c * 128;"
        " a[i] = 0 * z + I ? a[i] : 3; }",
    ),
    "whole numbers that float does not hold": (
        "double complex *a, int *k",
        "for (int i = 0; i < n; i++) a[i] = a[i] * (k[i] % 2 + 16777217) + (k[i] % 3 + 16777219) / (a[i] + 2);",
    ),
    "constants that are converted": (
        "double complex *a, float complex *f",
        "for (int i = 0; i < n; i++) { a[i] = (float complex)0.1 * a[i]; f[i] = (double complex)0.1f * f[i]; }",
    ),
    "variables": (
        "double complex *a, double complex *b",
        "for (int i = 0; i < n; i++) { double complex t = a[i] + b[i], u; u = t * t; t = conj(u) - t;"
        " if (creal(t) > 0) { double complex v = -t; a[i] = v; } else a[i] = u; }",
    ),
    "a sum around it": (
        "double complex *a, double complex *sum",
        "double complex s = 0; for (int i = 0; i < n; i++) s += a[i] * a[i]; sum[0] = s;",
    ),
    "choices and comparisons": (
        "double complex *a, double complex *b",
        "for (int i = 0; i < n; i++) { a[i] = cabs(b[i]) > 1 ? b[i] / a[i] : a[i]; if (a[i] != b[i]) b[i] = 0; }",
    ),
    "functions of the file": (
        "double complex *a, float complex *f, double *r",
        "for (int i = 0; i < n; i++) { a[i] = square(a[i] + 1) - square(r[i]); f[i] = scaled(f[i], 3);"
        " r[i] = length(a[i] * f[i]); }",
    ),
    "fields": (
        "struct wave *p",
        "for (int i = 0; i < n; i++)"
        " { p[i].at[1] = p[i].at[0] * (p[i].k + 2 * I); p[i].at[0] -= p[i].k * p[i].at[1]; }",
    ),
    "a stencil in time": (
        "double complex *restrict u, double complex *restrict v",
        "for (int t = 0; t < 4; t++) { for (int i = 1; i < n - 1; i++)"
        " v[i] = 0.25 * (u[i - 1] + 2 * u[i] + u[i + 1]) * (1 + I);"
        " for (int i = 1; i < n - 1; i++) u[i] = v[i]; }",
    ),
    "real values": ("double complex *a, double *r", "for (int i = 0; i < n; i++) { r[i] = a[i] * 2; a[i] = r[i]; }"),
}

pytestmark = pytest.mark.usefixtures("emulator")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str) -> None:
    serial = same_in_every_schedule(HEAD + source(*PROGRAMS[name]), SIZES)
    assert not serial or name in ("a product that is updated", "a sum around it")


def test_numpy_has_such_numbers() -> None:
    text = HEAD + source(
        "double complex *a, const double complex *b, double complex w, float complex *f",
        "for (int i = 0; i < n; i++) { a[i] = a[i] * b[i] + w; f[i] = conj(f[i]); }",
    )
    scop = polytile.compile(text, name="f.c")["f"]
    numbers = np.random.default_rng(2)
    a, b = (numbers.random(9) + 1j * numbers.random(9) for _ in range(2))
    f = (numbers.random(9) + 1j * numbers.random(9)).astype(np.complex64)
    expected = a * b + (2 - 1j), f.conj()
    scop(n=9, a=a, b=b, w=2 - 1j, f=f, on="emulator")
    assert np.allclose(a, expected[0], rtol=1e-14)
    assert np.array_equal(f, expected[1])
    with pytest.raises(UsageError, match="a holds complex64"):
        scop(n=9, a=f, b=b, w=1, f=f, on="emulator")


MAIN = """
#include <stdio.h>
static void roots(int n, double complex *z, float complex *f)
{
    double complex last = 0;
#pragma scop
    for (int i = 0; i < n; i++) {
        z[i] = z[i] * z[i] / (1 + z[i]) - I;
        f[i] += z[i];
        last = z[i];
    }
#pragma endscop
    printf("%.17g %.17g\\n", creal(last), cimag(last));
}
int main(void)
{
    double complex z[50];
    float complex f[50];
    for (int i = 0; i < 50; i++) z[i] = i * 0.25 - I * (i % 7), f[i] = z[i] / 3;
    roots(50, z, f);
    for (int i = 0; i < 50; i++) {
        printf("%.17g %.17g\\n", creal(z[i]), cimag(z[i]));
        printf("%.9g %.9g\\n", crealf(f[i]), cimagf(f[i]));
    }
    return 0;
}
"""


def printed(*command: str | Path) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_a_program(tmp_path: Path) -> None:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("needs a C compiler")
    path = tmp_path / "program.c"
    path.write_text(HEAD + MAIN)
    printed(gcc, "-std=gnu99", "-ffp-contract=off", path, "-o", tmp_path / "before", "-lm")
    compiled = polytile.compile(path, strict=True, raise_bugs=True)
    assert not compiled.refusals
    compiled.build(tmp_path / "after", on="emulator")
    assert printed(tmp_path / "after") == printed(tmp_path / "before")


REFUSED = {
    "a function": ("for (int i = 0; i < n; i++) a[i] = csqrt(a[i]);", "no such operation"),
    "a condition": ("for (int i = 0; i < n; i++) if (i > 2 && cabs(a[i] * a[i] * a[i]) > 1) a[i] = 0;", "a part of a"),
    "a subscript that counts": ("int c = 0; for (int i = 0; i < n; i++) a[c++] = 2 * a[i];", r"`\+\+` in a subscript"),
    "long double": ("for (int i = 0; i < n; i++) l[i] = 0;", "its type is long double _Complex"),
}


@pytest.mark.quick
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    body, message = REFUSED[name]
    text = HEAD + source("double complex *a, long double complex *l", body)
    with pytest.raises(UserError, match=message):
        polytile.compile(text, name="f.c")
