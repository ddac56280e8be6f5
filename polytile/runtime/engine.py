"""Engines: ways to run the generated code of one SCoP on host memory.

Each compiles the very text that the user gets. `engines` chooses those that this machine can run.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.source_map import LocatedText
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop
from polytile.options import Options
from polytile.runtime.compilers import check_command, nvcc
from polytile.runtime.cuda_text_cache import located_unit, remember_unit
from polytile.runtime.cupy_engine import cupy_available, cupy_engine
from polytile.runtime.driver import driver_arch
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.launches import KernelRuns, launches_of
from polytile.runtime.layout import Layout
from polytile.runtime.native import arguments, function, load
from polytile.runtime.reference import workspace

PLACES = ("auto", "gpu", "emulator")
_ONE_AT_A_TIME = Lock()  # the emulator runs one block in a process


class Engine(Protocol):
    """Runs generated code on NumPy memory, in place."""

    @property
    def label(self) -> str:
        """`the emulator`, `the GPU through CuPy`."""
        ...

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> None:
        """Run the SCoP once."""

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        """Return how often that run, on these values, launched each kernel."""
        ...


@dataclass(frozen=True, slots=True)
class NativeEngine:
    """An entry point in a shared library that nvcc made."""

    scop: Scop
    program: HostProgram
    entry: Any
    label: str = "the GPU through nvcc"

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> None:
        status = self.entry(*arguments(self.scop, layouts, values, memory))
        if status != 0:
            raise DeviceError(f"{self.scop.name} failed on {self.label} with code {status} (the reason is above)")

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        return launches_of(self.program, values)


@dataclass(frozen=True, slots=True)
class EmulatorEngine:
    """An entry point that the emulator runs."""

    scop: Scop
    program: HostProgram
    library: EmulatorLibrary
    label: str = "the emulator"

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> None:
        self.judge(self.call(layouts, values, memory))

    def call(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> int:
        """Run the SCoP once; returns what the entry point returned."""
        passed = arguments(self.scop, layouts, values, memory)
        with _ONE_AT_A_TIME:
            self.library.reset_counts()
            try:
                return int(self.library.function(self.program.name)(*passed))
            finally:
                self.library.release_stacks()

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        return tuple(KernelRuns(k.name, *self.library.launches(k.name)) for k in self.program.kernels)

    def judge(self, status: int) -> None:
        """Raise DeviceError unless the entry point returned 0."""
        if status != 0:
            reason = self.library.message() or f"code {status} (the reason is above)"
            self.library.reset_errors()
            raise DeviceError(f"{self.scop.name} failed in the emulator: {reason}")


def _write_unit(program: HostProgram, options: Options) -> Path:
    """Write the .cu and its header into a folder of their own, and return the path of the .cu."""
    text = printed_unit(program).text
    texts = {"unit.h": print_header([program], guard_name="UNIT_H"), "unit.cu": text}
    return write_unit(texts, "unit.cu", key=f"{options.strict}{options.arch}")


def printed_unit(program: HostProgram) -> LocatedText:
    """Return the .cu that engines compile, printed once."""
    return located_unit([program], header="unit.h", title=[])


def take_printed_unit(program: HostProgram, unit: LocatedText) -> None:
    """Let the .cu of a program be what another process has printed of the same one."""
    remember_unit(unit, [program], header="unit.h", title=[])


def write_unit(texts: Mapping[str, str], name: str, *, key: str) -> Path:
    """Write files to a folder of their own, which `key` tells from others with the same text; the path of `name`."""
    folder = workspace() / hashlib.sha256(f"{texts[name]}{key}".encode()).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    for file, text in texts.items():
        (folder / file).write_text(text)
    return folder / name


def nvcc_engine(scop: Scop, program: HostProgram, options: Options) -> NativeEngine:
    """Compile the .cu with nvcc for the GPU of this machine; raises DeviceError when nvcc is missing or fails."""
    compiler = nvcc()
    if compiler is None:
        raise DeviceError("nvcc was not found", hint="put the CUDA toolkit's bin folder on PATH, or set NVCC")
    unit = _write_unit(program, options)
    library = unit.with_name("gpu.so")
    if not library.exists():
        exact = ["--fmad=false", "-Xcompiler", "-ffp-contract=off"] if options.strict else []
        arch = driver_arch() or options.arch
        command = [compiler, "-std=c++17", "-O3", f"-arch={arch}", *exact, "-Xcompiler", "-fPIC", "-shared"]
        check_command([*command, str(unit), "-o", str(library)], f"compiling {program.name} with nvcc")
    return NativeEngine(scop, program, function(load(library), program.name, ctypes.c_int))


def emulator_engine(scop: Scop, program: HostProgram, options: Options) -> EmulatorEngine:
    """Compile the .cu for the emulator; raises DeviceError without a C++ compiler."""
    unit = _write_unit(program, options)
    library = unit.with_name("emulator.so")
    if not library.exists():
        compile_shared(unit, library)
    return EmulatorEngine(scop, program, EmulatorLibrary.open(library))


def on_gpu(place: str) -> bool:
    """Return whether `place` ("auto", "gpu" or "emulator") means the GPU here.

    Raises DeviceError for "gpu" without one.
    """
    usable = driver_arch() is not None and (cupy_available() or nvcc() is not None)
    if place == "gpu" and not usable:
        missing = "there is no GPU" if driver_arch() is None else "neither CuPy nor nvcc can be used"
        hint = 'use --on emulator, in a call on="emulator", which needs a C++ compiler only'
        raise DeviceError(f"cannot run on the GPU: {missing}", hint=hint)
    return usable and place != "emulator"


def engines(scop: Scop, program: HostProgram, options: Options, place: str) -> tuple[Engine, ...]:
    """Return every engine for `program` at `place`: on the GPU through nvcc and CuPy as they exist, or emulated."""
    if not on_gpu(place):
        return (emulator_engine(scop, program, options),)
    found: list[Engine] = []
    if nvcc() is not None:
        found.append(nvcc_engine(scop, program, options))
    if cupy_available():
        found.append(cupy_engine(program, options))
    return tuple(found)
