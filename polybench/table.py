"""A table of GPU measurements beside the anchors: markdown from the JSON lines that measure.py writes.

    python polybench/table.py RESULTS.jsonl ... > TABLE.md

The floor is the larger of the bytes that must move once over the GPU's copy bandwidth and the operations over its
arithmetic rate; `ours` is the faster of the two ways the kernels were compiled.
"""

from __future__ import annotations

import csv
import json
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COPY_BANDWIDTH = 4.22e12  # bytes a second, measured on an H200
ARITHMETIC = {"double": 33.5e12, "float": 67e12, "int": 33.5e12}  # operations a second, the vendor's figures
SIZES = {"int": 4, "float": 4, "double": 8}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of the given result files."""
    files = [Path(a) for a in (sys.argv[1:] if arguments is None else arguments)]
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines() if line.strip()]
    programs = tomllib.loads((HERE / "polybench" / "programs.toml").read_text())
    anchors = _anchors()
    first = next(r for r in rows if "gpu" in r)
    version = f"{first['cuda'] // 1000}.{first['cuda'] % 1000 // 10}"
    print(f"{first['gpu']}, CUDA {version}, {first['date']}. Milliseconds.\n")
    print("| program | type | size | ours | nvcc | CuPy | floor | PPCG default | PPCG best | ours / PPCG default |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda r: (r["type"], r["dataset"], r["program"])):
        print(_line(row, programs[row["program"]], anchors))
    return 0


def _anchors() -> dict[tuple[str, str, str], dict[str, float]]:
    """PPCG's kernel times by (program, type, data set), then variant."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    with (HERE / "anchors" / "ppcg-polybench-h200.csv").open() as file:
        for row in csv.DictReader(file):
            try:
                time = float(row["kernel_ms"])
            except ValueError:  # did not finish
                continue
            found.setdefault((row["kernel"], row["dtype"], row["size"].lower()), {})[row["variant"]] = time
    return found


def _line(row: dict[str, Any], program: dict[str, Any], anchors: dict[tuple[str, str, str], dict[str, float]]) -> str:
    head = f"| {row['program']} | {row['type']} | {row['dataset']} |"
    if "error" in row:
        return f"{head} failed: {row['error'].splitlines()[0]} | | | | | | |"
    ways = {way: row[way]["median_ms"] for way in ("nvcc", "cupy") if way in row}
    ours = min(ways.values())
    ppcg = anchors.get((row["program"], row["type"], row["dataset"]), {})
    default = ppcg.get("default")
    cells = [
        _ms(ours),
        _ms(ways.get("nvcc")),
        _ms(ways.get("cupy")),
        _ms(_floor(row, program)),
        _ms(default),
        _ms(min(ppcg.values()) if ppcg else None),
        f"{ours / default:.2f}" if default else "",
    ]
    return f"{head} {' | '.join(cells)} |"


def _floor(row: dict[str, Any], program: dict[str, Any]) -> float:
    scope = {**row["parameters"], "sizeof": SIZES[row["type"]]}
    moved = eval(program["bytes"], {"__builtins__": {}}, scope)
    done = eval(program["flops"], {"__builtins__": {}}, scope)
    return 1e3 * float(max(moved / COPY_BANDWIDTH, done / ARITHMETIC[row["type"]]))


def _ms(time: float | None) -> str:
    return "" if time is None else f"{time:.3g}" if time < 1000 else f"{time:.0f}"


if __name__ == "__main__":
    sys.exit(main())
