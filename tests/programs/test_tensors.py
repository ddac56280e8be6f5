"""Convolutions, products and contractions against NumPy versions of their definitions, and their table.

The checks are those of test_definitions.py; the formulas of the table are compared with what the statements do.
"""

from __future__ import annotations

import importlib.util
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import polytile
from polytile.check.checker import problems
from polytile.frontend.program import read_program

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Definition = Callable[..., Arrays]

FOLDER = Path(__file__).resolve().parents[2] / "polybench" / "tensor"
TABLE = tomllib.loads((FOLDER / "programs.toml").read_text())
DEFINITIONS: dict[str, Definition] = {}
# All extents of a program differ, so that no two can be mistaken for each other.
SIZES = {"NA": 3, "NB": 2, "NC": 4, "ND": 5, "NE": 6, "NF": 7, "NH": 3, "NI": 9, "NJ": 6, "NK": 7, "NL": 8,
         "NQ": 8, "NR": 5, "H": 6, "W": 9, "KH": 3, "KW": 5, "M": 6, "N": 7}  # fmt: skip


def definition(name: str) -> Callable[[Definition], Definition]:
    def register(function: Definition) -> Definition:
        DEFINITIONS[name] = function
        return function

    return register


# ---- Convolutions --------------------------------------------------------------------------------


