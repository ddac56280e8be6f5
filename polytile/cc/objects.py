"""One object from two: the user's functions, which the host compiler made, and the kernels that they call.

before: host.o calls polytile_smooth_scop0; kernel.o defines it
after:  one object, in which that name is local
"""

from __future__ import annotations

import mmap
import shutil
from collections.abc import Iterable
from pathlib import Path

from polytile.diagnostics import DeviceError
from polytile.runtime.compilers import check_command
from polytile.runtime.emulator.process import run_to_end

_SECONDS = 60.0
SECTION = ".polytile"
# What linking must add is told by a section of the object, which stays in the program.
_MARKS = {"emulator": b"polytile cc: kernels run in the emulator\0", "gpu": b"polytile cc: kernels run with CUDA\0"}
_WEAK = "VvWwu"  # symbols, in nm's letters, that objects share


def joined(host: Path, kernels: Path, on: str, folder: Path) -> Path:
    """Join both objects; what the kernels' one defines is local then, so that other objects may have its names."""
    made, names = folder / "joined.o", folder / "local.txt"
    check_command([_tool("ld"), "-r", str(host), str(kernels), "-o", str(made)], "joining objects")
    names.write_text("".join(f"{name}\n" for name in _defined(kernels)))
    check_command([_tool("objcopy"), f"--localize-symbols={names}", str(made)], "making symbols local")
    return marked(made, on, folder)


def united(one: Path, other: Path, folder: Path) -> Path:
    """Join objects that both have kernels of their own."""
    made = folder / "united.o"
    check_command([_tool("ld"), "-r", str(one), str(other), "-o", str(made)], "joining objects")
    return made


def marked(made: Path, on: str, folder: Path) -> Path:
    """Let the object say where its kernels run."""
    mark = folder / "mark"
    mark.write_bytes(_MARKS[on])
    section = [f"--add-section={SECTION}={mark}", f"--set-section-flags={SECTION}=noload,readonly"]
    check_command([_tool("objcopy"), *section, str(made)], "marking objects")
    return made


def _defined(kernels: Path) -> list[str]:
    listed = run_to_end([_tool("nm"), "--defined-only", "--extern-only", str(kernels)], timeout=_SECONDS)
    if listed.status != 0:
        raise DeviceError(f"nm cannot read the kernels: {listed.output.strip()}", hint="install binutils")
    lines = (line.split() for line in listed.output.splitlines())
    return [line[2] for line in lines if len(line) == 3 and line[1] not in _WEAK]


def places_of(files: Iterable[Path]) -> dict[str, Path]:
    """Return where the kernels of objects and archives run, "emulator" or "gpu", each with a file that says so."""
    found: dict[str, Path] = {}
    for file in files:
        for place in _places_of(file):
            found.setdefault(place, file)
    return found


def _places_of(file: Path) -> list[str]:
    if not file.is_file() or file.stat().st_size == 0:
        return []
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return [place for place, mark in _MARKS.items() if text.find(mark) >= 0]


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise DeviceError(f"{name} was not found", hint="install binutils")
    return found
