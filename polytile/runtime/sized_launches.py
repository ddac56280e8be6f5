"""The launches of a program at given sizes, where they are few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polytile.codegen.targets.cuda.shared_memory import dynamic_shared_bytes
from polytile.ir.host import FEWEST_LAUNCHES
from polytile.runtime.cupy_engine import SizedRun, clamped_grid
from polytile.runtime.driver_launch import driver_launch
from polytile.runtime.few_launches import FewLaunches, Launched, fits
from polytile.runtime.host_interpreter import execute


class _ManyLaunches(Exception):
    """There are as many as a graph has."""


def few_launches(run: SizedRun, numbers: Sequence[tuple[str, np.dtype[Any]]]) -> FewLaunches | None:
    """Find the launches of runs of these sizes, which get `numbers`, by name and type, by value; None where there are
    many, or the driver cannot make them so."""
    if driver_launch() is None or not all(fits(dtype) for _, dtype in numbers):
        return None
    engine, found = run.engine, list[Launched]()

    def launch(name: str, grid: tuple[int, int, int], scope: Mapping[str, int]) -> None:
        if len(found) + 1 >= FEWEST_LAUNCHES:
            raise _ManyLaunches
        kernel = engine.program.kernel(name)
        early = bool(found) and engine.launches_early and kernel.starts_early
        shared = dynamic_shared_bytes(kernel)
        found.append(Launched(kernel, clamped_grid(name, grid), dict(scope), early, shared))

    try:
        execute(engine.program.body, run.values, launch)
    except _ManyLaunches:
        return None
    return FewLaunches(found, engine.functions, [b.name for b in run.buffers], numbers)
