"""Many programs in one .cu, compiled once for the emulator and once for its checks; with POLYTILE_TEST_ON=gpu in the
environment once by nvcc, for all runs."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.compilation import Compilation
from polytile.runtime.checked import CheckedEngine, Unit, checked_engine
from polytile.runtime.compilers import check_command, nvcc
from polytile.runtime.driver import driver_arch
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.instrument import CHECKS
from polytile.runtime.engine import EmulatorEngine, NativeEngine, write_unit
from polytile.runtime.layout import layouts
from polytile.runtime.native import function, load

Engine = CheckedEngine | EmulatorEngine | NativeEngine
ON_GPU = os.environ.get("POLYTILE_TEST_ON") == "gpu"


@dataclass
class Programs:
    """Compilations by name; each runs by its name, with all checks or without."""

    states: Mapping[str, Compilation]
    _engines: dict[tuple[str, bool], Engine] = field(default_factory=dict)
    _library: list[EmulatorLibrary] = field(default_factory=list)

    def run(self, name: str, values: Mapping[str, int], memory: Mapping[str, Any], *, checked: bool) -> None:
        """Run one SCoP on arrays, which it changes; raises FindingsError where a check finds something."""
        shapes = layouts(self.states[name].source, values)
        self._engine(name, checked).run(shapes, values, {k: np.ascontiguousarray(v) for k, v in memory.items()})

    def _engine(self, name: str, checked: bool) -> Engine:
        if (name, checked) not in self._engines:
            make = self._native if ON_GPU else self._checked if checked else self._plain
            self._engines[name, checked] = make(name)
        return self._engines[name, checked]

    @property
    def programs(self) -> Sequence[Any]:
        return [state.program for state in self.states.values()]

    def _checked(self, name: str) -> Engine:
        state = self.states[name]
        assert state.program is not None
        return checked_engine(state.source, state.program, Unit(self.programs, "reductions", []), CHECKS)

    def _unit(self) -> Path:
        text = print_unit(self.programs, header="unit.h", title=[])
        texts = {"unit.h": print_header(self.programs, guard_name="UNIT_H"), "unit.cu": text}
        return write_unit(texts, "unit.cu", key="reductions")

    def _plain(self, name: str) -> Engine:
        state = self.states[name]
        assert state.program is not None
        if not self._library:
            unit = self._unit()
            library = unit.with_name("emulator.so")
            if not library.exists():
                compile_shared(unit, library)
            self._library.append(EmulatorLibrary.open(library))
        return EmulatorEngine(state.source, state.program, self._library[0])

    def _native(self, name: str) -> Engine:
        state, compiler = self.states[name], nvcc()
        assert state.program is not None
        assert compiler is not None
        unit = self._unit()
        library = unit.with_name("gpu.so")
        if not library.exists():
            command = [compiler, "-std=c++17", "-O3", f"-arch={driver_arch()}", "-Xcompiler", "-fPIC", "-shared"]
            check_command([*command, "--threads", "0", str(unit), "-o", str(library)], "compiling the tests' programs")
        return NativeEngine(state.source, state.program, function(load(library), state.program.name, ctypes.c_int))
