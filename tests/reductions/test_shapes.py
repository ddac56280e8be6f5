"""Sums by warps, by blocks, by columns and by chunks: right and free of races at sizes on either side of every tile,
the same bits twice, and with the barriers and memory that each shape needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from polytile.compilation import Compilation
from polytile.ir.gpu_ops import WarpReduce
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space
from polytile.tuning import LoadTuning

from .cases import Data
from .fused import bicg, gesummv
from .harness import Programs
from .trees import Shape, built, columns, rows, scalar

pytestmark = pytest.mark.slow  # what they share is slow to make

MATRIX = "int n, int m, double A[n][m], double x[n + m]"
LOOPS = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
BY_ROWS, BY_COLUMNS = f"{LOOPS} x[i] += A[i][j];", f"{LOOPS} x[j] += A[i][j];"


@dataclass(frozen=True)
class Case:
    """A shape of a sum along `axis` (None: of a vector), and what its first kernel has: segments of lanes that
    shuffle, barriers, elements of shared memory."""

    shape: Shape
    axis: int | None
    widths: tuple[int, ...]
    barriers: int
    shared: int

    def built(self, name: str) -> Compilation:
        if self.axis is None:
            body = "for (int i = 0; i < n; i++) x[0] += A[i];"
            return built(name, "int n, double A[n], double x[1]", body, self.shape)
        return built(name, MATRIX, BY_ROWS if self.axis == 1 else BY_COLUMNS, self.shape)


# The loop of a block over its tiles along y ends in a barrier where it uses shared memory.
CASES = {
    "pairs": Case(rows(2, 64), 1, (2,), 0, 0),
    "segments": Case(rows(8, 16), 1, (8,), 0, 0),
    "warps": Case(rows(32, 8), 1, (32,), 0, 0),
    "one_warp": Case(rows(32, 1), 1, (32,), 0, 0),
    "two_warps": Case(rows(64, 4), 1, (2, 32), 1, 8),
    "blocks": Case(rows(256, 1), 1, (8, 32), 1, 8),
    "largest_block": Case(rows(1024, 1), 1, (32, 32), 1, 32),
    "odd_lanes": Case(rows(12, 4), 1, (), 1, 4 * 13),
    "six_warps": Case(rows(192, 1), 1, (), 1, 192),
    "chunks_of_rows": Case(rows(32, 4, chunk=64), 1, (32,), 0, 0),
    "chunks_of_rows_by_blocks": Case(rows(64, 2, chunk=128), 1, (2, 32), 2, 4),
    "columns": Case(columns(8, 64), 0, (), 2, 32 * 9),
    "chunks_of_columns": Case(columns(1, 16), 0, (), 0, 0),
    "vector": Case(scalar(256, 512), None, (8, 32), 1, 8),
}
SHAPES = ((1, 1), (2, 31), (7, 32), (8, 33), (33, 7), (65, 70))


@pytest.fixture(scope="module")
def programs(emulator: None) -> Programs:
    states = {name: case.built(name) for name, case in CASES.items()}
    alone = built("one_thread", MATRIX, BY_ROWS, CASES["warps"].shape, spread=False)
    fused = {"bicg": bicg(), "bicg_apart": bicg(apart=True), "gesummv": gesummv()}
    return Programs({**states, "one_thread": alone, **fused})


def kernel(programs: Programs, name: str) -> Kernel:
    program = programs.states[name].program
    assert program is not None
    return program.kernels[0]


@pytest.mark.parametrize("name", CASES)
def test_what_kernels_are_made_of(programs: Programs, name: str) -> None:
    case, found = CASES[name], kernel(programs, name)
    widths = sorted(n.width for n in found.nodes if isinstance(n, WarpReduce))
    sizes = [[int(e.text) for e in s.extents] for s in found.shared]  # type: ignore[union-attr]
    assert (widths, found.barriers, sum(np.prod(s) for s in sizes)) == (sorted(case.widths), case.barriers, case.shared)
    assert [s.extents for s in found.storage if s.space is Space.PRIVATE] == [()]


def test_one_thread_combines_where_lanes_are_not_spread(programs: Programs) -> None:
    found = kernel(programs, "one_thread")
    assert found.barriers == 1
    assert [[e.text for e in s.extents] for s in found.shared] == [["8", "33"]]  # type: ignore[union-attr]


def summed(programs: Programs, name: str, a: Data, x: Data, *, checked: bool = True) -> Data:
    after = x.copy()
    values = dict(zip(("n", "m"), a.shape, strict=False))
    programs.run(name, values, {"A": a, "x": after}, checked=checked)
    return after


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*CASES, "one_thread"])
def test_sums(programs: Programs, name: str, shape: tuple[int, int]) -> None:
    """Of whole numbers, so that sums in every order are equal."""
    axis = CASES[name].axis if name in CASES else 1
    random = np.random.default_rng(7)
    a = random.integers(-9, 9, shape if axis is not None else shape[0] * shape[1]).astype(np.float64)
    x = random.integers(-9, 9, sum(shape) if axis is not None else 1).astype(np.float64)
    wanted = x.copy()
    wanted[: shape[1 - axis] if axis is not None else 1] += a.sum(axis=axis)
    assert np.array_equal(summed(programs, name, a, x), wanted)


@pytest.mark.parametrize("name", ["warps", "blocks", "columns", "chunks_of_rows_by_blocks", "vector"])
def test_two_runs_give_the_same_bits(programs: Programs, name: str) -> None:
    random = np.random.default_rng(3)
    a = random.normal(size=(65, 70) if CASES[name].axis is not None else 4001)
    x = random.normal(size=135 if CASES[name].axis is not None else 1)
    first, then = (summed(programs, name, a, x, checked=False) for _ in range(2))
    assert first.tobytes() == then.tobytes()
    assert first.tobytes() != x.tobytes()


MANY = [("warps", (100_000, 3)), ("columns", (3, 100_000)), ("pairs", (100_000, 5))]


@pytest.mark.parametrize(("name", "shape"), MANY)
def test_many_results(programs: Programs, name: str, shape: tuple[int, int]) -> None:
    axis = CASES[name].axis
    assert axis is not None
    a, x = np.random.default_rng(2).integers(-9, 9, shape).astype(np.float64), np.zeros(sum(shape))
    assert np.array_equal(summed(programs, name, a, x, checked=False)[: 100_000], a.sum(axis=axis))


@pytest.mark.parametrize("name", ["blocks", "vector", "columns"])
def test_long_sums(programs: Programs, name: str) -> None:
    axis = CASES[name].axis
    shape = {None: (1_000_003,), 1: (1, 1_000_003), 0: (1_000_003, 1)}[axis]
    a = np.random.default_rng(2).integers(-9, 9, shape).astype(np.float64)
    x = np.zeros(sum(shape) if axis is not None else 1)
    assert summed(programs, name, a, x, checked=False)[0] == a.sum()


# Two reductions over one read ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(1, 1), (31, 33), (64, 32), (65, 97)])
@pytest.mark.parametrize("name", ["bicg", "bicg_apart"])
def test_bicg(programs: Programs, name: str, shape: tuple[int, int]) -> None:
    n, m = shape
    random = np.random.default_rng(n)
    a, s, q, p, r = (random.integers(-9, 9, k).astype(np.float64) for k in (shape, m, n, m, n))
    wanted = s + r @ a, q + a @ p
    programs.run(name, {"n": n, "m": m}, {"A": a, "s": s, "q": q, "p": p, "r": r}, checked=True)
    assert np.array_equal(s, wanted[0])
    assert np.array_equal(q, wanted[1])


@pytest.mark.parametrize("name", ["bicg", "bicg_apart"])
def test_bicg_reads_the_matrix_once(programs: Programs, name: str) -> None:
    """Both reductions are in registers, and one barrier hands over the columns' sums. Where all rows' partial results
    are started first, each is moved to where it is made."""
    found = kernel(programs, name)
    assert sorted(s.name for s in found.storage if s.space is Space.PRIVATE) == ["q_part", "s_part"]
    reduced = [n.width for n in found.nodes if isinstance(n, WarpReduce)]
    assert reduced in ([32], [32] * LoadTuning().max_reducing_iterations)  # once in each iteration of a batch of rows
    assert found.barriers == 2


@pytest.mark.parametrize("n", [1, 8, 31, 33, 70])
def test_gesummv(programs: Programs, n: int) -> None:
    """What uses the sums runs in the lane that has them: no barrier at all."""
    assert kernel(programs, "gesummv").barriers == 0
    random = np.random.default_rng(n)
    a, b = (random.integers(-9, 9, (n, n)).astype(np.float64) for _ in range(2))
    u, v, x, y = (random.integers(-9, 9, n).astype(np.float64) for _ in range(4))
    wanted = 3 * (u + a @ x) + 2 * (v + b @ x)
    memory = {"A": a, "B": b, "u": u, "v": v, "x": x, "y": y, "a": np.float64(3), "b": np.float64(2)}
    programs.run("gesummv", {"n": n}, memory, checked=True)
    assert np.array_equal(y, wanted)
