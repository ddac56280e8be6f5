"""`report` of two files: the times of the programs that both runs measured beside each other, and their ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from polybench.runner.compare import TIME_SLACK
from polybench.runner.errors import RunnerError
from polybench.runner.markdown import show
from polybench.runner.report import Line, chosen_schedule, machines, markdown_grid, short
from polybench.runner.rows import Key, Row, failed, latest, read
from polybench.runner.tables import Entry
from polytile.dataclass import dataclass

COLUMNS = ("program", "type", "schedule", "size")  # then ms of each, the ratio, spread of each


@dataclass(frozen=True, slots=True)
class Pair:
    """One program in both runs."""

    old: Row
    new: Row

    @property
    def ratio(self) -> float:
        """How many times faster the second run is."""
        return float(self.old["median_ms"]) / float(self.new["median_ms"])

    @property
    def slack(self) -> float:
        """The greatest ratio, of the slower to the faster, that says nothing."""
        return 1.0 + TIME_SLACK + max(float(row.get("spread", 0.0)) for row in (self.old, self.new))

    def line(self, name: str) -> Line:
        """Return what the plot draws: the second run, compared with the first one under its `name`."""
        return Line(self.new, float(self.new["median_ms"]), anchors=((name, float(self.old["median_ms"])),))


@dataclass(frozen=True, slots=True)
class Runs:
    """Two runs: what both have timed at equal sizes, and the rest, as text, for those who look for a missing row."""

    names: tuple[str, str]
    pairs: tuple[Pair, ...]
    left_out: tuple[str, ...]


def are_two_runs(paths: Sequence[Path]) -> bool:
    """Return whether these are two files with a row of the same program, type, schedule, size and place.

    Others belong together: the rows of the GPU and those of the sequential C, or one family each.
    """
    if len(paths) != 2:
        return False
    old, new = (latest(read(path)) for path in paths)
    return not old.keys().isdisjoint(new)


def report_runs(
    old: Path, new: Path, entries: Mapping[str, Entry], *, plot: Path | None = None, markdown: Path | None = None
) -> int:
    """Print the comparison, and write what was asked for; raises RunnerError where no row has a time in both."""
    found = pair_up(_names(old, new), read(old), read(new), entries)
    if not found.pairs:
        raise RunnerError(f"no program has a time in both {found.names[0]} and {found.names[1]}")
    show(comparison_table(found), markdown)
    if plot is not None:
        from polybench.runner.plot import draw

        draw([pair.line(found.names[0]) for pair in found.pairs], plot, winner=found.names[1])
    return 0


def _names(old: Path, new: Path) -> tuple[str, str]:
    """Return the files' names, or their paths where the names are the same."""
    return (old.name, new.name) if old.name != new.name else (str(old), str(new))


def pair_up(names: tuple[str, str], old: Iterable[Row], new: Iterable[Row], entries: Mapping[str, Entry]) -> Runs:
    """Match the rows by program, type, schedule and size: those of the GPU, or of the sequential C without any."""
    sides = _timed_in_one_place(latest(old), latest(new))
    place = {name: number for number, name in enumerate(entries)}
    every = sorted({**sides[0], **sides[1]}, key=lambda k: (k[3], place.get(k[0], -1), k[0], k[1], k[2]))
    pairs: list[Pair] = []
    left_out: list[str] = []
    for about in every:
        before, after = (side.get(about) for side in sides)
        reason = _incomparable(names, before, after)
        if reason or before is None or after is None:
            left_out.append(f"{' '.join(about[:4])}: {reason}")
        else:
            pairs.append(Pair(before, after))
    return Runs(names, tuple(pairs), tuple(left_out))


def _timed_in_one_place(old: Mapping[Key, Row], new: Mapping[Key, Row]) -> tuple[dict[Key, Row], dict[Key, Row]]:
    timed = tuple({k: r for k, r in side.items() if failed(r) or r.get("median_ms")} for side in (old, new))
    place = "gpu" if any(r["on"] == "gpu" for side in timed for r in side.values()) else "cpu"
    first, second = ({k: r for k, r in side.items() if r["on"] == place} for side in timed)
    return first, second


def _incomparable(names: tuple[str, str], old: Row | None, new: Row | None) -> str:
    """Say why the rows have no ratio, or return ""."""
    if old is None or new is None:
        return f"only in {names[0] if new is None else names[1]}"
    failures = [f"failed in {name}: {row['error']}" for name, row in zip(names, (old, new), strict=True) if failed(row)]
    if failures:
        return "; ".join(failures)
    return "" if old.get("parameters") == new.get("parameters") else "the sizes differ"


def comparison_table(runs: Runs) -> str:
    """Print Markdown: the machines, the means, the table, and what has no ratio."""
    old, new = runs.names
    columns = [*COLUMNS, f"ms, {old}", f"ms, {new}", "ratio", f"spread, {old}", f"spread, {new}"]
    parts = [_where(runs), _summary(runs), markdown_grid(columns, [_cells(p) for p in runs.pairs], left=len(COLUMNS))]
    if runs.left_out:
        parts.append("Without a ratio:\n\n" + "\n".join(f"- {text}" for text in runs.left_out))
    return "\n\n".join(parts)


def _where(runs: Runs) -> str:
    sides = [machines([p.old for p in runs.pairs]), machines([p.new for p in runs.pairs])]
    where = sides[0] if sides[0] == sides[1] else "; ".join(map("{}: {}".format, runs.names, sides))
    return f"{where}. Median times; the ratio is how many times faster {runs.names[1]} is than {runs.names[0]}."


def _summary(runs: Runs) -> str:
    """Print the geometric mean for each type, and how many changed by more than their spread."""
    groups: dict[str, list[Pair]] = {}
    for pair in runs.pairs:
        groups.setdefault(str(pair.new["dtype"]), []).append(pair)
    return "\n".join(_mean(dtype, group) for dtype, group in groups.items())


def _mean(dtype: str, pairs: Sequence[Pair]) -> str:
    mean = math.exp(sum(math.log(p.ratio) for p in pairs) / len(pairs))
    faster, slower = sum(p.ratio > p.slack for p in pairs), sum(1 / p.ratio > p.slack for p in pairs)
    beyond = f"beyond {TIME_SLACK:.0%} and the spread, {faster} faster and {slower} slower"
    return f"- {dtype}: ratio {mean:.3f} (geometric mean of {len(pairs)}); {beyond}"


def _cells(pair: Pair) -> list[str]:
    schedules = list(dict.fromkeys(map(chosen_schedule, (pair.old, pair.new))))
    return [
        str(pair.new["program"]),
        str(pair.new["dtype"]),
        " -> ".join(schedules),
        str(pair.new["dataset"]),
        *(short(float(row["median_ms"])) for row in (pair.old, pair.new)),
        f"{pair.ratio:.3f}",
        *(f"{row['spread']:.0%}" if "spread" in row else "" for row in (pair.old, pair.new)),
    ]
