"""A worker in which things go wrong: `python faulty_worker.py`, run in the place of polytile.autotuning.worker.

The number of registers that a point asks for says what goes wrong with it, and in which stage. Kernels are replaced by
the sequential C, so that nothing is compiled for the emulator.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from polytile.autotuning import measurement, stand_in_device, worker
from polytile.autotuning.device import Kernels, ResourcesError
from polytile.choices import Choices
from polytile.compiled_scop import CompiledScop
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.execution import Execution
from polytile.ir.host import HostProgram
from polytile.runtime.launches import KernelRuns, launches_of
from polytile.runtime.layout import Layout
from polytile.runtime.reference import reference

FAULTS = {  # registers: stage and what goes wrong there
    101: ("compile", "kill"),
    102: ("build", "kill"),
    103: ("inputs", "kill"),
    104: ("validate", "kill"),
    105: ("time", "kill"),
    106: ("time", "hang"),
    107: ("validate", "hang"),
    108: ("time", "exit"),
    109: ("time", "print"),
    110: ("build", "out of resources"),
    111: ("time", "out of resources"),
    112: ("time", "lost"),
    113: ("validate", "wrong"),
    114: ("compile", "bug"),
}
_now: dict[str, Any] = {"choices": Choices(), "scop": None}


def _fail(what: str) -> None:
    match what:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(1000)
        case "exit":
            print("no more of this", file=sys.stderr)
            os._exit(3)
        case "print":
            print("{not a message")
        case "out of resources":
            raise ResourcesError("too many resources requested for launch")
        case "lost":
            raise DeviceError("an illegal memory access was encountered")
        case "bug":
            raise ZeroDivisionError("division by zero")


@dataclass(frozen=True, slots=True)
class SequentialC:
    """Plays an engine; its results are off by one where they are to be wrong."""

    program: HostProgram
    label: str = "the emulator"

    def run(self, layouts: Mapping[str, Layout], values: Mapping[str, int], memory: Mapping[str, Any]) -> None:
        scop: CompiledScop = _now["scop"]
        reference(scop.scop, Execution(scop.compilation, {}).sequential())(layouts, values, memory)
        if FAULTS.get(_now["choices"].registers) == ("validate", "wrong"):
            for name in layouts:
                if scop.scop.written(name):
                    memory[name][...] += 1

    def launched(self, values: Mapping[str, int]) -> tuple[KernelRuns, ...]:
        return launches_of(self.program, values)


def main() -> int:
    compile, stage = measurement.Bench.compile, measurement.Stages.stage

    def remembering(self: measurement.Bench, choices: Choices) -> tuple[CompiledScop, Kernels]:
        _now["scop"], kernels = compile(self, choices)
        return _now["scop"], kernels

    def failing(self: measurement.Stages, name: str) -> AbstractContextManager[None]:
        found = stage(self, name)
        where, what = FAULTS.get(_now["choices"].registers, ("", ""))
        if name == where:
            self.tell(name)
            _fail(what)
        return found

    choices_of = worker._choices

    def asked(told: Mapping[str, Any]) -> Choices:
        _now["choices"] = choices_of(told)
        return _now["choices"]

    serve = worker.serve

    def served(parent: worker.Parent, bench: measurement.Bench, message: worker.Message) -> bool:
        asked(message.get("evaluate", {}))
        return serve(parent, bench, message)

    worker._choices, worker.serve = asked, served
    measurement.Bench.compile, measurement.Stages.stage = remembering, failing  # type: ignore[method-assign, assignment]
    stand_in_device.StandInKernels.engine = lambda self, program: SequentialC(program)  # type: ignore
    return worker.main()


if __name__ == "__main__":
    sys.exit(main())
