"""Work in forked processes, which may crash or hang: none sees what another one left behind in isl."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Generic, TypeVar

from polytile.dataclass import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ended:
    """Why a process gave no result."""

    reason: str
    late: bool = False


@dataclass(frozen=True, slots=True)
class _Running(Generic[T]):
    number: int
    process: ForkProcess
    reader: Connection
    deadline: float

    def result(self) -> T | Ended:
        try:
            found: T = self.reader.recv()
        except EOFError:
            self.process.join()
            return Ended(f"the process ended with status {self.process.exitcode}")
        self.process.join()
        return found


def forked(works: Sequence[Callable[[], T]], jobs: int, seconds: float) -> Iterator[tuple[int, T | Ended]]:
    """Yield the number and the result of each work, as they end; `jobs` run at a time, each for `seconds` at most."""
    waiting = iter(enumerate(works))
    running: dict[Any, _Running[T]] = {}
    try:
        while True:
            while len(running) < jobs and (work := next(waiting, None)) is not None:
                one = _started(*work, seconds)
                running[one.reader] = one
            if not running:
                return
            for ready in wait(list(running), timeout=1.0):
                one = running.pop(ready)
                yield one.number, one.result()
            now = time.monotonic()
            for late in [r for r, one in running.items() if one.deadline < now]:
                one = running.pop(late)
                one.process.kill()
                yield one.number, Ended(f"the process did not end within {seconds:g} s", late=True)
    finally:
        for one in running.values():
            one.process.kill()


def _started(number: int, work: Callable[[], T], seconds: float) -> _Running[T]:
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(work, writer), daemon=True)
    process.start()
    writer.close()
    return _Running(number, process, reader, time.monotonic() + seconds)


def _send(work: Callable[[], T], writer: Connection) -> None:
    writer.send(work())
    writer.close()
