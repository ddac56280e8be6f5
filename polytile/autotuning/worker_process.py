"""A worker as its parent sees it: a process that is written and read in lines of JSON, and may end at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import IO, Any

from polytile.diagnostics import DeviceError
from polytile.process import how_it_ended

ENDING_SECONDS = 1.0
LAST_LINES = 3  # lines of what it wrote to standard error that a reason quotes

Message = dict[str, Any]


class WorkerProcess:
    """One worker, in a process group of its own; `deadline` is when it is late, in seconds of the monotonic clock."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise DeviceError(f"{command[0]} does not start: {error.strerror}") from error
        self.deadline = inf
        self._rest = b""

    @property
    def number(self) -> int:
        """Return the process's number."""
        return self._process.pid

    def fileno(self) -> int:
        """Return what a selector waits for."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def send(self, message: Message, seconds: float) -> None:
        """Write a message, to be answered within some seconds. Nothing is raised where the process has ended: reading
        says so."""
        assert self._process.stdin is not None
        self.deadline = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def messages(self) -> Iterator[Message]:
        """Read what has arrived, where there is something to read. Raises EOFError at its end."""
        piece = os.read(self.fileno(), 1 << 16)
        if not piece:
            raise EOFError
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            yield json.loads(line)

    def end(self, *, ending: bool = False) -> str:
        """Kill what still runs, with all that it has started; returns how it ended and what it wrote last. One that is
        `ending`, as it has closed its output, may do so by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if ending:
                self._process.wait(ENDING_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._log.seek(0)
        said = self._log.read()[-(1 << 14) :].decode(errors="replace").strip().splitlines()[-LAST_LINES:]
        self._log.close()
        return f"{how_it_ended('process', status)}{': ' + ' | '.join(said) if said else ''}"
