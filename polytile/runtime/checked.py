"""The emulator with its checks: a run that does what no program may do fails, with what and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.source_map import LocatedText
from polytile.dataclass import dataclass
from polytile.diagnostics import Diagnostic, FindingsError, UsageError
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop
from polytile.runtime.cuda_text_cache import located_unit
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.emulator.findings import Reader
from polytile.runtime.emulator.instrument import CHECKS, Instrumentation, checked
from polytile.runtime.engine import EmulatorEngine, write_unit
from polytile.runtime.launches import KernelRuns
from polytile.runtime.layout import Layout

HINT = "if the C program keeps C's rules, report this as a bug of polytile"
PROMISED = "loops that are promised to be independent are not, or, if the C program keeps C's rules, polytile has a bug"
SUMMARISED = "a function accesses more than its summary says, or, if the C program keeps C's rules, polytile has a bug"


@dataclass(frozen=True, slots=True)
class Unit:
    """A .cu as the user gets it: the programs in it, the stem of its name, and the lines of its title."""

    programs: Sequence[HostProgram]
    stem: str
    title: Sequence[str]


@dataclass(frozen=True, slots=True)
class CheckedEngine:
    """An entry point that the emulator runs and checks."""

    engine: EmulatorEngine
    reader: Reader
    label: str

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> None:
        """Run the SCoP once; raises FindingsError when a check found something."""
        self.reader.clear()
        status = self.engine.call(layouts, values, memory)
        found = self.reader.read()
        if not found:
            return self.engine.judge(status)
        self.engine.library.reset_errors()
        diagnostics = [finding.diagnostic for finding in found]
        if more := self.reader.left_out():
            diagnostics.append(Diagnostic("note", f"{more} more accesses of other places were wrong"))
        scop = self.engine.scop
        hint = PROMISED if scop.independent else SUMMARISED if scop.external else HINT
        diagnostics[-1] = replace(diagnostics[-1], hint=hint)
        raise FindingsError(tuple(diagnostics))

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        return self.engine.launched(values)


def checks_named(names: Iterable[str]) -> tuple[str, ...]:
    """Return checks by name, or all of them for `all`; raises UsageError for another name."""
    wanted = set(names)
    for name in sorted(wanted):
        if name not in (*CHECKS, "all"):
            raise UsageError(f"there is no check {name!r}", hint=f"one of {', '.join(CHECKS)}, or all")
    return CHECKS if "all" in wanted else tuple(check for check in CHECKS if check in wanted)


def checked_engine(scop: Scop, program: HostProgram, unit: Unit, checks: Sequence[str]) -> CheckedEngine:
    """Compile a unit that holds `program` for the checks (some of CHECKS).

    Raises DeviceError when the host compiler cannot.
    """
    opened, located = instrumented(unit, checked(checks))
    engine = EmulatorEngine(scop, program, opened)
    return CheckedEngine(engine, Reader(opened, located.text, located.lines), f"{engine.label} ({', '.join(checks)})")


def instrumented(unit: Unit, build: Instrumentation) -> tuple[EmulatorLibrary, LocatedText]:
    """Compile a unit for the emulator with what a build adds, once; return the library and the text.

    Raises DeviceError when the host compiler cannot.
    """
    header = f"{unit.stem}_kernel.h"
    located = located_unit(unit.programs, header=header, title=unit.title)
    texts = {header: print_header(unit.programs, guard_name="UNIT_H"), f"{unit.stem}_kernel.cu": located.text}
    source = write_unit(texts, f"{unit.stem}_kernel.cu", key="")
    library = source.with_name(f"{build.label}.so")
    if not library.exists():
        compile_shared(source, library, instrumentation=build)
    return EmulatorLibrary.open(library), located
