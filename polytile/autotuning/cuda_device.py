"""A GPU that kernels are timed on, by CuPy, for the sizes of one workload.

Memory for the arrays is there only while the GPU is held: of many processes with a context on it one at a time has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import isnan, prod
from pathlib import Path
from traceback import clear_frames

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
from polytile.runtime.device_compare import allowed_difference
from polytile.runtime.driver import driver_version
from polytile.runtime.gpu_lock import alone
from polytile.runtime.ptxas import Said, parse
from polytile.runtime.resident_runs import ResidentRuns

_THREADS, _LOCAL_BYTES, _REGISTERS = "MAX_THREADS_PER_BLOCK", "LOCAL_SIZE_BYTES", "NUM_REGS"
_ATTRIBUTES = {_THREADS: 0, _LOCAL_BYTES: 3, _REGISTERS: 4}  # CU_FUNC_ATTRIBUTE_...
# Of CUresult and cudaError_t: an invalid value (too much dynamic shared memory), no memory, an invalid configuration,
# out of registers for a launch, and more blocks that wait for each other than fit.
_TOO_MUCH = frozenset({1, 2, 9, 701, 720})
_SAID_BY_PTXAS = ("uses too much", "too many resources")


class CudaDevice:
    """The current GPU of this process; `lock` says which file is locked for one, by its PCI bus number."""

    def __init__(self, source: Source, lock: Callable[[str], Path], seed: int) -> None:
        cupy = require_cupy()
        device = cupy.cuda.Device()
        self.lock = lock(device.pci_bus_id)
        self.runs = ResidentRuns(source.scop, source.sizes, seed)
        self.conditions = Conditions(
            sizes=source.sizes,
            gpu=cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode(),
            driver=driver_version(),
            compiler=f"NVRTC {'.'.join(map(str, cupy.cuda.nvrtc.getVersion()))}",
            flags=(*flags_of(source.workload.options), f"-arch=sm_{device.compute_capability}"),
        )
        self.runs.compile()

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
        _check_threads(engine)
        return CudaKernels(self, replace(kernels, binary=binary), engine, _resources(engine, parse(said)))

    def in_turns(self, built: Sequence[Built], rounds: int) -> InTurns:
        """Run kernels in turns, and leave out what differs from what the first ones compute by more than rounding."""
        made = [one for one in built if isinstance(one, CudaKernels)]
        engines = [one.loaded for one in made]
        with self.failing():
            times = self.runs.in_turns(engines, rounds)
            differing = [self._differing(found) for found in self.runs.differences(engines)]
        rows = list(zip((one.kernels.key for one in made), times, differing, strict=True))
        left_out = {key: reason for key, _, reason in rows if reason}
        return InTurns({key: runs for key, runs, reason in rows if not reason}, left_out)

    def _differing(self, differences: dict[str, float]) -> str:
        """Describe how results differ from the default's; "" where they do not, as far as results are finite."""
        for name, difference in differences.items():
            if not isnan(difference) and difference > allowed_difference(self.runs.inputs.layouts[name].dtype):
                return f"{name} differs from the default's by {difference:.3g} of its largest element"
        return ""

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Raise what fails inside as ResourcesError or DeviceError."""
        try:
            yield
        except device_failures() as error:
            raise self.failure(error) from error

    def failure(self, error: Exception) -> DeviceError:
        """Explain a failure of CuPy, or of an engine that passes it on: that too much was asked for, or more than
        that."""
        cause = error.__cause__ if isinstance(error, DeviceError) else error
        text = " ".join(str(cause or error).split())
        out_of_memory = type(cause).__name__ == "OutOfMemoryError"
        too_much = getattr(cause, "status", None) in _TOO_MUCH or any(words in text for words in _SAID_BY_PTXAS)
        return ResourcesError(text) if too_much or out_of_memory else DeviceError(text)


@dataclass(frozen=True, slots=True)
class CudaKernels:
    """Kernels that are loaded into this process's context."""

    device: CudaDevice
    kernels: Kernels
    loaded: CupyEngine
    resources: Resources

    def engine(self, program: HostProgram) -> CupyEngine:
        """Return what launches the same kernels by another host program."""
        return replace(self.loaded, program=program, replays=Replays())

    def time(self, best: float) -> tuple[float, ...]:
        """Time them as `Built` says."""
        with self.device.failing():
            return self.device.runs.time(self.loaded, best=best)


def _release_frames(error: BaseException | None) -> None:
    """Release what functions had that an error has ended: device memory among it."""
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _asked(engine: CupyEngine, attribute: str) -> list[int]:
    """Query an attribute of each kernel from the driver."""
    query = require_cupy().cuda.driver.funcGetAttribute
    return [int(query(_ATTRIBUTES[attribute], engine.functions[k.name].kernel.ptr)) for k in engine.program.kernels]


def _check_threads(engine: CupyEngine) -> None:
    """Raise ResourcesError for a kernel whose blocks have more threads than there are registers for."""
    for kernel, most in zip(engine.program.kernels, _asked(engine, _THREADS), strict=True):
        threads = prod(kernel.block)
        if threads > most:
            raise ResourcesError(f"{kernel.name}: blocks of {threads} threads, where its registers allow {most}")


def _resources(engine: CupyEngine, said: dict[str, Said]) -> Resources:
    """Return what kernels take. Where NVRTC has found them in its cache, ptxas says nothing: all local memory counts as
    spilled then."""
    kernels = engine.program.kernels
    local = zip(kernels, _asked(engine, _LOCAL_BYTES), strict=True)
    return Resources(
        registers=tuple(_asked(engine, _REGISTERS)),
        spilled_bytes=tuple(said[k.name].spill_bytes if k.name in said else size for k, size in local),
        shared_bytes=tuple(map(shared_bytes, kernels)),
    )
