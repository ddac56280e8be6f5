"""How results appear while they are made: a bar on a terminal, one line each otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polybench.runner.rows import Row, failed


def line(row: Row) -> str:
    """Print `polybench/gemm double classic mini  1 kernel, 1 launch, validated on the emulator, 0.4 s`, for example."""
    about = f"{row['program']:<28} {row['dtype']:<6} {row['schedule']:<8} {row['dataset']:<10}"
    if failed(row):
        return f"{about}  FAILED {row['error']}"
    return f"{about}  {', '.join(_facts(row))}"


def _facts(row: Row) -> Iterator[str]:
    if "median_ms" in row:
        yield f"{row['median_ms']:.4g} ms (median of {row['runs']}, spread {row['spread']:.0%})"
    if "kernels" in row:
        yield _count(row["kernels"], "kernel")
        more = "more than " if row.get("launches_are_more") else ""
        yield more + _count(row["launches"], "launch", "launches")
        yield _count(row["barriers"], "barrier")
    yield from _resources(row)
    if row.get("validated"):
        yield "validated"
    if "wall_s" in row:
        yield f"{row['wall_s']:.1f} s"


def _resources(row: Row) -> Iterator[str]:
    """Print the resources of the largest kernel: one figure by ptxas, or one for each kernel by the driver."""
    if isinstance(row.get("registers"), list):
        yield f"{max(row['registers'], default=0)} registers"
        yield f"{max(row['local_bytes'], default=0)} bytes of local memory"
    elif "registers" in row:
        yield f"{row['registers']} registers"
        yield f"{row['spill_bytes']} bytes spilled"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


class Progress:
    """Shows rows as they come."""

    def __init__(self, bar: Any = None, task: Any = None) -> None:
        self._bar, self._task = bar, task

    def row(self, row: Row) -> None:
        if self._bar is None:
            print(line(row), flush=True)
            return
        style = "red" if failed(row) else None
        self._bar.console.print(line(row), markup=False, highlight=False, soft_wrap=True, style=style)
        self._bar.advance(self._task)


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """Yield a bar over `total` rows on a terminal; rich is imported only there."""
    if not sys.stdout.isatty():
        yield Progress()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    with Bar(TextColumn("polybench"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        yield Progress(bar, bar.add_task("run", total=total))
