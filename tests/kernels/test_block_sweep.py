"""Block sweeps compute what the star says, bit for bit, for all sizes, and what is planted in one is caught."""

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
from polytile.ir.expr import DOUBLE, FLOAT, Access, Assign, Call, For, Literal, Name, Ternary
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import Arrive, AsyncCopy, Await, PrivateArray, Shuffle, Store, WaitCopies
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Comment, Kernel
from polytile.ir.verify.kernel import check_kernel
from polytile.runtime.compilers import nvcc

from .block_sweep import block_sweep, block_sweep_program
from .block_tile import BlockSweep
from .common import UNROLL, Built, Numbers, build, build_checked, optimised
from .stars import Reference, star

Size = tuple[int, int, int]
SIZES: list[Size] = [(1, 1, 1), (5, 6, 7), (20, 17, 33), (24, 33, 70), (3, 40, 72), (15, 40, 72)]
# (radius, steps, element, lanes, groups, rows, columns, elements of a copy, planes ahead, rotate, split)
VARIANTS = [
    (1, 1, DOUBLE, 32, 2, 2, 1, 1, 2, False, False),
    (1, 1, FLOAT, 16, 4, 1, 2, 2, 1, True, True),
    (1, 2, DOUBLE, 32, 3, 2, 2, 2, 2, False, False),
    (1, 2, FLOAT, 32, 2, 3, 2, 1, 3, True, False),
    (1, 3, DOUBLE, 16, 8, 1, 2, 1, 1, False, True),
    (1, 3, FLOAT, 32, 4, 2, 2, 2, 2, True, True),
    (2, 1, DOUBLE, 32, 4, 2, 1, 1, 2, False, False),
    (2, 1, FLOAT, 8, 8, 1, 4, 4, 2, True, True),
    (2, 2, DOUBLE, 16, 6, 2, 2, 2, 2, False, False),
    (2, 2, FLOAT, 32, 5, 2, 1, 1, 1, True, True),
    (2, 3, DOUBLE, 16, 8, 2, 2, 1, 2, False, False),
    (2, 3, FLOAT, 16, 8, 2, 2, 2, 2, True, False),
    (3, 1, FLOAT, 16, 4, 2, 2, 2, 2, False, True),
]


