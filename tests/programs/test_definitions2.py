"""The other programs of PolyBench, and those of PolyAST, against NumPy versions of their definitions.

The checks are those of test_definitions.py, which every family here gets as a module of its own.
"""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Definition = Callable[..., Arrays]

POLYBENCH = Path(__file__).resolve().parents[2] / "polybench"
DEFINITIONS: dict[str, dict[str, Definition]] = {"polybench": {}, "polyast": {}}


def definition(family: str, name: str) -> Callable[[Definition], Definition]:
    def register(function: Definition) -> Definition:
        DEFINITIONS[family][name] = function
        return function

    return register


# ---- PolyBench -----------------------------------------------------------------------------------


@definition("polybench", "3mm")
def three_mm(a: Arrays, ni: int, nj: int, nk: int, nl: int, nm: int) -> Arrays:
    A, B = a["A"].reshape(ni, nk), a["B"].reshape(nk, nj)
    C, D = a["C"].reshape(nj, nm), a["D"].reshape(nm, nl)
    return {"G": A @ (B @ C) @ D}


@definition("polybench", "adi")
def adi(a: Arrays, tsteps: int, n: int) -> Arrays:
    u, identity = a["u"].reshape(n, n).copy(), np.eye(n)
    second = np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1) - 2 * identity
    second[[0, -1]] = 0  # the border keeps its values
    rows, columns = 2 * n * n / tsteps / 2 * second, n * n / tsteps / 2 * second
    inner = (slice(1, -1),) * 2
    for _ in range(tsteps):
        right = np.ones((n, n))
        right[inner] = (u + u @ columns.T)[inner]
        v = np.linalg.solve(identity - rows, right)
        right = np.ones((n, n))
        right[inner] = (v + rows @ v)[inner]
        u[1:-1] = np.linalg.solve(identity - columns, right.T).T[1:-1]
    assert u[inner].std() > 0.1
    return {"u": u}


@definition("polybench", "bicg")
def bicg(a: Arrays, m: int, n: int) -> Arrays:
    A = a["A"].reshape(n, m)
    return {"s": A.T @ a["r"], "q": A @ a["p"]}


@definition("polybench", "correlation")
def correlation(a: Arrays, m: int, n: int) -> Arrays:
    corr: Array = np.asarray(np.corrcoef(a["data"].reshape(n, m), rowvar=False))
    assert corr[0, 7] > 0.2 and corr.std() > 0.1
    return {"corr": corr}


@definition("polybench", "deriche")
def deriche(a: Arrays, w: int, h: int) -> Arrays:
    alpha = float(a["alpha"][0])
    e = np.exp(-alpha)
    k = (1 - e) ** 2 / (1 + 2 * alpha * e - np.exp(2 * alpha))

    def smoothing(n: int) -> Array:
        one, last = np.eye(n), np.eye(n, k=-1)  # an element, and the one before it
        recursion = one - 2**-alpha * last + e**2 * last @ last
        forward = np.linalg.solve(recursion, k * one + k * e * (alpha - 1) * last)
        backward = np.linalg.solve(recursion, k * e * (alpha + 1) * last - k * e**2 * last @ last)
        return forward + backward.T

    return {"imgOut": smoothing(w) @ a["imgIn"].reshape(w, h) @ smoothing(h).T}


@definition("polybench", "gemver")
def gemver(a: Arrays, n: int) -> Arrays:
    A = a["A"].reshape(n, n) + np.outer(a["u1"], a["v1"]) + np.outer(a["u2"], a["v2"])
    x = a["x"] + a["beta"] * (A.T @ a["y"]) + a["z"]
    return {"w": a["w"] + a["alpha"] * (A @ x)}


@definition("polybench", "gesummv")
def gesummv(a: Arrays, n: int) -> Arrays:
    A, B = a["A"].reshape(n, n), a["B"].reshape(n, n)
    return {"y": (a["alpha"] * A + a["beta"] * B) @ a["x"]}


@definition("polybench", "ludcmp")
def ludcmp(a: Arrays, n: int) -> Arrays:
    return {"x": np.linalg.solve(a["A"].reshape(n, n), a["b"])}


@definition("polybench", "mvt")
def mvt(a: Arrays, n: int) -> Arrays:
    A = a["A"].reshape(n, n)
    return {"x1": a["x1"] + A @ a["y_1"], "x2": a["x2"] + A.T @ a["y_2"]}


@definition("polybench", "symm")
def symm(a: Arrays, m: int, n: int) -> Arrays:
    A, B, C = np.tril(a["A"].reshape(m, m)), a["B"].reshape(m, n), a["C"].reshape(m, n)
    return {"C": a["alpha"] * (A + np.tril(A, -1).T) @ B + a["beta"] * C}


@definition("polybench", "syr2k")
def syr2k(a: Arrays, m: int, n: int) -> Arrays:
    A, B, C = a["A"].reshape(n, m), a["B"].reshape(n, m), a["C"].reshape(n, n)
    return {"C": np.tril(a["alpha"] * (A @ B.T + B @ A.T) + a["beta"] * C) + np.triu(C, 1)}


@definition("polybench", "syrk")
def syrk(a: Arrays, m: int, n: int) -> Arrays:
    A, C = a["A"].reshape(n, m), a["C"].reshape(n, n)
    return {"C": np.tril(a["alpha"] * (A @ A.T) + a["beta"] * C) + np.triu(C, 1)}


@definition("polybench", "trisolv")
def trisolv(a: Arrays, n: int) -> Arrays:
    return {"x": np.linalg.solve(np.tril(a["L"].reshape(n, n)), a["b"])}


