"""Runs one subprocess that must end: its time and its output are bounded, and its whole process group is killed."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from polytile.dataclass import dataclass

MOST_OUTPUT = 200_000_000  # bytes


class RunawayError(Exception):
    """A process did not end in time, or printed without end; the text says which."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a process left: its exit status (negative: the signal that ended it) and what it printed."""

    status: int
    output: bytes
    errors: bytes


def run_bounded(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    directory: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float,
    most_output: int = MOST_OUTPUT,
    merged: bool = False,
) -> Result:
    """Run `command` in a process group of its own; `merged` puts its errors among its output.

    Raises OSError when it cannot start, and RunawayError. No process of the group is left behind.
    """
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(
            list(command),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )
    try:
        printed = _collect(process, time.monotonic() + timeout, most_output)
        if printed is None:
            raise RunawayError(f"{command[0]} did not end within {timeout:g} s")
        if sum(map(len, printed)) > most_output:
            raise RunawayError(f"{command[0]} printed more than {most_output // 1_000_000} MB")
        return Result(process.returncode, *printed)
    finally:
        _end_group(process)


def _collect(process: subprocess.Popen[bytes], deadline: float, most: int) -> tuple[bytes, bytes] | None:
    """Read output and errors up to the end of the process or a little more than `most` bytes; None at the deadline."""
    found = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream is not None}
    with selectors.DefaultSelector() as open_streams:
        for stream in found:
            open_streams.register(stream, selectors.EVENT_READ)
        while open_streams.get_map() and sum(map(len, found.values())) <= most:
            if time.monotonic() > deadline:
                return None
            for key, _ in open_streams.select(max(deadline - time.monotonic(), 0)):
                piece = os.read(key.fd, 1 << 16)
                found[key.fileobj] += piece  # type: ignore[index]
                if not piece:
                    open_streams.unregister(key.fileobj)
    if sum(map(len, found.values())) <= most:
        try:
            process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            return None
    output, errors = (bytes(found.get(s, b"")) for s in (process.stdout, process.stderr))  # type: ignore[arg-type]
    return output, errors


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def how_it_ended(who: str, status: int) -> str:
    """Describe the exit status of a process, where a negative one is the signal that ended it."""
    if status >= 0:
        return f"the {who} ended with status {status}"
    with contextlib.suppress(ValueError):
        return f"the {who} was killed by {signal.Signals(-status).name}"
    return f"the {who} was killed by signal {-status}"
