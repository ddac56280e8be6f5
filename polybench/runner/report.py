"""`report`: a table, and a plot, of measured rows beside floors, the sequential C and the anchors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from polybench.runner import rows
from polybench.runner.anchors import Anchor, Ceiling, ceiling, load_anchors
from polybench.runner.errors import RunnerError
from polybench.runner.markdown import show
from polybench.runner.rows import Row
from polybench.runner.tables import Entry, figure
from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One measured row and what it is compared with; times in ms, None where unknown."""

    row: Row
    ms: float
    flops: float | None = None
    bytes: float | None = None
    memory_floor: float | None = None
    arithmetic_floor: float | None = None
    sequential: float | None = None
    anchors: tuple[tuple[str, float | None], ...] = ()
    by_rate: bool = False  # the anchors' times are from their rates on other grids

    @property
    def label(self) -> str:
        return str(self.row["program"]).partition("/")[2] or str(self.row["program"])

    @property
    def family(self) -> str:
        return str(self.row["program"]).partition("/")[0]

    @property
    def best_other(self) -> tuple[str, float] | None:
        """The fastest other system and its time."""
        known = [(ms, name) for name, ms in self.anchors if ms]
        return min(known)[::-1] if known else None

    @property
    def floor(self) -> float | None:
        floors = [f for f in (self.memory_floor, self.arithmetic_floor) if f is not None]
        return max(floors, default=None)


def report(
    paths: Sequence[Path], entries: Mapping[str, Entry], *, plot: Path | None = None, markdown: Path | None = None
) -> int:
    """Print the table, and write what was asked for; raises RunnerError when no row has a time."""
    found = rows.read_all(paths)
    lines = measured(found, entries, load_anchors())
    failures = [r for r in found if rows.failed(r)]
    if not lines and not failures:
        raise RunnerError("no row has a time: measure with --on gpu or --on cpu")
    show(table(lines, failures), markdown)
    if plot is not None:
        from polybench.runner.plot import draw

        draw(lines, plot)
    return 0


def measured(found: Sequence[Row], entries: Mapping[str, Entry], anchors: Sequence[Anchor]) -> list[Line]:
    """Return the rows with a time: those of the GPU, and those of the sequential C where there is none of the GPU."""
    timed = [r for r in found if not rows.failed(r) and r.get("median_ms")]
    sequential = {_about(r): r["median_ms"] for r in timed if r["on"] == "cpu"}
    on_gpu = [r for r in timed if r["on"] == "gpu"]
    lines = [_line(r, entries.get(r["program"]), sequential, anchors) for r in on_gpu or timed]
    place = {name: number for number, name in enumerate(entries)}
    return sorted(lines, key=lambda x: (x.row["dataset"], place.get(x.row["program"], -1), x.row["schedule"]))


def _about(row: Row) -> tuple[str, str, str]:
    return row["program"], row["dtype"], row["dataset"]


def _line(
    row: Row,
    entry: Entry | None,
    sequential: Mapping[tuple[str, str, str], float],
    anchors: Sequence[Anchor],
) -> Line:
    ms = float(row["median_ms"])
    slow = sequential.get(_about(row), row.get("sequential_ms"))
    if entry is None:
        return Line(row, ms, sequential=slow)
    flops = figure(entry.flops, row["parameters"], row["dtype"])
    moved = figure(entry.bytes, row["parameters"], row["dtype"])
    top = ceiling(str(row.get("gpu", ""))) or Ceiling(math.inf, {})
    memory = 1e3 * moved / top.bytes_per_s
    arithmetic = 1e3 * flops / top.flops_per_s.get(row["dtype"], math.inf)
    known = [(a.name, a.time(entry, row)) for a in anchors]
    by_rate = any(time and a.kind == "rate" for a, (_, time) in zip(anchors, known, strict=True))
    return Line(row, ms, flops, moved, memory or None, arithmetic or None, slow, tuple(known), by_rate)


def table(lines: Sequence[Line], failures: Sequence[Row]) -> str:
    """Print Markdown: a table of what was measured, and the list of what failed."""
    parts = [_machines(lines), summary(lines), *_sections(lines)] if lines else []
    if failures:
        about = "{program} {dtype} {schedule} {dataset}: {error}"
        parts.append("Failed:\n\n" + "\n".join(f"- {about.format_map(r)}" for r in failures))
    return "\n\n".join(filter(None, parts))


