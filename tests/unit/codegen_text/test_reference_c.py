"""Sequential C from statement trees, compiled and run."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polytile.codegen.targets.c.reference_c import print_sequential
from polytile.diagnostics import InternalError
from polytile.ir.expr import DOUBLE, INT, Access, Assign, Binary, Call, Expr, For, Literal, Name
from polytile.ir.scop import Array, Origin, Parameter

i, j, n, m = (Name(name) for name in "ijnm")
A = Array("A", DOUBLE, (n, m))
B = Array("B", DOUBLE, (n, m))
S = Array("s", DOUBLE)
ALPHA = Array("alpha", DOUBLE)
T = Array("tmp", DOUBLE, (m,), Origin.LOCAL)
U = Array("u", DOUBLE, (), Origin.LOCAL)


def at(array: Array, *subscripts: Expr) -> Access:
    return Access(array.name, subscripts, array.element)


def text() -> str:
    """tmp[j] = u = alpha * A[i][j]; B[n - 1 - i][j] = tmp[j]; s += u; for even i below n."""
    row = Binary("-", Binary("-", n, Literal("1")), i)
    body = (
        Assign(at(U), "", Binary("*", at(ALPHA), at(A, i, j), DOUBLE)),
        Assign(at(T, j), "", at(U)),
        Assign(at(B, row, j), "", at(T, j)),
        Assign(at(S), "+", at(U)),
    )
    inner = For("j", Literal("0"), Binary("<=", j, Binary("-", m, Literal("1"))), 1, body)
    bound = Call("min", (n, Call("floord", (Binary("*", n, Literal("2")), Literal("2")), INT)), INT)
    outer = For("i", Call("pmod()", (Literal("-4"), Literal("2")), INT), Binary("<", i, bound), 2, (inner,))
    parameters = [Parameter("n", INT), Parameter("m", INT)]
    return print_sequential("reference", parameters, [A, B, S, ALPHA, T, U], {"alpha"}, [outer], "struct unused;")


def test_text(golden: Callable[[str, str], None]) -> None:
    golden("codegen/sequential.c", text())


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not on PATH")
def test_result(tmp_path: Path) -> None:
    source, library = tmp_path / "reference.c", tmp_path / "reference.so"
    source.write_text(text())
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *strict, str(source), "-o", str(library)], check=True, timeout=60)
    a, b, s = np.arange(35.0).reshape(5, 7), np.zeros((5, 7)), np.zeros(1)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, s)]
    ctypes.CDLL(str(library)).reference(5, 7, *pointers, ctypes.c_double(2))
    expected = np.zeros((5, 7))
    expected[4 - np.arange(0, 5, 2)] = 2 * a[::2]
    assert np.array_equal(b, expected)
    assert s[0] == expected.sum()


def test_a_local_array_needs_a_size() -> None:
    with pytest.raises(InternalError, match="size of t is unknown"):
        print_sequential("f", [], [Array("t", DOUBLE, (None,), Origin.LOCAL)], (), [], "")
