"""`kernels`: a table of built products measured on their own, the best variant of each beside cuBLAS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polybench.runner.errors import RunnerError
from polybench.runner.markdown import grid, show
from polybench.runner.text_lines import lines_of, object_of

Row = dict[str, Any]
HINT = "name a file that `python -m tests.kernels.measure` has made a machine write: results.jsonl"
PRODUCT = ["product", "type", "size", "variants", "ms", "TFLOP/s", "cuBLAS, ms", "x cuBLAS", "kernel"]


def kernels(paths: Sequence[Path], markdown: Path | None = None) -> int:
    """Print the table, and write it to `markdown`; raises RunnerError for a row that differed from its reference."""
    rows = _read(paths)
    wrong = next((r for r in rows if r["bad"] or not r["compared"]), None)
    if wrong is not None:
        raise RunnerError(f"{wrong['name']}: {wrong['bad']} of {wrong['compared']} elements differ from the reference")
    show(table(rows), markdown)
    return 0


def _read(paths: Sequence[Path]) -> list[Row]:
    """Read the last row of each kernel and problem."""
    found: dict[str, Row] = {}
    for path in paths:
        for place, line in lines_of(path, HINT):
            row = object_of(place, line, HINT, key="name", otherwise="is no result of measured kernels")
            if not {"size", "bad", "compared"} <= row.keys():
                raise RunnerError(f"{place}: is no result of measured kernels", hint=HINT)
            found[f"{row['name']} {row['size']}"] = row
    if not found:
        raise RunnerError("there is no result of a kernel", hint=HINT)
    return list(found.values())


def table(rows: Sequence[Row]) -> str:
    """Print Markdown: products beside cuBLAS."""
    head = (
        "The fastest variant of each kernel, the median of its runs; every result was compared with a plain kernel's,"
        " and none differs."
    )
    return f"{head}\n\n{grid(PRODUCT, [_product(group) for group in _groups(rows, _product_of)], 3)}"


def _groups(rows: Iterable[Row], about: Any) -> list[list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(about(row), []).append(row)
    return [found[key] for key in sorted(found)]


def _product_of(row: Row) -> tuple[str, ...]:
    kind = row["name"].partition("_")[0] if row["triangle"] or row["beta"] == 0 else "gemm"
    return f"{kind} {row['layout']}", row["element"], _times(row["size"])


def _product(group: Sequence[Row]) -> list[str]:
    best = min(group, key=lambda row: float(row["ms_median"]))
    name, element, size = _product_of(best)
    ms = f"{best['ms_median']:.3f}"
    ratio = f"{best['ratio']:.2f}"
    return [
        name,
        element,
        size,
        str(len(group)),
        ms,
        f"{best['tflops']:.1f}",
        f"{best['cublas_ms']:.3f}",
        ratio,
        best["name"],
    ]


def _times(size: Sequence[int]) -> str:
    return " x ".join(map(str, size))
