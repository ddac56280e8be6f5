#!/usr/bin/env bash
# Kernel Tuner 1.5.0 (package kernel_tuner).
#
# Guess: two runs of tune_kernel in simulation mode on the same cache, with the same strategy and the same `seed`,
# "The random seed.", evaluate the same configurations.
# Seen: the seed reaches the strategies of pymoo alone. Others draw from the generators of Python and NumPy, whatever
# it is: two runs of random_sample with seed 1 have other samples, and equal ones where random.seed and
# numpy.random.seed were called before, whether seed is given or not.
#
#   seed=1                          two samples of 10 of 400: differ
#   random.seed, numpy.random.seed  two samples of 10 of 400: equal
#
# `python -m polybench replay` therefore seeds both generators (polybench/runner/kernel_tuner.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet kernel_tuner==1.5.0
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import json
import random

import numpy
from kernel_tuner import tune_kernel

PARAMETERS = {"x": list(range(20)), "y": list(range(20))}
entries = {
    f"{x},{y}": {"x": x, "y": y, "time": 1.0 + x + y, "times": [1.0 + x + y]}
    | dict.fromkeys(("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"), 0.0)
    for x in range(20)
    for y in range(20)
}
head = {"device_name": "none", "kernel_name": "k", "problem_size": [1], "tune_params": PARAMETERS}
head |= {"tune_params_keys": ["x", "y"], "objective": "time", "cache": entries}
with open("cache.json", "w") as file:
    file.write(json.dumps(head))


def sample(**options: object) -> list[tuple[int, int]]:
    results, _ = tune_kernel(
        "k", "", (1,), [], PARAMETERS, lang="CUDA", cache="cache.json", simulation_mode=True, quiet=True,
        strategy="random_sample", strategy_options={"max_fevals": 10}, **options,
    )
    return [(one["x"], one["y"]) for one in results]


def seeded(number: int) -> list[tuple[int, int]]:
    random.seed(number)
    numpy.random.seed(number)
    return sample()


by_argument, by_generators = (sample(seed=1), sample(seed=1)), (seeded(1), seeded(1))
for name, (one, other) in {"seed=1": by_argument, "random.seed, numpy.random.seed": by_generators}.items():
    print(f"{name:31} two samples of {len(one)} of 400: {'equal' if one == other else 'differ'}")
assert by_argument[0] != by_argument[1]
assert by_generators[0] == by_generators[1]
PYTHON
