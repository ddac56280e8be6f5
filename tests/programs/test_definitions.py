"""The programs of the suite against NumPy implementations of what they are defined to compute.

Every program is compiled with the host's C compiler at a small size. It prints its inputs and its
outputs; the outputs are compared with those that the definition gives for the same inputs.
"""

import os
import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

SUITE = Path(__file__).resolve().parents[2] / "polybench" / "polybench"
TABLE = tomllib.loads((SUITE / "programs.toml").read_text())
PROGRAMS = {}  # those with a definition below; the others have theirs in test_definitions2.py
DATASETS = ["mini", "small", "medium", "large", "extralarge"]
CC = os.environ.get("CC", "gcc")
FLAGS = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-pedantic"]

# All extents of a program differ, so that no two can be mistaken for each other.
SIZES = {"TSTEPS": 4, "TMAX": 5, "N": 11, "M": 9, "NI": 8, "NJ": 9, "NK": 10, "NL": 11,
         "NQ": 4, "NR": 5, "NP": 6, "NX": 9, "NY": 11}

needs_cc = pytest.mark.skipif(shutil.which(CC) is None, reason=f"no C compiler ({CC})")


def run_program(name, folder, *defines):
    executable = folder / "program"
    source = SUITE / PROGRAMS[name]["file"]
    command = [CC, *FLAGS, *(f"-D{define}" for define in defines), source, "-o", executable, "-lm"]
    subprocess.run(command, check=True, timeout=60)
    result = subprocess.run([executable], check=True, timeout=60, capture_output=True, text=True)
    assert result.stderr == ""
    return [line.split() for line in result.stdout.splitlines()]


def sizes_of(name):
    """Size variable -> value at the size of the tests."""
    return {variable: SIZES[parameter["macro"]]
            for variable, parameter in PROGRAMS[name]["parameters"].items()}


# ---- The definitions: f(inputs, sizes) -> outputs, all of them dictionaries ------------------

DEFINITIONS = {}


def definition(name):
    def register(function):
        DEFINITIONS[name] = function
        return function
    return register


@definition("gemm")
def gemm(a, ni, nj, nk):
    A, B, C = a["A"].reshape(ni, nk), a["B"].reshape(nk, nj), a["C"].reshape(ni, nj)
    return {"C": a["alpha"] * (A @ B) + a["beta"] * C}


@definition("2mm")
def two_mm(a, ni, nj, nk, nl):
    A, B = a["A"].reshape(ni, nk), a["B"].reshape(nk, nj)
    C, D = a["C"].reshape(nj, nl), a["D"].reshape(ni, nl)
    return {"D": a["alpha"] * (A @ (B @ C)) + a["beta"] * D}


@definition("atax")
def atax(a, m, n):
    A = a["A"].reshape(m, n)
    return {"y": (A.T @ A) @ a["x"]}


@definition("doitgen")
def doitgen(a, nr, nq, np_):
    A, C4 = a["A"].reshape(nr, nq, np_), a["C4"].reshape(np_, np_)
    return {"A": np.einsum("rqs,sp->rqp", A, C4)}


@definition("covariance")
def covariance(a, m, n):
    return {"cov": np.cov(a["data"].reshape(n, m), rowvar=False, ddof=1)}


@definition("gramschmidt")
def gramschmidt(a, m, n):
    A = a["A"].reshape(m, n)
    rank = min(m, n)
    Q, R = np.zeros((m, n)), np.zeros((n, n))
    q, r = np.linalg.qr(A[:, :rank])
    Q[:, :rank] = q * np.sign(np.diag(r))  # of all QR factorisations the one with diag(R) > 0
    R[:rank] = Q[:, :rank].T @ A
    return {"R": np.triu(R), "Q": Q}


@definition("lu")
def lu(a, n):
    A = a["A"].reshape(n, n)
    U, L = A.copy(), np.eye(n)
    for k in range(n):  # by columns, as in the textbook
        L[k + 1:, k] = U[k + 1:, k] / U[k, k]
        U[k + 1:] -= np.outer(L[k + 1:, k], U[k])
    assert np.allclose(L @ U, A)
    return {"A": np.triu(U) + np.tril(L, -1)}


@definition("cholesky")
def cholesky(a, n):
    A = a["A"].reshape(n, n)
    return {"A": np.linalg.cholesky(A) + np.triu(A, 1)}


@definition("floyd-warshall")
def floyd_warshall(a, n):
    path = a["path"].reshape(n, n)
    for _ in range(n):  # paths of at most 2, 4, 8, ... edges
        path = (path[:, :, None] + path[None, :, :]).min(axis=1)
    assert (path < a["path"].reshape(n, n)).any()
    return {"path": path}


@definition("jacobi-1d")
def jacobi_1d(a, tsteps, n):
    A, B = a["A"].copy(), a["B"].copy()
    for _ in range(tsteps):
        B[1:-1] = np.convolve(A, [0.33333] * 3, "valid")
        A[1:-1] = np.convolve(B, [0.33333] * 3, "valid")
    return {"A": A}


@definition("jacobi-2d")
def jacobi_2d(a, tsteps, n):
    A, B = a["A"].reshape(n, n), a["B"].reshape(n, n)

    def cross(X):
        return 0.2 * (X[1:-1, 1:-1] + X[:-2, 1:-1] + X[2:, 1:-1] + X[1:-1, :-2] + X[1:-1, 2:])

    for _ in range(tsteps):
        B[1:-1, 1:-1] = cross(A)
        A[1:-1, 1:-1] = cross(B)
    return {"A": A}


