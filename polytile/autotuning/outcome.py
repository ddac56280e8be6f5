"""What came of one point: a time, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from math import inf
from statistics import median

from polytile.autotuning.space import Point
from polytile.dataclass import dataclass

RESOLUTION = 0.0005  # milliseconds that CUDA events tell apart: where nothing runs they may say 0


def median_time(runs: Sequence[float]) -> float:
    """Return the median of times in milliseconds, more than 0 as it is divided by; infinite where there is none."""
    return max(median(runs), RESOLUTION) if runs else inf


class Status(Enum):
    """How an evaluation ended."""

    MEASURED = "measured"
    REFUSED = "refused"  # by the compiler or a proof, or it has no kernels
    RESOURCES = "resources"  # ptxas or the driver: registers, shared memory, threads
    WRONG = "wrong"  # results differ from the sequential C's, or are not finite
    CRASHED = "crashed"  # the process, or the device
    HUNG = "hung"  # neither compiled nor ran in the time it has
    HELD = "held"  # another tuner measures the same kernels: no outcome yet, and never in a record


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an evaluation found.

    `key` is the SHA-256 of what was measured (text of the kernels, flags, sizes, compiler, driver, GPU): equal keys are
    measured once. `milliseconds` are of the whole SCoP, a run each, by CUDA events; few, where the first ones were much
    slower than the best point. `seconds` are what the evaluation itself took, by stage. Registers, spilled and shared
    bytes are those of each kernel.
    """

    point: Point
    status: Status
    reason: str = ""
    milliseconds: tuple[float, ...] = ()
    key: str = ""
    estimate: float | None = None  # milliseconds by the cost model
    registers: tuple[int, ...] = ()
    spilled_bytes: tuple[int, ...] = ()
    shared_bytes: tuple[int, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    reused: bool = False  # the time is that of another point, or of an earlier run, with the same key
    bound: str = ""  # by the cost model: what the kernel that takes longest waits for, as `memory`

    @property
    def median(self) -> float:
        """Return the median time in milliseconds; infinite where there is none."""
        return median_time(self.milliseconds)

    def spent(self, *stages: str) -> float:
        """Sum the milliseconds that stages of the evaluation have taken."""
        return 1000 * sum(self.seconds.get(stage, 0.0) for stage in stages)
