"""A bench whose times are made up: they follow from the point, and nothing is compiled, run or measured.

    small_space: classic tiles of 8, 16, 32 by blocks of 32, 64, 128: 9 points, the fastest at tile 16, block 64
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from polytile.autotuning.conditions import Conditions
from polytile.autotuning.evaluator import Known
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.space import Parameter, Point, Space, Subspace, Value
from polytile.autotuning.workload import Workload
from polytile.choices import Choices
from polytile.cli.tune.arguments import TuneRequest
from polytile.compiled_scop import CompiledScop

BEST = (("schedule", "classic"), ("tile", 16), ("block", 64))
TOO_LARGE = 128  # threads of a block


def small_space() -> Space:
    """Nine points, of which those with the largest blocks have no time."""
    parameters = Parameter("tile", (8, 16, 32)), Parameter("block", (32, 64, TOO_LARGE))
    return Space((Subspace("classic", parameters, _choices),))


def _choices(point: Mapping[str, Value]) -> Choices:
    return Choices(schedule="classic", tile=(int(point["tile"]),), block=(int(point["block"]),))


def outcome_of(point: Point) -> Outcome:
    """2 ms for the default, 1 ms for the best, more for the others; no time for large blocks."""
    at = dict(point)
    if at.get("block") == TOO_LARGE:
        return Outcome(point, Status.RESOURCES, "300 registers of 255")
    time = 2.0 if not point else 1.0 + 0.25 * (at["tile"] != 16) + 0.5 * (at["block"] != 64)
    key = sha256(repr(point).encode()).hexdigest()
    return Outcome(point, Status.MEASURED, milliseconds=(time, time, time), key=key, estimate=time)


@dataclass
class MadeUpEvaluator:
    """Evaluates one point at a time; `asked` are those that it was asked for."""

    conditions: Conditions
    outcome: Callable[[Point], Outcome] = outcome_of
    known: Known = lambda key: None
    width: int = 1
    asked: list[Point] = field(default_factory=list)
    waiting: deque[Point] = field(default_factory=deque)
    closed: bool = False

    def start(self, point: Point, best: float) -> None:
        self.asked.append(point)
        self.waiting.append(point)

    def finished(self) -> Outcome:
        return self.outcome(self.waiting.popleft())

    def again(self, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]]:
        return {point: self.outcome(point).milliseconds for point in points}

    def close(self) -> None:
        self.closed = True


@dataclass
class MadeUpBench:
    """What `polytile tune` has in place of a GPU and of the spaces of SCoPs; `workloads` are those that were tuned."""

    outcome: Callable[[Point], Outcome] = outcome_of
    evaluators: list[MadeUpEvaluator] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)

    def space(self, scop: CompiledScop, sizes: Mapping[str, int], only: Sequence[str]) -> Space:
        return small_space() if "classic" in (only or ["classic"]) else Space(())

    def evaluator(self, request: TuneRequest, workload: Workload, choices: object) -> MadeUpEvaluator:
        self.workloads.append(workload)
        self.evaluators.append(MadeUpEvaluator(Conditions(dict(workload.sizes), gpu="made up"), self.outcome))
        return self.evaluators[-1]
