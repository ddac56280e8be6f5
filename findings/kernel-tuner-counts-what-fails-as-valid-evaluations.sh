#!/usr/bin/env bash
# Kernel Tuner 1.5.0 (package kernel_tuner).
#
# Guess: with max_fevals = 40, "the maximum number of unique valid function evaluations", a strategy gets 40
# configurations with a time, however many fail to compile besides.
# Seen: in simulation mode every configuration of the cache counts, those that failed to compile too. Of a cache in
# which three in four have failed, random_sample and greedy_ils stop after 40, of which 9 and 16 have a time.
#
#   random_sample: 40 evaluated, 9 of them with a time
#   greedy_ils: 40 evaluated, 16 of them with a time
#
# Comparisons of searches (`python -m polybench replay`) therefore count each point that is asked for, those without a
# time too, for all searches alike.
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
SECONDS = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")
entries = {}
for x in range(20):
    for y in range(20):
        time = 1.0 + x + y if (x + y) % 4 == 0 else "CompilationFailedConfig"
        fine = {"times": [time]} if isinstance(time, float) else {"__error__": time}
        entries[f"{x},{y}"] = {"x": x, "y": y, "time": time, **fine, **dict.fromkeys(SECONDS, 0.0)}
head = {"device_name": "none", "kernel_name": "k", "problem_size": [1], "tune_params": PARAMETERS}
head |= {"tune_params_keys": ["x", "y"], "objective": "time", "cache": entries}
with open("cache.json", "w") as file:
    file.write(json.dumps(head))
for strategy in ("random_sample", "greedy_ils"):
    random.seed(1)
    numpy.random.seed(1)
    results, _ = tune_kernel(
        "k", "", (1,), [], PARAMETERS, lang="CUDA", cache="cache.json", simulation_mode=True, quiet=True,
        strategy=strategy, strategy_options={"max_fevals": 40},
    )
    evaluated = {(one["x"], one["y"]): "__error__" not in one for one in results}
    timed = sum(evaluated.values())
    print(f"{strategy}: {len(evaluated)} evaluated, {timed} of them with a time")
    assert len(evaluated) == 40 and 0 < timed < 25
PYTHON
