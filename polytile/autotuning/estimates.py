"""What the cost model says of many points: they are scheduled side by side, and none is proven, compiled or run.

A process that ends meanwhile, as for want of memory, takes the estimate of its point with it; another one takes its
place.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from queue import SimpleQueue

from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Point
from polytile.autotuning.workload import Source, Workload
from polytile.choices import Choices
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, PolytileError

_read: list[Source | PolytileError] = []  # by a process, once


def estimates_of(workload: Workload, choices: Callable[[Point], Choices], jobs: int) -> Estimates:
    """Return what estimates points, in so many processes; it raises DeviceError where all of these end before they
    have said anything, and UserError or UsageError where the program cannot be read any more."""

    def estimated(points: Sequence[Point]) -> Sequence[float | None]:
        asked = [choices(point) for point in points]
        if jobs == 1 or len(asked) < 2:
            source = workload.read()
            return [milliseconds(source, one) for one in asked]
        return _side_by_side(workload, asked, min(jobs, len(asked)))

    return estimated


def milliseconds(source: Source, choices: Choices) -> float | None:
    """Return the cost model's time of a point; None where it has no schedule or the model knows nothing."""
    try:
        found = source.estimate(choices)
    except Exception:  # an evaluation of the point says which, where it comes to that
        return None
    return None if found is None else found.microseconds / 1000


@dataclass(slots=True)
class _Lane:
    """A process that estimates a point at a time, and is replaced where it ends; `ends` counts that."""

    told: dict[str, object]
    pool: ProcessPoolExecutor | None = None
    ends: int = 0

    def milliseconds(self, choices: Choices) -> float | None:
        if self.pool is None:
            context = multiprocessing.get_context("spawn")  # a copy of this process would share its GPU
            self.pool = ProcessPoolExecutor(1, context, _begin, (self.told,))
        try:
            return self.pool.submit(_of_this_process, choices).result()
        except BrokenProcessPool:
            self.ends += 1
            self.close()
            return None

    def close(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
        self.pool = None


def _side_by_side(workload: Workload, asked: Sequence[Choices], jobs: int) -> Sequence[float | None]:
    lanes = [_Lane(workload.to_json()) for _ in range(jobs)]
    free: SimpleQueue[_Lane] = SimpleQueue()
    for lane in lanes:
        free.put(lane)

    def estimate(choices: Choices) -> float | None:
        lane = free.get()
        try:
            return lane.milliseconds(choices)
        finally:
            free.put(lane)

    threads = ThreadPoolExecutor(jobs)
    try:
        found = list(threads.map(estimate, asked))
    finally:
        threads.shutdown(cancel_futures=True)
        for lane in lanes:
            lane.close()
    if sum(lane.ends for lane in lanes) == len(asked):
        hint = "with a smaller --jobs less memory is taken at once; --search random needs no estimates"
        raise DeviceError(f"{workload.scop}: each process that compiles kernels to estimate them has ended", hint=hint)
    return found


def _begin(told: dict[str, object]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it
    try:
        _read.append(Workload.from_json(told).read())
    except PolytileError as error:
        _read.append(error)


def _of_this_process(choices: Choices) -> float | None:
    source = _read[0]
    if isinstance(source, PolytileError):
        raise source
    return milliseconds(source, choices)
