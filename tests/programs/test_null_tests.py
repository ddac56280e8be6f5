"""Arrays that may not be given: tests of pointers are conditions on numbers that the call passes."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import polytile
from polytile.cli.main import main
from polytile.diagnostics import UsageError
from polytile.runtime.emulator.instrument import CHECKS
from tests.same_output import prints_the_same

PROGRAMS: Mapping[str, str] = {
    "a choice": "for (int i = 0; i < n; i++) a[i] += (b != NULL) ? b[i] : 1;",
    "a condition": "for (int i = 0; i < n; i++) { if (b) a[i] += b[i]; else a[i] = 3; }",
    "none": "for (int i = 0; i < n; i++) if (!b || n > 5) a[i] *= 2;",
    "equal to 0": "for (int i = 0; i < n; i++) { double t = b == 0 ? 2.0 : b[i]; if (0 != b && t > 0) a[i] = t; }",
    "behind data": (
        "for (int i = 0; i < n; i++) { if (a[i] > 0.4 && b != NULL && b[i] < 2) a[i] += b[i]; else a[i] = 3; }"
        " for (int i = 0; i < n; i++) { if (a[i] > 0.4 || !b) a[i] += 1; else a[i] = b[i]; }"
        " for (int i = 0; i < n; i++) a[i] = a[i] < 3 && b ? b[i] : 7;"
    ),
    "a sum": (
        "double s = 0; for (int i = 0; i < n; i++) { if (b != NULL) s += b[i]; }"
        " for (int i = 0; i < n; i++) a[i] = s;"
    ),
}


def text(name: str, pointer: str = "const double *b") -> str:
    head = f"#include <stddef.h>\nvoid f(int n, double *a, {pointer})"
    return f"{head}\n{{\n#pragma scop\n{PROGRAMS[name]}\n#pragma endscop\n}}\n"


@pytest.mark.quick
@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("name", PROGRAMS)
def test_with_and_without(name: str) -> None:
    (scop,) = polytile.compile(text(name), name="f.c").scops
    assert scop.program is not None and dict(scop.scop.passed) == {"b_given": "(b != 0)"}
    for n in (0, 1, 5, 300):
        for given in (0, 1):
            assert scop.validate(on="emulator", parameters={"n": n, "b_given": given}, sanitize=CHECKS, seed=n)


@pytest.mark.parametrize("name", ["a choice", "a condition", "a sum", "behind data"])
def test_the_program_runs_without_the_array(name: str, tmp_path: Path) -> None:
    """Nothing is copied from a null pointer."""
    calls = "double a[7] = {1}, b[7] = {1, 2, 3}; f(7, a, NULL); f(7, a, b);"
    shown = 'for (int i = 0; i < 7; i++) printf("%g ", a[i]);'
    source = tmp_path / "f.c"
    source.write_text(f"#include <stdio.h>\n{text(name)}\nint main(void) {{ {calls} {shown} return 0; }}\n")
    subprocess.run(["gcc", str(source), "-o", str(tmp_path / "plain")], check=True)
    built = ["--build", str(tmp_path / "made"), "--on", "emulator", "-q", "-o", str(tmp_path / "out")]
    assert main([str(source), *built]) == 0
    printed = [
        subprocess.run([str(tmp_path / name)], check=True, capture_output=True).stdout for name in ("plain", "made")
    ]
    assert printed[0] == printed[1] and printed[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_parameters_that_are_declared_as_arrays(name: str) -> None:
    (scop,) = polytile.compile(text(name, "const double b[n]"), name="f.c").scops
    for given in (0, 1):
        assert scop.validate(on="emulator", parameters={"n": 37, "b_given": given}, sanitize=CHECKS, seed=given)


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize("pointer", ["const double *b", "const double b[n]"])
def test_calls_from_python_leave_the_array_out(pointer: str) -> None:
    (scop,) = polytile.compile(text("a choice", pointer), name="f.c").scops
    assert scop.scop.optional == (("b_given", "b"),)
    a = np.zeros(4)
    scop(4, a, None, on="emulator")
    assert a.tolist() == [1] * 4
    scop(n=4, a=a, b=np.arange(4.0), on="emulator")
    assert a.tolist() == [1, 2, 3, 4]
    scop(n=4, a=a, b=np.arange(4.0), b_given=0, on="emulator")
    assert a.tolist() == [2, 3, 4, 5]
    with pytest.raises(UsageError, match="b is None, but b_given is 1"):
        scop(n=4, a=a, b=None, b_given=1)
    with pytest.raises(UsageError, match="a must be a NumPy"):
        scop(n=4, a=None, b=None)


def test_rows_that_are_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one and in two dimensions, and as pointers to rows."""
    function = """
    #include <stdio.h>
    void f(int n, int m, double *a, const double b[n], double (*c)[m], double **d)
    {
    #pragma scop
        for (int i = 0; i < n; i++)
            a[i] += b != NULL ? b[i] : 5;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++) {
                if (c) c[i][j] = a[i] + j;
                if (d != NULL) d[i][j] = a[i] - j;
            }
    #pragma endscop
    }
    int main(void)
    {
        double a[5] = {0}, b[5] = {1, 2, 3, 4, 5}, c[5][3] = {{0}}, e[5][3] = {{0}};
        double *d[5] = {e[0], e[1], e[2], e[3], e[4]};
        f(5, 3, a, NULL, NULL, d); f(5, 3, a, b, NULL, NULL); f(5, 3, a, NULL, c, NULL); f(5, 3, a, b, c, d);
        for (int i = 0; i < 15; i++) printf("%g %g ", c[i / 3][i % 3], e[i / 3][i % 3]);
        return 0;
    }
    """
    prints_the_same("\n".join(line.strip() for line in function.splitlines()), "undefined", tmp_path, monkeypatch)


MAYBE = """#include <stdio.h>
static void f(int n, const double *x, const double *y, int *error, double *total)
{
    double s = 0;
    int c = 0;
#pragma scop
    for (int i = 0; i < n; i++) {
        if (x[i] > 50) s += y[i]; else c++;
        if (x[i] > 70) *error = 1;
    }
#pragma endscop
    total[0] = s + c;
}
static void rows(int n, const int *row, const double *v, double *y)
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int k = row[i]; k < row[i + 1]; k++)
            y[i] += v[k];
#pragma endscop
}
int main(void)
{
    double x[200], y[200], t[2], z[8] = {0};
    int row[9] = {0}, error = 0;
    for (int i = 0; i < 200; i++) { x[i] = i / 4; y[i] = i; }
    f(200, x, NULL, NULL, t);
    f(200, y, x, &error, t + 1);
    rows(8, row, NULL, z);
    printf("%g %g %d %g\\n", t[0], t[1], error, z[7]);
    return 0;
}
"""


def test_pointers_that_no_iteration_follows_may_be_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prints_the_same(MAYBE, "undefined", tmp_path, monkeypatch)
