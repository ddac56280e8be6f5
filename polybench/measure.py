"""Validate and time the suite's programs on this machine's GPU, through nvcc and through CuPy.

    python polybench/measure.py RESULTS.jsonl [--dataset large] [--types double,float] [--programs gemm,lu] [--jobs 6]

Every result is appended as one JSON line as soon as it is known, so that nothing is lost when the run is cut short; a
program that fails is a line with its error. The sequential references run in parallel, the GPU is used by one program
at a time.
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
from polytile.runtime.timing import time_engine
from polytile.runtime.validate import validate

SUITE = Path(__file__).parent / "suite"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the table; the exit status is 1 when a program failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--dataset", default="large")
    parser.add_argument("--types", default="double,float")
    parser.add_argument("--programs", default="")
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args(arguments)
    table = tomllib.loads((SUITE / "programs.toml").read_text())
    names = chosen.programs.split(",") if chosen.programs else list(table)
    work = [(n, t, chosen.dataset, chosen.runs) for n in names for t in chosen.types.split(",")]
    context = multiprocessing.get_context("spawn")
    lock = context.Lock()
    failed = 0
    with context.Pool(chosen.jobs, initializer=_remember, initargs=(lock,), maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(_measure, work):
            failed += "error" in row
            with chosen.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(_line(row), flush=True)
    return 1 if failed else 0


_gpu_lock: Any = None


def _remember(lock: Any) -> None:
    global _gpu_lock
    _gpu_lock = lock


def _measure(work: tuple[str, str, str, int]) -> dict[str, Any]:
    name, ctype, dataset, runs = work
    row: dict[str, Any] = {"program": name, "type": ctype, "dataset": dataset, "date": date.today().isoformat()}
    try:
        row |= _compile_and_run(name, ctype, dataset, runs)
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"
    return row


def _compile_and_run(name: str, ctype: str, dataset: str, runs: int) -> dict[str, Any]:
    entry = tomllib.loads((SUITE / "programs.toml").read_text())[name]
    sizes = {parameter: values[dataset] for parameter, values in entry["parameters"].items()}
    defines = {"DATA_TYPE": ctype, f"{dataset.upper()}_DATASET": "1"}
    started = time.perf_counter()
    program = polytile.compile(SUITE / entry["file"], defines=defines)
    row: dict[str, Any] = {"compile_s": round(time.perf_counter() - started, 3), "parameters": sizes}
    (scop,) = program.scops
    assert scop.program is not None, "stays on the host"
    row["kernels"], row["schedule"] = len(scop.program.kernels), scop.compilation.schedule.strategy  # type: ignore[union-attr]
    expectation = scop.expect(sizes, seed=1)
    with _gpu_lock:
        import cupy

        row["gpu"] = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        row["cuda"] = cupy.cuda.runtime.runtimeGetVersion()
        options = scop.compilation.options
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
