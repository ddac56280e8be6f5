"""Validating and timing on this machine's GPU: through nvcc and through CuPy, as they exist."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from polybench.runner.figures import values_of
from polybench.runner.rows import Row
from polytile.api import CompiledScop, Program
from polytile.diagnostics import DeviceError
from polytile.ir.evaluate import evaluate
from polytile.runtime import gpu_lock
from polytile.runtime.compilers import nvcc
from polytile.runtime.cupy_engine import cupy_available, cupy_engine, require_cupy
from polytile.runtime.engine import Engine, nvcc_engine, on_gpu
from polytile.runtime.expectation import Expectation
from polytile.runtime.layout import element_dtype
from polytile.runtime.timing import WARM_UPS, Timing, time_engine
from polytile.runtime.validate import Validation, validate

SEED = 1
_KERNELS = re.compile(r"kernels ([0-9.]+) ms")


def measure(program: Program, job: Mapping[str, Any], folder: Path) -> Row:
    """Measure the fields of a row: each way's time, validation and cold time; `median_ms` is the fastest way's."""
    on_gpu("gpu")
    expectations = [s.expect(values_of(s, job["parameters"]), SEED) for s in program.scops]
    row: Row = {}
    with alone(Path(job["lock"]), folder / "waiting"):
        for way, engine_of in _ways().items():
            row[way] = _measure_way(program.scops, expectations, engine_of, job["runs"])
        if cupy_available():
            row |= _transfers(program.scops, expectations) | machine_fields()
    best = min((way for way in ("nvcc", "cupy") if way in row), key=lambda way: float(row[way]["median_ms"]))
    row |= {name: row[best][name] for name in ("median_ms", "spread", "runs", "cold_s")}
    return {**row, "way": best, "validated": row[best]["validated"]}


@contextmanager
def alone(lock: Path, waiting: Path) -> Iterator[None]:
    """Hold the GPU; the runner does not count the time that the file `waiting` exists."""
    waiting.touch()
    with gpu_lock.alone(lock):
        waiting.unlink()
        yield


def _ways() -> dict[str, Callable[[CompiledScop], Engine]]:
    ways: dict[str, Callable[[CompiledScop], Engine]] = {}
    if nvcc() is not None:
        ways["nvcc"] = lambda s: nvcc_engine(s.scop, _program(s), s.compilation.options)
    if cupy_available():
        ways["cupy"] = lambda s: cupy_engine(_program(s), s.compilation.options)
    return ways


def _program(scop: CompiledScop) -> Any:
    assert scop.program is not None
    return scop.program


def _measure_way(
    scops: Sequence[CompiledScop],
    expectations: Sequence[Expectation],
    engine_of: Callable[[CompiledScop], Engine],
    runs: int,
) -> Row:
    started = time.perf_counter()
    engines = [engine_of(s) for s in scops]
    built = time.perf_counter() - started
    validations = [
        validate(e, way, strict=s.compilation.options.strict)
        for s, e, way in zip(scops, expectations, engines, strict=True)
    ]
    timings = [_time(way, e, runs) for way, e in zip(engines, expectations, strict=True)]
    return {
        "median_ms": round(sum(t.median for t in timings), 6),
        "spread": round(max(t.spread for t in timings), 4),
        "runs": min(len(t.milliseconds) for t in timings),
        "build_s": round(built, 3),
        "cold_s": round(built + _seconds(validations), 3),
        "validated": [v.line for v in validations],
    }


def _seconds(validations: Sequence[Validation]) -> float:
    """Sum the seconds of the first runs, transfers included."""
    return sum(v.seconds for v in validations)


def _time(engine: Engine, given: Expectation, runs: int) -> Timing:
    if cupy_available():
        return time_engine(engine, given.layouts, given.values, given.before, runs=runs)
    return Timing(engine.label, tuple(_own_time(engine, given) for _ in range(WARM_UPS + runs))[WARM_UPS:])


def _own_time(engine: Engine, given: Expectation) -> float:
    """Return milliseconds of the kernels as the generated code itself measures them, for machines without CuPy."""
    os.environ["POLYTILE_TIMING"] = "1"
    said = _stderr_of(lambda: engine.run(given.layouts, given.values, given.inputs()))
    found = _KERNELS.findall(said)
    if not found:
        raise DeviceError(f"{engine.label} printed no time")
    return sum(float(ms) for ms in found)


def _stderr_of(action: Callable[[], None]) -> str:
    """Return what the native code called by `action` writes to standard error."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            action()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode(errors="replace")


def _transfers(scops: Sequence[CompiledScop], expectations: Sequence[Expectation]) -> Row:
    """Measure milliseconds to bring the inputs to the device and the results back, from memory that is not pinned."""
    cupy = require_cupy()
    times: dict[str, float] = {"transfer_in_ms": 0.0, "transfer_out_ms": 0.0}
    for scop, given in zip(scops, expectations, strict=True):
        for buffer in _program(scop).buffers:
            size = max(0, evaluate(buffer.elements, given.values)) * element_dtype(buffer.array).itemsize
            if buffer.temporary or size == 0:
                continue
            host = given.before[buffer.array.name].reshape(-1).view("u1")[:size]
            block = cupy.empty(host.size, dtype="u1")
            if buffer.copy_in:
                times["transfer_in_ms"] += _once(cupy, partial(block.set, host))
            if buffer.copy_out:
                times["transfer_out_ms"] += _once(cupy, partial(block.get, out=host.copy()))
    return {name: round(value, 4) for name, value in times.items()}


def _once(cupy: Any, action: Callable[[], Any]) -> float:
    """Measure an action three times; return the median in milliseconds."""
    found = []
    for _ in range(3):
        cupy.cuda.Device().synchronize()
        started = time.perf_counter()
        action()
        cupy.cuda.Device().synchronize()
        found.append(1e3 * (time.perf_counter() - started))
    return median(found)


def machine_fields() -> Row:
    cupy = require_cupy()
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return {"gpu": name, "cuda": cupy.cuda.runtime.runtimeGetVersion()}
