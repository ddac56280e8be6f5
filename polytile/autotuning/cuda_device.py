"""A GPU that kernels are timed on, by CuPy, for the sizes of one workload.

Memory for the arrays is there only while the GPU is held: of many processes with a context on it one at a time has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from traceback import clear_frames
from typing import Any

from polytile.autotuning.conditions import Conditions
from polytile.autotuning.device import Built, InTurns, Kernels, Resources, ResourcesError
from polytile.autotuning.workload import Source
from polytile.codegen.targets.cuda.shared_memory import shared_bytes
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.ir.host import HostProgram
from polytile.runtime.cuda_graphs import Replays
from polytile.runtime.cupy_engine import (
    CupyEngine,
    compiled_kernels,
    device_failures,
    flags_of,
    loaded_engine,
    require_cupy,
)
from polytile.runtime.device_compare import all_finite, allowed_difference, relative_difference
from polytile.runtime.device_inputs import WAYS, DeviceInputs, Drawn
from polytile.runtime.driver import driver_version
from polytile.runtime.gpu_lock import alone
from polytile.runtime.ptxas import Said, parse
from polytile.runtime.timing import Ready, in_turns, milliseconds_of, once, ready

MAX_THREADS = 0  # CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
# Of CUresult and cudaError_t: an invalid value (too much dynamic shared memory), no memory, an invalid configuration,
# out of registers for a launch, and more blocks that wait for each other than fit.
_TOO_MUCH = frozenset({1, 2, 9, 701, 720})
_OF_PTXAS = ("uses too much", "too many resources", "Out of memory")


class CudaDevice:
    """The current GPU of this process."""

    def __init__(self, source: Source, lock: Path, seed: int) -> None:
        cupy = require_cupy()
        self.lock, self.way = lock, WAYS[0]
        self._way_is_known = False
        self.inputs = DeviceInputs(source.scop, source.sizes, seed)
        self.conditions = Conditions(
            sizes=source.sizes,
            gpu=cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode(),
            driver=driver_version(),
            compiler=f"NVRTC {'.'.join(map(str, cupy.cuda.nvrtc.getVersion()))}",
            flags=(*flags_of(source.workload.options), f"-arch=sm_{cupy.cuda.Device().compute_capability}"),
        )
        self._make_ready(cupy)

    def _make_ready(self, cupy: Any) -> None:
        """Compile what draws and compares, before the GPU is held."""
        for dtype in {one.dtype for one in self.inputs.layouts.values() if one.dtype.kind == "f"}:
            few = cupy.ones((2, 2), dtype)
            for way in WAYS:
                self.inputs.draw(few, 0, way)
            all_finite(few)
            relative_difference(few, few)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the GPU; all memory is given back before another process has it."""
        with alone(self.lock):
            try:
                yield
            except Exception as error:
                _release_frames(error)
                raise
            finally:
                with suppress(*device_failures()):  # a device that is lost frees nothing
                    require_cupy().get_default_memory_pool().free_all_blocks()

    def build(self, kernels: Kernels) -> CudaKernels:
        """Compile by NVRTC and load; raises ResourcesError where ptxas or the driver refuses, else DeviceError."""
        try:
            binary, said = kernels.binary, ""
            if not binary:
                binary, said = compiled_kernels(kernels.program, kernels.options)
            engine = loaded_engine(kernels.program, binary)
        except DeviceError as error:
            raise self.failure(error) from error
        found = CudaKernels(self, replace(kernels, binary=binary), engine, _resources(kernels.program, parse(said)))
        found.check_threads()
        return found

    @contextmanager
    def memory(self) -> Iterator[dict[str, Any]]:
        """All arrays of the workload on the device, while the block runs. Raises ResourcesError where there is no room,
        DeviceError where the device fails."""
        memory: dict[str, Any] = {}
        try:
            memory.update(self.inputs.allocate())
            yield memory
        except device_failures() as error:
            raise self.failure(error) from error
        finally:
            memory.clear()

    def warmed(self, engine: CupyEngine, memory: dict[str, Any]) -> tuple[Ready, float]:
        """What runs the kernels on inputs for which results are finite, as far as a way to draw such is found, after
        one run; and its milliseconds."""
        for way in (self.way,) if self._way_is_known else WAYS:
            action, took = self._run_once(engine, memory, way)
            if self._way_is_known or self._finite(memory):
                self.way, self._way_is_known = way, True
                return action, took
            del action
        self.way, self._way_is_known = WAYS[0], True
        return self._run_once(engine, memory, self.way)

    def _run_once(self, engine: CupyEngine, memory: dict[str, Any], way: Drawn) -> tuple[Ready, float]:
        self.inputs.set_numbers(memory, way)
        action = ready(engine, self.inputs.layouts, self.inputs.values, memory)
        return action, once(action, lambda: self.inputs.fill(memory, way, 0))

    def _finite(self, memory: Mapping[str, Any]) -> bool:
        return all(all_finite(memory[name]) for name in self.inputs.results)

    def in_turns(self, built: Sequence[Built], rounds: int) -> InTurns:
        """Run kernels in turns on the same inputs, and compare what they leave with what the first ones leave."""
        made = [one for one in built if isinstance(one, CudaKernels)]
        with self.memory() as memory:
            self.warmed(made[0].engine_here, memory)
            actions = [ready(o.engine_here, self.inputs.layouts, self.inputs.values, memory) for o in made]
            times = in_turns(actions, rounds=rounds, before=lambda run: self.inputs.fill(memory, self.way, run))
            differing = self._differing(actions, memory)
            del actions
        keys = [one.kernels.key for one in made]
        left_out = {keys[place]: reason for place, reason in differing.items()}
        return InTurns({k: t for k, t in zip(keys, times, strict=True) if k not in left_out}, left_out)

    def _differing(self, actions: Sequence[Ready], memory: Mapping[str, Any]) -> dict[int, str]:
        """Which actions, by number, compute something else than the first, and what."""
        reference: dict[str, Any] = {}
        found = {}
        for place, action in enumerate(actions):
            once(action, lambda: self.inputs.fill(memory, self.way, 0))
            if not place:
                reference = {name: memory[name].copy() for name in self.inputs.results}
                if not self._finite(reference):
                    return {}
                continue
            for name, expected in reference.items():
                difference = relative_difference(memory[name], expected)
                if not difference <= allowed_difference(expected.dtype):
                    found[place] = f"{name} differs from the default's by {difference:.3g} of its largest element"
        return found

    def failure(self, error: Exception) -> DeviceError:
        """What a failure of CuPy, or of an engine that passes it on, means: too much was asked for, or more than
        that."""
        cause = error.__cause__ if isinstance(error, DeviceError) else error
        text = " ".join(str(cause or error).split())
        out_of_memory = type(cause).__name__ == "OutOfMemoryError"
        too_much = out_of_memory or getattr(cause, "status", None) in _TOO_MUCH or any(w in text for w in _OF_PTXAS)
        return ResourcesError(text) if too_much else DeviceError(text)


