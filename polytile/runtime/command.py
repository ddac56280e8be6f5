"""Running compilers: found by name, killed with all their children when they hang, and quoted when they fail."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polytile.diagnostics import DeviceError

COMPILE_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended: its status and what it printed."""

    status: int
    output: str
    errors: str


def run_command(command: Sequence[str], *, timeout: float = COMPILE_TIMEOUT, cwd: Path | None = None) -> Finished:
    """Run `command` in its own process group; raises DeviceError when it cannot start or does not end in time."""
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise DeviceError(f"cannot run {command[0]}: {error.strerror or error}") from error
    try:
        output, errors = process.communicate(timeout=timeout)
    except BaseException as error:
        _kill(process)
        if isinstance(error, subprocess.TimeoutExpired):
            hint = "run the command by hand to see where it hangs: " + shlex.join(command)
            raise DeviceError(f"{command[0]} did not end within {timeout:g} s", hint=hint) from error
        raise
    return Finished(process.returncode, output, errors)


def _kill(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.communicate()


def check_command(command: Sequence[str], purpose: str, *, timeout: float = COMPILE_TIMEOUT) -> Finished:
    """Run a command that must succeed; DeviceError quotes the first lines of what it said otherwise."""
    finished = run_command(command, timeout=timeout)
    if finished.status != 0:
        said = (finished.errors or finished.output).strip().splitlines()
        quoted = "\n    ".join(said[:12]) or f"exit status {finished.status}"
        raise DeviceError(f"{purpose} failed:\n    {quoted}", hint="the command was: " + shlex.join(command))
    return finished


def c_compiler() -> list[str]:
    """The host C compiler: $CC, else cc, gcc or clang; raises DeviceError when there is none."""
    chosen = shlex.split(os.environ.get("CC", ""))
    if chosen:
        if shutil.which(chosen[0]) is None:
            raise DeviceError(f"the C compiler {chosen[0]!r} ($CC) was not found", hint="set CC to an installed one")
        return chosen
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise DeviceError("no C compiler was found (cc, gcc, clang)", hint="install gcc or clang, or set CC")


def nvcc() -> str | None:
    """The CUDA compiler, $NVCC or nvcc on the PATH, or None."""
    return shutil.which(os.environ.get("NVCC", "nvcc"))
