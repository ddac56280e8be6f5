"""Evaluates points in processes: they compile side by side, and one at a time has the GPU.

A process that crashes, hangs or loses its device ends, and another one takes its place: its point has an outcome, and
the others go on.
"""

from __future__ import annotations

import os
import selectors
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from math import inf, isfinite
from pathlib import Path
from types import TracebackType
from typing import Any

from polytile import diagnostics
from polytile.autotuning.conditions import Conditions
from polytile.autotuning.evaluator import Known
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.space import Point
from polytile.autotuning.worker import GPU
from polytile.autotuning.worker_process import Message, WorkerProcess
from polytile.autotuning.workload import Workload
from polytile.choices import Choices
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, PolytileError

COMMAND = (sys.executable, "-m", "polytile.autotuning.worker")
MOST_WORKERS = 16  # a context takes half a gigabyte of the GPU's memory
MOST_POINTS = 200  # of one process: modules that were loaded stay in its context
MOST_VAIN = 3  # processes that do not start, where others run
ROUNDS = 9  # of finalists
START_SECONDS = 300.0  # for a process to read the program and open the device


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that each stage of an evaluation may take: `compile` those on the processor, `run` those on the GPU, for
    which it does not count how long a process waits."""

    compile: float = 120.0
    run: float = 120.0

    def of(self, stage: str) -> float:
        """Return the limit of a stage."""
        return inf if stage == "wait" else self.run if stage in ("validate", "time") else self.compile


@dataclass(slots=True)
class _Task:
    """A point that is evaluated: by what, what is known of it, and where that is."""

    point: Point
    best: float
    begun: float = 0.0
    stage: str = "start"
    known: Message = field(default_factory=dict)


@dataclass(slots=True)
class _Worker:
    process: WorkerProcess
    ready: bool = False
    task: _Task | None = None
    points: int = 0  # that it has been given


def nothing_known(key: str) -> Outcome | None:
    """Return None: nothing is known where there is no record."""
    return None


class GpuEvaluator:
    """See Evaluator. `choices` says what the compiler is asked for at a point, `known` what is known of a key; it may
    be set later, as a record needs `conditions`. Who else locks `lock` does not run at the same time; by default all
    evaluators of a GPU have the same one.

    Raises DeviceError without a GPU or CuPy, UserError and UsageError where the program cannot be read, when it is
    made. `device` and `command` are for tests, which run it without a GPU.
    """

    def __init__(
        self,
        workload: Workload,
        choices: Callable[[Point], Choices],
        known: Known = nothing_known,
        *,
        width: int | None = None,
        lock: Path | None = None,
        limits: Limits | None = None,
        seed: int = 1,
        device: str = GPU,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self.width = width if width is not None else most_workers()
        self.known = known
        self.left_out: dict[Point, str] = {}  # by `again`, and why
        self._choices, self._limits, self._command = choices, limits or Limits(), command
        self._folder = tempfile.TemporaryDirectory(prefix="polytile-", ignore_cleanup_errors=True)
        self._told: Message = {
            "workload": workload.to_json(),
            "device": device,
            "lock": None if lock is None else str(lock),
            "locks": tempfile.gettempdir(),
            "folder": self._folder.name,
            "seed": seed,
        }
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self._waiting: deque[_Task] = deque()
        self._done: deque[Outcome] = deque()
        self._again: Message | None = None  # what came of the last `again`
        self._keys: dict[Point, str] = {}
        self._vain = 0  # processes that did not start
        self._sizes = dict(workload.sizes)
        self.conditions = Conditions(self._sizes)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> GpuEvaluator:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def start(self, point: Point, best: float) -> None:
        """Start a point, as soon as a process is free."""
        self._waiting.append(_Task(point, best))
        self._assign()

    def finished(self) -> Outcome:
        """Wait for the end of any point that was started; raises DeviceError where no process can be started."""
        while not self._done:
            if not self._waiting and not any(worker.task for worker in self._workers):
                raise RuntimeError("no point was started")
            self._assign()
            self._attend()
        return self._done.popleft()

    def again(self, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]]:
        """Time ROUNDS further runs, in milliseconds, one of each point in turn; the first is what results of the others
        are compared with. `left_out` says which are not there and why."""
        names = {str(place): point for place, point in enumerate(points)}
        told = {n: {"key": self._keys.get(p, ""), "choices": self._asked(p)} for n, p in names.items()}
        asked = {"again": told, "rounds": ROUNDS}
        self._again = None
        worker = self._free_worker()
        worker.task = _Task((), inf, time.monotonic(), "build", asked)
        worker.process.send(asked, self._limits.of("build"))
        while self._again is None:
            self._attend()
        found, self._again = self._again, None
        self.left_out = {names[name]: reason for name, reason in found["left_out"].items()}
        return {names[name]: tuple(times) for name, times in found["again"].items()}

    def close(self) -> None:
        """End all processes; what they have measured and not told is lost."""
        while self._workers:
            self._end(self._workers[0])
        self._selector.close()
        self._folder.cleanup()

    def _open(self) -> None:
        """Start all processes, and hear from the first what they measure on."""
        for _ in range(self.width):
            self._start_worker()
        while not any(worker.ready for worker in self._workers):
            self._attend()

    def _asked(self, point: Point) -> Message:
        return dict(self._choices(point).asked)

    def _start_worker(self) -> None:
        worker = _Worker(WorkerProcess(self._command, of_workers(self._folder.name)))
        worker.process.send(self._told, START_SECONDS)
        self._workers.append(worker)
        self._selector.register(worker.process, selectors.EVENT_READ, worker)

    def _free_worker(self) -> _Worker:
        """Wait for a process that is ready and has nothing to do, and return it."""
        while True:
            for worker in self._workers:
                if worker.ready and worker.task is None:
                    return worker
            if not self._workers:
                self._start_worker()
            self._attend()

    def _assign(self) -> None:
        """Give points that wait to processes that have nothing to do, and start those that are missing."""
        for worker in self._workers:
            if self._waiting and worker.ready and worker.task is None:
                task = worker.task = self._waiting.popleft()
                worker.points += 1
                task.begun, task.stage = time.monotonic(), "compile"
                worker.process.send({"evaluate": self._asked(task.point)}, self._limits.of("compile"))
        while self._waiting and len(self._workers) < self.width:
            self._start_worker()

    def _attend(self) -> None:
        """Wait until a process says something, ends or is late, and do what follows from that."""
        late = min((w.process.deadline for w in self._workers if w.task or not w.ready), default=inf)
        seconds = max(0.0, late - time.monotonic())
        for key, _ in self._selector.select(seconds if isfinite(seconds) else None):
            worker: _Worker = key.data
            try:
                for message in worker.process.messages() if worker in self._workers else ():
                    self._take(worker, message)
            except (EOFError, ValueError):
                self._ended(worker, Status.CRASHED)
        for worker in list(self._workers):
            if (worker.task or not worker.ready) and time.monotonic() >= worker.process.deadline:
                self._ended(worker, Status.HUNG)

    def _take(self, worker: _Worker, message: Message) -> None:
        match message:
            case {"ready": dict(found)}:
                worker.ready = True
                self.conditions = Conditions(self._sizes, **{**found, "flags": tuple(found["flags"])})
                self._assign()
            case {"failed": str(reason), "hint": hint, "kind": str(kind)}:
                raise _raised(kind, reason, hint)
            case {"stage": str(stage)} if worker.task:
                worker.task.stage = stage
                worker.process.deadline = time.monotonic() + self._limits.of(stage)
            case {"compiled": str(key)} if worker.task:
                worker.task.known = message
                self._decide(worker, worker.task, key)
            case {"ended": dict(found)} if worker.task:
                self._finish(worker, _outcome(worker.task, found), lost=message.get("lost", False))
            case {"again": dict()}:
                self._again, worker.task = message, None
                if message.get("lost", False):
                    self._end(worker)

    def _decide(self, worker: _Worker, task: _Task, key: str) -> None:
        """Measure what was compiled, unless it is known or measured by others."""
        self._keys[task.point] = key
        known = self.known(key)
        if known is None:
            best = task.best if isfinite(task.best) else None
            worker.process.send({"measure": best}, self._limits.of("build"))
            return
        worker.process.send({"skip": True}, inf)
        seconds = dict(task.known["seconds"])
        self._finish(worker, replace(known, point=task.point, key=key, reused=True, seconds=seconds))

    def _finish(self, worker: _Worker, outcome: Outcome, *, lost: bool = False) -> None:
        worker.task = None
        self._done.append(outcome)
        if lost or worker.points >= MOST_POINTS:
            self._end(worker)
        self._assign()

    def _ended(self, worker: _Worker, status: Status) -> None:
        """Report what came of the point of a process that has ended, or is late."""
        task, ready = worker.task, worker.ready
        reason = self._end(worker, ending=status is Status.CRASHED)
        if not ready:
            self._vain += 1
            if self._vain > MOST_VAIN or not any(other.ready for other in self._workers):
                raise DeviceError(f"a process that measures does not start: {reason}")
            return
        if task is None:
            return
        if status is Status.HUNG:
            reason = f"{task.stage}: not done after {self._limits.of(task.stage):g} s"
        else:
            reason = f"{task.stage}: {reason}"
        if "again" in task.known:
            self._again = {"again": {}, "left_out": dict.fromkeys(task.known["again"], reason)}
        else:
            self._done.append(_outcome(task, {"status": status.value, "reason": reason, "seconds": {}}))

    def _end(self, worker: _Worker, *, ending: bool = False) -> str:
        self._workers.remove(worker)
        self._selector.unregister(worker.process)
        return worker.process.end(ending=ending)


def _outcome(task: _Task, found: Mapping[str, Any]) -> Outcome:
    """Convert what a worker said to the outcome of its point."""
    names = "milliseconds", "registers", "spilled_bytes", "shared_bytes"
    lists: dict[str, Any] = {name: tuple(found.get(name, ())) for name in names}
    seconds = {**task.known.get("seconds", {}), **found["seconds"], "all": time.monotonic() - task.begun}
    return Outcome(
        point=task.point,
        status=Status(found["status"]),
        reason=found["reason"],
        key=task.known.get("compiled", ""),
        estimate=task.known.get("estimate"),
        bound=task.known.get("bound", ""),
        seconds={name: round(value, 4) for name, value in seconds.items()},
        **lists,
    )


def _raised(kind: str, reason: str, hint: str | None) -> PolytileError:
    """Convert what a worker has failed by to the same kind of error."""
    found = getattr(diagnostics, kind, None)
    if isinstance(found, type) and issubclass(found, PolytileError):
        return found(reason, hint=hint)
    return DeviceError(reason)


def of_workers(folder: str) -> dict[str, str]:
    """Return the environment of a worker, which may leave files in a folder: one thread for each library that would
    take all processors, and no cache of CUDA's compilers, with which ptxas says nothing."""
    own = {"TMPDIR": folder, "CUDA_CACHE_DISABLE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **own}


def most_workers() -> int:
    """Return how many processes evaluate at once, where it is not said."""
    present = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(present, MOST_WORKERS))
