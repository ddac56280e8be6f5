"""The sequential reference, compiled and compared with the original function."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polytile.frontend.program import read_program
from polytile.ir.scop import Scop

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
SUITE = sorted((Path(__file__).parents[3] / "polybench" / "polybench").glob("*.c"))

PROGRAMS = {
    "views": """
void f(int n, int m, double a[n][m], double (*b)[m], float *c, double s)
{
    int i, j;
#pragma scop
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++)
            a[i][j] += s * b[i][j] + c[j];
#pragma endscop
}
""",
    "locals": """
void f(int n, int m, double a[n][m], double (*b)[m], float *c, double s)
{
    double row[m], last;
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            row[j] = a[i][j] * 2;
        last = row[m - 1];
        for (int j = 0; j < m; j++)
            b[i][j] = row[j] - last + s;
    }
#pragma endscop
}
""",
    "inlined": """
#include <math.h>
typedef double real;
enum { SHIFT = 3 };
struct unused { int x; };
static real both(real x, real y) { real t = x * y; return sqrt(fabs(t)) + SHIFT; }
static void add(int m, const real *from, real *to) { for (int i = 0; i < m; i++) to[i] += from[i]; }
void f(int n, int m, double a[n][m], double (*b)[m], float *c, double s)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++)
            a[i][j] = both(b[i][j], s) + (float) a[i][j];
        add(m, a[i], b[i]);
    }
#pragma endscop
}
""",
}


def _library(text: str, folder: Path, name: str) -> Any:
    source = folder / f"{name}.c"
    source.write_text(text)
    library = source.with_suffix(".so")
    command = ["cc", "-std=gnu99", "-O1", "-Wall", "-Werror", "-Wno-unknown-pragmas", "-fPIC", "-shared", str(source)]
    done = subprocess.run([*command, "-o", str(library), "-lm"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def _data() -> dict[str, Any]:
    random = np.random.default_rng(1)
    return {
        "n": 5,
        "m": 7,
        "a": random.random((5, 7)),
        "b": random.random((5, 7)),
        "c": random.random(7).astype(np.float32),
        "s": 1.25,
    }


def _pass(value: Any) -> Any:
    if isinstance(value, float):
        return ctypes.c_double(value)
    return value if isinstance(value, int) else value.ctypes.data_as(ctypes.c_void_p)


def _reference_arguments(scop: Scop, data: dict[str, Any]) -> list[Any]:
    names = [p.name for p in scop.parameters] + [a.name for a in scop.external_arrays]
    return [_pass(data[name]) for name in names]


@pytest.mark.parametrize("name", PROGRAMS)
def test_reference_does_what_the_function_does(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    program = read_program("x.c", text)
    assert not program.refusals
    (scop,) = program.scops
    assert scop.source is not None
    original, reference = _data(), _data()
    _library(text, tmp_path, "original").f(*(_pass(v) for v in original.values()))
    entry = getattr(_library(scop.source, tmp_path, "reference"), f"{scop.name}_reference")
    entry(*_reference_arguments(scop, reference))
    for key in "abc":
        np.testing.assert_array_equal(original[key], reference[key])


def test_written_scalars_travel_in_and_out(tmp_path: Path) -> None:
    text = """
double total;
void f(int n, double *a)
{
#pragma scop
    for (int i = 0; i < n; i++)
        total += a[i];
#pragma endscop
}
"""
    (scop,) = read_program("x.c", text).scops
    assert scop.source is not None
    total = np.array([10.0])
    data = {"n": 3, "a": np.array([1.0, 2.0, 3.0]), "total": total}
    library = _library(scop.source, tmp_path, "reference")
    getattr(library, f"{scop.name}_reference")(*_reference_arguments(scop, data))
    assert total[0] == 16.0


def test_names_that_collide_are_renamed(tmp_path: Path) -> None:
    text = """
void f(int n, double *a, double *a_arg)
{
#pragma scop
    for (int i = 0; i < n; i++)
        a[i] = a_arg[i];
#pragma endscop
}
"""
    (scop,) = read_program("x.c", text).scops
    assert scop.source is not None
    _library(scop.source, tmp_path, "reference")
    assert "a_arg_arg" in scop.source


@pytest.mark.slow(but="heat-3d")
@pytest.mark.parametrize("file", SUITE, ids=lambda f: f.stem)
def test_references_of_the_suite_compile(file: Path, tmp_path: Path) -> None:
    program = read_program(str(file))
    assert not program.refusals
    for scop in program.scops:
        assert scop.source is not None
        assert re.search(rf"^void {scop.name}_reference\(", scop.source, re.MULTILINE)
        _library(scop.source, tmp_path, scop.name)
