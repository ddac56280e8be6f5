"""Build the random programs of this folder with nvcc, run them on the GPU, compare with their NumPy definitions.

    python run.py [--jobs 16] [--arch sm_90] [PROGRAM ...]

A line for each program, the details in results.jsonl; the exit status is 0 when all agree. Each program runs in a
process of its own, so that one that fails does not disturb the others.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from definition import differences, inputs_of

HERE = Path(__file__).resolve().parent


def build(folder, arch):
    case = json.loads((folder / "case.json").read_text())
    library = folder / "kernel.so"
    command = ["nvcc", "-O3", f"-arch={arch}", "-shared", "-Xcompiler", "-fPIC", "-o", str(library), case["source"]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"nvcc: {done.stderr.strip()[-2000:]}"


def call(function, case, sizes, arrays, scalars):
    """The kernels' results in copies of the arrays; raises RuntimeError where the entry point fails."""
    ctype = ctypes.c_double if case["program"]["type"] == "double" else ctypes.c_float
    results = {name: np.ascontiguousarray(values).copy() for name, values in arrays.items()}
    arguments = [ctypes.c_int(sizes[name]) for name in case["integers"]]
    for name, by_value in case["arguments"]:
        arguments.append(ctype(scalars[name]) if by_value else ctypes.c_void_p(results[name].ctypes.data))
    status = function(*arguments)
    if status:
        raise RuntimeError(f"the entry point returns {status}")
    return results


def run_one(folder):
    """Run all sizes of one program here; prints JSON."""
    case = json.loads((folder / "case.json").read_text())
    function = getattr(ctypes.CDLL(str(folder / "kernel.so")), case["entry"])
    lines, worst = [], 0.0
    for number, sizes in enumerate(case["sizes"]):
        arrays, scalars = inputs_of(case["program"], sizes, number)
        results = call(function, case, sizes, arrays, scalars)
        for name, off, allowed, wrong in differences(case["program"], sizes, arrays, scalars, results):
            worst = max(worst, off / allowed if allowed else 0.0)
            if wrong:
                lines.append(f"{sizes}: {name}: {wrong} of {results[name].size} elements differ, by up to {off:.3g} "
                             f"(tolerance {allowed:.3g})")  # fmt: skip
        for name in sorted(set(arrays) - set(case["program"]["written"])):
            if not np.array_equal(arrays[name], results[name]):
                lines.append(f"{sizes}: {name} is overwritten")
    print(json.dumps({"errors": lines, "sizes": len(case["sizes"]), "worst": worst}))


def checked(folder, arch):
    """What became of one program: a line for the reader and a record."""
    error = build(folder, arch)
    if not error:
        command = [sys.executable, __file__, "--one", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            error = "" if done.returncode == 0 else done.stderr.strip()[-2000:] or f"exit status {done.returncode}"
        except subprocess.TimeoutExpired:
            error = "does not end within 300 s"
    found = {"errors": [error]} if error else json.loads(done.stdout)
    words = "; ".join(found["errors"]) or f"{found['sizes']} sizes agree, at most {found['worst']:.2g} of the tolerance"
    print(f"{folder.name}: {'FAILED: ' if found['errors'] else ''}{words}", flush=True)
    return {"program": folder.name, **found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        run_one(given.one)
        return 0
    folders = sorted(file.parent for file in HERE.glob("*/case.json"))
    folders = [folder for folder in folders if not given.programs or folder.name in given.programs]
    with ThreadPoolExecutor(given.jobs) as pool:
        records = list(pool.map(lambda folder: checked(folder, given.arch), folders))
    (HERE / "results.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    failed = [r["program"] for r in records if r["errors"]]
    print(f"{len(records) - len(failed)} of {len(records)} programs agree"
          + (f"; failed: {' '.join(failed)}" if failed else ""))  # fmt: skip
    return 1 if failed or not records else 0


if __name__ == "__main__":
    sys.exit(main())