@definition("polybench", "trmm")
def trmm(a: Arrays, m: int, n: int) -> Arrays:
    A, B = a["A"].reshape(m, m), a["B"].reshape(m, n)
    return {"B": a["alpha"] * (np.tril(A, -1) + np.eye(m)).T @ B}


# ---- PolyAST -------------------------------------------------------------------------------------


@definition("polyast", "jacobi-2d-alt")
def jacobi_2d_alt(a: Arrays, tsteps: int, n: int) -> Arrays:
    A = a["A"].reshape(n, n).copy()
    mean = (np.eye(n, k=-1) + np.eye(n) + np.eye(n, k=1)) / 3
    mean[[0, -1]] = np.eye(n)[[0, -1]]  # the border keeps its values
    A[1:-1] = A[1:-1] @ np.linalg.matrix_power(mean, tsteps).T
    return {"A": A}


@definition("polyast", "symm-3.2")
def symm_32(a: Arrays, n: int) -> Arrays:
    A, B, C = (a[name].reshape(n, n) for name in "ABC")
    reached = np.triu(np.ones((n, n)), 2)  # rows that all other rows add to
    early, late = reached * (np.tril(A) @ B), reached * (np.triu(A, 1) @ B)  # before and after the scaling
    own = np.diag(np.diag(A)) @ B + A.T @ (reached * B)
    return {"C": a["beta"] * (C + a["alpha"] * early) + a["alpha"] * (own + late)}


@definition("polyast", "mri-q")
def mri_q(a: Arrays, numx: int, numk: int) -> Arrays:
    angles = sum(np.outer(a[axis], a["k" + axis]) for axis in "xyz")
    q = np.exp(2j * np.pi * angles) @ a["phi"]
    return {"Qr": a["Qr"] + q.real, "Qi": a["Qi"] + q.imag}


def eliminate(bands: Array, rhs: Array) -> None:
    """Gaussian elimination of all columns but two, in place: bands[m, i] is element (i, i - 2 + m)."""
    n = bands.shape[1]
    places = [(m, i) for m in range(5) for i in range(n) if 0 <= i - 2 + m < n]
    full = np.zeros((n, n))
    for m, i in places:
        full[i, i - 2 + m] = bands[m, i]
    for i in range(n - 2):
        factors = full[i + 1 :, i]
        full[i, i + 1 :] /= full[i, i]
        full[i + 1 :, i + 1 :] -= np.outer(factors, full[i, i + 1 :])
        rhs[:, i] /= full[i, i]
        rhs[:, i + 1 :] -= np.outer(rhs[:, i], factors)
    for m, i in places:
        bands[m, i] = full[i, i - 2 + m]


def x_solve(a: Arrays, shape: tuple[int, ...], unknowns: dict[str, list[int]]) -> Arrays:
    arrays = {name: a[name].reshape(5, *shape).copy() for name in (*unknowns, "rhs")}
    nz, _, ny = shape
    for k in range(1, nz):
        for j in range(1, ny - 1):
            for matrix, which in unknowns.items():
                rhs = arrays["rhs"][which, k, :, j]
                eliminate(arrays[matrix][:, k, :, j], rhs)
                arrays["rhs"][which, k, :, j] = rhs
    return arrays


@definition("polyast", "sp-xsolve-1")
def sp_xsolve_1(a: Arrays, nx: int, ny: int, nz: int) -> Arrays:
    return x_solve(a, (nz, nx, ny), {"lhs": [0, 1, 2]})


@definition("polyast", "sp-xsolve-2")
def sp_xsolve_2(a: Arrays, nx: int, ny: int, nz: int) -> Arrays:
    return x_solve(a, (nz, nx, ny), {"lhsp": [3], "lhsm": [4]})


# ---- The tests -----------------------------------------------------------------------------------


def checks_of(family: str) -> Any:
    """The checks of test_definitions.py, made for the programs of a family that are defined here."""
    spec = importlib.util.spec_from_file_location(family, Path(__file__).with_name("test_definitions.py"))
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tables = [tomllib.loads(path.read_text()) for path in (POLYBENCH / family).glob("programs*.toml")]
    module.SUITE = POLYBENCH / family
    module.TABLE = {name: table[name] for table in tables for name in table}
    module.DEFINITIONS = DEFINITIONS[family]
    module.PROGRAMS = {name: table[name] for table in tables for name in table if name in DEFINITIONS[family]}
    module.SIZES |= {"NM": 12, "W": 12, "H": 7, "NUMX": 12, "NUMK": 7, "NZ": 5}
    return module


CHECKS = {family: checks_of(family) for family in DEFINITIONS}
PROGRAMS = [(family, name) for family, definitions in DEFINITIONS.items() for name in definitions]
needs_cc: pytest.MarkDecorator = CHECKS["polyast"].needs_cc
each_program = pytest.mark.parametrize(("family", "name"), PROGRAMS)


@pytest.mark.quick
@needs_cc
@pytest.mark.parametrize("data_type", ["double", "float"])
@each_program
def test_program_computes_its_definition(family: str, name: str, data_type: str, tmp_path: Path) -> None:
    CHECKS[family].test_program_computes_its_definition(name, data_type, tmp_path)


@needs_cc
@pytest.mark.parametrize("size", [0, 1, 2])
@each_program
def test_program_runs_at_tiny_sizes(family: str, name: str, size: int, tmp_path: Path) -> None:
    CHECKS[family].test_program_runs_at_tiny_sizes(name, size, tmp_path)


@each_program
def test_sizes_and_formulas(family: str, name: str) -> None:
    CHECKS[family].test_sizes_and_formulas(name)


def test_every_program_is_listed() -> None:
    CHECKS["polyast"].test_every_program_is_listed()
