"""The library: callable SCoPs, typed errors, Scops without C."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytile
from polytile.frontend.isl_text import scop_from_isl
from polytile.ir.expr import DOUBLE, Name
from polytile.ir.scop import Array

SOURCE = """
void kernel(int n, int m, double a, double y[n], double A[n][m], double *x)
{
    double s = 0;
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            y[i] += a * A[i][j] * x[j];
#pragma endscop
}
"""
REFUSED = """
void other(int n, double *y, int *p)
{
#pragma scop
    for (int i = 0; i < n; i++)
        y[i * i] = 0;
#pragma endscop
}
"""


@pytest.fixture(scope="module")
def kernel() -> Any:
    return polytile.compile(SOURCE).scops[0]


def arguments(n: int = 5, m: int = 4) -> dict[str, Any]:
    generator = np.random.default_rng(1)
    arrays = {"y": generator.random(n), "A": generator.random((n, m)), "x": generator.random(m)}
    return {"n": n, "m": m, "a": 2.0, **arrays}


@pytest.mark.slow
def test_a_call_updates_numpy_arrays(kernel: Any) -> None:
    given = arguments()
    expected = given["y"] + 2.0 * given["A"] @ given["x"]
    kernel(**given)
    assert np.allclose(given["y"], expected)


def test_a_call_by_position(kernel: Any) -> None:
    given = arguments()
    expected = given["y"] + 2.0 * given["A"] @ given["x"]
    order = [word.split()[-1].split("[")[0] for word in kernel.signature.split("(", 1)[1].rstrip(")").split(", ")]
    kernel(*(given[name] for name in order))
    assert np.allclose(given["y"], expected)


# Arrays are read before what the signature has first, and a parameter in front is not used.
SWAPPED = """
double g[100];
void copy(double f, int k, long n, double A[n], const double *B)
{
    int last = n - 1;
    double s[100];
#pragma scop
    for (int i = 0; i <= last; i++) {
        s[i] = B[i] * f;
        A[i] = s[i] - g[i];
    }
#pragma endscop
    A[0] = s[0];
}
"""


def test_positions_are_those_of_the_function() -> None:
    copy = polytile.compile(SWAPPED).scops[0]
    assert (
        copy.signature
        == "copy_scop0(double f, long n, double A[n], double B[], *, int last, double s[100], double g[100])"
    )
    a, b, s, g = np.zeros(5), np.arange(5.0), np.zeros(100), np.ones(100)
    copy(2.0, 5, a, b, last=4, s=s, g=g)
    assert np.array_equal(a, 2 * b - 1) and np.array_equal(s[:5], 2 * b)
    with pytest.raises(polytile.UsageError, match="7 arguments given by position, 4 expected") as error:
        copy(2.0, 5, a, b, 4, s, g)
    assert "*, int last" in str(error.value.hint)
    with pytest.raises(polytile.UsageError, match="missing: last, s, g"):
        copy(2.0, 5, a, b)


def test_what_only_the_function_takes_is_ignored() -> None:
    (scop,) = polytile.compile(
        "void f(int n, int other, double *a, const double *b, double *c) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) a[i] = 2 * b[i];\n#pragma endscop\n}\n"
    ).scops
    b = np.arange(5.0)
    for given in ((5, 7, np.zeros(5), b, None), (5, np.zeros(5), b)):
        scop(*given, on="emulator")
        assert np.array_equal(given[-3] if len(given) == 5 else given[1], 2 * b)
    a = np.zeros(5)
    scop(n=5, other="text", a=a, b=b, c=None, on="emulator")
    assert np.array_equal(a, 2 * b)
    with pytest.raises(polytile.UsageError, match="4 arguments given by position, 3 expected"):
        scop(5, 7, a, b)


def test_names_of_parameters_that_are_hidden() -> None:
    hidden = polytile.compile(
        "void f(int n, double *y, double *x) {\n{ static double x[9];\n#pragma scop\n"
        "for (int i = 0; i < n; i++) y[i] = x[i];\n#pragma endscop\n}}\n"
    ).scops[0]
    assert hidden.signature == "f_scop0(int n, double y[], *, double x[9])"


# What is written is the caller's memory: a hint that makes a copy of it would lose the result.
CONVERTED = [
    ("x", lambda g: g["x"].astype(np.float32), r"use x\.astype\('float64'\)"),
    ("y", lambda g: g["y"].astype(np.float32), r"y is written, .* allocate it with dtype='float64'"),
    ("A", lambda g: np.asfortranarray(g["A"]), "use numpy.ascontiguousarray"),
    ("y", lambda g: np.zeros(10)[::2], "y is written, .* allocate it in C's order"),
    ("y", lambda g: np.broadcast_to(g["y"], (5,)), "pass an array that can be written to"),
]


@pytest.mark.parametrize(("name", "change", "hint"), CONVERTED)
def test_hints_keep_the_result(kernel: Any, name: str, change: Any, hint: str) -> None:
    given = arguments()
    with pytest.raises(polytile.UsageError) as error:
        kernel(**{**given, name: change(given)})
    assert re.search(hint, str(error.value.hint))
    copies = ("astype", "ascontiguousarray", "copy()")
    assert name != "y" or not any(word in str(error.value.hint) for word in copies)


def test_larger_and_flat_arrays_are_accepted(kernel: Any) -> None:
    given = arguments()
    expected = given["y"] + 2.0 * given["A"] @ given["x"]
    kernel(**{**given, "A": given["A"].reshape(-1), "x": np.concatenate([given["x"], [7.0, 7.0]])})
    assert np.allclose(given["y"], expected)


WRONG = [
    ("missing", lambda g: g.pop("x"), "missing: x"),
    ("extra", lambda g: g.update(z=1), "there is no argument 'z'"),
    ("type", lambda g: g.update(y=g["y"].astype(np.float32)), "y holds float32, but the C element type is double"),
    ("shape", lambda g: g.update(A=g["A"].T.copy()), r"A has shape \(4, 5\), but 5x4 elements are needed"),
    ("too small", lambda g: g.update(x=g["x"][:3]), r"x has shape \(3,\), but 4 elements"),
    ("order", lambda g: g.update(A=np.asfortranarray(g["A"])), "A is not contiguous"),
    ("list", lambda g: g.update(x=[1.0] * 4), "x must be a NumPy, CuPy or DLPack array, not list"),
    ("float parameter", lambda g: g.update(n=5.0), "n must be an integer, not float"),
    ("large parameter", lambda g: g.update(n=2**31), "n=2147483648 does not fit its type, int"),
    ("read-only", lambda g: g["y"].setflags(write=False), "y is written, but the array is read-only"),
    ("overlap", lambda g: g.update(x=g["y"]), "share memory"),
]


@pytest.mark.parametrize(("change", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_calls(kernel: Any, change: Any, message: str) -> None:
    given = arguments()
    change(given)
    with pytest.raises(polytile.UsageError, match=message):
        kernel(**given)


@pytest.mark.parametrize("written", ["float64", "int64", "complex128"])
@pytest.mark.parametrize("element", ["float", "int", "long long", "struct pair", "float _Complex"])
def test_arrays_of_other_types_are_refused(element: str, written: str) -> None:
    """NumPy's float64 is equal to None."""
    (scop,) = polytile.compile(
        f"struct pair {{ int x, y; }};\nvoid f(int n, {element} *restrict a, const {element} *restrict b)\n{{\n"
        "#pragma scop\nfor (int i = 0; i < n; i++) a[i] = b[i];\n#pragma endscop\n}\n"
    ).scops
    if (element, written) == ("long long", "int64"):
        scop(n=3, a=np.zeros(3, written), b=np.ones(3, written), on="emulator")
        return
    with pytest.raises(polytile.UsageError, match=f"a holds {written}, but the C element type is"):
        scop(n=3, a=np.zeros(3, written), b=np.ones(3, written), on="emulator")


