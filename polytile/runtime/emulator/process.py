"""Runs one subprocess that must end: on a timeout its whole process group is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polytile.diagnostics import DeviceError


@dataclass(frozen=True, slots=True)
class Finished:
    """What a subprocess left: its exit status, and its standard output and error together."""

    status: int
    output: str


def run_to_end(
    command: Sequence[str], *, stdin: str | None = None, directory: Path | None = None, timeout: float
) -> Finished:
    """Run `command` in its own process group; a `DeviceError` when it cannot start or does not end in time."""
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=directory,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise DeviceError(f"cannot run {command[0]}: {error.strerror or error}") from error
    try:
        output, _ = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired as expired:
        raise DeviceError(
            f"{command[0]} did not end within {timeout:g} s", hint="give it more time, or a lower optimisation level"
        ) from expired
    finally:
        _end_group(process)
    return Finished(process.returncode, output)


def _end_group(process: subprocess.Popen[str]) -> None:
    """Kill what is left of the group of a process that has not been waited for."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
