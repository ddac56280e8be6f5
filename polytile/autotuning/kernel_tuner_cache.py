"""A record as a cache file of Kernel Tuner 1.5, whose simulation mode then searches it in place of a GPU.

    {"device_name": .., "kernel_name": .., "problem_size": [512, 512], "tune_params_keys": ["rows", ..],
     "tune_params": {"rows": [1, 2, 4], ..}, "objective": "time",
     "cache": {"1,8": {"rows": 1, "columns": 8, "time": 2.5, "times": [2.5, 2.4], "compile_time": 900.0, ..}, ..}}

Times are in milliseconds. `time` is the median, where Kernel Tuner itself has the mean; `times` has all. Format: van
Werkhoven: Kernel Tuner: A search-optimizing GPU code auto-tuner (FGCS 90, 2019), and `process_cache` of its sources.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.space import SCHEDULE, Parameter, Point, Space, Value

KERNEL_NAME = "polytile"
# How an evaluation that has no time ended, in the words of Kernel Tuner's ErrorConfig classes.
FAILED: Mapping[Status, str] = {
    Status.REFUSED: "CompilationFailedConfig",
    Status.RESOURCES: "CompilationFailedConfig",
    Status.WRONG: "RuntimeFailedConfig",
    Status.CRASHED: "RuntimeFailedConfig",
    Status.HUNG: "RuntimeFailedConfig",
}


def kernel_tuner_cache(
    space: Space, outcomes: Sequence[Outcome], device: str = "GPU", problem_size: Sequence[int] = (1,)
) -> dict[str, Any]:
    """Return the content of the file. Points of the space without an outcome have failed to compile: simulation mode
    needs all that it may ask for."""
    names, known = FlatNames(space), {one.point: one for one in outcomes}
    entries = {}
    for point in space.points:
        at = names.flat(point)
        outcome = known.get(point, Outcome(point, Status.REFUSED, "not in the record"))
        entries[",".join(map(str, at.values()))] = {**at, **_measured(outcome)}
    return {
        "device_name": device,
        "kernel_name": KERNEL_NAME,
        "problem_size": list(problem_size),
        "tune_params_keys": [p.name for p in names.parameters],
        "tune_params": {p.name: list(p.values) for p in names.parameters},
        "objective": "time",
        "cache": entries,
    }


def write_kernel_tuner_cache(path: Path, content: Mapping[str, Any]) -> None:
    """Write the file, an entry a line, as Kernel Tuner does: it closes a file that does not end so."""
    head = json.dumps({name: value for name, value in content.items() if name != "cache"}, indent=0)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in content["cache"].items())
    path.write_text(f'{head[:-2]},\n"cache": {{\n{lines}}}\n}}')


def _measured(outcome: Outcome) -> dict[str, Any]:
    """Return what an entry has beside its parameters; seconds of the evaluation as milliseconds."""
    times = {
        "compile_time": outcome.spent("compile", "build"),
        "verification_time": outcome.spent("inputs", "validate", "compare"),
        "benchmark_time": outcome.spent("time"),
        "strategy_time": 0.0,
        "framework_time": 0.0,
        "timestamp": "",
    }
    if not outcome.milliseconds:
        failed = FAILED[outcome.status]
        return {"time": failed, "__error__": failed, **times}
    return {"time": outcome.median, "times": list(outcome.milliseconds), **times}


class FlatNames:
    """The names of all parameters of a space, and what they are at a point."""

    def __init__(self, space: Space) -> None:
        """Find the names; `parameters` are those with their values."""
        self._several = len(space.parts) > 1
        words = [Parameter(SCHEDULE, tuple(part.schedule for part in space.parts))] if self._several else []
        named = [(part.schedule, p) for part in space.parts for p in part.parameters]
        self.parameters: Sequence[Parameter] = (*words, *(Parameter(self._name(s, p.name), p.values) for s, p in named))

    def flat(self, point: Point) -> dict[str, Value]:
        """Return all parameters at a point, in the order of `parameters`."""
        at = dict(point)
        schedule = str(at.pop(SCHEDULE))
        own = {self._name(schedule, name): value for name, value in at.items()} | {SCHEDULE: schedule}
        return {p.name: own.get(p.name, p.values[0]) for p in self.parameters}

    def _name(self, schedule: str, name: str) -> str:
        return f"{schedule}_{name}" if self._several else name
