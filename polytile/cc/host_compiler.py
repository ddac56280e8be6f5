"""The host compiler: which one it is, and how it is run."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

from polytile.cc.own_options import PREFIX
from polytile.diagnostics import DeviceError, UsageError

VARIABLE = "POLYTILE_CC"
_INSIDE = "POLYTILE_CC_INSIDE"  # set for the host compiler, which must not be polytile again
_SIGNALLED = 128


def host_compiler(named: str) -> list[str]:
    """Return the words of the host compiler: those that are named, $POLYTILE_CC, or cc, gcc or clang. `$CC` is not
    asked: in a build it is polytile itself. Raises DeviceError without one."""
    if os.environ.get(_INSIDE):
        message = "the host compiler is polytile itself"
        raise UsageError(message, hint=f"name another one with {PREFIX}cc=gcc or in {VARIABLE}")
    text = named or os.environ.get(VARIABLE, "")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"the host compiler {text!r} cannot be read: {str(error).lower()}") from None
    for name in words[:1] or ("cc", "gcc", "clang"):
        if shutil.which(name):
            return words or [name]
    if words:
        raise DeviceError(f"the host compiler {words[0]!r} was not found", hint=f"name another in {VARIABLE}")
    raise DeviceError("no C compiler was found (cc, gcc, clang)", hint=f"install gcc or clang, or set {VARIABLE}")


def become(command: Sequence[str]) -> NoReturn:
    """Turn into the host compiler, which ends as it would have ended without polytile."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(command[0], list(command), _environment())
    except OSError as error:
        raise _cannot_run(command, error) from error


def run(command: Sequence[str], *, shown: bool = False) -> int:
    """Run the host compiler to its end, with this process's streams; the exit status, as a shell has it."""
    if shown:
        print(shlex.join(command), file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        status = subprocess.run(list(command), env=_environment(), check=False).returncode
    except OSError as error:
        raise _cannot_run(command, error) from error
    return status if status >= 0 else _SIGNALLED - status


def _environment() -> dict[str, str]:
    return {**os.environ, _INSIDE: "1"}


def _cannot_run(command: Sequence[str], error: OSError) -> DeviceError:
    return DeviceError(f"cannot run {command[0]}: {error.strerror or error}", hint=f"name another in {VARIABLE}")
