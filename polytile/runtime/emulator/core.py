"""The emulator's own functions, compiled once for the many libraries that one process makes.

before: c++ gemm.cu -> gemm.so; c++ atax.cu -> atax.so            each with the whole emulator in it
after:  c++ gemm.cu -> gemm.so; c++ -> emulator.o; c++ atax.cu emulator.o -> atax.so, ...

The first library of a kind (of one set of flags) is compiled whole, which is quickest where no other follows.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from functools import cache
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.runtime.emulator.host_compiler import HostCompiler
from polytile.runtime.emulator.process import run_to_end

VARIABLE = "POLYTILE_EMULATOR_CORES"  # names a folder that processes share, which stays
APART = "-DPOLYTILE_EMULATOR_APART=1"  # a .cu is compiled against declarations
_OBJECT = "-DPOLYTILE_EMULATOR_OBJECT=1"  # what they declare is compiled
# What generated .cu files include: reading <map> and <mutex> anew takes 0.15 s of each build. Nothing is defined here:
# what an inline function uses of templates would be instantiated in each build.
_TEXT = """#include <cuda_runtime.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <new>
"""
# Each build against these instantiates 200 templates that they use, in 0.04 s: where many processes share cores, units
# that do not name them are built without.
_LARGE = "#include <mutex>\n#include <string>\n"
_NAMES_LARGE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(?:mutex|string)>", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Core:
    """What libraries of one kind share: an object to link, and a header to include first, precompiled with gcc."""

    object: Path
    header: Path

    def flags(self, dynamic_shared: bool) -> tuple[str, ...]:
        """Return the flags that compile a .cu, which may have dynamic shared memory, against the object."""
        names = ("-include", "polytile_emulator/dynamic_shared.h") if dynamic_shared else ()
        return (APART, "-include", str(self.header), *names)


def before_forking() -> None:
    """Make the folder of cores here: processes that are forked afterwards share it, and none of them removes it."""
    _folder()


def shared_core(
    compiler: HostCompiler, flags: tuple[str, ...], timeout: float, unit: str | None = None
) -> Core | None:
    """Return the core for the flags of a build, or None for the first library of the kind: that one is compiled whole.

    `unit` is the text that is compiled against it, None where that may be any.
    What is known of kinds lies in files, so that forked processes share it. None also where the core does not compile,
    so that the library itself says what is wrong.
    """
    what = (*compiler.command, compiler.version, _headers(), *flags)
    key = hashlib.sha256("\0".join(what).encode()).hexdigest()[:16]
    folder = _folder() / key
    is_large = unit is None or VARIABLE not in os.environ or _NAMES_LARGE.search(unit) is not None
    core = Core(folder / "emulator.o", folder / ("emulator.h" if is_large else "emulator_small.h"))
    if core.object.exists() and core.header.exists():
        return core
    if not folder.exists():
        with contextlib.suppress(OSError):  # a folder that cannot be written to is one where nothing is found
            folder.mkdir(parents=True, exist_ok=True)
        return None
    if not os.access(folder, os.W_OK):
        return None
    _write_whole(core.header, f"{_TEXT}{_LARGE if is_large else ''}")
    command = (*compiler.command, *flags, "-w")  # warnings are for what the library itself has
    if compiler.is_gcc:  # only makes it quicker
        _compiled((*command, APART, "-x", "c++-header"), core.header, Path(f"{core.header}.gch"), timeout)
    if core.object.exists():
        return core
    return core if _compiled((*command, _OBJECT, "-c", "-x", "c++"), core.header, core.object, timeout) else None


def shared_support(
    core: Core, compiler: HostCompiler, flags: tuple[str, ...], definitions: str, timeout: float
) -> Path | None:
    """Return the object of the host functions that units share (unit_support.py), for the flags of `core`.

    None for the first unit that has these functions, and where they do not compile apart.
    """
    folder = core.object.parent / hashlib.sha256(definitions.encode()).hexdigest()[:16]
    support, source = folder / "support.o", folder / "support.cpp"
    if support.exists():
        return support
    if not folder.exists():
        with contextlib.suppress(OSError):
            folder.mkdir()
        return None
    if not os.access(folder, os.W_OK):
        return None
    _write_whole(source, definitions)
    command = (*compiler.command, *flags, "-w", *core.flags(False), "-c", "-x", "c++")
    return support if _compiled(command, source, support, timeout) else None


def _compiled(command: tuple[str, ...], source: Path, output: Path, timeout: float) -> bool:
    """Compile; the output appears only when it is complete."""
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        partial = Path(folder) / output.name
        done = run_to_end((*command, str(source), "-o", str(partial)), timeout=timeout).status == 0
        if done:
            partial.replace(output)
        return done


def _write_whole(file: Path, text: str) -> None:
    """Write a file that another process, which makes the same core, may be reading."""
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        partial = Path(folder) / file.name
        partial.write_text(text)
        partial.replace(file)


_HOLDERS: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _headers() -> str:
    """Hash the headers that cores are compiled from, which may have changed where a folder stays."""
    files = sorted((Path(__file__).resolve().parent / "include").rglob("*.h"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


@cache
def _folder() -> Path:
    """Return the folder that is shared, else a private one, removed when Python ends."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    holder = tempfile.TemporaryDirectory(prefix="polytile-", ignore_cleanup_errors=True)
    _HOLDERS.append(holder)
    return Path(holder.name)
