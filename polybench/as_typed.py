"""Stencils as typed, without any size, beside what is made for known sizes, single schedules, and stencil generators:

    python -m polybench.as_typed --write typed.jobs              what to time
    python -m polybench sweep typed.jobs --json typed.jsonl      on a machine with a GPU
    python -m polybench.as_typed typed.jsonl                     the tables

Large grids run for 120 iterations with sizes that kernels are not made for (`typed`) and with known ones (`known`); the
generators' times are those of their rates in `polybench/anchors`. Grids of all sizes run by each schedule alone, too.
The exit status is 1 where a row failed, or is slower than it may be: 1 / 0.85 of the time with known sizes, 1 / 0.9 of
the best schedule's, or, as the geometric mean over the stencils of a type, 1 / 1.15 of the best generator's.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from polybench.runner import rows
from polybench.runner.anchors import Anchor, load_anchors
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.markdown import grid, show
from polybench.runner.rows import Row
from polybench.runner.tables import Entry, load

STEPS = 120
PLANES = ("stencilgen/j2d5pt", "an5d/star2d1r", "an5d/box2d1r", "an5d/box2d2r", "an5d/box2d4r")
SPACES = (
    *("stencilgen/j3d7pt", "stencilgen/j3d27pt", "an5d/box3d1r", "stencilgen/heat", "an5d/star3d1r", "an5d/star3d2r"),
    *("an5d/star3d4r", "cluster/stencil-7pt", "cluster/stencil-27pt"),
)
LARGE = {**dict.fromkeys(PLANES, 16386), **dict.fromkeys(SPACES, 514)}  # cells along each dimension, border and all
OF_ALL_SIZES = {
    **dict.fromkeys(("stencilgen/j2d5pt", "an5d/box2d2r", "polybench/jacobi-2d"), tuple(256 << k for k in range(7))),
    **dict.fromkeys(("an5d/star3d1r", "an5d/star3d2r", "polybench/heat-3d"), (40, 64, 128, 256, 514)),
}
# Programs whose points the generators' figures are of: stars and boxes of one radius.
SAME_POINTS = {
    "cluster/stencil-7pt": "an5d/star3d1r",
    "stencilgen/heat": "an5d/star3d1r",
    "cluster/stencil-27pt": "an5d/box3d1r",
}
TYPES = ("double", "float")
OF_KNOWN, OF_SINGLE, OF_GENERATORS = 0.85, 0.9, 1.15  # the least rate as typed, by that of the others
TIMES = ("tsteps", "tmax")  # parameters that are no sizes of grids

Case = tuple[str, str, int]  # program, type, cells along each dimension


def jobs(entries: Mapping[str, Entry]) -> Iterator[Row]:
    """Yield what is to be timed: rows for `python -m polybench sweep`."""
    for program, cells in LARGE.items():
        for dtype in TYPES:
            for label in ("typed", "known"):
                yield job(entries[program], dtype, cells, label)
    for program, sizes in OF_ALL_SIZES.items():
        plane = sizes[0] == 256
        for dtype in TYPES:
            for cells in sizes:
                labels = ("classic", *(("split",) if plane else ()), "overlapped")
                again = LARGE.get(program) != cells
                for label in (*(("typed",) if again else ()), *labels):
                    yield job(entries[program], dtype, cells, label)


def job(entry: Entry, dtype: str, cells: int, label: str) -> Row:
    """Return one job: `label` is `typed`, `known` or a schedule."""
    sizes = {name: STEPS if name in TIMES else cells for name in entry.parameters}
    settings = {} if label in ("typed", "known") else {"schedule": label}
    about = {"program": entry.id, "dtype": dtype, "sizes": sizes, "settings": settings}
    return {**about, "known": label == "known", "label": label}


def measured(found: Iterable[Row]) -> dict[Case, dict[str, Row]]:
    """Return the rows of so many iterations by what they are of and their label."""
    cases: dict[Case, dict[str, Row]] = {}
    for row in found:
        steps = {value for name, value in row["sizes"].items() if name in TIMES}
        cells = max((value for name, value in row["sizes"].items() if name not in TIMES), default=0)
        if steps == {STEPS}:
            cases.setdefault((row["program"], row["dtype"], cells), {})[row["label"]] = row
    return cases


def by_generators(cases: Mapping[Case, dict[str, Row]], entries: Mapping[str, Entry]) -> Iterator[list[object]]:
    """Yield the lines of large grids: times as typed and with known sizes, and that of the best generator."""
    anchors = load_anchors()
    for (program, dtype, cells), found in cases.items():
        if LARGE.get(program) == cells and "median_ms" in found.get("typed", {}):
            own = found["typed"]["median_ms"]
            known = found.get("known", {}).get("median_ms")
            best = generators_ms(anchors, entries, program, found["typed"])
            yield [program, dtype, own, known, ratio(known, own), best, ratio(best, own)]


def generators_ms(anchors: Sequence[Anchor], entries: Mapping[str, Entry], program: str, row: Row) -> float | None:
    """Return the milliseconds of the best generator for a row's points, or None where none is known."""
    same = [entries[program], *([entries[SAME_POINTS[program]]] if program in SAME_POINTS else [])]
    times = [anchor.time(entry, row) for anchor in anchors for entry in same]
    return min((time for time in times if time is not None), default=None)


