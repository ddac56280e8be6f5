"""The emulator in its counting build: what each access of the kernels costs, per warp request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError, Location
from polytile.ir.evaluate import evaluate
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop
from polytile.runtime.checked import Unit, instrumented
from polytile.runtime.emulator.counts import Counts, learning, read
from polytile.runtime.emulator.instrument import COUNTING
from polytile.runtime.engine import EmulatorEngine
from polytile.runtime.launches import KernelRuns
from polytile.runtime.layout import Layout
from polytile.runtime.validate import Validation


@dataclass(frozen=True, slots=True)
class Counted:
    """A validated run in the counting build: what ran on which inputs, and what its accesses cost."""

    validation: Validation
    counts: Counts


@dataclass(frozen=True, slots=True)
class CountedEngine:
    """An entry point that the emulator runs and counts. See Engine."""

    engine: EmulatorEngine
    program: HostProgram
    lines: Mapping[int, Location]
    label: str
    _last: list[Counts] = field(default_factory=list, init=False, repr=False, compare=False)

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> None:
        """Run the SCoP once; `counts` tells what that took. Before, a run on copies shows what the kernels do."""
        library = self.engine.library
        with learning(library):
            copies = {name: data.copy() for name, data in memory.items()}
            self.engine.judge(self.engine.call(layouts, values, copies))
        self.engine.judge(self.engine.call(layouts, values, memory))
        # The entry point allocates its buffers in their order, but for those without elements.
        arrays = [b.array.name for b in self.program.buffers if evaluate(b.elements, values) > 0]
        self._last[:] = [read(library, arrays=arrays, lines=self.lines)]

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        return self.engine.launched(values)

    @property
    def counts(self) -> Counts:
        """What the last run took."""
        if not self._last:
            raise InternalError("counts are asked for before a run")
        return self._last[0]


def counted_engine(scop: Scop, program: HostProgram, unit: Unit) -> CountedEngine:
    """Compile a unit that holds `program` for counting; raises DeviceError when the host compiler cannot."""
    library, located = instrumented(unit, COUNTING)
    engine = EmulatorEngine(scop, program, library)
    return CountedEngine(engine, program, located.lines, f"{engine.label} (counting)")
