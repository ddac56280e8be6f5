"""What the cost model says of many points: they are compiled side by side, and none is run."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Point
from polytile.autotuning.workload import Source, Workload
from polytile.choices import Choices
from polytile.diagnostics import PolytileError
from polytile.facts.kernel_facts import estimate_of

_read: list[Source] = []  # by a process of a pool, once


def estimates_of(workload: Workload, choices: Callable[[Point], Choices], jobs: int) -> Estimates:
    """Return what estimates points, in so many processes."""

    def estimated(points: Sequence[Point]) -> Sequence[float | None]:
        asked = [choices(point) for point in points]
        if jobs == 1 or len(asked) < 2:
            source = workload.read()
            return [milliseconds(source, one) for one in asked]
        context = multiprocessing.get_context("spawn")  # a copy of this process would share its GPU
        pool = ProcessPoolExecutor(min(jobs, len(asked)), context, _begin, (workload.to_json(),))
        try:
            return list(pool.map(_of_this_process, asked))
        finally:
            pool.shutdown(cancel_futures=True)

    return estimated


def milliseconds(source: Source, choices: Choices) -> float | None:
    """Return the cost model's time of a point; None where it is refused or the model knows nothing."""
    try:
        found = estimate_of(source.compile(choices).compilation)
    except PolytileError:
        return None
    return None if found is None else found.microseconds / 1000


def _begin(told: dict[str, object]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it
    _read.append(Workload.from_json(told).read())


def _of_this_process(choices: Choices) -> float | None:
    return milliseconds(_read[0], choices)
