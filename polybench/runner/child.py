"""One job in its own process: `python -m polybench.runner.child FOLDER` reads job.json there and writes row.json."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polytile
from polybench.runner.errors import RunnerError
from polybench.runner.figures import figures, ptxas, values_of
from polybench.runner.rows import Row
from polytile.api import CompiledScop, Program
from polytile.diagnostics import PolytileError

SEED = 1


def main(folder: Path) -> int:
    """Do the job; a failure is in the row, which keeps what was found before it."""
    job = json.loads((folder / "job.json").read_text())
    row: Row = {}
    try:
        work(job, row, folder)
    except (PolytileError, RunnerError) as error:
        row["error"] = " ".join(str(error).removeprefix("polytile: error: ").split())
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    partial = folder / "row.part"
    partial.write_text(json.dumps(row))
    os.replace(partial, folder / "row.json")
    return 0


def work(job: Mapping[str, Any], row: Row, folder: Path) -> None:
    """Fill the row of one job. Works in the folder of the families, so that messages hold no path of this machine."""
    os.chdir(job["root"])
    row["parameters"] = job["parameters"]
    if job["on"] == "cpu" and not job["metrics"]:
        from polybench.runner.sequential import time_sequential

        row.update(time_sequential(Path(job["file"]), job["defines"], folder, job["runs"]))
        return
    started, cpu = time.perf_counter(), time.process_time()
    settings = job.get("settings", {})
    program = polytile.compile(Path(job["file"]), defines=job["defines"], schedule=job["schedule"], **settings)
    text = program.cuda
    row["compile_s"] = round(time.perf_counter() - started, 3)
    row["compile_cpu_s"] = round(time.process_time() - cpu, 3)
    row.update(figures(program, job["parameters"]))
    _complete(program, text)
    if job["metrics"]:
        row.update(ptxas(program, folder))
    if job["on"] == "emulator":
        row.update(_emulate(program, job["parameters"], job.get("sanitize", "")))
    elif job["on"] == "gpu":
        from polybench.runner.device import measure

        row.update(measure(program, job, folder))
        row["cold_s"] = round(row["cold_s"] + row["compile_s"], 3)
    elif job["on"] == "resident":
        from polybench.runner.resident import measure_resident

        row.update(measure_resident(program, job, folder))
    elif job["on"] == "export":
        from polybench.runner.export import export_program

        export_program(program, job, row)
    elif job["on"] == "caps":
        from polybench.runner.caps import capped

        row.update(capped(program, settings["strict"], folder))
    elif job["on"] == "ablation":
        from polybench.runner.ablation import ablated

        row.update(ablated(program, text, folder, job["whole"]))


def _complete(program: Program, text: str) -> None:
    """Check that every SCoP runs on the GPU: what stays C is a failure of the compiler."""
    if program.refusals:
        raise program.refusals[0]
    if not program.scops:
        raise RunnerError("there is no SCoP")
    left = next((s for s in program.scops if s.program is None), None)
    if left is not None:
        raise RunnerError(left.remarks[-1].message if left.remarks else f"{left.name} stays on the host")
    if not text:
        raise RunnerError("there is no kernel")


def _emulate(program: Program, sizes: Mapping[str, int], checks: str) -> Row:
    started = time.perf_counter()
    results = [v for scop in program.scops for v in _validate(program, scop, sizes, checks)]
    return {"validated": [v.line for v in results], "validate_s": round(time.perf_counter() - started, 3)}


def _validate(program: Program, scop: CompiledScop, sizes: Mapping[str, int], checks: str) -> tuple[Any, ...]:
    values = values_of(scop, sizes)
    return scop.validate(on="emulator", parameters=values, seed=SEED, sanitize=checks, unit=program.unit)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
