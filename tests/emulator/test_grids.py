"""Cooperative launches: blocks that wait for one another, what each keeps meanwhile, and grids that are too large."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Finding, Reader
from polytile.runtime.emulator.instrument import CHECKS, COUNTING, PLAIN, checked

SOURCE = Path(__file__).parent / "kernels" / "grids.cu"
LAUNCH_FAILURE, TOO_LARGE, WRONG_RESULT = 719, 720, 1000
BUILDS = {"plain": PLAIN, "counting": COUNTING, "race": checked(["race"]), "all checks": checked(CHECKS)}
RIGHT = ("all_stay", "ordered_sum", "ranks", "steps")
RACES = {"half_ordered": 0, "unordered_sum": WRONG_RESULT}
STUCK = {
    "block_leaves": (r"deadlock \(other blocks of the grid have ended\) in", "block (2,0,0)", "threads 0-31"),
    "thread_leaves": (r"deadlock in", "block (1,0,0)", "threads 0-4,6-31"),
    "not_cooperative": (r"a barrier of the grid in a launch that is not cooperative in", "block (0,0,0)", ""),
}
Get = Callable[[str], Reader]


@pytest.fixture(scope="module")
def opened(emulator: None, tmp_path_factory: pytest.TempPathFactory) -> Get:
    """`opened(build)`: grids.cu, with its errors and findings forgotten."""
    folder = tmp_path_factory.mktemp("grids")
    readers: dict[str, Reader] = {}

    def get(build: str) -> Reader:
        if build not in readers:
            path = folder / f"{build}.so"
            built = compile_shared(SOURCE, path, extra_flags=["-Wall", "-Werror"], instrumentation=BUILDS[build])
            readers[build] = Reader(EmulatorLibrary.open(built), SOURCE.read_text())
        readers[build].library.reset_errors()
        if BUILDS[build].checks:
            readers[build].clear()
        return readers[build]

    return get


def run(reader: Reader, name: str, build: str) -> tuple[int, tuple[Finding, ...]]:
    status = reader.library.function(f"run_{name}")()
    found = reader.read() if BUILDS[build].checks else ()
    assert reader.library.allocated_bytes() == 0
    return status, found


def marked_lines(name: str) -> set[int]:
    lines = SOURCE.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith(f"  // {name}")}


@pytest.mark.slow(but="ordered_sum-counting")
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", RIGHT)
def test_blocks_meet(opened: Get, name: str, build: str) -> None:
    assert run(opened(build), name, build) == (0, ())


@pytest.mark.slow(but="half_ordered-plain")
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", RACES)
def test_blocks_that_do_not_meet_are_unordered(opened: Get, name: str, build: str) -> None:
    status, found = run(opened(build), name, build)
    assert status == RACES[name]
    if BUILDS[build].checks:
        assert {finding.check for finding in found} == {"race"}
        assert all("blocks of one launch are unordered" in finding.message for finding in found)
        assert {place.line for finding in found for place in finding.places} == marked_lines(name)


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("name", STUCK)
def test_all_threads_of_all_blocks_must_come(opened: Get, name: str, build: str) -> None:
    what, block, threads = STUCK[name]
    reader = opened(build)
    assert run(reader, name, build)[0] == LAUNCH_FAILURE
    message = reader.library.message()
    assert re.match(f"polytile emulator: {what} kernel `leaves", message)
    assert f"{block} of 32x1x1 threads" in message
    (line,) = marked_lines("leaves")
    if threads:
        assert f"{threads} wait at the barrier of the grid at {SOURCE}:{line} " in message


def test_kernels_run_again_after_a_grid_was_stuck(opened: Get) -> None:
    reader = opened("plain")
    assert reader.library.function("run_block_leaves")() == LAUNCH_FAILURE
    reader.library.reset_errors()
    assert reader.library.function("run_steps")() == 0


def test_every_thread_and_barrier_is_counted_once(opened: Get) -> None:
    library = opened("plain").library
    library.reset_counts()
    assert library.function("run_steps")() == 0
    counts = library.counts()
    assert (counts.launches, counts.blocks, counts.threads) == (1, 12, 12 * 32)
    assert counts.barriers == 12 * 2


@pytest.mark.parametrize(
    ("blocks", "threads", "shared", "error"),
    [
        (132, 256, 200 << 10, 0),
        (133, 256, 200 << 10, TOO_LARGE),
        (264, 96, 100 << 10, 0),
        (132 * 32, 1, 0, 0),
        (132 * 32 + 1, 1, 0, TOO_LARGE),
        (64, 1024, 0, 0),
        (132, 1024, 0, TOO_LARGE),  # which a GPU would take
    ],
)
def test_all_blocks_must_fit_at_once(opened: Get, blocks: int, threads: int, shared: int, error: int) -> None:
    assert opened("plain").library.function("launch_together")(blocks, threads, shared) == error
