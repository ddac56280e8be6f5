"""Kernels that are worth measuring on a GPU, and on what: figures to reach and their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polytile.ir.expr import CType
from polytile.ir.host import HostProgram

from .contraction_cases import LAYOUTS, Case, fma, real, tensor


@dataclass(frozen=True, slots=True)
class Problem:
    """Integers that the host program takes, and what else the result's line and the driver have to know."""

    sizes: Mapping[str, int]
    told: Mapping[str, Any]
    driver: str  # C++ that initialises the driver's description of the problem


@dataclass(frozen=True, slots=True)
class Measured:
    """One kernel (the first of the program), on some problems."""

    name: str
    element: CType
    program: HostProgram
    told: Mapping[str, Any]
    problems: tuple[Problem, ...]


GEMMS = ((2000, 2300, 2600), (4096, 4096, 4096))
DOITGEN, SYRK = (55000, 270, 270), (2600, 2600, 2000)
TENSOR_MENU: list[tuple[tuple[int, int], tuple[int, int], int]] = [
    ((128, 128), (64, 32), 0),
    ((96, 96), (48, 48), 2),
    ((64, 64), (32, 32), 3),
    ((128, 96), (32, 48), 0),
    ((96, 64), (48, 32), 2),
    ((64, 96), (32, 48), 2),
]
FMA_MENU: list[tuple[tuple[int, int], tuple[int, int], int, int]] = [
    ((96, 128), (48, 64), 4, 3),
    ((128, 128), (32, 64), 4, 2),
    ((64, 128), (64, 32), 8, 4),
    ((256, 128), (64, 64), 4, 1),
    ((128, 96), (64, 48), 8, 3),
    ((64, 64), (64, 32), 8, 6),
]


def contractions() -> Iterator[Measured]:
    """Products in all layouts, with other tiles, of few columns, and of half a matrix."""
    for case in real():
        if case.spec.name.split("_")[1] in LAYOUTS:
            yield _contraction(f"gemm_{case.spec.name}", case, GEMMS)
    yield from _tensors()
    yield from _fmas()


def _tensors() -> Iterator[Measured]:
    for tile, warp, blocks in TENSOR_MENU:
        size = f"{tile[0]}x{tile[1]}"
        fields: dict[str, Any] = {"tile": (*tile, 16), "warp": warp, "vectors": (2, 2, 2), "min_blocks": blocks}
        gemm, few, half = (f"{kind}_tensor_{size}" for kind in ("gemm", "doitgen", "syrk"))
        if tile != (64, 96):
            yield _contraction(gemm, tensor(gemm, **fields, group=8), GEMMS)
        if tile not in ((128, 128), (64, 64)):
            yield _contraction(few, tensor(few, **fields), [DOITGEN], alpha=1, beta=0)
        if tile not in ((96, 96), (128, 96)):
            yield _contraction(half, tensor(half, "nt", triangle="lower", **fields), [SYRK])


def _fmas() -> Iterator[Measured]:
    for tile, warp, lanes, blocks in FMA_MENU:
        size = f"{tile[0]}x{tile[1]}"
        fields: dict[str, Any] = {"tile": (*tile, 16), "warp": warp, "lanes": lanes, "min_blocks": blocks, "stages": 3}
        gemm, few, half = (f"{kind}_fma_{size}" for kind in ("gemm", "doitgen", "syrk"))
        if tile not in ((128, 96), (64, 64)):
            yield _contraction(gemm, fma(gemm, **fields, vectors=(1, 4, 4), group=8), GEMMS)
        if tile not in ((256, 128), (64, 64)):
            yield _contraction(few, fma(few, **fields, vectors=(1, 2, 2)), [DOITGEN], alpha=1, beta=0)
        if tile not in ((256, 128), (128, 96)):
            yield _contraction(half, fma(half, "nt", triangle="lower", **fields, vectors=(1, 1, 4)), [SYRK])


def _contraction(
    name: str, case: Case, extents: Sequence[tuple[int, int, int]], alpha: float = 1.5, beta: float = 1.2
) -> Measured:
    spec = case.spec
    layout = next(key for key, along in LAYOUTS.items() if along == (spec.a_along_k, spec.b_along_k))
    told = {"kernel": "contraction", "layout": layout, "triangle": spec.triangle, "tile": spec.tile, "warp": spec.warp,
            "stages": spec.stages, "group": spec.group, "min_blocks": spec.min_blocks}  # fmt: skip
    along = ", ".join(str(flag).lower() for flag in (spec.a_along_k, spec.b_along_k))
    side = "'l'" if spec.triangle else "0"
    problems = []
    for ni, nj, nk in extents:
        pitches = {"lda": nk if spec.a_along_k else ni, "ldb": nk if spec.b_along_k else nj, "ldc": nj}
        sizes = {"ni": ni, "nj": nj, "nk": nk, **pitches}
        driver = f"{{{ni}, {nj}, {nk}, {along}, {side}, {alpha}, {beta}}}"
        problems.append(Problem(sizes, {"size": [ni, nj, nk], "alpha": alpha, "beta": beta}, driver))
    return Measured(name, spec.element, case.program, told, tuple(problems))
