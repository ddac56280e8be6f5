"""`replay`: searches compared on a record, without a GPU.

For each search, how many evaluations it takes until one is within 5%, and 1%, of the fastest in the record, over many
seeds; never, where a fourth of the points does not suffice. Each point that is asked for counts, those without a time
too; the default, which a tuner evaluates anyway, does not.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from polybench.runner.errors import RunnerError
from polybench.runner.markdown import grid
from polytile.autotuning.kernel_tuner_cache import kernel_tuner_cache, write_kernel_tuner_cache
from polytile.autotuning.outcome import Outcome
from polytile.autotuning.record import read_record
from polytile.autotuning.replay import Replay, recorded_estimates, recorded_space
from polytile.autotuning.search.named import search_named
from polytile.autotuning.search.search import Search
from polytile.autotuning.t4_format import read_t4, t4_results
from polytile.dataclass import dataclass
from polytile.diagnostics import PolytileError, UsageError
from polytile.runtime.output import check_targets, make_folder

WITHIN = (5, 1)  # percent of the best
LEAST = 20  # points that a search may evaluate, or a fourth of all
HINT = "name a file that `polytile tune` has written, or T4 results (.json)"
COLUMNS = ("search", *(f"within {percent}%: {each}" for percent in WITHIN for each in ("median", "quartiles")))


@dataclass(frozen=True, slots=True)
class Needed:
    """What a search needed on a record of `points`: evaluations for each seed, until one was within each percentage of
    the best; one more than there are points where none was within a fourth of them."""

    search: str
    points: int
    evaluations: dict[int, list[int]] = field(default_factory=dict)

    def quartiles(self, percent: int) -> tuple[float, float, float]:
        """Return the first quartile, the median and the third, over seeds."""
        found = self.evaluations[percent]
        first, middle, third = quantiles(found, n=4, method="inclusive") if len(found) > 1 else 3 * found
        return first, middle, third

    def cells(self) -> tuple[str, ...]:
        found: list[str] = []
        for percent in WITHIN:
            first, middle, third = self.quartiles(percent)
            share = f" ({100 * middle / self.points:.1f}%)"
            last = f"{third:g}" if third <= most(self.points) else "never"
            found += (f"{middle:g}{share}", f"{first:g} to {last}") if middle <= most(self.points) else ("never", "")
        return self.search, *found


def recorded(path: Path, source: str = "") -> list[Outcome]:
    """Read the outcomes of a record, or of a `.json` in the T4 format, the last of each point.

    Of a record, those of the source whose SHA-256 begins so; without one, of that with the most evaluations.

    Raises RunnerError for files that are neither, that have no time, and where there is no such source.
    """
    try:
        outcomes = read_t4(path) if path.suffix == ".json" else _of_source(path, source)
    except UsageError as error:
        raise RunnerError.of(error) from error
    found = {one.point: one for one in outcomes}
    if not any(one.milliseconds for point, one in found.items() if point):
        raise RunnerError(f"{path} has no time of a point", hint=HINT)
    return list(found.values())


def _of_source(path: Path, source: str) -> list[Outcome]:
    entries = [one for one in read_record(path) if one.source.startswith(source)]
    if not entries:
        hint = f"the sources begin with {known}" if (known := _sources(path)) else HINT
        raise RunnerError(f"{path} has no evaluation of {source or 'any source'}", hint=hint)
    most = Counter(one.source for one in entries).most_common(1)[0][0]
    return [one.outcome for one in entries if one.source == most]


def _sources(path: Path) -> str:
    """Return the first digits of the sources of a record."""
    return ", ".join(dict.fromkeys(one.source[:8] for one in read_record(path)))


def needed(name: str, outcomes: Sequence[Outcome], seeds: int) -> Needed:
    """Replay a search on these outcomes and return what it needs; raises UsageError for an unknown search."""
    space, replayed, estimates = recorded_space(outcomes), Replay(outcomes), recorded_estimates(outcomes)
    searches = (search_named(name, space, seed, estimates) for seed in range(seeds))
    return _needed(name, outcomes, [islice(_times(search, replayed), most(len(space.points))) for search in searches])


def needed_by_kernel_tuner(strategy: str, outcomes: Sequence[Outcome], seeds: int) -> Needed:
    """Return what a strategy of Kernel Tuner needs on these outcomes; raises RunnerError where it cannot be run."""
    points = sum(one.point != () for one in outcomes)
    return _needed(f"Kernel Tuner: {strategy}", outcomes, simulated_times(outcomes, strategy, seeds, most(points)))


def most(points: int) -> int:
    """Return how many of so many points a search may evaluate."""
    return max(LEAST, points // 4)


def _times(search: Search, replayed: Replay) -> Iterator[float]:
    """Yield the time of each point that a search asks for, in milliseconds; infinite where there is none."""
    while (point := search.ask()) is not None:
        outcome = replayed.outcome(point)
        search.tell(outcome)
        yield outcome.median


def _needed(name: str, outcomes: Sequence[Outcome], runs: Sequence[Iterable[float]]) -> Needed:
    points = [one for one in outcomes if one.point]
    best = min(one.median for one in points)
    found = [_counts(run, best, len(points) + 1) for run in runs]
    return Needed(name, len(points), {percent: [one[percent] for one in found] for percent in WITHIN})


def _counts(times: Iterable[float], best: float, never: int) -> dict[int, int]:
    """Count how many evaluations it takes until one is within each percentage of the best."""
    found: dict[int, int] = {}
    for count, time in enumerate(times, 1):
        for percent in WITHIN:
            if time <= best * (1 + percent / 100):
                found.setdefault(percent, count)
        if len(found) == len(WITHIN):
            break
    return {percent: found.get(percent, never) for percent in WITHIN}


def table(found: Sequence[Needed]) -> str:
    """Print the table, as Markdown."""
    return grid(COLUMNS, (one.cells() for one in found), len(COLUMNS))


def replay(chosen: argparse.Namespace) -> int:
    """Print the table of a record; append a row for each search to a file, and write the record for Kernel Tuner."""
    path, seeds = chosen.record, chosen.seeds
    _check_files(chosen)
    outcomes = recorded(path, chosen.source)
    points = [one for one in outcomes if one.point]
    fine = sum(one.milliseconds != () for one in points)
    print(f"{path}: {len(points)} points, {fine} of them with a time; {seeds} seeds")
    if chosen.t4 is not None:
        chosen.t4.write_text(json.dumps(t4_results(outcomes), indent=1) + "\n")
    if chosen.cache is not None:
        write_kernel_tuner_cache(chosen.cache, kernel_tuner_cache(recorded_space(outcomes), outcomes))
    try:
        found = [needed(name, outcomes, seeds) for name in chosen.search]
    except UsageError as error:
        raise RunnerError.of(error) from error
    found += [needed_by_kernel_tuner(strategy, outcomes, seeds) for strategy in chosen.kernel_tuner]
    print(table(found))
    if chosen.json is not None:
        with chosen.json.open("a") as file:
            file.writelines(json.dumps({"record": str(path), **asdict(one)}) + "\n" for one in found)
    return 0


def _check_files(chosen: argparse.Namespace) -> None:
    """Make the folders of the files to write; raises RunnerError, before searches take their time, where that is
    impossible, or one of them is the record."""
    files = [file for file in (chosen.json, chosen.cache, chosen.t4) if file is not None]
    try:
        check_targets(files, chosen.record)
        for file in files:
            make_folder(file)
    except PolytileError as error:
        raise RunnerError.of(error) from error


def simulated_times(outcomes: Sequence[Outcome], strategy: str, seeds: int, most: int) -> list[list[float]]:
    """Return the times of all points that a strategy evaluates, in milliseconds, infinite where there is none, by seed.

    There are `most` points, by which some strategies plan ahead.

    Raises RunnerError where Kernel Tuner is not installed, or has no such strategy.
    """
    try:
        import kernel_tuner
        from constraint import FunctionConstraint
    except ImportError:
        raise RunnerError("Kernel Tuner is not installed: pip install 'kernel_tuner>=1.5'") from None
    content = kernel_tuner_cache(recorded_space(outcomes), outcomes)
    with TemporaryDirectory() as folder:
        path = Path(folder, "cache.json")
        write_kernel_tuner_cache(path, content)
        names = content["tune_params_keys"]
        known = {tuple(entry[name] for name in names) for entry in content["cache"].values()}
        tune = partial(
            kernel_tuner.tune_kernel,
            content["kernel_name"],
            "",
            tuple(content["problem_size"]),
            [],
            content["tune_params"],
            restrictions=[FunctionConstraint(lambda *values: values in known)],
            lang="CUDA",
            strategy=strategy,
            strategy_options={"max_fevals": most},
            cache=str(path),
            simulation_mode=True,
            quiet=True,
        )
        return [_simulated(tune, names, strategy, seed) for seed in range(seeds)]


def _simulated(tune: Any, names: Sequence[str], strategy: str, seed: int) -> list[float]:
    random.seed(seed)
    np.random.seed(seed)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results, _ = tune(seed=seed)
    except (ValueError, ImportError, TypeError) as error:
        raise RunnerError(f"Kernel Tuner's {strategy}: {error}") from error
    return _in_order(results, names)


def _in_order(results: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[float]:
    """Return the time of each point when it was first evaluated."""
    found: dict[str, float] = {}
    for one in results:
        time = one.get("time")
        key = json.dumps([one[name] for name in names], default=str)
        found.setdefault(key, float(time) if isinstance(time, (int, float)) and "__error__" not in one else np.inf)
    return list(found.values())