def _sections(lines: Sequence[Line]) -> Iterator[str]:
    """Yield a grid for each family and type, under a heading where there are several."""
    kinds = list(dict.fromkeys((x.family, str(x.row["dtype"])) for x in lines))
    for family, dtype in kinds:
        title = f"## {family}, {dtype}\n\n" if len(kinds) > 1 else ""
        yield title + _grid([x for x in lines if (x.family, x.row["dtype"]) == (family, dtype)])


def machines(found: Sequence[Row]) -> str:
    """Print where rows were measured."""
    names = dict.fromkeys(f"{r['gpu']}, CUDA {_version(r['cuda'])}" for r in found if "gpu" in r)
    return "; ".join(names) or "the sequential C on one core of this machine"


def _machines(lines: Sequence[Line]) -> str:
    return f"{machines([x.row for x in lines])}. Kernel time, median; `x` is how many times faster polytile is."


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _grid(lines: Sequence[Line]) -> str:
    systems = [name for name in _names(lines) if any(dict(x.anchors).get(name) for x in lines)]
    columns = [
        "program",
        "schedule",
        "size",
        "ms",
        "spread",
        "launches",
        "GFLOP/s",
        "GB/s",
        "of memory",
        "of arithmetic",
    ]
    columns += ["x C", *(f"x {name}" for name in systems)]
    return markdown_grid(columns, [_cells(x, systems) for x in lines], left=3)


def markdown_grid(columns: Sequence[str], body: Sequence[Sequence[str]], left: int) -> str:
    """Print a table in Markdown, padded for reading as text; the first `left` columns are words, the others numbers."""
    widths = [max(map(len, column)) for column in zip(columns, *body, strict=True)]

    def row(cells: Sequence[str]) -> str:
        padded = (c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
        return f"| {' | '.join(padded)} |"

    rule = [("-" * w if i < left else "-" * (w - 1) + ":") for i, w in enumerate(widths)]
    return "\n".join([row(columns), f"| {' | '.join(rule)} |", *map(row, body)])


def _names(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(name for x in lines for name, _ in x.anchors))


def _cells(line: Line, systems: Sequence[str]) -> list[str]:
    row, known = line.row, dict(line.anchors)
    return [
        line.label,
        chosen_schedule(row),
        row["dataset"],
        short(line.ms),
        f"{row['spread']:.0%}" if "spread" in row else "",
        f"{row['launches']}{'+' if row.get('launches_are_more') else ''}" if "launches" in row else "",
        short(line.flops / line.ms * 1e-6) if line.flops else "",
        short(line.bytes / line.ms * 1e-6) if line.bytes else "",
        _percent(line.memory_floor, line.ms),
        _percent(line.arithmetic_floor, line.ms),
        _ratio(line.sequential if row["on"] == "gpu" else None, line.ms),
        *(_ratio(known.get(name), line.ms) for name in systems),
    ]


def chosen_schedule(row: Row) -> str:
    """Return what was asked for, and what was chosen where the choice was free: `auto: superposed`."""
    asked, chosen = str(row["schedule"]), str(row.get("strategy", "")).partition(" ")[0]
    return f"{asked}: {chosen}" if asked == "auto" and chosen else asked


def summary(lines: Sequence[Line]) -> str:
    """Print the geometric mean of the speed-ups over each system, by family, type, schedule and size."""
    groups: dict[str, list[Line]] = {}
    for line in sorted(lines, key=lambda x: (x.family, x.row["dtype"], x.row["dataset"], x.row["schedule"])):
        about = f"{line.family} {line.row['dtype']}, {line.row['dataset']}, {line.row['schedule']}"
        groups.setdefault(about, []).append(line)
    found = [_mean(about, group, name) for about, group in groups.items() for name in _names(lines)]
    return "\n".join(filter(None, found))


def _mean(about: str, lines: Sequence[Line], name: str) -> str:
    ratios = [other / x.ms for x in lines if (other := dict(x.anchors).get(name))]
    if not ratios:
        return ""
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    faster = sum(r > 1 for r in ratios)
    return f"- {about}: {mean:.2f} times the speed of {name} (geometric mean of {len(ratios)}; faster in {faster})"


def short(value: float) -> str:
    """Print three digits, and those before the point."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _percent(floor: float | None, ms: float) -> str:
    return f"{100 * floor / ms:.2g}%" if floor else ""


def _ratio(other: float | None, ms: float) -> str:
    return f"{short(other / ms)}" if other else ""