@definition("fdtd-2d")
def fdtd_2d(a, tmax, nx, ny):
    ex, ey, hz = (a[name].reshape(nx, ny) for name in ("ex", "ey", "hz"))
    for source in a["_fict_"]:
        ey[0] = source
        ey[1:] -= 0.5 * np.diff(hz, axis=0)
        ex[:, 1:] -= 0.5 * np.diff(hz, axis=1)
        hz[:-1, :-1] -= 0.7 * (np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1])
    return {"ex": ex, "ey": ey, "hz": hz}


@definition("heat-3d")
def heat_3d(a, tsteps, n):
    A, B = a["A"].reshape(n, n, n), a["B"].reshape(n, n, n)
    inner = (slice(1, -1),) * 3

    def step(X):
        second = np.zeros((n - 2,) * 3)
        for axis in range(3):
            window = tuple(slice(None) if d == axis else slice(1, -1) for d in range(3))
            second += np.diff(X[window], 2, axis=axis)
        return X[inner] + second / 8

    for _ in range(tsteps):
        B[inner] = step(A)
        A[inner] = step(B)
    return {"A": A}


@definition("seidel-2d")
def seidel_2d(a, tsteps, n):
    # A sweep solves (9 I - L) new = (I + U) old, L and U the neighbours before and after a point.
    new, old = np.eye(n * n), np.eye(n * n)
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            p = i * n + j
            new[p, p] = 9
            for q in ((i + di) * n + j + dj for di in (-1, 0, 1) for dj in (-1, 0, 1)):
                if q < p:
                    new[p, q] = -1
                else:
                    old[p, q] = 1
    A = a["A"]
    for _ in range(tsteps):
        A = np.linalg.solve(new, old @ A)
    return {"A": A}


@definition("durbin")
def durbin(a, n):
    r = a["r"]
    column = np.concatenate([[1.0], r[:-1]])
    T = column[abs(np.subtract.outer(np.arange(n), np.arange(n)))]
    return {"y": np.linalg.solve(T, -r)}


@definition("nussinov")
def nussinov(a, n):
    seq = a["seq"]

    @cache
    def pairs(i, j):  # i is left out, or paired with a k that is no neighbour
        if i >= j:
            return 0
        return max([pairs(i + 1, j)] + [pairs(i + 1, k - 1) + 1 + pairs(k + 1, j)
                                        for k in range(i + 2, j + 1) if seq[i] + seq[k] == 3])

    assert pairs(0, n - 1) > 1
    return {"table": np.array([[pairs(i, j) for j in range(n)] for i in range(n)])}


# ---- The tests ---------------------------------------------------------------------------------

PROGRAMS.update({name: TABLE[name] for name in TABLE if name in DEFINITIONS})


@pytest.mark.quick
@needs_cc
@pytest.mark.parametrize("data_type", ["double", "float"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_computes_its_definition(name, data_type, tmp_path):
    sizes = sizes_of(name)
    lines = run_program(name, tmp_path, f"DATA_TYPE={data_type}", "POLYBENCH_DUMP_ARRAYS",
                        *(f"{macro}={value}" for macro, value in SIZES.items()))
    arrays = {kind: {line[1]: np.array(line[2:], dtype=float) for line in lines if line[0] == kind}
              for kind in ("input", "output")}
    assert list(arrays["output"]) == PROGRAMS[name]["live_out"]

    keywords = {"np_" if variable == "np" else variable: value for variable, value in sizes.items()}
    expected = DEFINITIONS[name](arrays["input"], **keywords)
    assert list(expected) == PROGRAMS[name]["live_out"]
    tolerance = 1e-12 if data_type == "double" else 1e-5
    for array, value in expected.items():
        scale = abs(value).max()
        assert scale > 0
        np.testing.assert_allclose(arrays["output"][array], value.ravel(), rtol=tolerance,
                                   atol=tolerance * scale, err_msg=f"{name}: {array}")


@needs_cc
@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_runs_at_tiny_sizes(name, size, tmp_path):
    lines = run_program(name, tmp_path, *(f"{macro}={size}" for macro in SIZES))
    assert [line[0] for line in lines] == PROGRAMS[name]["live_out"]
    if size == 0:
        assert all(float(line[1]) == 0 for line in lines)


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_and_formulas(name):
    program = PROGRAMS[name]
    source = (SUITE / program["file"]).read_text()
    default = re.search(r"#define DEFAULT_DATA_TYPE (\w+)", source)
    assert program["type"] == (default[1] if default else "double")

    sizes = {macro: [int(value) for value in values.split(",")] for macro, values
             in re.findall(r"#define (\w+) POLYBENCH_SIZE\(([\d, ]+)\)", source)}
    assert sizes == {parameter["macro"]: [parameter[dataset] for dataset in DATASETS]
                     for parameter in program["parameters"].values()}
    for variable, parameter in program["parameters"].items():
        assert f"int {variable} = {parameter['macro']};" in source

    for formula in (program["flops"], program["bytes"]):
        for dataset in DATASETS:
            values = {v: parameter[dataset] for v, parameter in program["parameters"].items()}
            value = eval(formula, {"__builtins__": {}}, {**values, "sizeof": 8})
            assert isinstance(value, int) and value > 0


def test_every_program_is_listed():
    assert {program["file"] for program in TABLE.values()} == {p.name for p in SUITE.glob("*.c")}
    assert set(DEFINITIONS) <= set(TABLE)