def test_texts(kernel: Any) -> None:
    assert "__global__" in kernel.cuda and "extern" in kernel.header
    assert "kernel_scop0" in kernel.explain() and "domain" in kernel.schedule
    assert kernel.signature == "kernel_scop0(int n, int m, double a, double y[n], double A[n][m], double x[])"


def test_validation(kernel: Any) -> None:
    results = kernel.validate(on="emulator", parameters={"n": 6}, seed=3)
    assert [r.label for r in results] == ["the emulator"] and results[0].values["n"] == 6


def test_refusals_are_listed_and_the_rest_compiled(tmp_path: Path) -> None:
    program = polytile.compile(SOURCE + REFUSED)
    assert len(program.scops) == 1 and "i * i" in program.refusals[0].message
    assert [p.name for p in program.write(tmp_path)] == ["program_host.c", "program_kernel.cu", "program_kernel.h"]


def test_when_all_is_refused_the_first_refusal_is_raised() -> None:
    with pytest.raises(polytile.UserError, match=r"i \* i"):
        polytile.compile(REFUSED)


def test_a_file_name_as_text() -> None:
    with pytest.raises(polytile.UsageError, match="is read as C text"):
        polytile.compile("gemm.c")


def test_options() -> None:
    program = polytile.compile(SOURCE, defines={"UNUSED": 1}, tile=(8,), strict=True, parameters={"n": 4})
    assert program.options.strict and program.scops[0].compilation.options.tile == (8,)
    with pytest.raises(polytile.UsageError, match="unknown schedule"):
        polytile.compile(SOURCE, schedule="best")
    with pytest.raises(polytile.UsageError, match="no parameter 'k'"):
        polytile.compile(SOURCE, parameters={"k": 4})


def test_another_compiler_brings_isl_relations() -> None:
    scop = scop_from_isl(
        "scale",
        domain="[n] -> { S[i] : 0 <= i < n }",
        schedule="[n] -> { S[i] -> [i] }",
        reads="[n] -> { S[i] -> x[i] }",
        writes="[n] -> { S[i] -> y[i] }",
        bodies={"S": "y[i] = 3.0 * x[i];"},
        arrays=[Array("y", DOUBLE, (Name("n"),)), Array("x", DOUBLE, (Name("n"),))],
    )
    compiled = polytile.compile_scop(scop)
    assert "__global__" in compiled.cuda
    assert compiled.validate(on="emulator", seed=1)
    x, y = np.arange(6.0), np.zeros(6)
    compiled(n=6, y=y, x=x)
    assert np.array_equal(y, 3 * x)
