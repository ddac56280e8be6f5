"""Matrix products of a warp, against NumPy and exact arithmetic; what vector accesses and copies cost."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.counts import Counts, learning, read
from polytile.runtime.emulator.findings import Reader
from polytile.runtime.emulator.instrument import CHECKS, COUNTING, PLAIN, checked

SOURCE = Path(__file__).parent / "kernels" / "matrices.cu"
LAUNCH_FAILURE = 719
BUILDS = {"plain": PLAIN, "counting": COUNTING, "all checks": checked(CHECKS)}
Matrix = npt.NDArray[np.float64]
Open = Callable[[str], EmulatorLibrary]


@pytest.fixture(scope="module")
def opened(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """`opened(build)`: the library of matrices.cu, with its errors and findings forgotten."""
    folder = tmp_path_factory.mktemp("matrices")
    libraries: dict[str, EmulatorLibrary] = {}

    def get(build: str) -> EmulatorLibrary:
        if build not in libraries:
            path = folder / f"{build}.so"
            built = compile_shared(SOURCE, path, extra_flags=["-Wall", "-Werror"], instrumentation=BUILDS[build])
            libraries[build] = EmulatorLibrary.open(built)
        libraries[build].reset_errors()
        if BUILDS[build].checks:
            Reader(libraries[build], "").clear()
        return libraries[build]

    return get


def line(comment: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"// {comment}"))


def multiplied(library: EmulatorLibrary, k: int, a: Matrix, b: Matrix, d: Matrix) -> Matrix:
    """What each warp makes of its own 16 x 8 part of d."""
    result = d.copy()
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, result)]
    assert library.function(f"multiply_{k}")(*pointers, d.shape[0] // 16) == 0
    return result


@pytest.mark.slow(but="4-plain")
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("k", [4, 8])
def test_products_of_whole_numbers(opened: Open, k: int, build: str) -> None:
    library = opened(build)
    random = np.random.default_rng(k)
    a, b, d = (random.integers(-1000, 1000, shape).astype(float) for shape in ((16, k), (k, 8), (48, 8)))
    np.testing.assert_array_equal(multiplied(library, k, a, b, d), d + np.tile(a @ b, (3, 1)))
    if BUILDS[build].checks:
        assert Reader(library, SOURCE.read_text()).read() == ()


@pytest.mark.parametrize("k", [4, 8])
def test_products_of_any_numbers(opened: Open, k: int) -> None:
    random = np.random.default_rng(k)
    a, b, d = (random.standard_normal(shape) for shape in ((16, k), (k, 8), (16, 8)))
    result = multiplied(opened("plain"), k, a, b, d)
    np.testing.assert_allclose(result, d + a @ b, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(result, fused(a, b, d))


def fused(a: Matrix, b: Matrix, d: Matrix) -> Matrix:
    """d + a b, rounded once for each product, from the first to the last."""
    result = d.copy()
    for row, column in np.ndindex(*d.shape):
        for i in range(a.shape[1]):
            exact = Fraction(a[row, i]) * Fraction(b[i, column]) + Fraction(result[row, column])
            result[row, column] = float(exact)
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("without_lane", "deadlock"),
        ("without_ended_lane", "a matrix product without all lanes of the warp"),
        ("with_half_a_warp", "a matrix product without all lanes of the warp"),
        ("two_shapes", "matrix products of two shapes in one warp"),
    ],
)
@pytest.mark.parametrize("build", BUILDS)
def test_all_lanes_must_come(opened: Open, build: str, name: str, says: str) -> None:
    library = opened(build)
    assert library.function(f"run_{name}")() == LAUNCH_FAILURE
    message = library.message()
    assert message.startswith(f"polytile emulator: {says} in kernel `")
    if name != "two_shapes":
        assert f"wait in a matrix product, mask 0xffffffff, at {SOURCE}:{line('without_lane')} " in message
    assert library.allocated_bytes() == 0


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", ["wide", "copied"])
def test_vectors_and_copies(opened: Open, build: str, name: str) -> None:
    library = opened(build)
    assert library.function(f"run_{name}")() == 0
    if BUILDS[build].checks:
        assert Reader(library, SOURCE.read_text()).read() == ()


def counted(library: EmulatorLibrary, name: str) -> Counts:
    with learning(library):
        assert library.function(f"run_{name}")() == 0
    assert library.function(f"run_{name}")() == 0
    return read(library)


def costs(counts: Counts, comment: str, access: str) -> tuple[int, int, int, int]:
    """Bytes of a lane, requests, lanes, sectors (of shared memory: wavefronts) at one line."""
    (site,) = (s for s in counts.sites if s.line == line(comment) and s.access == access)
    return site.size, site.requests, site.lanes, site.sectors if site.space == "global" else site.wavefronts


def test_a_vector_is_one_request(opened: Open) -> None:
    counts = counted(opened("counting"), "wide")
    assert costs(counts, "load of pairs", "load") == (16, 2, 64, 32)
    assert costs(counts, "load of fours", "load") == (16, 2, 40, 20)
    assert costs(counts, "shared pairs", "store") == (16, 2, 64, 8)
    assert costs(counts, "shared pairs read", "load") == (16, 2, 64, 8)
    assert costs(counts, "store of pairs", "store") == (16, 2, 64, 32)
    assert costs(counts, "store of fours", "store") == (16, 2, 40, 20)


def test_a_copy_is_a_request_where_it_is_issued(opened: Open) -> None:
    counts = counted(opened("counting"), "copied")
    assert costs(counts, "a copy", "load") == (8, 2, 40, 20)
    assert costs(counts, "a copy", "store") == (8, 2, 64, 4)
    assert costs(counts, "a result", "load") == (8, 2, 64, 4)
    assert costs(counts, "a result", "store") == (8, 2, 64, 16)
