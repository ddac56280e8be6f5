"""Timing with all data on the device, compared there with the kernels of the classic schedule.

`measure` (device.py) runs the sequential C, which takes minutes at the largest sizes; here inputs are drawn on the
device, and what is compared are two schedules of one program. The classic schedule runs one time step a launch and
keeps the order of each sum, so it is the plainest code that the compiler makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import polytile
from polybench.runner.device import alone, machine_fields
from polybench.runner.errors import RunnerError
from polybench.runner.figures import values_of
from polybench.runner.rows import Row
from polytile.api import CompiledScop, Program
from polytile.codegen.targets.cuda.shared_memory import shared_bytes
from polytile.facts.kernel_facts import estimate_of
from polytile.runtime.cupy_engine import CupyEngine, cupy_engine, require_cupy
from polytile.runtime.inputs import Style, random_memory
from polytile.runtime.layout import Layout, layouts
from polytile.runtime.timing import time_engine

SEED = 1
WIDE = 1 << 10  # units of rounding, of an array's largest element, by which two orders of its sums may differ
SMALL = 2.0**-60  # a factor for inputs, where results are not finite without
REGISTERS, LOCAL_BYTES = 4, 3  # CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES


def measure_resident(program: Program, job: Mapping[str, Any], folder: Path) -> Row:
    """The fields of a row: time, launches, registers and local bytes of each kernel, and the largest difference.

    Raises RunnerError where a result differs by more than WIDE units of rounding, or is not finite.
    """
    cupy = require_cupy()
    plain = _classic(job)
    with alone(Path(job["lock"]), folder / "waiting"):
        engines = [engine_of(scop) for scop in program.scops]
        times = []
        difference = 0.0
        for scop, engine, reference in zip(program.scops, engines, plain.scops, strict=True):
            values = values_of(scop, job["parameters"])
            shapes = layouts(scop.scop, values)
            memory, own = _compared(cupy, scop, engine, engine_of(reference), shapes, values)
            difference = max(difference, own)
            times.append(time_engine(engine, shapes, values, memory, runs=job["runs"]))
            del memory
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
    """Its kernels on this GPU; raises RunnerError where there are none."""
    if scop.program is None:
        raise RunnerError(f"{scop.name} stays on the host")
    return cupy_engine(scop.program, scop.compilation.options)


def _compared(
    cupy: Any,
    scop: CompiledScop,
    engine: CupyEngine,
    reference: CupyEngine,
    shapes: Mapping[str, Layout],
    values: Mapping[str, int],
) -> tuple[dict[str, Any], float]:
    """Inputs on which results stay finite, and the largest difference on them: of stencils whose weights add up to more
    than one, floats outgrow their type in a hundred steps, unless they are small at first."""
    memory = inputs(scop, shapes, values)
    try:
        return memory, _difference(cupy, scop, engine, reference, shapes, values, memory)
    except NotFiniteError:
        memory = inputs(scop, shapes, values, SMALL)
        return memory, _difference(cupy, scop, engine, reference, shapes, values, memory)


class NotFiniteError(RunnerError):
    """A result is infinite, or not a number."""


def inputs(
    scop: CompiledScop, shapes: Mapping[str, Layout], values: Mapping[str, int], scale: float = 1.0
) -> dict[str, Any]:
    """Memory of every array: floating ones drawn on the device from [0.5, 1.5) times a factor, others as for
    validation."""
    cupy = require_cupy()
    generator = cupy.random.default_rng(SEED)
    large = {name for name, layout in shapes.items() if layout.dtype.kind == "f" and layout.shape}
    memory: dict[str, Any] = {}
    for name in large:
        layout = shapes[name]
        memory[name] = generator.random(layout.shape, dtype=layout.dtype)
        memory[name] += layout.dtype.type(0.5)
        memory[name] *= layout.dtype.type(scale)
    small = {name: layout for name, layout in shapes.items() if name not in large}
    for name, data in random_memory(scop.scop, small, values, SEED, Style.POSITIVE).items():
        memory[name] = data if scop.scop.by_value(shapes[name].array) else cupy.asarray(data)
    return memory


def _difference(
    cupy: Any,
    scop: CompiledScop,
    engine: CupyEngine,
    reference: CupyEngine,
    shapes: Mapping[str, Layout],
    values: Mapping[str, int],
    memory: Mapping[str, Any],
) -> float:
    """Run both on copies of `memory`; the largest difference of an element, in parts of its array's largest one."""
    found = [_copies(cupy, memory) for _ in range(2)]
    for one, copies in zip((engine, reference), found, strict=True):
        one.run(shapes, values, copies)
    written = [name for name, layout in shapes.items() if layout.array.live_out and name in found[0]]
    return max((_relative(cupy, scop.name, name, found[0][name], found[1][name]) for name in written), default=0.0)


def _copies(cupy: Any, memory: Mapping[str, Any]) -> dict[str, Any]:
    return {name: data.copy() if isinstance(data, cupy.ndarray) else data for name, data in memory.items()}


def _relative(cupy: Any, scop: str, name: str, ours: Any, reference: Any) -> float:
    if ours.dtype.kind != "f":
        if not bool(cupy.all(ours == reference)):
            raise RunnerError(f"{scop}: {name} differs from the classic schedule's")
        return 0.0
    largest = float(cupy.abs(reference).max()) if ours.size else 0.0
    error = float(cupy.abs(ours - reference).max()) if ours.size else 0.0
    if not np.isfinite(largest) or not np.isfinite(error):
        raise NotFiniteError(f"{scop}: {name} is not finite")
    relative = error / largest if largest else error
    if relative > WIDE * float(np.finfo(ours.dtype).eps):
        raise RunnerError(
            f"{scop}: {name} differs from the classic schedule's by {relative:.3g} of its largest element"
        )
    return relative


def _resources(cupy: Any, engines: Sequence[CupyEngine]) -> Row:
    """Registers, local and shared bytes of each kernel, as the driver loaded it."""
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
