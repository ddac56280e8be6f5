"""`python -m tests.kernels.measure FOLDER`: writes a folder that measures the kernels on a machine with a GPU.

It holds a unit for each kernel (its text as programs print it, launched as their host program does), a driver, a
Makefile and run.sh, and needs nothing else but the CUDA toolkit: `make -j16 && ./run.sh` adds a line of JSON for each
kernel and problem to results.jsonl.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.codegen.targets.cuda.shared_memory import dynamic_shared_bytes
from polytile.diagnostics import UsageError
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.runtime.host_interpreter import execute

from .measure_cases import Measured, Problem, contractions

DEVICE = Path(__file__).parent / "device"


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch of the host program: blocks, and what the kernel's parameters are, in C++."""

    kernel: Kernel
    blocks: int
    arguments: tuple[str, ...]


def launch_of(program: HostProgram, problem: Problem) -> Launched:
    """The only launch on this problem; raises UsageError where it is not the program's first kernel."""
    found: list[Launched] = []

    def note(name: str, grid: tuple[int, int, int], values: Mapping[str, int]) -> None:
        kernel = program.kernel(name)
        given = {**values, **{k: v for k, v in problem.told.items() if k in ("alpha", "beta")}}
        arguments = tuple(p.name if p.buffer in ("A", "B", "C") else str(given[p.name]) for p in kernel.parameters)
        found.append(Launched(kernel, grid[0], arguments))

    execute(program.body, problem.sizes, note)
    if [launched.kernel.name for launched in found] != [program.kernels[0].name]:
        raise UsageError(f"{program.name} of {dict(problem.sizes)} does not launch {program.kernels[0].name} alone")
    return found[0]


def unit(measured: Measured) -> str:
    """The kernel, and a main program that measures it on each of its problems."""
    text = print_kernels(replace(measured.program, kernels=measured.program.kernels[:1]))
    calls = "\n".join(_call(measured, problem) for problem in measured.problems)
    return f'#include "measure.h"\n\n{text}\nint main()\n{{\n{calls}}}\n'


def _call(measured: Measured, problem: Problem) -> str:
    launched = launch_of(measured.program, problem)
    kernel, element = launched.kernel, measured.element
    head = json.dumps({"name": measured.name, "element": str(element), **measured.told, **problem.told})[:-1]
    shared, pointer = dynamic_shared_bytes(kernel), f"const {element} *"
    launch = f"{kernel.name}<<<{launched.blocks}, {kernel.block[0]}, {shared}>>>({', '.join(launched.arguments)});"
    kind, parameters = f"Contraction{problem.driver}", f"{pointer}A, {pointer}B, {element} *C"
    described = f'{{R"({head})", (const void *){kernel.name}, {launched.blocks}, {kernel.block[0]}, {shared}}}'
    return f"    measure<{element}>({described},\n        {kind}, []({parameters}) {{ {launch} }});\n"


def write(folder: Path, cases: Iterable[Measured]) -> int:
    """Write everything to a new folder, or an empty one; returns how many problems there are. Raises UsageError for a
    folder that has units already, and for two of the same name."""
    units = folder / "cases"
    if units.exists():
        raise UsageError(f"{folder} has units already", hint="name a new folder")
    shutil.copytree(DEVICE, folder, dirs_exist_ok=True)
    units.mkdir()
    problems = 0
    for measured in cases:
        path = units / f"{measured.name}.cu"
        if path.exists():
            raise UsageError(f"two kernels are {measured.name}")
        path.write_text(unit(measured))
        problems += len(measured.problems)
    return problems


def main(arguments: list[str]) -> int:
    """Returns the exit status."""
    if len(arguments) != 1:
        print("usage: python -m tests.kernels.measure FOLDER", file=sys.stderr)
        return 2
    print(f"{write(Path(arguments[0]), contractions())} problems in {arguments[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