def correlation(image: Array, weights: Array, stride: int = 1) -> Array:
    """out[b, f, ...] = sum over c and the filter of weights[f, c, ...] image[b, c, ...], where the filter fits."""
    filter_shape = weights.shape[2:]
    axes = tuple(range(2, image.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(image, filter_shape, axis=axes)
    chosen = windows[(slice(None), slice(None), *(slice(None, None, stride) for _ in axes))]
    summed = list(range(chosen.ndim - len(axes), chosen.ndim))
    out: Array = np.tensordot(chosen, weights, axes=([1, *summed], [1, *range(2, weights.ndim)]))
    return np.moveaxis(out, -1, 1)


@definition("conv2d")
def conv2d(a: Arrays, h: int, w: int) -> Arrays:
    return {"out": correlation(a["in"].reshape(1, 1, h + 2, w + 2), a["filter"].reshape(1, 1, 3, 3))}


@definition("conv2d-channels")
def conv2d_channels(a: Arrays, nb: int, nf: int, nc: int, h: int, w: int) -> Arrays:
    out = correlation(a["in"].reshape(nb, nc, h + 2, w + 2), a["filter"].reshape(nf, nc, 3, 3))
    return {"out": out + a["bias"][:, None, None]}


@definition("conv2d-strided")
def conv2d_strided(a: Arrays, nb: int, nf: int, nc: int, h: int, w: int) -> Arrays:
    image = a["in"].reshape(nb, nc, 2 * h + 5, 2 * w + 5)
    return {"out": correlation(image, a["filter"].reshape(nf, nc, 7, 7), stride=2)}


@definition("conv2d-parametric")
def conv2d_parametric(a: Arrays, nf: int, nc: int, h: int, w: int, kh: int, kw: int) -> Arrays:
    image = a["in"].reshape(1, nc, h + kh, w + kw)[:, :, :-1, :-1]
    return {"out": correlation(image, a["filter"].reshape(nf, nc, kh, kw))}


@definition("conv3d")
def conv3d(a: Arrays, nf: int, nc: int, nd: int, h: int, w: int) -> Arrays:
    volume = a["in"].reshape(1, nc, nd + 2, h + 2, w + 2)
    return {"out": correlation(volume, a["filter"].reshape(nf, nc, 3, 3, 3))}


@definition("depthwise-conv")
def depthwise_conv(a: Arrays, nb: int, nc: int, h: int, w: int) -> Arrays:
    image, weights = a["in"].reshape(nb, nc, h + 2, w + 2), a["filter"].reshape(nc, 1, 1, 3, 3)
    channels = [correlation(image[:, [c]], weights[c]) for c in range(nc)]
    return {"out": np.concatenate(channels, axis=1)}


# ---- Products ------------------------------------------------------------------------------------


@definition("gemm-nt")
def gemm_nt(a: Arrays, ni: int, nj: int, nk: int) -> Arrays:
    A, B, C = a["A"].reshape(ni, nk), a["B"].reshape(nj, nk), a["C"].reshape(ni, nj)
    return {"C": a["alpha"] * (A @ B.T) + a["beta"] * C}


@definition("gemm-tn")
def gemm_tn(a: Arrays, ni: int, nj: int, nk: int) -> Arrays:
    A, B, C = a["A"].reshape(nk, ni), a["B"].reshape(nk, nj), a["C"].reshape(ni, nj)
    return {"C": a["alpha"] * (A.T @ B) + a["beta"] * C}


@definition("gemm-tt")
def gemm_tt(a: Arrays, ni: int, nj: int, nk: int) -> Arrays:
    A, B, C = a["A"].reshape(nk, ni), a["B"].reshape(nj, nk), a["C"].reshape(ni, nj)
    return {"C": a["alpha"] * (B @ A).T + a["beta"] * C}


@definition("gemm-small-k")
def gemm_small_k(a: Arrays, ni: int, nj: int) -> Arrays:
    return {"C": a["A"].reshape(ni, 3) @ a["B"].reshape(3, nj)}


@definition("batched-gemm")
def batched_gemm(a: Arrays, nb: int, ni: int, nj: int, nk: int) -> Arrays:
    return {"C": a["A"].reshape(nb, ni, nk) @ a["B"].reshape(nb, nk, nj)}


@definition("batched-gemm-2")
def batched_gemm_2(a: Arrays, nb: int, nh: int, ni: int, nj: int, nk: int) -> Arrays:
    A, B = a["A"].reshape(nb, ni, nh, nk), a["B"].reshape(nb, nk, nh, nj)
    return {"C": (A.swapaxes(1, 2) @ B.swapaxes(1, 2)).swapaxes(1, 2)}


@definition("batched-gemm-prime")
def batched_gemm_prime(a: Arrays, nb: int) -> Arrays:
    return {"C": a["A"].reshape(nb, 61, 37) @ a["B"].reshape(nb, 37, 67)}


@definition("batched-syrk")
def batched_syrk(a: Arrays, nb: int, m: int, n: int) -> Arrays:
    A, C = a["A"].reshape(nb, n, m), a["C"].reshape(nb, n, n)
    return {"C": np.tril(a["alpha"] * (A @ A.swapaxes(1, 2)) + a["beta"] * C) + np.triu(C, 1)}


@definition("attention")
def attention(a: Arrays, nh: int, nq: int, nk: int, nd: int) -> Arrays:
    Q, K, V = a["Q"].reshape(nh, nq, nd), a["K"].reshape(nh, nk, nd), a["V"].reshape(nh, nk, nd)
    scores = a["scale"] * (Q @ K.swapaxes(1, 2))
    S = np.exp(scores - scores.max(axis=2, keepdims=True))
    return {"O": S / S.sum(axis=2, keepdims=True) @ V, "S": S}


# ---- Contractions --------------------------------------------------------------------------------


@definition("mttkrp")
def mttkrp(a: Arrays, ni: int, nj: int, nk: int, nl: int) -> Arrays:
    A, B, D = a["A"].reshape(ni, nk, nl), a["B"].reshape(nk, nj), a["D"].reshape(nl, nj)
    return {"C": A.reshape(ni, nk * nl) @ (B[:, None] * D).reshape(nk * nl, nj)}


@definition("ttm")
def ttm(a: Arrays, ni: int, nj: int, nk: int, nr: int) -> Arrays:
    return {"C": np.einsum("ijk,rj->irk", a["A"].reshape(ni, nj, nk), a["U"].reshape(nr, nj))}


@definition("contraction-3")
def contraction_3(a: Arrays, na: int, nb: int, nc: int, nd: int, ne: int) -> Arrays:
    return {"C": np.einsum("adce,deb->abc", a["A"].reshape(na, nd, nc, ne), a["B"].reshape(nd, ne, nb))}


@definition("contraction-4")
def contraction_4(a: Arrays, na: int, nb: int, nc: int, nd: int, ne: int, nf: int) -> Arrays:
    return {"C": np.einsum("aebf,ecfd->abcd", a["A"].reshape(na, ne, nb, nf), a["B"].reshape(ne, nc, nf, nd))}


@definition("contraction-6")
def contraction_6(a: Arrays, na: int, nb: int, nc: int, ni: int, nj: int, nk: int, nl: int) -> Arrays:
    D, V = a["D"].reshape(na, nb, ni, nl), a["V"].reshape(nl, nc, nj, nk)
    return {"T": a["T"].reshape(na, nb, nc, ni, nj, nk) + np.einsum("abil,lcjk->abcijk", D, V)}


# ---- The tests -----------------------------------------------------------------------------------


def module_of(name: str) -> Any:
    """Another module of tests here, loaded for its own."""
    spec = importlib.util.spec_from_file_location(f"{name}_of_tensors", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECKS = module_of("test_definitions")
CHECKS.SUITE, CHECKS.TABLE, CHECKS.PROGRAMS = FOLDER, TABLE, TABLE
CHECKS.SIZES, CHECKS.DEFINITIONS = SIZES, DEFINITIONS
COUNTS = module_of("test_nonlinear_stencils")
needs_cc: pytest.MarkDecorator = CHECKS.needs_cc
each_program = pytest.mark.parametrize("name", TABLE)


@pytest.mark.quick
@needs_cc
@pytest.mark.parametrize("data_type", ["double", "float"])
@each_program
def test_program_computes_its_definition(name: str, data_type: str, tmp_path: Path) -> None:
    CHECKS.test_program_computes_its_definition(name, data_type, tmp_path)


@needs_cc
@pytest.mark.parametrize("size", [0, 1, 2])
@each_program
def test_program_runs_at_tiny_sizes(name: str, size: int, tmp_path: Path) -> None:
    CHECKS.test_program_runs_at_tiny_sizes(name, size, tmp_path)


@each_program
def test_sizes_and_formulas(name: str) -> None:
    CHECKS.test_sizes_and_formulas(name)


@needs_cc
@each_program
def test_formulas_count_what_the_statements_do(name: str) -> None:
    sizes = CHECKS.sizes_of(name)
    (scop,) = read_program(str(FOLDER / TABLE[name]["file"])).scops
    flops = sum(
        COUNTS.count(COUNTS.fixed(statement.domain, sizes)) * sum(map(COUNTS.operations, statement.body))
        for statement in scop.statements
    )
    assert COUNTS.evaluate(TABLE[name]["flops"], sizes) == flops
    assert COUNTS.evaluate(TABLE[name]["bytes"], sizes) == COUNTS.footprints(scop, sizes).total()


# Their tiles have the shapes of those of others here: products, with operands that are transposed or batches of them.
ALIKE = {
    "batched-gemm",
    "batched-gemm-2",
    "batched-gemm-prime",
    "conv2d",
    "conv2d-channels",
    "gemm-nt",
    "gemm-small-k",
    "ttm",
}


@pytest.mark.parametrize("name", [name for name in TABLE if name not in ALIKE])
def test_certificates_of_tiled_schedules_hold(name: str) -> None:
    content = json.loads(polytile.compile(FOLDER / TABLE[name]["file"], schedule="tiled").certificate)
    assert [line for scop in content["scops"] for line in problems(scop)] == []


@pytest.mark.usefixtures("emulator")
@each_program
def test_tiled_schedules_compute_the_same(name: str) -> None:
    compiled = polytile.compile(FOLDER / TABLE[name]["file"], schedule="tiled", strict=True)
    (scop,) = compiled.scops
    assert scop.compilation.schedule is not None
    assert scop.compilation.schedule.strategy.startswith("tiled")
    small = {variable: parameter["mini"] for variable, parameter in TABLE[name]["parameters"].items()}
    for sizes in (small, dict.fromkeys(small, 1), dict.fromkeys(small, 0)):
        results = scop.validate(on="emulator", parameters=sizes, seed=1)
        assert [r.bitwise for r in results] == [True]


def test_every_program_is_listed_and_defined() -> None:
    CHECKS.test_every_program_is_listed()
    assert set(DEFINITIONS) == set(TABLE)
