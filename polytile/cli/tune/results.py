"""What a search has found, for readers and for programs."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from polytile.autotuning import words
from polytile.autotuning.scop_search import Searched
from polytile.cli.tune.arguments import TuneRequest
from polytile.cli.tune.display import duration
from polytile.options import Options
from polytile.report.words import counted

_MAIN = re.compile(r"^[ \t]*(?:extern[ \t]+)?int\s+main\s*\(", re.MULTILINE)


def summary(found: Searched) -> Iterator[str]:
    """Yield the times of the winner and of the default, and the choices as options."""
    tuned, name = found.tuned, found.workload.scop
    evaluations = f"{counted(tuned.progress.told, 'evaluation')} in {duration(tuned.progress.seconds)}"
    if tuned.progress.reused:
        evaluations += f", {tuned.progress.reused} of them known from earlier"
    early = "interrupted; " * tuned.interrupted
    default = words.milliseconds(tuned.time(tuned.default))
    if not tuned.default.milliseconds:
        yield f"{name}: {early}the default has no time: {tuned.default.status.value}: {tuned.default.reason}"
    if tuned.winner.point:
        time = words.milliseconds(tuned.time(tuned.winner))
        faster = f", {tuned.speedup:.2f} times as fast as the default ({default})" * bool(tuned.default.milliseconds)
        yield f"{name}: {early}{time}{faster}; {evaluations}"
        yield f"  {words.options(found.choices)}"
    elif tuned.default.milliseconds:
        yield f"{name}: {early}the default, {default}, is not beaten; {evaluations}"
    counts = Counter(one.status.value for one in tuned.outcomes)
    if len(counts) > 1:
        yield f"  {', '.join(f'{count} {status}' for status, count in counts.most_common())}"


def next_command(request: TuneRequest, text: str, arch: str) -> str:
    """Return the command that compiles the file with what was found: a program, where the file has a `main`."""
    asked = ["polytile", request.input, "--tuned", str(request.output)]
    asked += [word for name in request.include_dirs for word in ("-I", name)]
    asked += [word for name in request.defines for word in ("-D", name)]
    asked += [f"--cflags={flag}" for flag in request.cflags]
    asked += ["--fp", "strict"] if request.strict else []
    asked += ["--atomics"] if request.atomics else []
    asked += ["--device-source", request.device_source] if request.device_source else []
    asked += ["--arch", arch] if arch != Options().arch else []
    asked += ["--autodetect"] if request.autodetect else []
    asked += ["--build", Path(request.input).stem] if _MAIN.search(text) else []
    return shlex.join(asked)


def facts(found: Sequence[Searched]) -> list[dict[str, Any]]:
    """Return the facts of each SCoP for JSON; times are milliseconds."""
    return [_facts(one) for one in found]


def _facts(found: Searched) -> dict[str, Any]:
    tuned = found.tuned
    return {
        "name": found.workload.scop,
        "sizes": dict(found.workload.sizes),
        "gpu": found.conditions.gpu,
        "points": len(found.space.points),
        "search": found.search,
        "point": dict(tuned.winner.point),
        "choices": dict(found.choices.asked),
        "options": words.options(found.choices),
        "milliseconds": _finite(tuned.time(tuned.winner)),
        "default_milliseconds": _finite(tuned.time(tuned.default)),
        "speedup": tuned.speedup,
        "evaluations": tuned.progress.told,
        "reused": tuned.progress.reused,
        "outcomes": dict(Counter(one.status.value for one in tuned.outcomes)),
        "interrupted": tuned.interrupted,
        "seconds": round(tuned.progress.seconds, 3),
    }


def _finite(time: float) -> float | None:
    return time if isfinite(time) else None
