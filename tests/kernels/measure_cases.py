"""Kernels that are worth measuring on a GPU, and on what: figures to reach and their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polytile.ir.expr import DOUBLE, FLOAT, CType
from polytile.ir.host import HostProgram
from polytile.ir.kernel import ceil_div

from . import stars, stencils
from .block_sweep import block_sweep_program
from .block_tile import BlockSweep
from .contraction_cases import LAYOUTS, Case, fma, real, tensor
from .sweep import Sweep
from .warp_sweep import sweep_program

PLANE, SPACE = 16384, 512  # cells along a side, in two and in three dimensions
STAR, BOX = "star", "box"
TYPES = {"double": DOUBLE, "float": FLOAT}


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
    terms: Mapping[tuple[int, int, int], float] | None = None  # of a stencil, in their order


# Two dimensions -----------------------------------------------------------------------------------
# By shape, radius and element: (steps, columns of a lane), and fields of the sweep
STARS_1: dict[str, list[tuple[int, int, dict[str, int]]]] = {
    "double": [
        (8, 4, {"min_blocks": 2}),
        (8, 4, {"min_blocks": 2, "unroll": 2}),
        (8, 4, {}),
        (8, 4, {"warps": 8, "min_blocks": 1}),
        (6, 4, {"min_blocks": 2}),
        (7, 4, {"min_blocks": 2}),
        (9, 4, {"min_blocks": 2}),
        (10, 4, {"min_blocks": 2}),
        (8, 2, {"min_blocks": 3}),
    ],
    "float": [
        (12, 4, {"min_blocks": 3}),
        (12, 4, {"min_blocks": 3, "unroll": 2}),
        (12, 4, {}),
        (12, 4, {"warps": 8, "min_blocks": 1}),
        (8, 4, {"min_blocks": 4}),
        (10, 4, {"min_blocks": 3}),
        (11, 4, {"min_blocks": 3}),
        (14, 4, {"min_blocks": 2}),
        (16, 4, {"min_blocks": 2}),
        (8, 8, {"min_blocks": 2}),
    ],
}
# (steps, columns of a lane, blocks that a multiprocessor has to hold)
WIDER: dict[tuple[str, int, str], list[tuple[int, int, int]]] = {
    (STAR, 2, "double"): [(2, 4, 0), (3, 4, 2), (4, 4, 2)],
    (STAR, 3, "double"): [(1, 4, 0), (2, 4, 2), (3, 4, 2)],
    (STAR, 4, "double"): [(1, 4, 0), (2, 4, 2), (1, 8, 2)],
    (BOX, 1, "double"): [(4, 4, 0), (6, 4, 2), (8, 4, 2)],
    (BOX, 2, "double"): [(2, 4, 2), (3, 4, 2), (4, 4, 2)],
    (BOX, 3, "double"): [(1, 4, 0), (2, 4, 2), (1, 8, 2)],
    (BOX, 4, "double"): [(1, 4, 0), (2, 2, 2), (1, 8, 2)],
    (STAR, 2, "float"): [(4, 4, 0), (6, 4, 0), (8, 4, 2)],
    (STAR, 3, "float"): [(4, 4, 0), (5, 4, 2), (6, 4, 2)],
    (STAR, 4, "float"): [(3, 4, 0), (4, 4, 2), (2, 8, 2)],
    (BOX, 1, "float"): [(6, 4, 0), (8, 4, 0), (10, 4, 0)],
    (BOX, 2, "float"): [(4, 4, 0), (6, 4, 0), (3, 8, 0)],
    (BOX, 3, "float"): [(2, 4, 0), (3, 4, 0), (4, 4, 0)],
    (BOX, 4, "float"): [(1, 8, 0), (2, 4, 0), (2, 8, 2)],
}


def warp_sweeps() -> Iterator[Measured]:
    """Stencils in two dimensions."""
    for name, variants in STARS_1.items():
        for number, (steps, columns, fields) in enumerate(variants):
            chunks = (128, 256, 512) if number == 0 else (256,)
            yield _warp_sweep(STAR, 1, TYPES[name], steps, columns, chunks, **fields)
    for (shape, radius, name), wide in WIDER.items():
        for steps, columns, blocks in wide:
            yield _warp_sweep(shape, radius, TYPES[name], steps, columns, (256,), min_blocks=blocks)


def _warp_sweep(
    shape: str, radius: int, element: CType, steps: int, columns: int, chunks: tuple[int, ...], **fields: int
) -> Measured:
    terms = stencils.star(radius) if shape == STAR else stencils.box(radius)
    extra = "".join(f"_{key}{value}" for key, value in fields.items() if value)
    name = f"warp_{element}_{shape}{radius}_t{steps}_v{columns}{extra}"
    sweep = Sweep(name, element, terms, steps, columns, align=16 // element.size, **fields)
    told = {"kernel": "warp_sweep", "shape": shape, "radius": radius, "steps": steps, "columns": columns, **fields}
    domain = {"rows": PLANE, "columns": PLANE, "pitch": PLANE}
    problems = tuple(
        Problem({**domain, "chunk": chunk}, {"size": [PLANE, PLANE], "chunk": chunk}, f"{{1, {PLANE}, {PLANE}}}")
        for chunk in chunks
    )
    in_order = {(0, *at): terms[at] for at in sorted(terms)}
    return Measured(name, element, sweep_program(sweep), told, problems, in_order)


# Three dimensions ---------------------------------------------------------------------------------
# (radius, element, steps, rows, columns, groups, planes ahead, elements of a copy, rotate, split)
Tile = tuple[int, str, int, int, int, int, int, int, bool, bool]
TILES: list[Tile] = [
    (1, "double", 4, 4, 2, 11, 2, 2, False, False),
    (1, "double", 4, 4, 2, 11, 3, 2, False, False),
    (1, "double", 4, 4, 2, 11, 1, 2, False, False),
    (1, "double", 4, 4, 2, 11, 1, 1, False, False),
    (1, "double", 4, 4, 2, 12, 2, 2, False, False),
    (1, "double", 3, 4, 2, 11, 3, 2, False, False),
    (1, "double", 3, 4, 2, 11, 2, 1, False, False),
    (1, "float", 4, 4, 2, 11, 3, 2, True, True),
    (1, "float", 4, 4, 2, 11, 2, 2, True, True),
    (1, "float", 4, 4, 2, 11, 3, 2, False, True),
    (1, "float", 4, 4, 2, 11, 3, 2, False, False),
    (1, "float", 4, 4, 2, 13, 2, 2, False, False),
    (1, "float", 4, 6, 2, 8, 3, 2, True, True),
    (1, "double", 4, 6, 2, 8, 2, 2, False, False),
    (1, "float", 5, 4, 2, 12, 2, 2, False, True),
    (1, "float", 6, 4, 2, 12, 2, 2, False, True),
    (2, "double", 2, 3, 2, 11, 2, 2, False, False),
    (2, "double", 2, 3, 2, 12, 2, 2, False, False),
    (2, "double", 1, 4, 2, 11, 3, 2, False, True),
    (2, "double", 1, 4, 2, 11, 3, 2, False, False),
    (2, "float", 2, 4, 2, 11, 3, 2, False, False),
    (2, "float", 2, 4, 2, 11, 3, 2, False, True),
    (2, "float", 3, 4, 2, 13, 2, 2, False, False),
]
# The same, and further fields of the sweep
VARIED: list[tuple[Tile, dict[str, Any]]] = [
    ((1, "float", 4, 4, 2, 11, 3, 2, False, True), {"trip": 2}),
    ((1, "float", 4, 4, 2, 11, 2, 2, False, True), {"trip": 2}),
    ((1, "float", 4, 4, 2, 11, 3, 2, False, True), {"trip": 3}),
    ((1, "float", 4, 6, 2, 8, 3, 2, False, True), {"trip": 2}),
    ((1, "float", 4, 4, 2, 11, 3, 2, False, False), {"predicated": True}),
    ((2, "double", 2, 3, 2, 12, 2, 2, False, False), {"predicated": True}),
    ((2, "double", 2, 3, 2, 11, 2, 2, False, False), {"predicated": True}),
    ((2, "float", 2, 4, 2, 11, 3, 2, False, True), {"trip": 2}),
    ((2, "float", 2, 4, 2, 11, 2, 2, False, True), {"trip": 2}),
]
PROCESSORS = 132  # that share out the tiles: each has one block


def block_sweeps() -> Iterator[Measured]:
    """Stars in three dimensions."""
    for tile in TILES:
        yield _block_sweep(tile)
    for tile, fields in VARIED:
        yield _block_sweep(tile, **fields)


def _block_sweep(tile: Tile, **fields: Any) -> Measured:
    radius, type_name, steps, rows, columns, groups, ahead, vector, rotate, split = tile
    element, terms = TYPES[type_name], stars.star(radius)
    extra = "_rotate" * rotate + "_split" * split + "".join(f"_{key}{int(value)}" for key, value in fields.items())
    name = f"block_{element}_star{radius}_t{steps}_{groups}x{rows}_32x{columns}_d{ahead}_a{vector}{extra}"
    sweep = BlockSweep(name, element, terms, steps, rows, columns, 32, groups, ahead, vector, rotate, split, **fields)
    told = {"kernel": "block_sweep", "shape": STAR, "radius": radius, "steps": steps, "columns": columns, "rows": rows,
            "groups": groups, "ahead": ahead, "vector": vector, "rotate": rotate, "split": split, **fields}  # fmt: skip
    problems = tuple(
        Problem(
            {**dict.fromkeys(("nz", "ny", "nx", "rows", "pitch"), SPACE), "span": span},
            {"size": [SPACE] * 3, "span": span},
            f"{{{SPACE}, {SPACE}, {SPACE}}}",
        )
        for span in _spans(sweep)
    )
    in_order = {at: terms[at] for at in stars.in_order(terms)}
    return Measured(name, element, block_sweep_program(sweep), told, problems, in_order)


def _spans(sweep: BlockSweep) -> list[int]:
    """A whole tile a block; where that takes more blocks than run at once, also an equal share for each of these."""
    tiles = 1
    for axis in sweep.axes:
        tiles *= ceil_div(SPACE - 2 * axis.halo, axis.size - 2 * axis.halo)
    return [SPACE] if tiles <= PROCESSORS else [SPACE, ceil_div(tiles * SPACE, PROCESSORS)]


# Contractions -------------------------------------------------------------------------------------
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


def everything() -> Iterator[Measured]:
    """All of them, by families."""
    yield from warp_sweeps()
    yield from block_sweeps()
    yield from contractions()
