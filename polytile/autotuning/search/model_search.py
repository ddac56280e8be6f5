"""Search by the cost model, by what was learned of its errors, and by what was measured alone.

    the best by estimate and the greatest expected improvement (gaussian_search.py) in turns: 12 points
    then these two and a proposal of the Parzen estimator in turns

The three fail where the others do not: the cost model where it is off, the Gaussian process where it is right but for
noise, and the Parzen estimator until there are many times. A proposal of the estimator stands for the nearest point
that holds the constraints and was not asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from polytile.autotuning.outcome import Outcome
from polytile.autotuning.search.gaussian_search import GaussianSearch
from polytile.autotuning.search.nearest import Unasked
from polytile.autotuning.search.ranking import MOST_ESTIMATED
from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import SCHEDULE, Point, Space, Value
from polytile.diagnostics import UsageError

FIRST = 12  # points without the estimator


class ModelSearch:
    """Points of the cost model, of a Gaussian process, and of Optuna's TPE."""

    def __init__(self, space: Space, seed: int, estimates: Estimates) -> None:
        """Begin; raises UsageError where Optuna is not installed."""
        self._sampler = ParzenEstimator(space, seed)
        self._model = GaussianSearch(space, seed, estimates, MOST_ESTIMATED)
        self._unasked = Unasked(space)
        self._asked = 0
        size = len(space.points)
        part = "" if size <= MOST_ESTIMATED else f", {MOST_ESTIMATED} of them"
        self._description = f"model: {size} points{part} ranked by the cost model, then by Optuna's TPE (seed {seed})"

    @property
    def description(self) -> str:
        """Describe the search in a line."""
        return self._description

    def ask(self) -> Point | None:
        """Return the next point, None where all were asked for."""
        point = self._next()
        if point is not None:
            self._unasked.take(point)
            self._asked += 1
        return point

    def tell(self, outcome: Outcome) -> None:
        """Learn from an outcome; a point without a time counts as slower than all others."""
        if self._unasked.take(outcome.point):
            self._sampler.tell(outcome.point, outcome.median)
            self._model.tell(outcome)

    def _next(self) -> Point | None:
        turn = self._asked % (2 if self._asked < FIRST else 3)
        point = self._model.fastest() if turn == 0 else None
        if turn == 1 or (turn == 0 and point is None):
            point = self._model.ask()
        if point is not None:
            self._sampler.began(point)
            return point
        point = self._sampler.ask(self._unasked)
        if point is not None:
            self._model.began(point)
        return point


class ParzenEstimator:
    """Optuna's study of a space: a parameter for the strategy, and those of each strategy under names of their own."""

    def __init__(self, space: Space, seed: int) -> None:
        """Begin; raises UsageError where Optuna is not installed."""
        self._optuna = imported_optuna()
        self._parts = {part.schedule: part for part in space.parts}
        tpe = self._optuna.samplers.TPESampler
        sampler = tpe(seed=seed, n_startup_trials=1, constant_liar=True)
        self._study = self._optuna.create_study(sampler=sampler)
        self._running: dict[Point, Any] = {}

    def ask(self, unasked: Unasked) -> Point | None:
        """Return the point nearest to what the sampler proposes."""
        left = unasked.schedules()
        if not left:
            return None
        trial = self._study.ask()
        schedule, values = self._suggested(trial)
        wanted = ((SCHEDULE, schedule), *values.items())
        if wanted in unasked:
            self._running[wanted] = trial
            return wanted
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        point = unasked.nearest(schedule, values) if schedule in left else None
        if point is None:
            middle = {p.name: p.values[len(p.values) // 2] for p in self._parts[left[0]].parameters}
            point = unasked.nearest(left[0], middle)
        if point is not None:
            self.began(point)
        return point

    def began(self, point: Point) -> None:
        """Note that a point is evaluated, which the sampler did not propose."""
        at = dict(point)
        schedule = str(at.pop(SCHEDULE))
        fixed = {f"{schedule}.{p.name}": _encoded(p.values, at[p.name]) for p in self._parts[schedule].parameters}
        if len(self._parts) > 1:
            fixed[SCHEDULE] = schedule
        self._study.enqueue_trial(fixed)
        trial = self._study.ask()
        self._suggested(trial)
        self._running[point] = trial

    def tell(self, point: Point, milliseconds: float) -> None:
        """Learn what a point of the space takes; infinite: it does not run, and is slower than all others."""
        if point not in self._running:
            self.began(point)
        trial = self._running.pop(point)
        if isfinite(milliseconds):
            self._study.tell(trial, milliseconds)
        else:
            self._study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)

    def _suggested(self, trial: Any) -> tuple[str, dict[str, Value]]:
        """Return the strategy and its values that a trial proposes, constraints aside."""
        names = list(self._parts)
        schedule = trial.suggest_categorical(SCHEDULE, names) if len(names) > 1 else names[0]
        values = {}
        for parameter in self._parts[schedule].parameters:
            name = f"{schedule}.{parameter.name}"
            if _ordered(parameter.values):
                values[parameter.name] = parameter.values[trial.suggest_int(name, 0, len(parameter.values) - 1)]
            else:
                values[parameter.name] = trial.suggest_categorical(name, parameter.values)
        return schedule, values


def _ordered(values: Sequence[Value]) -> bool:
    """Return whether values are numbers, of which neighbours are alike."""
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _encoded(values: Sequence[Value], value: Value) -> Value:
    return values.index(value) if _ordered(values) else value


def imported_optuna() -> Any:
    """Import the package; raises UsageError where it is not installed."""
    try:
        import optuna
    except ImportError:
        raise UsageError(
            "the search `model` needs Optuna", hint="pip install 'polytile[tune]', or --search gaussian"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
