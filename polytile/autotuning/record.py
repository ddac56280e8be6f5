"""The record of a search: an append-only file of all that was measured, which several tuners may share.

An evaluation is found by what kernels are made from (`source`) and the point, without compiling anything, and by the
text of the kernels and what their time depends on (`key`), by another point or another polytile too. Killed at any
moment, a tuner loses what it was measuring then, and nothing else.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from polytile.autotuning.conditions import Conditions
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.record_file import RecordFile, complete_lines
from polytile.autotuning.record_lines import Claim, Content, Entry, Finals, from_line, to_line
from polytile.autotuning.space import Point
from polytile.diagnostics import Diagnostic, UsageError

ENDING = ".tune.jsonl"  # of the names of records


def read_record(path: Path) -> tuple[Entry, ...]:
    """Read the evaluations of a record, the oldest first, for a replay; those that were found by their kernels are
    `reused`.

    Raises UsageError for a file that cannot be read, or is no record.
    """
    found = (from_line(line) for line in complete_lines(path))
    return tuple(one for one in found if isinstance(one, Entry))


class Record:
    """The part of a record that one search uses: `source` is the SHA-256 of what kernels are made from, None where that
    cannot be told, so that evaluations are found by their kernels alone. Raises UsageError where the file cannot be
    written or is no record, then and later.
    """

    def __init__(self, path: Path, source: str | None, conditions: Conditions) -> None:
        self.path, self.source, self.conditions = path, source, conditions
        self._file = RecordFile(path)
        self._of_points: dict[tuple[str, Point], Outcome] = {}
        self._of_keys: dict[str, Outcome] = {}
        self._claims: dict[str, Claim] = {}
        self._finals: list[Finals] = []
        self._foreign: dict[int | None, int] = {}  # lines by their version
        self._own: set[str] = set()  # keys that are claimed here
        with self._file.locked():
            self._catch_up()

    def __enter__(self) -> Record:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """Return the remarks on lines that are not used."""
        return tuple(Diagnostic("remark", self._said(version, count)) for version, count in self._foreign.items())

    def _said(self, version: int | None, count: int) -> str:
        lines = f"{self.path}: {count} line{'s' * (count != 1)}"
        if version is None:
            return f"{lines} left out that cannot be read"
        return f"{lines} of version {version}, which another polytile has written, left out"

    def find(self, point: Point) -> Outcome | None:
        """Return what came of a point of the same source; it may be known from another one with the same kernels."""
        if self.source is None:
            return None
        self._refresh()
        found = self._of_points.get((self.source, _sorted(point)))
        return None if found is None else replace(found, point=point, reused=True)

    def known(self, key: str) -> Outcome | None:
        """Return what came of kernels; HELD where a tuner measures them now, this one included. None where nothing is
        known: then they are claimed, until an outcome with this key is appended."""
        with self._file.locked():
            self._catch_up()
            found = self._look(key)
            if found is None:
                self._append(own_claim(key))
                self._own.add(key)
        return found

    def look(self, key: str) -> Outcome | None:
        """Return the same, without a claim."""
        self._refresh()
        return self._look(key)

    def append(self, outcome: Outcome) -> None:
        """Keep what came of a point."""
        if outcome.status is Status.HELD:
            return
        with self._file.locked():
            self._catch_up()
            self._append(Entry(self.source or "", outcome, self.conditions))
        self._own.discard(outcome.key)

    def finals(self, points: Sequence[Point]) -> Mapping[Point, tuple[float, ...]] | None:
        """Return the further runs of the best points, where just these were the best before."""
        self._refresh()
        asked = {_sorted(point): point for point in points}
        for one in reversed(self._finals):
            runs = {_sorted(point): times for point, times in one.milliseconds.items()}
            if one.source == self.source and runs.keys() == asked.keys():
                return {asked[point]: times for point, times in runs.items()}
        return None

    def append_finals(self, milliseconds: Mapping[Point, tuple[float, ...]]) -> None:
        """Keep the further runs of the best points; none of those that failed."""
        if self.source is None:
            return
        with self._file.locked():
            self._catch_up()
            self._append(Finals(self.source, milliseconds))

    def close(self) -> None:
        """Give up what is claimed, so that others need not wait for the end of this process."""
        with suppress(UsageError), self._file.locked():
            self._catch_up()
            for key in sorted(self._own):
                self._append(own_claim(key, released=True))
        self._own.clear()
        self._file.close()

    def _look(self, key: str) -> Outcome | None:
        found, claim = self._of_keys.get(key), self._claims.get(key)
        if found is not None:
            return replace(found, reused=True)
        if claim is not None and holds(claim):
            return Outcome((), Status.HELD, "another evaluation measures the same kernels", key=key)
        return None

    def _refresh(self) -> None:
        if self._file.has_grown():
            with self._file.locked():
                self._catch_up()

    def _catch_up(self) -> None:
        """Take in what others have appended."""
        for line in self._file.new_lines():
            content = from_line(line)
            if isinstance(content, int) or content is None:
                self._foreign[content] = self._foreign.get(content, 0) + 1
            else:
                self._take(content)

    def _append(self, content: Content) -> None:
        self._file.append(to_line(content))
        self._take(content)

    def _take(self, content: Content) -> None:
        match content:
            case Claim():
                self._claims[content.key] = content
            case Finals():
                self._finals.append(content)
            case Entry(source, outcome):
                self._of_points.setdefault((source, _sorted(outcome.point)), outcome)
                if outcome.key:
                    self._of_keys.setdefault(outcome.key, outcome)
                    self._claims.pop(outcome.key, None)


def _sorted(point: Point) -> Point:
    """Sort the parameters of a point, whose order does not matter for looking it up."""
    return tuple(sorted(point, key=lambda one: one[0]))


HELD_SECONDS = 1800.0  # after which a claim holds no longer, whoever made it


def own_claim(key: str, *, released: bool = False) -> Claim:
    """Make the claim of this process to a key, or its end."""
    process = os.getpid()
    return Claim(key, socket.gethostname(), process, _started(process), time.time(), released)


def holds(claim: Claim) -> bool:
    """Return whether a claim keeps others from measuring: it is young, and its process runs as far as can be told from
    this host."""
    if claim.released or time.time() - claim.time > HELD_SECONDS:
        return False
    return claim.host != socket.gethostname() or _runs(claim)


def _runs(claim: Claim) -> bool:
    try:
        os.kill(claim.process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return _started(claim.process) == claim.started


def _started(process: int) -> str:
    """Return when a process has started, in ticks of Linux (proc(5), field 22 of stat); "" where it does not say, or
    only its parent has not seen yet that it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]
