"""Timing with all data on the device, compared there with the kernels of the classic schedule.

`measure` (device.py) runs the sequential C, which takes minutes at the largest sizes; here inputs are drawn on the
device, fresh ones for each run, and what is compared are two schedules of one program. The classic schedule runs one
time step a launch and keeps the order of each sum, so it is the plainest code that the compiler makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import polytile
from polybench.runner.device import alone, machine_fields
from polybench.runner.errors import RunnerError
from polybench.runner.figures import values_of
from polybench.runner.rows import Row
from polytile.api import CompiledScop, Program
from polytile.codegen.targets.cuda.shared_memory import shared_bytes
from polytile.facts.kernel_facts import estimate_of
from polytile.runtime.cupy_engine import CupyEngine, cupy_engine, require_cupy
from polytile.runtime.device_compare import allowed_difference
from polytile.runtime.resident_runs import ResidentRuns
from polytile.runtime.timing import Timing

SEED = 1
REGISTERS, LOCAL_BYTES = 4, 3  # CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES


def measure_resident(program: Program, job: Mapping[str, Any], folder: Path) -> Row:
    """Measure the fields of a row: time, launches, registers, local bytes of each kernel, and the largest difference.

    Raises RunnerError where a result differs by more than rounding makes it, or is not finite.
    """
    cupy = require_cupy()
    plain = _classic(job)
    with alone(Path(job["lock"]), folder / "waiting"):
        engines = [engine_of(scop) for scop in program.scops]
        times = []
        difference = 0.0
        for scop, engine, reference in zip(program.scops, engines, plain.scops, strict=True):
            runs = ResidentRuns(scop.scop, values_of(scop, job["parameters"]), SEED)
            found = runs.differences([engine_of(reference), engine])[-1]
            difference = max([difference, *(checked(scop.name, runs, *one) for one in found.items())])
            times.append(Timing(engine.label, runs.time(engine, runs=job["runs"])))
            cupy.get_default_memory_pool().free_all_blocks()
    return {
        "median_ms": round(sum(t.median for t in times), 6),
        "spread": round(max(t.spread for t in times), 4),
        "runs": min(len(t.milliseconds) for t in times),
        **_resources(cupy, engines),
        "largest_difference": difference,
        "estimated_ms": _estimated(program),
        **machine_fields(),
    }


def _classic(job: Mapping[str, Any]) -> Program:
    floating = {name: value for name, value in job["settings"].items() if name == "strict"}
    return polytile.compile(Path(job["file"]), defines=job["defines"], schedule="classic", **floating)


def engine_of(scop: CompiledScop) -> CupyEngine:
    """Return its kernels on this GPU; raises RunnerError where there are none."""
    if scop.program is None:
        raise RunnerError(f"{scop.name} stays on the host")
    return cupy_engine(scop.program, scop.compilation.options)


def checked(scop: str, runs: ResidentRuns, name: str, difference: float) -> float:
    """Check the difference of an array from the classic schedule's.

    Raises RunnerError where rounding does not explain it.
    """
    if isnan(difference):
        raise RunnerError(f"{scop}: {name} is not finite")
    if difference > allowed_difference(runs.inputs.layouts[name].dtype):
        raise RunnerError(
            f"{scop}: {name} differs from the classic schedule's by {difference:.3g} of its largest element"
        )
    return difference


def _resources(cupy: Any, engines: Sequence[CupyEngine]) -> Row:
    """Return registers, local and shared bytes of each kernel, as the driver loaded it."""
    found: dict[str, list[int]] = {"registers": [], "local_bytes": [], "shared_bytes": []}
    query = cupy.cuda.driver.funcGetAttribute
    for engine in engines:
        for kernel in engine.program.kernels:
            handle = engine.functions[kernel.name].kernel.ptr
            found["registers"].append(int(query(REGISTERS, handle)))
            found["local_bytes"].append(int(query(LOCAL_BYTES, handle)))
            found["shared_bytes"].append(shared_bytes(kernel))
    return dict(found)


def _estimated(program: Program) -> float | None:
    times = [estimate_of(scop.compilation) for scop in program.scops]
    if any(time is None for time in times):
        return None
    return round(sum(time.microseconds for time in times if time is not None) / 1000, 4)
