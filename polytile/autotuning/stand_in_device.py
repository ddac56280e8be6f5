"""What stands in for a GPU where there is none: the emulator runs kernels, and times are estimates.

Times depend on the text of the kernels alone, so that two runs of a search say the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from polytile.autotuning.conditions import Conditions
from polytile.autotuning.device import Built, InTurns, Kernels, Resources
from polytile.autotuning.workload import Source
from polytile.codegen.targets.cuda.shared_memory import shared_bytes
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop
from polytile.runtime.engine import EmulatorEngine, emulator_engine
from polytile.runtime.gpu_lock import alone
from polytile.runtime.timing import enough

SPREAD = 0.2  # by which times of kernels differ from their estimates, at most,
NOISE = 0.01  # and runs from one another
WITHOUT_ESTIMATE = 1.0  # milliseconds


class StandInDevice:
    """A device whose clock is the cost model."""

    def __init__(self, source: Source, lock: Path) -> None:
        self.scop, self.lock = source.scop, lock
        self.conditions = Conditions(source.sizes, gpu="none", driver="none", compiler="emulator")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock, as for a GPU."""
        with alone(self.lock):
            yield

    def build(self, kernels: Kernels) -> StandInKernels:
        """Return kernels of which nothing is compiled before a version is run."""
        shared = tuple(shared_bytes(kernel) for kernel in kernels.program.kernels)
        return StandInKernels(self.scop, kernels, Resources(shared_bytes=shared))

    def failure(self, error: DeviceError) -> DeviceError:
        """Return the failure: the emulator runs out of nothing that a GPU would."""
        return error

    def in_turns(self, built: Sequence[Built], rounds: int) -> InTurns:
        """Make up further runs of each; none computes anything."""
        kernels = [one.kernels for one in built]
        return InTurns({k.key: tuple(run_time(k, run) for run in range(rounds)) for k in kernels})


@dataclass(frozen=True, slots=True)
class StandInKernels:
    """Kernels for the emulator."""

    scop: Scop
    kernels: Kernels
    resources: Resources = field(default_factory=Resources)

    def engine(self, program: HostProgram) -> EmulatorEngine:
        """Compile a version for the emulator; raises DeviceError without a C++ compiler."""
        return emulator_engine(self.scop, program, self.kernels.options)

    def time(self, best: float) -> tuple[float, ...]:
        """Make up as many runs as a GPU would be timed for."""
        warmed = (run_time(self.kernels, 0),)
        times: list[float] = []
        while not enough(warmed, times, None, best):
            times.append(run_time(self.kernels, 1 + len(times)))
        return tuple(times)


def run_time(kernels: Kernels, run: int) -> float:
    """Make up the milliseconds of a run: the estimate, off by what the key says, and a little by the run."""
    base = WITHOUT_ESTIMATE if kernels.estimate is None else kernels.estimate
    return base * (1 + SPREAD * _share(kernels.key)) * (1 + NOISE * _share(f"{kernels.key} {run}"))


def _share(text: str) -> float:
    """Derive a number in [-1, 1) from a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / (1 << 31) - 1