@pytest.fixture(scope="session")
def reference(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return Reference(tmp_path_factory.mktemp("star"))


def sweep_of(variant: tuple[Any, ...], name: str = "sweep", kind: type[BlockSweep] = BlockSweep) -> BlockSweep:
    radius, steps, element, lanes, groups, rows, columns, vector, ahead, rotate, split = variant
    return kind(
        name, element, star(radius), steps, rows, columns, lanes, groups, ahead, vector, rotate=rotate, split=split
    )


SWEEPS = [sweep_of(variant, f"sweep{k}") for k, variant in enumerate(VARIANTS)]
SWEEPS += [
    replace(SWEEPS[2], name="predicated", predicated=True),
    replace(SWEEPS[7], name="predicated_rotated", predicated=True),
    replace(SWEEPS[4], name="pairs_of_planes", trip=2),
    replace(SWEEPS[12], name="predicated_trips", predicated=True, trip=3),
]


def field(size: Size, sweep: BlockSweep) -> Numbers:
    """Random cells; NaN in a row after the last one, and between the end of a row and the pitch."""
    nz, ny, nx = size
    pitch = -(-nx // sweep.vector) * sweep.vector + sweep.vector
    cells = np.random.default_rng(nz * ny * nx).random((nz, ny + 1, pitch))
    cells[:, ny:], cells[:, :, nx:] = np.nan, np.nan
    return cells.astype(np.float64 if sweep.element == DOUBLE else np.float32)


def run(built: Built, sweep: BlockSweep, size: Size, start: Numbers, span: int) -> tuple[Numbers, tuple[str, ...]]:
    """What the kernel makes of `start` in an array of NaNs, and what was found."""
    result = np.full_like(start, np.nan)
    found = built(f"run_{sweep.name}", *size, *start.shape[1:], span, start, result)
    return result, tuple(f.message for f in found)


# Results ------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_results_are_those_of_the_star(reference: Reference, tmp_path: Path) -> None:
    built = build([block_sweep_program(s) for s in SWEEPS], tmp_path)
    for sweep in SWEEPS:
        for size in SIZES:
            start = field(size, sweep)
            expected = reference(sweep.terms, sweep.steps, size, start)
            for span in {3, size[0], 29}:
                result, _ = run(built, sweep, size, start, span)
                np.testing.assert_array_equal(result, expected, f"{sweep} of {size} by {span}")


CHECKED = [2, 5, 7, 8, 9]


@pytest.mark.slow
def test_sweeps_do_nothing_that_is_forbidden(reference: Reference, tmp_path: Path) -> None:
    sweeps = [SWEEPS[k] for k in CHECKED]
    built = build_checked([block_sweep_program(s) for s in sweeps], tmp_path)
    for sweep in sweeps:
        for size in [(1, 1, 1), (5, 6, 7), (9, 19, 68)]:
            start = field(size, sweep)
            result, found = run(built, sweep, size, start, 7)
            assert found == (), f"{sweep} of {size}"
            np.testing.assert_array_equal(result, reference(sweep.terms, sweep.steps, size, start))


@pytest.mark.slow
def test_launches_after_one_another(reference: Reference, tmp_path: Path) -> None:
    sweep, size = SWEEPS[8], (20, 30, 50)
    built = build([block_sweep_program(sweep)], tmp_path)
    start = field(size, sweep)
    half, _ = run(built, sweep, size, start, 20)
    result, _ = run(built, sweep, size, half, 13)
    np.testing.assert_array_equal(result, reference(sweep.terms, 2 * sweep.steps, size, start))


def test_the_reference_is_the_star(reference: Reference) -> None:
    terms, size = star(2), (9, 11, 13)
    start = np.random.default_rng(1).random(size)
    expected = start.copy()
    expected[2:-2, 2:-2, 2:-2] = sum(
        c * start[2 + z : size[0] - 2 + z, 2 + y : size[1] - 2 + y, 2 + x : size[2] - 2 + x]
        for (z, y, x), c in terms.items()
    )
    np.testing.assert_allclose(reference(terms, 1, size, start), expected, rtol=1e-13)


# Planted errors -----------------------------------------------------------------------------------
Change = Callable[[Any], Any]
BASE = (1, 2, DOUBLE, 32, 3, 2, 2, 2, 1, False, False)
SEVERAL_TILES: Size = (9, 19, 140)


def without(kind: type[Any], *, having: str = "", **also: Any) -> Change:
    """Leaves out statements with a reason in which `having` occurs."""

    def change(node: Any) -> Any:
        gone = isinstance(node, kind) and having in node.reason
        return Comment("left out") if gone and all(getattr(node, k) == v for k, v in also.items()) else node

    return change


def unordered(node: Any) -> Any:
    return Comment("left out") if isinstance(node, Arrive | Await) else node


def late(node: Any) -> Any:
    return replace(node, pending=node.pending + 1) if isinstance(node, WaitCopies) and node.pending else node


def one_buffer(node: Any) -> Any:
    if isinstance(node, Access) and node.array == "exchange":
        return replace(node, subscripts=(Literal("0"), *node.subscripts[1:]))
    return node


def unguarded(node: Any) -> Any:
    return replace(node, guard=None) if isinstance(node, Store) else node


def outside(node: Any) -> Any:
    def unlimited(n: Any) -> Any:
        return n.arguments[0] if isinstance(n, Call) and n.function == "min" else n

    return replace(node, source=rewrite(node.source, unlimited)) if isinstance(node, AsyncCopy) else node


def moving_sides(node: Any) -> Any:
    select = isinstance(node, Assign) and node.target == Name("y", DOUBLE) and isinstance(node.value, Ternary)
    return replace(node, value=node.value.otherwise) if select else node


def alone(node: Any) -> Any:
    return node.value if isinstance(node, Shuffle) else node


# What is changed, what is found, and whether the result happens to be right
PLANTED: dict[str, tuple[Change, str, bool]] = {
    "no barrier between tiles": (without(Barrier, having="anew"), "of ring, ", True),
    "no barrier before arrivals": (without(Barrier, scope="warp"), "of exchange, ", False),
    "neither arrivals nor waits": (unordered, "of exchange, ", True),
    "copies are awaited too late": (late, "may still write", False),
    "one buffer for rows": (one_buffer, "of exchange, ", False),
    "stores without guards": (unguarded, "of B, ", False),
    "places outside": (outside, "of A, ", False),
    "sides are computed": (moving_sides, "", False),
    "no neighbours along rows": (alone, "", False),
}


def planted(sweep: BlockSweep, change: Change) -> HostProgram:
    program = block_sweep_program(sweep)
    kernels = tuple(replace(k, body=tuple(rewrite(s, change) for s in k.body)) for k in program.kernels)
    assert kernels != program.kernels
    return replace(program, kernels=kernels)


@pytest.mark.slow
def test_planted_errors_are_caught(reference: Reference, tmp_path: Path) -> None:
    sweeps = {error: sweep_of(BASE, f"planted{k}") for k, error in enumerate(PLANTED)}
    built = build_checked([planted(sweeps[error], change) for error, (change, _, _) in PLANTED.items()], tmp_path)
    for error, (_, message, right) in PLANTED.items():
        sweep, size = sweeps[error], (5, 6, 7) if error == "places outside" else SEVERAL_TILES
        start = field(size, sweep)
        result, found = run(built, sweep, size, start, 17)
        expected = reference(sweep.terms, sweep.steps, size, start)
        assert np.array_equal(result, expected, equal_nan=True) == right, error
        assert bool(message) == bool(found), f"{error}: {found}"
        assert not message or any(message in text for text in found), f"{error}: {found}"


class Narrow(BlockSweep):
    """Tiles that overlap too little."""

    @property
    def halo(self) -> int:
        return self.reach - 1


class Short(BlockSweep):
    """A ring without the plane that others may still read."""

    @property
    def slots(self) -> int:
        return self.ahead + 1


def test_one_column_of_overlap_fewer_is_wrong(reference: Reference, tmp_path: Path) -> None:
    size = (9, 19, 140)
    sweep = sweep_of((1, 2, DOUBLE, 32, 3, 2, 2, 1, 1, False, False), kind=Narrow)
    built = build([block_sweep_program(sweep)], tmp_path)
    start = field(size, sweep)
    result, _ = run(built, sweep, size, start, 9)
    different = (result != reference(sweep.terms, sweep.steps, size, start)) & ~np.isnan(start)
    assert different.any() and len(set(np.nonzero(different)[2])) <= 4


@pytest.mark.slow
def test_one_slot_fewer_is_a_race(tmp_path: Path) -> None:
    sweep, size = sweep_of(BASE, kind=Short), SEVERAL_TILES
    _, found = run(build_checked([block_sweep_program(sweep)], tmp_path), sweep, size, field(size, sweep), 17)
    assert any("of ring, " in text for text in found), found


REFUSED: dict[str, tuple[Change, str]] = {
    "arrivals without waits": (without(Await), "nobody waits for this arrival in the same loop"),
    "waits without arrivals": (without(Arrive), "nobody arrives for this wait in the same loop"),
    "a ring that is used anew too early": (without(WaitCopies, pending=0), "a barrier follows a copy without a wait"),
    "a split barrier too early": (without(Barrier, having="ready"), "no barrier follows the initialisation of ready"),
}


@pytest.mark.parametrize("error", REFUSED)
def test_planted_errors_that_are_never_printed(error: str) -> None:
    change, message = REFUSED[error]
    kernel = planted(sweep_of(BASE), change).kernels[0]
    with pytest.raises(InternalError, match=message):
        print_kernel(kernel)


# Structure ----------------------------------------------------------------------------------------
def nodes(kernel: Kernel, kind: type[Any]) -> list[Any]:
    return [n for s in kernel.body for n in walk(s) if isinstance(n, kind)]


@pytest.mark.slow
@pytest.mark.parametrize("sweep", SWEEPS, ids=str)
def test_registers_are_named_by_constants(sweep: BlockSweep) -> None:
    kernel = optimised(block_sweep(sweep), UNROLL)
    check_kernel(kernel, registers_only=True)
    state = [a for a in nodes(kernel, PrivateArray) if a.extents == (sweep.steps, sweep.rows, sweep.columns)]
    assert len(state) == 2 * sweep.radius + sweep.rotate


@pytest.mark.parametrize("sweep", [s for s in SWEEPS if not (s.rotate or s.split)], ids=str)
def test_work_of_a_plane(sweep: BlockSweep) -> None:
    kernel = optimised(block_sweep(sweep), UNROLL)
    cells = sweep.steps * sweep.rows * sweep.columns
    fused = [c for c in nodes(kernel, Call) if c.function in ("fma", "fmaf")]
    assert len(fused) == cells * (len(sweep.terms) - 1)
    assert len(nodes(kernel, Shuffle)) == 2 * sweep.radius * sweep.steps * sweep.rows
    assert len(nodes(kernel, Arrive)) == len(nodes(kernel, Await)) == 1
    assert [b.scope for b in nodes(kernel, Barrier)] == ["block", "warp", "block"]
    assert len(nodes(kernel, AsyncCopy)) == (1 + sweep.ahead) * sweep.rows * sweep.vectors


def test_planes_away_from_the_ends_have_no_tests_for_them() -> None:
    kernel = optimised(block_sweep(sweep_of((1, 3, FLOAT, 32, 4, 2, 2, 2, 2, True, True))), UNROLL)
    loops = [n for n in nodes(kernel, For) if n.iterator in ("plane", "base")]
    assert [n.step for n in loops] == [1, 3, 1]
    inside = [any(isinstance(n, Name) and n.name == "at_end" for s in loop.body for n in walk(s)) for loop in loops]
    assert inside == [True, False, True]
    fused = [n for s in loops[1].body for n in walk(s) if isinstance(n, Call) and n.function == "fmaf"]
    assert len(fused) == 3 * 3 * 2 * 2 * 6


def test_what_cannot_be_built_is_refused() -> None:
    with pytest.raises(InternalError, match="not a star with all its terms"):
        BlockSweep("sweep", DOUBLE, {(0, 0, 0): 0.5, (1, 0, 0): 0.5}, 1, 2, 2, 32, 4)
    with pytest.raises(InternalError, match="4 steps leave nothing of a tile"):
        sweep_of((1, 4, DOUBLE, 32, 4, 2, 2, 1, 1, False, False))
    with pytest.raises(InternalError, match="24 x 4 threads are no whole warps"):
        sweep_of((1, 1, DOUBLE, 24, 4, 2, 2, 1, 1, False, False))
    with pytest.raises(InternalError, match="2 columns are no vectors of 4"):
        sweep_of((1, 1, FLOAT, 32, 4, 2, 2, 4, 1, False, False))
    with pytest.raises(InternalError, match="more than 31 vectors"):
        sweep_of((1, 1, FLOAT, 32, 4, 8, 4, 1, 1, False, False))


# (radius, steps, element, lanes, groups, rows, columns, elements of a copy, planes ahead, rotate, split)
LARGE = {
    "two slots": (1, 4, DOUBLE, 32, 11, 4, 2, 2, 2, False, False),
    "rotating": (1, 4, FLOAT, 32, 11, 4, 2, 2, 3, True, True),
    "radius 2": (2, 2, DOUBLE, 32, 11, 3, 2, 2, 2, False, False),
}


@pytest.mark.slow
@pytest.mark.skipif(nvcc() is None, reason="requires nvcc")
@pytest.mark.parametrize("variant", LARGE)
def test_registers_do_not_spill(variant: str, tmp_path: Path) -> None:
    sweep = sweep_of(LARGE[variant])
    program = block_sweep_program(sweep)
    source = tmp_path / "kernel.cu"
    source.write_text(print_kernels(replace(program, kernels=program.kernels[:1])))
    flags = ["-arch=sm_90", "-std=c++17", "-O3", "-Xptxas", "-v", "-cubin", "-o", str(tmp_path / "kernel.cubin")]
    done = subprocess.run([str(nvcc()), *flags, str(source)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "0 bytes spill stores, 0 bytes spill loads" in done.stderr
    (registers,) = re.findall(r"Used (\d+) registers", done.stderr)
    assert int(registers) * sweep.threads <= 65536
