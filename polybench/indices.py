"""Gathers, histograms and sparse products beside CuPy and cuSPARSE: `python polybench/indices.py [--json FILE]`.

- `gather`: `y[i] = x[p[i]]` with 1e8 indices, into 1e8 and 1e6 elements, beside `cupy.take`;
- `histogram`: 1e8 values into 256 and 65536 bins, beside `cupy.bincount`;
- `csr`: the product of a sparse matrix (rows compressed) and a vector, beside cuSPARSE through `cupyx.scipy.sparse`.

Data are random and on the device, each result is compared with theirs, and each time is the median of runs by CUDA
events after warm-up. `--small` divides the sizes by 1000. Needs a GPU and CuPy. The exit status is 1 where a result
differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import polytile
from polybench.runner.device import machine_fields
from polybench.runner.resident import engine_of
from polytile.dataclass import dataclass
from polytile.runtime.cupy_engine import require_cupy
from polytile.runtime.layout import layouts
from polytile.runtime.timing import milliseconds_of, time_engine

SEED = 1
SOURCES = {
    "gather": """
void gather(int n, int m, {type} y[n], {type} x[m], int p[n]) {{
    #pragma scop
    for (int i = 0; i < n; i++)
        y[i] = x[p[i]];
    #pragma endscop
}}
""",
    "histogram": """
void histogram(int n, int bins, int h[bins], int v[n]) {{
    #pragma scop
    for (int i = 0; i < n; i++)
        h[v[i]] += 1;
    #pragma endscop
}}
""",
    "csr": """
void csr(int n, int entries, {type} y[n], {type} x[n], {type} a[entries], int column[entries], int row[n + 1]) {{
    #pragma scop
    for (int i = 0; i < n; i++) {{
        {type} sum = 0;
        for (int j = row[i]; j < row[i + 1]; j++)
            sum += a[j] * x[column[j]];
        y[i] = sum;
    }}
    #pragma endscop
}}
""",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One comparison: sizes of the SCoP, its arrays on the device, what CuPy does, and the array to compare."""

    what: str
    type: str
    sizes: dict[str, int]
    memory: dict[str, Any]
    other: Callable[[], Any]
    result: str
    tolerance: float = 0.0  # of the largest element


def program(what: str, type: str) -> polytile.Program:
    """Compile the SCoP of a kind, `gather`, `histogram` or `csr`, for `float` or `double`."""
    return polytile.compile(SOURCES[what].format(type=type), name=f"{what}.c")


def cases(divisor: int) -> Iterator[Case]:
    """Yield all comparisons, each with data of its own; sizes are divided by `divisor`."""
    cupy = require_cupy()
    generator = cupy.random.default_rng(SEED)
    n = 10**8 // divisor
    for type in ("double", "float"):
        for m in (n, n // 100):
            yield gather(cupy, generator, type, n, m)
    for bins in (256, 65536):
        yield histogram(cupy, generator, n, bins)
    for type in ("double", "float"):
        for rows, per_row in ((2000000, 4), (2000000, 27), (500000, 128)):
            yield csr(cupy, generator, type, rows // divisor, per_row)


def gather(cupy: Any, generator: Any, type: str, n: int, m: int) -> Case:
    """Build a gather: n random indices into m elements."""
    x = generator.random(m, dtype=_dtype(cupy, type))
    p = generator.integers(0, m, n, dtype=cupy.int32)
    y, taken = cupy.zeros_like(x, shape=n), cupy.empty_like(x, shape=n)

    def other() -> Any:
        return cupy.take(x, p, out=taken)

    return Case("gather", type, {"n": n, "m": m}, {"y": y, "x": x, "p": p}, other, "y")


def histogram(cupy: Any, generator: Any, n: int, bins: int) -> Case:
    """Build a histogram: n random values below `bins`."""
    v = generator.integers(0, bins, n, dtype=cupy.int32)
    h = cupy.zeros(bins, cupy.int32)
    return Case("histogram", "int", {"n": n, "bins": bins}, {"h": h, "v": v}, lambda: cupy.bincount(v, None, bins), "h")


def csr(cupy: Any, generator: Any, type: str, n: int, per_row: int) -> Case:
    """Build a matrix of n rows, whose numbers of entries are random up to twice `per_row`, in random columns."""
    import cupyx.scipy.sparse as sparse

    lengths = generator.integers(0, 2 * per_row + 1, n, dtype=cupy.int32)
    row = cupy.zeros(n + 1, cupy.int32)
    cupy.cumsum(lengths, out=row[1:])
    entries = int(row[-1])
    a, x = (generator.random(k, dtype=_dtype(cupy, type)) for k in (entries, n))
    column = generator.integers(0, n, entries, dtype=cupy.int32)
    matrix = sparse.csr_matrix((a, column, row), shape=(n, n))
    y = cupy.zeros_like(x)
    memory = {"y": y, "x": x, "a": a, "column": column, "row": row}
    tolerance = 64 * float(cupy.finfo(x.dtype).eps)
    return Case("csr", type, {"n": n, "entries": entries}, memory, lambda: matrix @ x, "y", tolerance)


def _dtype(cupy: Any, type: str) -> Any:
    return {"double": cupy.float64, "float": cupy.float32}[type]


def measure(case: Case) -> dict[str, Any]:
    """Measure a row: both times in milliseconds, and the largest difference in parts of the largest element."""
    cupy = require_cupy()
    scop = program(case.what, case.type).scops[0]
    engine, shapes = engine_of(scop), layouts(scop.scop, case.sizes)
    engine.run(shapes, case.sizes, case.memory)
    expected = case.other()
    ours = case.memory[case.result]
    difference = float(cupy.abs(ours - expected).max() / cupy.abs(expected).max())
    ms = time_engine(engine, shapes, case.sizes, case.memory).median
    return {
        "what": case.what,
        "type": case.type,
        **case.sizes,
        "ms": round(ms, 5),
        "other_ms": round(median(milliseconds_of(case.other)), 5),
        "largest_difference": difference,
        "good": difference <= case.tolerance,
        **machine_fields(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status is 1 where a result differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--small", action="store_true", help="sizes divided by 1000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append the rows to FILE")
    chosen = parser.parse_args(arguments)
    rows = []
    for case in cases(1000 if chosen.small else 1):
        row = measure(case)
        rows.append(row)
        sizes = " ".join(f"{name}={value}" for name, value in case.sizes.items())
        beyond = "" if row["good"] else "  results differ"
        print(
            f"{case.what:10} {case.type:7} {sizes:28} {row['ms']:9.4f} ms, theirs {row['other_ms']:9.4f}{beyond}",
            flush=True,
        )
        if chosen.json:
            with chosen.json.open("a") as file:
                file.write(json.dumps(row) + "\n")
    return 0 if all(row["good"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
