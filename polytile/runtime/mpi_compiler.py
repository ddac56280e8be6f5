"""How C is compiled and linked for MPI: the flags that mpicc gives to the C compiler.

mpicc -show: cc -I/usr/include/mpich -L/usr/lib -Wl,-rpath -Wl,/usr/lib -lmpi
"""

from __future__ import annotations

import os
import shlex
import shutil

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.runtime.emulator.process import run_to_end

_QUESTIONS = ("-show", "--showme")  # of MPICH and its relatives, of Open MPI
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class MpiFlags:
    """Flags that C is compiled with, and what a program is linked with."""

    compile: tuple[str, ...]
    link: tuple[str, ...]


def mpi_flags() -> MpiFlags:
    """Ask mpicc ($MPICC, or the one on the PATH); raises DeviceError where there is none."""
    command = shlex.split(os.environ.get("MPICC") or "mpicc")
    if shutil.which(command[0]) is None:
        hint = "pip install mpich, or put the bin folder of an MPI library on PATH, or set MPICC"
        raise DeviceError(f"{command[0]} was not found: there is no C compiler for MPI", hint=hint)
    for question in _QUESTIONS:
        asked = run_to_end([*command, question], timeout=_SECONDS)
        words = shlex.split(asked.output) if asked.status == 0 else []
        if any(word.startswith("-l") for word in words):
            return _sorted(words[1:])
    raise DeviceError(f"{shlex.join(command)} does not say its flags", hint=f"it should know {' or '.join(_QUESTIONS)}")


def _sorted(words: list[str]) -> MpiFlags:
    """Split the words of MPI's compiler into both kinds; those for the linker in a form that nvcc takes, too."""
    linked: list[str] = []
    for word in words:
        for part in word.split(",")[1:] if word.startswith("-Wl,") else ():
            if linked[-1:] == ["-rpath"]:
                linked[-1] = f"-rpath={part}"
            else:
                linked += ["-Xlinker", part]
        if word.startswith(("-l", "-L", "/")):
            linked.append(word)
    return MpiFlags(tuple(word for word in words if word.startswith(("-I", "-D"))), tuple(linked))
