"""Warp sweeps compute what the stencil says, bit for bit, and what is planted in one is caught."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polytile.codegen.targets.cuda.cuda import print_kernel, print_kernels
from polytile.diagnostics import InternalError
from polytile.ir.arith import add, both, compare
from polytile.ir.expr import DOUBLE, FLOAT, Call, CType, Declare, If, Literal, Name, Ternary
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Advance, Load, PrivateArray, Shuffle, Store
from polytile.ir.host import HostProgram
from polytile.ir.memory import Space
from polytile.ir.verify.kernel import check_kernel
from polytile.runtime.compilers import nvcc

from .common import UNROLL, Built, Numbers, build, build_checked, optimised
from .stencils import Reference, Terms, box, star
from .sweep import Sweep
from .warp_sweep import sweep_program, warp_sweep

SIZES = [(1, 1), (5, 7), (33, 70), (64, 129)]
CHUNKS = [7, 16, 100]
STARS = {f"star{r}": star(r) for r in (1, 2, 3, 4)}
BOXES = {f"box{r}": box(r) for r in (1, 2, 3, 4)}
# (steps, columns of a lane, element, alignment in elements)
ALL = [
    *((1, 2, DOUBLE, 1), (1, 2, FLOAT, 2), (1, 4, DOUBLE, 2), (1, 4, FLOAT, 4), (2, 2, DOUBLE, 2), (2, 4, DOUBLE, 4)),
    *((2, 2, FLOAT, 2), (2, 4, FLOAT, 1)),
    *((3, 2, FLOAT, 1), (3, 2, DOUBLE, 2), (3, 4, DOUBLE, 1), (3, 4, FLOAT, 4)),
]
MATRIX = {
    **{shape: (terms, ALL) for shape, terms in {**STARS, "box1": box(1), "box2": box(2)}.items()},
    "box3": (box(3), [(2, 4, FLOAT, 4), (1, 8, FLOAT, 4)]),
    "box4": (box(4), [(1, 2, DOUBLE, 2), (2, 4, DOUBLE, 2)]),
}


@pytest.fixture(scope="session")
def reference(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return Reference(tmp_path_factory.mktemp("stencil"))


def sweep_of(terms: Terms, steps: int, columns: int, element: CType, align: int, name: str = "sweep") -> Sweep:
    return Sweep(f"{name}_{element}_{steps}_{columns}_{align}", element, terms, steps, columns, align=align, warps=2)


def field(rows: int, columns: int, sweep: Sweep) -> Numbers:
    """Random cells; NaN in what lies between the end of a row and the pitch, which is odd where it may be."""
    pitch = -(-columns // sweep.align) * sweep.align + sweep.align
    dtype = np.float64 if sweep.element == DOUBLE else np.float32
    cells = np.random.default_rng(rows * columns).random((rows, pitch)).astype(dtype)
    cells[:, columns:] = np.nan
    return cells


def run(built: Built, sweep: Sweep, start: Numbers, columns: int, chunk: int) -> tuple[Numbers, tuple[str, ...]]:
    """What the kernel makes of `start` in an array of NaNs, and what was found."""
    result = np.full_like(start, np.nan)
    found = built(f"run_{sweep.name}", start.shape[0], columns, start.shape[1], chunk, start, result)
    return result, tuple(f.message for f in found)


# Results ------------------------------------------------------------------------------------------
@pytest.mark.slow(but="box3")
@pytest.mark.parametrize("shape", MATRIX)
def test_results_are_those_of_the_stencil(shape: str, reference: Reference, tmp_path: Path) -> None:
    terms, variants = MATRIX[shape]
    sweeps = [sweep_of(terms, *variant) for variant in variants]
    built = build([sweep_program(s) for s in sweeps], tmp_path)
    for sweep in sweeps:
        for rows, columns in [*SIZES, inner_size(sweep)]:
            start = field(rows, columns, sweep)
            expected = reference(terms, sweep.element, sweep.steps, columns, start)
            for chunk in CHUNKS:
                result, _ = run(built, sweep, start, columns, chunk)
                np.testing.assert_array_equal(result, expected, f"{sweep.name} of {rows} x {columns} by {chunk}")


def inner_size(sweep: Sweep) -> tuple[int, int]:
    """Rows and columns of which, in chunks of 7 and 16, some warps see no side."""
    return 2 * sweep.reach + 35, 2 * sweep.width + 2 * sweep.halo + 5


def test_launches_after_one_another(reference: Reference, tmp_path: Path) -> None:
    terms = star(2)
    sweep = sweep_of(terms, 3, 4, DOUBLE, 2)
    built = build([sweep_program(sweep)], tmp_path)
    start = field(40, 150, sweep)
    half, _ = run(built, sweep, start, 150, 16)
    result, _ = run(built, sweep, half, 150, 9)
    np.testing.assert_array_equal(result, reference(terms, DOUBLE, 6, 150, start))


@pytest.mark.slow
def test_passes_keep_the_results(reference: Reference, tmp_path: Path) -> None:
    terms = star(3)
    sweep = sweep_of(terms, 2, 4, FLOAT, 2)
    program = sweep_program(sweep)
    kernels = tuple(optimised(k, UNROLL, "simplify", "index-width") for k in program.kernels)
    assert kernels != program.kernels
    built = build_checked([replace(program, kernels=kernels)], tmp_path)
    for rows, columns in [*SIZES, inner_size(sweep)]:
        start = field(rows, columns, sweep)
        result, found = run(built, sweep, start, columns, 7)
        assert found == ()
        np.testing.assert_array_equal(result, reference(terms, FLOAT, 2, columns, start))


def test_the_reference_is_the_stencil(reference: Reference) -> None:
    terms, rows, columns = box(2), 30, 41
    start = np.random.default_rng(1).random((rows, columns))
    expected = start.copy()
    expected[2:-2, 2:-2] = sum(c * start[2 + i : rows - 2 + i, 2 + j : columns - 2 + j] for (i, j), c in terms.items())
    np.testing.assert_allclose(reference(terms, DOUBLE, 1, columns, start), expected, rtol=1e-13)


CHECKED = [
    *((star(1), 3, 4, FLOAT, 4), (star(2), 2, 2, DOUBLE, 2), (star(3), 1, 2, FLOAT, 1), (star(4), 3, 4, DOUBLE, 2)),
    *((box(1), 3, 2, DOUBLE, 1), (box(2), 2, 4, FLOAT, 2), (box(3), 1, 4, DOUBLE, 2)),
]


@pytest.mark.slow
def test_sweeps_do_nothing_that_is_forbidden(reference: Reference, tmp_path: Path) -> None:
    sweeps = [sweep_of(*variant, name=f"sweep{k}") for k, variant in enumerate(CHECKED)]
    built = build_checked([sweep_program(s) for s in sweeps], tmp_path)
    for sweep in sweeps:
        for rows, columns in [*SIZES, inner_size(sweep)]:
            start = field(rows, columns, sweep)
            result, found = run(built, sweep, start, columns, 7)
            assert found == (), f"{sweep.name} of {rows} x {columns}"
            expected = reference(sweep.terms, sweep.element, sweep.steps, columns, start)
            np.testing.assert_array_equal(result, expected)


# Planted errors -----------------------------------------------------------------------------------
Change = Callable[[Any], Any]


def without_guards(kind: type[Load | Store]) -> Change:
    return lambda n: replace(n, guard=None) if isinstance(n, kind) and n.guard is not None else n


def declared(name: str, change: Change) -> Change:
    return lambda n: replace(n, value=change(n.value)) if isinstance(n, Declare) and n.name == name else n


def stored_always(node: Any) -> Any:
    """Rows are stored as soon as they come out, complete or not."""
    if isinstance(node, If) and any(isinstance(s, Advance) for s in node.then):
        return replace(node, condition=Literal("1"))
    return node


def absent(node: Any) -> Any:
    """Two lanes of each warp do not take part."""
    outermost = isinstance(node, If) and any(isinstance(s, Declare) and s.name == "until" for s in node.then)
    return replace(node, condition=both(node.condition, compare("<", Name("lane"), 30))) if outermost else node


PLANTED: dict[str, tuple[Change, str]] = {
    "loads without guards": (without_guards(Load), "of A, "),
    "stores without guards": (without_guards(Store), "of B, "),
    "rows stored too early": (stored_always, "of B, "),
    "no warp is at a side": (declared("edge", lambda _: Literal("0")), "of A, "),
    "one row of overlap fewer": (declared("begin", lambda value: add(value, 1)), ""),
    "sides are computed": (lambda n: n.otherwise if isinstance(n, Ternary) else n, ""),
    "no neighbours": (lambda n: n.value if isinstance(n, Shuffle) else n, ""),
    "absent lanes": (absent, ""),
    "idle warps inside": (lambda n: replace(n, otherwise=()) if isinstance(n, If) and n.otherwise else n, ""),
}


def planted(sweep: Sweep, change: Change) -> HostProgram:
    program = sweep_program(sweep)
    kernels = tuple(replace(k, body=tuple(rewrite(s, change) for s in k.body)) for k in program.kernels)
    assert kernels != program.kernels
    return replace(program, kernels=kernels)


@pytest.mark.slow
def test_planted_errors_are_caught(reference: Reference, tmp_path: Path) -> None:
    terms = star(2)
    sweeps = {error: sweep_of(terms, 2, 4, DOUBLE, 2, f"planted{k}") for k, error in enumerate(PLANTED)}
    built = build_checked([planted(sweeps[error], change) for error, (change, _) in PLANTED.items()], tmp_path)
    for error, (_, message) in PLANTED.items():
        rows, columns = inner_size(sweeps[error])
        start = field(rows, columns, sweeps[error])
        result, found = run(built, sweeps[error], start, columns, 16)
        expected = reference(terms, DOUBLE, 2, columns, start)
        assert not np.array_equal(result, expected, equal_nan=True), error
        assert bool(message) == bool(found), f"{error}: {found}"
        assert not message or any(message in text for text in found), f"{error}: {found}"


def test_one_lane_of_overlap_fewer_is_wrong(reference: Reference, tmp_path: Path) -> None:
    terms = star(2)
    sweep = sweep_of(terms, 2, 4, DOUBLE, 2)
    object.__setattr__(sweep, "halo", sweep.halo - sweep.columns)
    built = build([sweep_program(sweep)], tmp_path)
    start = field(30, 300, sweep)
    result, _ = run(built, sweep, start, 300, 16)
    different = (result != reference(terms, DOUBLE, 2, 300, start)) & ~np.isnan(start)
    at_seams = {128 * k + j for k in (1, 2) for j in range(-4, 4)}
    assert different.any() and set(np.nonzero(different)[1]) <= at_seams


# Structure ----------------------------------------------------------------------------------------
def test_warps_share_nothing_and_never_wait() -> None:
    for terms in (*STARS.values(), *BOXES.values()):
        kernel = warp_sweep(sweep_of(terms, 1, 4, DOUBLE, 2))
        assert not kernel.barriers and not kernel.shared
        assert {s.space for s in kernel.storage} == {Space.GLOBAL}


@pytest.mark.parametrize("shape", [*STARS, *BOXES])
def test_registers_are_named_by_constants(shape: str) -> None:
    terms = {**STARS, **BOXES}[shape]
    kernel = optimised(warp_sweep(sweep_of(terms, 2, 4, DOUBLE, 2)), UNROLL)
    nodes = [n for s in kernel.body for n in walk(s)]
    arrays = {n.name for n in nodes if isinstance(n, PrivateArray)}
    assert arrays == {"sums", "line", "next", "output", "side"}
    check_kernel(kernel, registers_only=True)


def test_work_of_a_warp_that_sees_no_side() -> None:
    terms, steps, columns = box(2), 2, 4
    kernel = optimised(warp_sweep(sweep_of(terms, steps, columns, DOUBLE, 2)), UNROLL)
    (choice,) = (n for s in kernel.body for n in walk(s) if isinstance(n, If) and n.otherwise)
    inside = [n for s in choice.otherwise for n in walk(s)]
    cells = steps * columns
    assert sum(isinstance(n, Call) and n.function == "fma" for n in inside) == cells * (len(terms) - 1)
    assert sum(isinstance(n, Shuffle) for n in inside) == steps * 4
    assert not any(isinstance(n, Ternary) for n in inside)
    assert not any(isinstance(n, Load) and n.guard is not None for n in inside)
    (sums,) = (n for n in inside if isinstance(n, PrivateArray) and n.name == "sums")
    assert np.prod(sums.extents) == 2 * 2 * cells


def test_vectors_are_as_wide_as_the_alignment() -> None:
    def width(columns: int, element: CType, align: int) -> int:
        return sweep_of(star(1), 1, columns, element, align).vector

    assert [width(4, FLOAT, a) for a in (1, 2, 4, 8, 6)] == [1, 2, 4, 4, 2]
    assert [width(2, FLOAT, 4), width(4, DOUBLE, 4), width(2, DOUBLE, 2), width(4, DOUBLE, 3)] == [2, 2, 2, 1]


def test_what_cannot_be_built_is_refused() -> None:
    with pytest.raises(InternalError, match="without a term in each of its rows"):
        sweep_of({(0, -1): 0.5, (0, 1): 0.5}, 1, 4, DOUBLE, 1)
    with pytest.raises(InternalError, match="8 steps leave nothing of a strip of 64"):
        sweep_of(star(4), 8, 2, DOUBLE, 1)


def test_unrolled_text_has_all_of_the_largest_box() -> None:
    text = print_kernel(optimised(warp_sweep(sweep_of(box(4), 3, 4, DOUBLE, 2)), UNROLL))
    assert text.count("fma(") == 2 * 3 * 4 * 80


@pytest.mark.skipif(nvcc() is None, reason="requires nvcc")
def test_registers_do_not_spill(tmp_path: Path) -> None:
    deepest = [(8, 4, DOUBLE, 2, 2), (12, 4, FLOAT, 4, 3)]
    for steps, columns, element, align, blocks in deepest:
        sweep = Sweep("sweep", element, star(1), steps, columns, align=align, min_blocks=blocks)
        source = tmp_path / f"{element}.cu"
        source.write_text(print_kernels(sweep_program(sweep)))
        flags = ["-arch=sm_90", "-std=c++17", "-O3", "-Xptxas", "-v", "-cubin", "-o", str(tmp_path / "kernel.cubin")]
        done = subprocess.run([str(nvcc()), *flags, str(source)], capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        assert "0 bytes spill stores, 0 bytes spill loads" in done.stderr
        (registers,) = re.findall(r"Used (\d+) registers", done.stderr)
        held = 2 * steps * columns * element.size // 4
        assert held < int(registers) < held + 90
