"""Validate and time the suite's programs on this machine's GPU, through nvcc and through CuPy.

    python polybench/measure.py RESULTS.jsonl [--dataset large] [--types double,float] [--programs gemm,lu] [--jobs 31]

Every result is appended as one JSON line as soon as it is known, so that nothing is lost when the run is cut short; a
program that fails is a line with its error. The sequential references run in parallel, all of them before the first
measurement when there are enough jobs; the GPU is used by one program at a time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import tomllib
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polytile
from polytile.runtime.engine import engines
from polytile.runtime.expectation import Expectation
from polytile.runtime.timing import time_engine
from polytile.runtime.validate import validate

SUITE = Path(__file__).parent / "polybench"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the table; the exit status is 1 when a program failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--dataset", default="large")
    parser.add_argument("--types", default="double,float")
    parser.add_argument("--programs", default="")
    parser.add_argument("--jobs", type=int, default=0, help="processes (one for each measurement)")
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args(arguments)
    table = tomllib.loads((SUITE / "programs.toml").read_text())
    names = chosen.programs.split(",") if chosen.programs else list(table)
    work = [(n, t, chosen.dataset, chosen.runs) for n in names for t in chosen.types.split(",")]
    context = multiprocessing.get_context("spawn")
    jobs = chosen.jobs or len(work)
    barrier = context.Barrier(len(work)) if jobs >= len(work) else None
    failed = 0
    with context.Pool(jobs, initializer=_remember, initargs=(context.Lock(), barrier), maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(_measure, work):
            failed += "error" in row
            with chosen.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(_line(row), flush=True)
    return 1 if failed else 0


_gpu_lock: Any = None
_all_ready: Any = None  # None: no waiting for one another


def _remember(lock: Any, barrier: Any) -> None:
    global _gpu_lock, _all_ready
    _gpu_lock, _all_ready = lock, barrier


def _wait() -> None:
    if _all_ready is not None:
        _all_ready.wait()


def _measure(work: tuple[str, str, str, int]) -> dict[str, Any]:
    name, ctype, dataset, runs = work
    row: dict[str, Any] = {"program": name, "type": ctype, "dataset": dataset, "date": date.today().isoformat()}
    waited = False
    try:
        scop, expectation, facts = _prepare(name, ctype, dataset)
        row |= facts
        waited = True
        _wait()
        with _gpu_lock:
            row |= _run(scop, expectation, runs)
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"
        if not waited:
            _wait()
    return row


def _prepare(name: str, ctype: str, dataset: str) -> tuple[polytile.CompiledScop, Expectation, dict[str, Any]]:
    """Compile a program and run it sequentially."""
    entry = tomllib.loads((SUITE / "programs.toml").read_text())[name]
    sizes = {parameter: values[dataset] for parameter, values in entry["parameters"].items()}
    defines = {"DATA_TYPE": ctype, f"{dataset.upper()}_DATASET": "1"}
    started = time.perf_counter()
    (scop,) = polytile.compile(SUITE / entry["file"], defines=defines).scops
    compile_s = round(time.perf_counter() - started, 3)
    if scop.program is None or scop.compilation.schedule is None:
        raise ValueError("stays on the host")
    facts = {
        "parameters": sizes,
        "compile_s": compile_s,
        "kernels": len(scop.program.kernels),
        "schedule": scop.compilation.schedule.strategy,
    }
    return scop, scop.expect(sizes, seed=1), facts


def _run(scop: polytile.CompiledScop, expectation: Expectation, runs: int) -> dict[str, Any]:
    """Validate and time one program in every way it can run on the GPU."""
    import cupy

    assert scop.program is not None
    options = scop.compilation.options
    row: dict[str, Any] = {
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "cuda": cupy.cuda.runtime.runtimeGetVersion(),
    }
    for way in engines(scop.scop, scop.program, options, "gpu"):
        result = validate(expectation, way, strict=options.strict)
        timing = time_engine(way, expectation.layouts, expectation.values, expectation.before, runs=runs)
        row[_key(way.label)] = {
            "validated": result.line,
            "median_ms": round(timing.median, 5),
            "spread": round(timing.spread, 3),
            "runs": len(timing.milliseconds),
        }
    return row


def _key(label: str) -> str:
    return "cupy" if "cupy" in label.lower() else "nvcc"


def _line(row: dict[str, Any]) -> str:
    head = f"{row['program']:>15} {row['type']:>6} {row['dataset']}"
    if "error" in row:
        return f"{head}  FAILED {row['error']}"
    ways = [(way, row[way]) for way in ("nvcc", "cupy") if way in row]
    times = "  ".join(f"{way} {found['median_ms']:.4g} ms ({found['spread']:.0%})" for way, found in ways)
    return f"{head}  {times}  {row['kernels']} kernels, {row['schedule']}"


if __name__ == "__main__":
    sys.exit(main())