def by_schedules(cases: Mapping[Case, dict[str, Row]]) -> Iterator[list[object]]:
    """Yield the lines of grids of all sizes: times as typed and by each schedule alone."""
    for (program, dtype, cells), found in cases.items():
        alone = [found.get(name, {}).get("median_ms") for name in ("classic", "split", "overlapped")]
        if cells in OF_ALL_SIZES.get(program, ()) and "median_ms" in found.get("typed", {}):
            own, best = found["typed"]["median_ms"], min((ms for ms in alone if ms is not None), default=None)
            yield [program, dtype, cells, own, *alone, ratio(best, own)]


def ratio(other: float | None, own: float) -> float | None:
    """Return the rate as typed by another one, of which the time is given; None where it is not known."""
    return None if other is None else other / own


def means(lines: Iterable[Sequence[object]]) -> dict[str, float]:
    """Return the geometric means, by type, of the rates by those of the best generators."""
    found: dict[str, list[float]] = {}
    for _, dtype, *_, by in lines:
        if isinstance(by, float):
            found.setdefault(str(dtype), []).append(math.log(by))
    return {dtype: math.exp(sum(logs) / len(logs)) for dtype, logs in found.items()}


def tables(found: Iterable[Row], entries: Mapping[str, Entry]) -> tuple[str, bool]:
    """Return both tables, and whether all rows ran and nothing is slower than it may be."""
    all_rows = list(found)
    cases = measured(all_rows)
    large, sizes = list(by_generators(cases, entries)), list(by_schedules(cases))
    mean = means(large)
    slow = [line for line in large if isinstance(line[4], float) and line[4] < OF_KNOWN]
    slow += [line for line in sizes if isinstance(line[-1], float) and line[-1] < OF_SINGLE]
    failed = [row for row in all_rows if rows.failed(row)]
    columns = ["program", "type", "typed, ms", "known, ms", "by known", "best generator, ms", "by generator"]
    text = [grid(columns, map(_words, large), 2), ""]
    text += [f"- {dtype}: {value:.3f} of the best generators (geometric mean)" for dtype, value in mean.items()]
    columns = ["program", "type", "cells", "typed, ms", "classic", "split", "overlapped", "by the best"]
    text += ["", grid(columns, map(_words, sizes), 2), ""]
    text += [f"- too slow: {' '.join(_words(line))}" for line in slow]
    text += [f"- failed: {row['program']} {row['dtype']} {row['label']}: {row['error']}" for row in failed]
    return "\n".join(text), not (slow or failed or any(value < OF_GENERATORS for value in mean.values()))


def _words(line: Iterable[object]) -> list[str]:
    return [f"{x:.4g}" if isinstance(x, float) else "" if x is None else str(x) for x in line]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write jobs, or print the tables of rows; what a user can do wrong is one line on standard error, with a hint."""
    parser = argparse.ArgumentParser(
        prog="python -m polybench.as_typed", description=(__doc__ or "").partition(":")[0].replace("\n", " ")
    )
    parser.add_argument("rows", nargs="*", type=Path, metavar="ROWS", help="files that a sweep wrote by --json")
    parser.add_argument("--write", type=Path, metavar="JOBS", help="write the jobs of a sweep")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables, too")
    chosen = parser.parse_args(arguments)
    entries = load()
    try:
        if chosen.write is not None:
            chosen.write.write_text("".join(json.dumps(one) + "\n" for one in jobs(entries)))
            return 0
        if not chosen.rows:
            parser.error("name files of rows, or --write JOBS")
        text, good = tables((row for path in chosen.rows for row in rows.read(path)), entries)
        show(text, chosen.markdown)
        return 0 if good else EXIT_FAILED
    except OSError as error:
        print(f"polybench: error: {chosen.write}: {error.strerror}", file=sys.stderr)
        return EXIT_FAILED
    except RunnerError as error:
        print(f"polybench: error: {error}{error.hint and f'; {error.hint}'}", file=sys.stderr)
        return error.status


if __name__ == "__main__":
    sys.exit(main())
