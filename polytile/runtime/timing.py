"""Kernel times: medians of repeated runs with the data on the device, measured with CUDA events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.runtime.cuda_graphs import capture, worth_a_graph
from polytile.runtime.cupy_engine import CupyEngine, require_cupy
from polytile.runtime.engine import Engine, NativeEngine
from polytile.runtime.layout import Layout
from polytile.runtime.native import Memory

WARM_UPS = 2
RUNS = 7


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds per run of the whole SCoP, transfers excluded."""

    label: str
    milliseconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.milliseconds)

    @property
    def spread(self) -> float:
        """(slowest - fastest) / median."""
        return (max(self.milliseconds) - min(self.milliseconds)) / self.median if self.median else 0.0

    @property
    def line(self) -> str:
        return f"{self.median:.4g} ms on {self.label} (median of {len(self.milliseconds)}, spread {self.spread:.0%})"


def time_engine(
    engine: Engine, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Memory, *, runs: int = RUNS
) -> Timing:
    """Time generated code on copies of `memory` that stay on the device; needs CuPy whichever way it was compiled.

    Every run starts from the same data.
    """
    cupy = require_cupy()
    if isinstance(engine, CupyEngine):
        copies: dict[str, Any] = {}
        bound = engine.bind(layouts, values, memory, copies)
        launches = bound.record()
        graph = capture(cupy, launches) if engine.program.graphs and worth_a_graph(len(launches)) else None
        action = _replay(launches) if graph is None else graph.launch
    elif isinstance(engine, NativeEngine):
        copies = {
            name: cupy.asarray(_bytes(data))
            for name, data in memory.items()
            if not engine.scop.by_value(layouts[name].array)
        }
        resident = {**memory, **copies}

        def action() -> None:
            engine.run(layouts, values, resident)
    else:
        raise TypeError(f"cannot time {engine.label}")
    originals = {name: block.copy() for name, block in copies.items()}

    def restore() -> None:
        for name, block in copies.items():
            block[...] = originals[name]

    return Timing(engine.label, milliseconds_of(action, runs=runs, before=restore))


def _replay(launches: Sequence[Callable[[], None]]) -> Callable[[], None]:
    def action() -> None:
        for launch in launches:
            launch()

    return action


def _bytes(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(data.reshape(-1).view(np.uint8))


def milliseconds_of(
    action: Callable[[], object], *, runs: int = RUNS, before: Callable[[], None] = lambda: None
) -> tuple[float, ...]:
    """How long each of some runs takes on the device, by CUDA events, after warm-up and with `before` in front of each;
    needs CuPy."""
    cupy = require_cupy()
    times = []
    for run in range(WARM_UPS + runs):
        before()
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        cupy.cuda.Device().synchronize()
        start.record()
        action()
        stop.record()
        stop.synchronize()
        if run >= WARM_UPS:
            times.append(float(cupy.cuda.get_elapsed_time(start, stop)))
    return tuple(times)
