"""One SCoP, from its source to what is fastest: its space, a search of it, a record, and where points are evaluated."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol

from polytile.autotuning.conditions import Conditions, source_key
from polytile.autotuning.evaluator import Evaluator, Known
from polytile.autotuning.record import Record
from polytile.autotuning.report import History
from polytile.autotuning.search.named import default_search, search_named
from polytile.autotuning.search.search import Estimates, Search
from polytile.autotuning.space import Point, Space
from polytile.autotuning.spaces import default_point, space_of
from polytile.autotuning.tuner import Budget, Observer, Tuned, tune
from polytile.autotuning.words import options
from polytile.autotuning.workload import Source, Workload
from polytile.choices import Choices
from polytile.compiled_scop import CompiledScop
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError, Diagnostic, PolytileError, UserError
from polytile.frontend.preprocess import read_input, surroundings


class Measuring(Evaluator, Protocol):
    """An evaluator that says under which conditions it measures, and asks `known` what is known of kernels."""

    known: Known

    @property
    def conditions(self) -> Conditions:
        """Return what times depend on besides the kernels."""
        ...


Evaluators = Callable[[Workload, Callable[[Point], Choices]], Measuring]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a SCoP is searched: the file of the record, the names of parts of its space (none: all), that of the search
    (empty: by the size of the space), and how many processes compile."""

    record: Path
    spaces: tuple[str, ...] = ()
    search: str = ""
    budget: Budget = Budget()
    seed: int = 0
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search of a workload has found, remarks on it, and the point that is nearest to the compiler's own choice.
    """

    workload: Workload
    space: Space
    search: str
    conditions: Conditions
    tuned: Tuned
    remarks: tuple[Diagnostic, ...] = ()
    near_default: Point = ()

    @property
    def choices(self) -> Choices:
        """Return what the compiler is asked for; nothing where its own choice is as fast."""
        return self.space.choices(self.tuned.winner.point)

    @property
    def history(self) -> History:
        """Return the same as a History, for a reader."""
        return History(
            scop=self.workload.scop,
            file=Path(self.workload.path).name,
            sizes=self.workload.sizes,
            gpu=self.conditions.gpu,
            outcomes=self.tuned.outcomes,
            winner=self.tuned.winner.point,
            options=options(self.choices),
            finals=self.tuned.milliseconds,
            near_default=self.near_default,
            points=len(self.space.points),
            search=self.search,
        )


def search_scop(
    workload: Workload,
    scop: CompiledScop,
    plan: Plan,
    evaluators: Evaluators,
    observer: Callable[[Space, Search], Observer],
) -> Searched:
    """Search the space of a SCoP, which is compiled as the compiler chooses by itself; goes on from what the record
    has.

    Raises UserError where its space is empty, UsageError where the record cannot be used, and DeviceError where nothing
    can be evaluated here.
    """
    space = space_of(scop, workload.sizes, plan.spaces)
    if not space.points:
        parts = ", ".join(plan.spaces) or "any strategy"
        message = f"{workload.scop} has no kernels of {parts} to choose from"
        hint = f"polytile {workload.path} --explain says what was considered"
        raise UserError(message, location=scop.scop.location, hint=hint)
    name = plan.search or default_search(space, plan.budget.evaluations)
    search = search_named(name, space, plan.seed, estimates_of(workload, space.choices, plan.jobs))
    evaluator = evaluators(workload, space.choices)
    try:
        conditions = evaluator.conditions
        with Record(plan.record, source_of(workload, conditions), conditions) as record:
            evaluator.known = record.known
            tuned = tune(search, evaluator, record, plan.budget, observer(space, search))
            near = default_point(space, scop)
            return Searched(workload, space, search.description, conditions, tuned, record.remarks, near)
    finally:
        evaluator.close()


def source_of(workload: Workload, conditions: Conditions) -> str | None:
    """Return the SHA-256 of all that kernels of a workload are made from, whatever is asked for: the file, and what the
    preprocessor makes of it. None while polytile's own files are being changed."""
    path, text = (workload.path, workload.text) if workload.text is not None else read_input(workload.path)
    around = surroundings(
        path,
        text,
        include_dirs=workload.include_dirs,
        defines=workload.defines,
        preprocessor=workload.preprocessor,
        flags=workload.preprocessor_flags,
        cflags=workload.options.cflags,
    )
    parts = (workload.scop, text, around.output, workload.device_source, str(workload.autodetect))
    return source_key("\0".join(parts), workload.options, conditions)


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
