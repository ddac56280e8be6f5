"""Runs one compiler or tool that must end."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.process import RunawayError, run_bounded

_MOST_OUTPUT = 10_000_000  # bytes


@dataclass(frozen=True, slots=True)
class Finished:
    """What a subprocess left: its exit status, and its standard output and error together."""

    status: int
    output: str


def words_of(variable: str, default: str = "") -> list[str]:
    """Split an environment variable such as CC into words as a shell does; no shell sees them."""
    text = os.environ.get(variable) or default
    try:
        return shlex.split(text)
    except ValueError as error:
        raise DeviceError(f"{variable} cannot be read: {str(error).lower()}: {text}", hint="correct it") from None


def run_to_end(
    command: Sequence[str], *, stdin: str | None = None, directory: Path | None = None, timeout: float
) -> Finished:
    """Run `command` in its own process group; a `DeviceError` when it cannot start or does not end in bounds."""
    try:
        done = run_bounded(
            command,
            stdin=(stdin or "").encode("utf-8", "surrogateescape"),
            directory=directory,
            timeout=timeout,
            most_output=_MOST_OUTPUT,
            merged=True,
        )
    except OSError as error:
        raise DeviceError(f"cannot run {command[0]}: {error.strerror or error}") from error
    except RunawayError as error:
        raise DeviceError(str(error), hint="try it by itself, or name another compiler") from error
    output = done.output.decode("utf-8", "replace")
    if done.status < 0:
        output += f"{command[0]} was ended by signal {-done.status} ({signal.strsignal(-done.status) or 'unknown'})\n"
    return Finished(done.status, output)
