"""Results of tuners in the T4 format of the auto-tuning community, read and written.

    {"schema_version": "1.0.0", "metadata": {"timeunit": "milliseconds"}, "results": [{
        "timestamp": "..", "configuration": {"schedule": "tiled", "rows": 2}, "objectives": ["time"],
        "times": {"compilation_time": 900.0, "runtimes": [2.5, 2.4], "validation": 10.0, "framework": 0, ..},
        "invalidity": "correct", "correctness": 1, "measurements": [{"name": "time", "value": 2.45, "unit": "ms"}]}]}

Schema: Toerring, van Werkhoven, Petrovic, Willemsen, Filipovic, Elster: Towards a benchmarking suite for kernel tuners
(IPDPSW 2023), version 1.0.0 as Kernel Tuner 1.5 ships it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.space import SCHEDULE, Point, Value
from polytile.diagnostics import UsageError

SCHEMA_VERSION = "1.0.0"
OTHER = "other"  # the strategy of points of tuners that know none
INVALIDITY: Mapping[Status, str] = {
    Status.MEASURED: "correct",
    Status.REFUSED: "constraints",
    Status.RESOURCES: "compile",
    Status.WRONG: "correctness",
    Status.CRASHED: "runtime",
    Status.HUNG: "timeout",
}
STATUS = {word: status for status, word in INVALIDITY.items()}
MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
MILLISECONDS |= {"nanoseconds": 1e-6, "microseconds": 1e-3, "milliseconds": 1.0, "seconds": 1e3}


def t4_results(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """Return the content of a file of these outcomes, without the default, which has no configuration; times in ms."""
    results = [_result(one) for one in outcomes if one.point]
    return {"schema_version": SCHEMA_VERSION, "metadata": {"timeunit": "milliseconds"}, "results": results}


def _result(outcome: Outcome) -> dict[str, Any]:
    fine = bool(outcome.milliseconds)
    found = [{"name": "time", "value": outcome.median, "unit": "ms"}] if fine else []
    if outcome.estimate is not None and isfinite(outcome.estimate):
        found.append({"name": "estimate", "value": outcome.estimate, "unit": "ms"})
    return {
        "timestamp": "",
        "configuration": dict(outcome.point),
        "objectives": ["time"],
        "times": {
            "compilation_time": outcome.spent("compile", "build"),
            "runtimes": list(outcome.milliseconds),
            "framework": 0.0,
            "search_algorithm": 0.0,
            "validation": outcome.spent("inputs", "validate", "compare"),
        },
        "invalidity": INVALIDITY[outcome.status],
        "correctness": int(outcome.status is not Status.WRONG),
        "measurements": found,
    }


def read_t4(path: Path) -> list[Outcome]:
    """Read the results of a file; raises UsageError for one that cannot be read, or is none of the format.

    Times are those of `runtimes`, or else the measurement that the first objective names. Kernel Tuner writes
    `compilation` where the schema has `compilation_time`; both are read. Points of other tuners are of the strategy
    `other`.
    """
    hint = "name a file of results in the T4 format"
    try:
        content = json.loads(path.read_text())
        unit = MILLISECONDS[content.get("metadata", {}).get("timeunit", "milliseconds")]
        return [_outcome(one, unit) for one in content["results"]]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise UsageError(f"{path} is no file of T4 results", hint=hint) from error


def _outcome(result: Mapping[str, Any], unit: float) -> Outcome:
    times, status = result["times"], STATUS[result["invalidity"]]
    known = {one["name"]: one for one in result.get("measurements", ())}
    runs = [unit * float(one) for one in times.get("runtimes", ())]
    objective = known.get(result.get("objectives", ["time"])[0])
    if status is Status.MEASURED and not runs and objective is not None:
        runs = [_milliseconds(objective)]
    compiling = unit * float(times.get("compilation_time", times.get("compilation", 0.0)))
    estimate = known.get("estimate")
    return Outcome(
        _point(result["configuration"]),
        status,
        "" if status is Status.MEASURED else str(result["invalidity"]),
        tuple(runs) if status is Status.MEASURED else (),
        estimate=None if estimate is None else _milliseconds(estimate),
        seconds={"compile": compiling / 1000},
    )


def _milliseconds(measurement: Mapping[str, Any]) -> float:
    return float(measurement["value"]) * MILLISECONDS[measurement.get("unit") or "ms"]


def _point(configuration: Mapping[str, Any]) -> Point:
    at = {name: _value(value) for name, value in configuration.items()}
    schedule = at.pop(SCHEDULE, OTHER)
    return ((SCHEDULE, schedule), *at.items())


def _value(found: Any) -> Value:
    """Convert a value to polytile's: fractions are words."""
    if isinstance(found, float) and found.is_integer():
        return int(found)
    return found if isinstance(found, (int, str)) else str(found)
