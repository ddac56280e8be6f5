"""Kernels whose blocks share planes of their tiles compute what C does, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polytile.diagnostics import InternalError
from polytile.ir.expr import rewrite
from polytile.ir.kernel import Barrier
from polytile.ir.stream_plan import Exchange

from .plans import Case, Runner
from .programs import BOX, ONE, examples, same_as_c

BLOCKS = [name for name, example in examples().items() if example.case.exchange is Exchange.BLOCK]


@pytest.mark.slow(but=["star of single cells"])
@pytest.mark.parametrize("name", BLOCKS)
def test_results_are_those_of_c(name: str, emulator: None, tmp_path: Path) -> None:
    same_as_c(examples()[name], tmp_path)


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
