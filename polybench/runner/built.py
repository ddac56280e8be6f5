"""`kernels`: a table of built kernels measured on their own, the best variant of each beside other systems."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from polybench.runner.anchors import ANCHORS, rates
from polybench.runner.errors import RunnerError
from polybench.runner.text_lines import lines_of, object_of

Row = dict[str, Any]
HINT = "name a file that `python -m tests.kernels.measure` has made a machine write: results.jsonl"
STENCIL = ["stencil", "type", "grid", "steps a launch", "variants", "1e9 points/s", "of memory", "kernel"]
PRODUCT = ["product", "type", "size", "variants", "ms", "TFLOP/s", "cuBLAS, ms", "x cuBLAS", "kernel"]
BYTES = {"float": 4, "double": 8}


def kernels(paths: Sequence[Path], markdown: Path | None = None, folder: Path = ANCHORS) -> int:
    """Print the table, and write it to `markdown`; raises RunnerError for a row that differed from its reference."""
    rows = _read(paths)
    wrong = next((r for r in rows if r["bad"] or not r["compared"]), None)
    if wrong is not None:
        raise RunnerError(f"{wrong['name']}: {wrong['bad']} of {wrong['compared']} elements differ from the reference")
    text = table(rows, folder)
    print(text)
    if markdown is not None:
        try:
            markdown.write_text(text + "\n")
        except OSError as error:
            raise RunnerError(f"{markdown}: {error.strerror}") from error
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


def table(rows: Sequence[Row], folder: Path = ANCHORS) -> str:
    """Print Markdown: stencils in grid points x steps a second, products beside cuBLAS."""
    stencils = [r for r in rows if "gcells_s" in r]
    products = [r for r in rows if "cublas_ms" in r]
    parts = [
        "The fastest variant of each kernel, the median of its runs; every result was compared with a plain kernel's,"
        " and none differs. In brackets: the rate of the other system.",
        _stencils(stencils, folder) if stencils else "",
        _grid(PRODUCT, [_product(group) for group in _groups(products, _product_of)], 3) if products else "",
    ]
    return "\n\n".join(filter(None, parts))


def _stencils(rows: Sequence[Row], folder: Path) -> str:
    others = rates(folder)
    shapes: Mapping[str, list[str]] = tomllib.loads((folder / "anchors.toml").read_text())["shapes"]
    systems = list(dict.fromkeys(peer for peer, _, _ in others))
    body = []
    for group in _groups(rows, _stencil_of):
        best = min(group, key=_point_time)
        names = shapes.get(_stencil_of(best)[0], [])
        rate = best["gcells_s"]
        known = [[others[p, n, best["element"]] for n in names if (p, n, best["element"]) in others] for p in systems]
        body.append([*_stencil(best, len(group)), *(f"{rate / max(k):.2f} ({max(k):.0f})" if k else "" for k in known)])
    used = [i for i in range(len(systems)) if any(cells[len(STENCIL) + i] for cells in body)]
    columns = STENCIL + [f"x {systems[i]}" for i in used]
    return _grid(columns, [cells[: len(STENCIL)] + [cells[len(STENCIL) + i] for i in used] for cells in body], 3)


def _groups(rows: Iterable[Row], about: Any) -> list[list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(about(row), []).append(row)
    return [found[key] for key in sorted(found)]


def _stencil_of(row: Row) -> tuple[str, ...]:
    return f"{row['shape']}{len(row['size'])}d{row['radius']}r", row["element"], _times(row["size"])


def _product_of(row: Row) -> tuple[str, ...]:
    kind = row["name"].partition("_")[0] if row["triangle"] or row["beta"] == 0 else "gemm"
    return f"{kind} {row['layout']}", row["element"], _times(row["size"])


def _point_time(row: Row) -> float:
    return 1 / float(row["gcells_s"])


def _stencil(row: Row, variants: int) -> list[str]:
    """Print the row of a stencil.

    Memory: what would be read and written once a launch, as a part of what a copy reaches.
    """
    name, element, size = _stencil_of(row)
    moved = 2 * BYTES[element] * row["gcells_s"] / row["steps"]
    return [
        name,
        element,
        size,
        str(row["steps"]),
        str(variants),
        f"{row['gcells_s']:.0f}",
        f"{moved / 42.2:.0f}%",
        row["name"],
    ]


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


def _grid(columns: Sequence[str], body: Sequence[Sequence[str]], left: int) -> str:
    rule = ["---" if i < left else "---:" for i in range(len(columns))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [columns, rule, *body])
