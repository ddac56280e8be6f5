"""Runs work in processes of their own, which may crash, hang or fill the disk."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

from polytile.dataclass import dataclass
from polytile.fuzz.outcome import Outcome, outcome_of
from polytile.runtime.emulator import core

PATIENCE = 4  # times the limit, by the clock, for a process that shares its processor with others
_QUOTED = 2000  # characters of what a child printed


@dataclass(slots=True)
class Child:
    """A process that runs one trial, and the folder that takes its temporary files."""

    number: int
    process: ForkProcess
    reader: Connection
    folder: tempfile.TemporaryDirectory[str]
    started: float
    limit: float

    @classmethod
    def start(cls, number: int, work: Callable[[], Outcome], limit: float) -> Child:
        """Start `work`, which gets `limit` seconds of processor time, its own processes' included."""
        context = multiprocessing.get_context("fork")
        reader, writer = context.Pipe(duplex=False)
        folder = tempfile.TemporaryDirectory(prefix="polytile-fuzz-", ignore_cleanup_errors=True)
        process = context.Process(target=_main, args=(work, writer, folder.name), daemon=False)
        core.before_forking()
        process.start()
        writer.close()
        return cls(number, process, reader, folder, time.monotonic(), limit)

    def outcome(self) -> Outcome | None:
        """Return the outcome of the work, or None while it runs; a process that is late is ended."""
        if self.reader.poll():
            return self._end(self._received())
        if not self.process.is_alive():
            return self._end(self._received() if self.reader.poll() else self._died())
        if self._is_late():
            _kill(self.process.pid or 0)
            return self._end(Outcome("too slow", "", f"did not end within {self.limit:g} s"))
        return None

    def _is_late(self) -> bool:
        passed = time.monotonic() - self.started
        if passed <= self.limit or passed > PATIENCE * self.limit:
            return passed > self.limit
        used = _processor_time(self.process.pid or 0)
        return used is None or used > self.limit

    def _received(self) -> Outcome:
        try:
            found = self.reader.recv()
        except EOFError:
            self.process.join()
            return self._died()
        assert isinstance(found, Outcome)
        return found

    def _died(self) -> Outcome:
        code = self.process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"status {code}"
        printed = (Path(self.folder.name) / "printed").read_text(errors="replace")[-_QUOTED:]
        return Outcome("process ended", name, f"the process ended with {name}\n{printed}")

    def _end(self, outcome: Outcome) -> Outcome:
        self.process.join(5)
        if self.process.is_alive():
            _kill(self.process.pid or 0)
            self.process.join()
        self.reader.close()
        self.process.close()
        self.folder.cleanup()
        return outcome


def _main(work: Callable[[], Outcome], writer: Connection, folder: str) -> None:
    """Run the work in the child: everything it prints and leaves on disk goes into its folder."""
    tempfile.tempdir = folder
    os.environ["TMPDIR"] = folder
    printed = os.open(os.path.join(folder, "printed"), os.O_WRONLY | os.O_CREAT)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    faulthandler.enable(2)  # where it was when it crashed
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        found = work()
    except BaseException as error:
        found = outcome_of(error)
    writer.send(found)
    writer.close()
    os._exit(0)


def run_one(work: Callable[[], Outcome], limit: float) -> Outcome:
    """Run `work` in a child and wait for it."""
    return next(run_all(iter([(0, work)]), 1, limit))[1]


def run_all(
    works: Iterator[tuple[int, Callable[[], Outcome]]], jobs: int, limit: float
) -> Iterator[tuple[int, Outcome]]:
    """Run numbered work, `jobs` at a time; yields each number with its outcome, as they end."""
    running: list[Child] = []
    try:
        while True:
            while len(running) < jobs and (work := next(works, None)) is not None:
                running.append(Child.start(*work, limit))
            if not running:
                return
            ready: list[Any] = [c.reader for c in running]
            wait(ready, timeout=1.0)
            for child in list(running):
                if (found := child.outcome()) is not None:
                    running.remove(child)
                    yield child.number, found
    finally:
        for child in running:
            _kill(child.process.pid or 0)
            child._end(Outcome("interrupted"))


def _kill(pid: int) -> None:
    """End a process and all that it started."""
    below = _descendants(pid)
    for one in (pid, *below):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


def _processor_time(pid: int) -> float | None:
    """Sum the processor time, in seconds, of a process, its descendants and those that it has waited for; None where
    the system does not say."""
    total = 0
    for one in (pid, *_descendants(pid)):
        try:
            text = Path(f"/proc/{one}/stat").read_text()
        except OSError:
            if one == pid:
                return None
            continue
        total += sum(map(int, text.rpartition(")")[2].split()[11:15]))  # utime, stime, cutime, cstime: proc(5)
    return total / os.sysconf("SC_CLK_TCK")


def _descendants(pid: int) -> list[int]:
    """List the descendants of a process, where the system lists them."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [p for child in map(int, text.split()) for p in (child, *_descendants(child))]
