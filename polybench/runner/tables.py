"""The programs: what the tables `polybench/FAMILY/programs*.toml` say, and how they are selected."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from polybench.runner.errors import RunnerError
from polytile.dataclass import dataclass

ROOT = Path(__file__).resolve().parents[1]
DATASETS = ("mini", "small", "medium", "large", "extralarge")
SIZES = {"int": 4, "float": 4, "double": 8}


@dataclass(frozen=True, slots=True)
class Entry:
    """One program: `family/name`, its C file, its sizes and the formulas over them."""

    family: str
    name: str
    path: Path
    ctype: str
    live_out: tuple[str, ...]
    flops: str
    bytes: str
    parameters: Mapping[str, Mapping[str, Any]]
    anchor: str
    cells: str | None = None
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.family}/{self.name}"

    @property
    def file(self) -> str:
        """The C file as messages name it, seen from the folder of all families."""
        return f"{self.path.parent.name}/{self.path.name}"

    def sizes(self, dataset: str) -> dict[str, int]:
        """Size variable -> value."""
        return {variable: int(values[dataset]) for variable, values in self.parameters.items()}

    def defines(self, dataset: str, dtype: str) -> list[str]:
        """Return the macros that the C file is compiled with: the data set, its sizes and the element type."""
        sizes = [f"{values['macro']}={values[dataset]}" for values in self.parameters.values()]
        return [f"{dataset.upper()}_DATASET=1", f"DATA_TYPE={dtype}", *sizes]


def figure(formula: str, sizes: Mapping[str, int], dtype: str) -> float:
    """Evaluate a formula over the parameters; `sizeof` is the size of an element."""
    scope = {**sizes, "sizeof": SIZES[dtype], "min": min, "max": max}
    return float(eval(formula, {"__builtins__": {}}, scope))


def load(root: Path = ROOT) -> dict[str, Entry]:
    """Load all programs by id, families in alphabetical order, programs in the order of their tables."""
    found: dict[str, Entry] = {}
    for table in sorted(root.glob("*/programs*.toml")):
        for entry in _read(table):
            if entry.id in found:
                raise RunnerError(f"{table}: {entry.id} is there twice")
            found[entry.id] = entry
    return found


def _read(table: Path) -> list[Entry]:
    try:
        content = tomllib.loads(table.read_text())
        return [_entry(table, name, values) for name, values in content.items()]
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise RunnerError(f"{table}: {error}") from error


def _entry(table: Path, name: str, values: Any) -> Entry:
    try:
        entry = Entry(
            family=table.parent.name,
            name=name,
            path=table.parent / values["file"],
            ctype=values["type"],
            live_out=tuple(values["live_out"]),
            flops=values["flops"],
            bytes=values["bytes"],
            parameters=values["parameters"],
            anchor=values.get("anchor", name),
            cells=values.get("cells"),
            data=values.get("data", {}),
        )
        for dataset in DATASETS:
            entry.defines(dataset, entry.ctype)
    except KeyError as error:
        raise RunnerError(f"{table}: [{name}] has no {error.args[0]!r}") from error
    except (TypeError, AttributeError) as error:
        raise RunnerError(f"{table}: [{name}] is no table of a program") from error
    return entry


def select(entries: Mapping[str, Entry], patterns: Sequence[str]) -> list[Entry]:
    """Select the programs that the patterns name.

    Patterns are `family/name`, `name`, `family`, or globs of these; none means all.
    """
    if not patterns:
        return list(entries.values())
    chosen: dict[str, Entry] = {}
    for pattern in patterns:
        matching = [e for e in entries.values() if any(fnmatchcase(text, pattern) for text in (e.id, e.name, e.family))]
        if not matching:
            raise RunnerError(f"no program matches {pattern!r}{_hint(pattern, entries.values())}")
        chosen |= {e.id: e for e in matching}
    return [e for e in entries.values() if e.id in chosen]


def _hint(pattern: str, entries: Iterable[Entry]) -> str:
    names = {text for e in entries for text in (e.id, e.name, e.family)}
    close = get_close_matches(pattern, sorted(names), n=1)
    return f"; did you mean {close[0]!r}?" if close else "; `python -m polybench list` shows them all"
