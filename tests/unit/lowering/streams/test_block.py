"""Kernels whose blocks share planes of their tiles compute what C does, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polytile.diagnostics import DeviceError, InternalError
from polytile.ir.expr import rewrite
from polytile.ir.kernel import Barrier
from polytile.ir.stream_plan import Exchange
from polytile.runtime.emulator import host_compiler

from .plans import Case, Runner
from .programs import BOX, ONE, examples

BLOCKS = [name for name, example in examples().items() if example.case.exchange is Exchange.BLOCK]


@pytest.fixture(scope="session")
def emulator() -> None:
    try:
        host_compiler()
    except DeviceError as error:
        pytest.skip(f"needs a host compiler: {error.message}")


@pytest.mark.slow(but=["star of single cells"])
@pytest.mark.parametrize("name", BLOCKS)
def test_results_are_those_of_c(name: str, emulator: None, tmp_path: Path) -> None:
    example = examples()[name]
    runner = Runner(example.case, tmp_path, checks=True)
    for sizes in example.sizes:
        runner.compare(example.times, "f", sizes, example.arrays(**sizes), **example.scalars)


@pytest.mark.parametrize("name", BLOCKS)
def test_one_barrier_a_plane(name: str) -> None:
    _, made = examples()[name].case.lowered()
    for kernel in made.kernels:
        assert kernel.barriers == 1 + 2  # planes that hold values at first, and one in each copy of the loop


@pytest.mark.slow
def test_a_missing_barrier_is_a_race(emulator: None, tmp_path: Path) -> None:
    def change(node: Any) -> Any:
        return Barrier(node.reason, "warp") if isinstance(node, Barrier) else node

    example = examples()["star in space"]
    runner = Runner(example.case, tmp_path, checks=True, change=lambda stmt: rewrite(stmt, change))
    sizes = example.sizes[2]
    with pytest.raises(AssertionError, match=r"with no barrier between them"):
        runner.compare(example.times, "f", sizes, example.arrays(**sizes))


def test_planes_of_others_are_read_a_plane_later_at_the_earliest() -> None:
    case = Case(BOX, ONE, 2, live=[1], threads=(64,), points=(2,), exchange=Exchange.BLOCK)
    with pytest.raises(InternalError, match="reads a plane of other threads as it is made"):
        case.lowered()
