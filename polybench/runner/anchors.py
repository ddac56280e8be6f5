"""What other systems reach, and the ceilings of the GPU: the data of `polybench/anchors`."""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polybench.runner.errors import RunnerError
from polybench.runner.rows import Row
from polybench.runner.tables import ROOT, Entry
from polytile.dataclass import dataclass

ANCHORS = ROOT / "anchors"
LARGE = ("large", "extralarge")  # where rates of different grids can be compared


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What a GPU can do at most."""

    bytes_per_s: float
    flops_per_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Anchor:
    """One system: its figures by (name, type, data set or nothing), times in ms or rates in 1e9 points a second."""

    name: str
    kind: str
    families: tuple[str, ...]
    aliases: Mapping[str, str]
    figures: Mapping[tuple[str, str, str], float]

    def time(self, entry: Entry, row: Row) -> float | None:
        """Return the milliseconds that this system takes, or would at its rate, for a row's work; None when unknown."""
        if entry.family not in self.families:
            return None
        name = self.aliases.get(entry.name, entry.anchor)
        if self.kind == "time":
            return self.figures.get((name, row["dtype"], row["dataset"]))
        rate = self.figures.get((name, row["dtype"], ""))
        if rate is None or row["dataset"] not in LARGE:
            return None
        return points(entry, row) / rate * 1e-6


def points(entry: Entry, row: Row) -> float:
    """Compute grid points times time steps: the formula `cells` of the table, else the product of all sizes."""
    sizes = row["parameters"]
    if entry.cells is not None:
        return float(eval(entry.cells, {"__builtins__": {}}, dict(sizes)))
    return float(math.prod(sizes.values()))


def load_anchors(folder: Path = ANCHORS) -> list[Anchor]:
    """Load every system of `anchors.toml`, in its order."""
    return [_anchor(folder, values) for values in _toml(folder / "anchors.toml")["anchor"]]


def ceiling(gpu: str, folder: Path = ANCHORS) -> Ceiling | None:
    """Return the ceilings of the GPU of this name, or None when they are not known."""
    for values in _toml(folder / "ceilings.toml")["gpu"]:
        if values["name"] in gpu:
            return Ceiling(values["copy_bytes_per_s"], values["flops_per_s"])
    return None


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise RunnerError(f"{path}: {error}") from error


def _anchor(folder: Path, values: Mapping[str, Any]) -> Anchor:
    timed = values["kind"] == "time"
    figures: dict[tuple[str, str, str], float] = {}
    for about, value in (_times if timed else _rates)(folder / values["file"], values):
        better = min if timed else max
        figures[about] = better(value, figures.get(about, value))
    return Anchor(values["name"], values["kind"], tuple(values["families"]), values.get("aliases", {}), figures)


def _times(path: Path, values: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str], float]]:
    variants: Sequence[str] | None = values.get("variants")
    for row in _csv(path):
        time = _number(row["kernel_ms"])
        if time is not None and (variants is None or row["variant"] in variants):
            yield (row["kernel"], row["dtype"], row["size"].lower()), time


def _rates(path: Path, values: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str], float]]:
    for row in _csv(path):
        rate = _number(row["gcells_per_s"])
        if rate is not None and row["peer"] == values["peer"] and row["check"].startswith("ok"):
            yield (row["benchmark"], row["dtype"], ""), rate


def _csv(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise RunnerError(f"{path}: {error.strerror}") from error


def _number(text: str | None) -> float | None:
    """Parse a positive number; what did not run has none."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
