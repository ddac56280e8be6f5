#!/usr/bin/env bash
# Kernel Tuner 1.5.0 (package kernel_tuner).
#
# Guess: store_output_file, which writes results in the T4 format, writes the keys that the schema of T4 1.0.0 has, which
# the package ships, and of a configuration that has failed no measurement of a time.
# Seen: the time of compiling is under `compilation`, where the schema has `compilation_time`; validation passes, since
# the schema allows other keys. A failed configuration has a measurement `time` in ms, whose value is an empty word,
# and another one named `__error__`.
#
#   schema:  compilation_time
#   written: benchmark compilation framework runtimes search_algorithm validation
#   failed:  compile {'name': 'time', 'value': '', 'unit': 'ms'} {'name': '__error__', 'value': '', 'unit': ''}
#
# polytile therefore reads both keys, and measurements of valid configurations only (polytile/autotuning/t4_format.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet kernel_tuner==1.5.0
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import json

import jsonschema
from kernel_tuner.file_utils import output_file_schema, store_output_file
from kernel_tuner.util import CompilationFailedConfig

SECONDS = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")
fine = {"x": 1, "time": 0.5, "times": [0.5], **dict.fromkeys(SECONDS, 1.0)}
failed = {"x": 2, "time": CompilationFailedConfig(), "__error__": CompilationFailedConfig()}
failed |= dict.fromkeys(SECONDS, 1.0)
_, schema = output_file_schema("results")
known = schema["properties"]["results"]["items"]["properties"]["times"]["properties"]
store_output_file("./results.json", [fine, failed], {"x": [1, 2]})
with open("results.json") as file:
    written = json.load(file)
jsonschema.validate(written, schema)
first, second = written["results"]
print("schema: ", *(name for name in known if name.startswith("compil")))
print("written:", *sorted(first["times"]))
print("failed: ", second["invalidity"], *second["measurements"])
assert "compilation_time" in known and "compilation" in first["times"] and "compilation_time" not in first["times"]
assert {"name": "time", "value": "", "unit": "ms"} in second["measurements"]
PYTHON
