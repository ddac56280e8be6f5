"""What one run of the command says: lines on standard output, messages on standard error, or one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from time import perf_counter
from typing import Any

from polytile import __version__, stage_times
from polytile.cli import progress
from polytile.dataclass import dataclass
from polytile.diagnostics import Diagnostic, PolytileError

JSON_FORMAT = 2
_MOST_REASONS = 8


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that is said of a compilation: a message, or a result where it has a `line`."""

    diagnostic: Diagnostic
    line: str = ""


@dataclass(slots=True)
class Report:
    """Collects the result of one run and prints it as it comes, or at the end as JSON."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    diagnostics: list[Diagnostic] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    told: bool = False  # of each stage to who shows it

    def line(self, text: str) -> None:
        """Print a result for the reader; JSON holds it as facts instead."""
        if not self.as_json and not self.quiet:
            print(text)

    def text(self, text: str) -> None:
        """Print something that was asked for by name (--explain, --dump), under -q too."""
        if not self.as_json:
            print(text.rstrip("\n"))

    def diagnostic(self, diagnostic: Diagnostic) -> None:
        """Print an error, a warning, a note or a remark on standard error; -q keeps errors only."""
        self.diagnostics.append(diagnostic)
        if not self.quiet or diagnostic.severity == "error":
            sys.stdout.flush()
            print(diagnostic.render(), file=sys.stderr)

    def say(self, said: Iterable[Said]) -> None:
        for one in said:
            if one.line:
                self.diagnostics.append(one.diagnostic)
                self.line(one.line)
            else:
                self.diagnostic(one.diagnostic)

    def add(self, **facts: Any) -> None:
        """Add facts to the JSON object."""
        self.facts.update(facts)

    def watch_stages(self, tell: Callable[[str], None]) -> None:
        """Have the times of stages kept, and told while they run to who watches a terminal."""
        self.told = progress.is_shown() and not (self.quiet or self.verbose or self.as_json)
        stage_times.watch(runs=self.verbose or self.as_json, tell=tell if self.told else None)

    @contextmanager
    def stage(self, title: str) -> Iterator[None]:
        """Time a stage and those inside of it; -v says how long each took, the longest first."""
        start = perf_counter()
        try:
            with stage_times.stage(title):
                yield
        finally:
            if self.told:
                progress.clear()
        self._time(title, perf_counter() - start)
        for name, seconds in stage_times.times_inside(title):
            self._time(name, seconds)

    def _time(self, title: str, seconds: float) -> None:
        self.times[title] = seconds
        if self.verbose:
            print(f"polytile: {title}: {seconds:.3f} s", file=sys.stderr)

    def finish(self, status: int) -> None:
        """Print the JSON object, if that was asked for."""
        if self.as_json:
            print(json.dumps(self._object(status), indent=2))

    def _object(self, status: int) -> dict[str, Any]:
        return {
            "format": JSON_FORMAT,
            "polytile": __version__,
            "exit_status": status,
            **self.facts,
            "diagnostics": [as_object(d) for d in self.diagnostics],
            "seconds": {name: round(seconds, 6) for name, seconds in self.times.items()},
        }


def reasons(errors: Sequence[PolytileError], severity: str = "remark") -> Iterator[Said]:
    """Yield a few of the reasons why loops stay as they are, each with the first place that has it, and how many
    more."""
    places: dict[str, list[PolytileError]] = {}
    for error in errors:
        places.setdefault(error.message, []).append(error)
    shown = list(places.values())[:_MOST_REASONS]
    for first, *others in shown:
        more = f" (and at {len(others)} more place{'s' * (len(others) > 1)})" if others else ""
        yield Said(replace(first.diagnostic, severity=severity, message=first.message + more))
    left = sum(len(errors) for errors in list(places.values())[_MOST_REASONS:])
    if left:
        yield Said(Diagnostic(severity, f"{left} more, for other reasons"))


def as_object(diagnostic: Diagnostic) -> Mapping[str, Any]:
    """Return a diagnostic as an object of JSON."""
    place = diagnostic.location
    located = {"file": place.file, "line": place.line, "column": place.column} if place and place.line else {}
    return {"severity": diagnostic.severity, "message": diagnostic.message, "hint": diagnostic.hint, **located}
