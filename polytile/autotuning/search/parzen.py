"""Proposals of a tree-structured Parzen estimator, by Optuna.

Bergstra, Bardenet, Bengio, Kegl: Algorithms for hyper-parameter optimization (NIPS 2011), section 4. Parameters are
drawn one by one: drawn together, with the sampler's `multivariate`, they need two to three times as many points of
spaces of six parameters without estimates, and as many with them. Points that were begun and have no time yet count as
slow ones (`constant_liar`), so that several can be asked for at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from polytile.autotuning.search.nearest import Unasked
from polytile.autotuning.space import SCHEDULE, Point, Space, Value
from polytile.diagnostics import UsageError


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
