"""Finding and running compilers other than the emulator's."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence

from polytile.diagnostics import DeviceError
from polytile.runtime.emulator.process import run_to_end, words_of

COMPILE_TIMEOUT = 300.0
QUOTED_LINES = 12


def check_command(command: Sequence[str], purpose: str, *, timeout: float = COMPILE_TIMEOUT) -> None:
    """Run a command that must succeed; DeviceError quotes the first lines of what it said otherwise."""
    finished = run_to_end(command, timeout=timeout)
    if finished.status != 0:
        said = finished.output.strip().splitlines()[:QUOTED_LINES] or [f"exit status {finished.status}"]
        quoted = "\n    ".join(said)
        raise DeviceError(f"{purpose} failed:\n    {quoted}", hint="the command was: " + shlex.join(command))


def c_compiler() -> list[str]:
    """Return the host C compiler: $CC, else cc, gcc or clang; raises DeviceError when there is none."""
    chosen = words_of("CC")
    if chosen:
        if shutil.which(chosen[0]) is None:
            raise DeviceError(f"the C compiler {chosen[0]!r} ($CC) was not found", hint="set CC to an installed one")
        return chosen
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise DeviceError("no C compiler was found (cc, gcc, clang)", hint="install gcc or clang, or set CC")


def nvcc() -> str | None:
    """Return the CUDA compiler, $NVCC or nvcc on the PATH, or None."""
    return shutil.which(os.environ.get("NVCC", "nvcc"))