@dataclass(frozen=True, slots=True)
class CudaKernels:
    """Kernels that are loaded into this process's context."""

    device: CudaDevice
    kernels: Kernels
    engine_here: CupyEngine
    resources: Resources

    def engine(self, program: HostProgram) -> CupyEngine:
        """Return what launches the same kernels by another host program."""
        return replace(self.engine_here, program=program, replays=Replays())

    def check_threads(self) -> None:
        """Raise ResourcesError for a kernel whose blocks have more threads than there are registers for."""
        query = require_cupy().cuda.driver.funcGetAttribute
        for kernel in self.kernels.program.kernels:
            function, threads = self.engine_here.functions[kernel.name].kernel, prod(kernel.block)
            most = int(query(MAX_THREADS, function.ptr))
            if threads > most:
                raise ResourcesError(f"{kernel.name} has {threads} threads a block, with its registers {most} fit")

    def time(self, best: float) -> tuple[float, ...]:
        """Time them as `Built` says."""
        device = self.device
        runs = iter(range(1, 1 << 30))
        with device.memory() as memory:
            action, took = device.warmed(self.engine_here, memory)
            times = milliseconds_of(
                action,
                runs=None,
                warm_ups=0,
                before=lambda: device.inputs.fill(memory, device.way, next(runs)),
                warmed=(took,),
                best=best,
            )
            del action
        return times


def _release_frames(error: BaseException | None) -> None:
    """Let go of what functions had that an error has ended: device memory among it."""
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _resources(program: HostProgram, said: Mapping[str, Said]) -> Resources:
    known = [said[kernel.name] for kernel in program.kernels if kernel.name in said]
    return Resources(
        tuple(one.registers for one in known),
        tuple(one.spill_bytes for one in known),
        tuple(shared_bytes(kernel) for kernel in program.kernels),
    )
