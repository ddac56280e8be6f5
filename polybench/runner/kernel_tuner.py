"""Kernel Tuner's strategies on a record, in its simulation mode: what other searches are compared with.

Kernel Tuner is no dependency: `pip install kernel_tuner`, 1.5 or later, where it is asked for. Its strategies draw from
the generators of Python and NumPy, whatever `seed` they are given (findings/kernel-tuner-ignores-its-seed.sh), so that
these are seeded here.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from polybench.runner.errors import RunnerError
from polytile.autotuning.kernel_tuner_cache import kernel_tuner_cache, write_kernel_tuner_cache
from polytile.autotuning.outcome import Outcome
from polytile.autotuning.replay import recorded_space


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
