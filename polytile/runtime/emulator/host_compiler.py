"""Finds the C++ compiler of this machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.runtime.emulator.process import run_to_end, words_of

_HINT = "install g++ or clang++, or name a C++17 compiler in the environment variable CXX"
_CXX_OF_CC = (("clang", "clang++"), ("gcc", "g++"), ("cc", "c++"))


@dataclass(frozen=True, slots=True)
class HostCompiler:
    """A C++ compiler: how it is called, `gcc` or `clang`, and the first line of its `--version`."""

    command: tuple[str, ...]
    kind: str
    version: str

    @property
    def is_gcc(self) -> bool:
        """Whether it understands the options that only gcc has."""
        return self.kind == "gcc"

    @property
    def major(self) -> int:
        """The first number of its version, or 0 where `--version` does not say."""
        numbers = re.findall(r"\b(\d+)\.\d+", self.version)
        return int(numbers[-1]) if numbers else 0


def host_compiler() -> HostCompiler:
    """Find the compiler named by $CXX, else the C++ sibling of $CC, else c++, g++ or clang++ on the path."""
    return _find(os.environ.get("CXX", ""), os.environ.get("CC", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=16)
def _find(cxx: str, cc: str, path: str) -> HostCompiler:
    if cxx.strip():
        command = tuple(words_of("CXX"))
        if shutil.which(command[0], path=path) is None:
            raise DeviceError(f"the C++ compiler {command[0]}, named by CXX, is not there", hint=_HINT)
        return _describe(command)
    for command in _candidates(cc):
        if shutil.which(command[0], path=path) is not None:
            return _describe(command)
    raise DeviceError("no C++ compiler found for the emulator", hint=_HINT)


def _candidates(cc: str) -> Iterator[tuple[str, ...]]:
    """Yield the C++ siblings of $CC, `/opt/bin/gcc-13` -> `/opt/bin/g++-13`, then the usual names."""
    for word in words_of("CC") if cc else []:
        directory, name = os.path.split(word)
        for c_name, cxx_name in _CXX_OF_CC:
            if re.search(rf"^[^-].*{c_name}(-[\d.]+)?$|^{c_name}(-[\d.]+)?$", name):
                yield (os.path.join(directory, re.sub(rf"{c_name}(-[\d.]+)?$", rf"{cxx_name}\1", name)),)
                break
    yield from (("c++",), ("g++",), ("clang++",))


def _describe(command: tuple[str, ...]) -> HostCompiler:
    finished = run_to_end([*command, "--version"], timeout=30)
    if finished.status != 0:
        raise DeviceError(f"{shlex.join(command)} --version failed: {finished.output.strip()[:200]}", hint=_HINT)
    first = finished.output.splitlines()[0] if finished.output else Path(command[0]).name
    return HostCompiler(command, "clang" if "clang" in finished.output.lower() else "gcc", first)
