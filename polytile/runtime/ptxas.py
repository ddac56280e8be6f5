"""What ptxas makes of kernels: registers and spills that it reports, code that it writes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from polytile.codegen.resources.occupancy import KernelResources, resources
from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.ir.kernel import Kernel
from polytile.machine import Machine
from polytile.runtime.compilers import COMPILE_TIMEOUT, QUOTED_LINES, nvcc
from polytile.runtime.elf import section
from polytile.runtime.emulator.process import run_to_end

_OPTIONS = ("-std=c++17", "-O3", "-Xptxas", "-v", "-cubin")
_EXACT = "--fmad=false"
_FUNCTION = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")


@dataclass(frozen=True, slots=True)
class Said:
    """What ptxas said of one kernel."""

    registers: int
    spill_bytes: int


def parse(output: str) -> dict[str, Said]:
    """Parse the output of `ptxas -v`, by kernel."""
    _, *parts = _FUNCTION.split(output)
    return {name: _said(text) for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _said(text: str) -> Said:
    spills, registers = _SPILLS.search(text), _REGISTERS.search(text)
    return Said(int(registers[1]) if registers else 0, int(spills[1]) + int(spills[2]) if spills else 0)


def compiled_resources(
    unit: Path, kernels: Iterable[Kernel], machine: Machine, *, contract: bool = True
) -> list[KernelResources]:
    """Compile the file `unit` and return the resources of its kernels, in their order; leaves a .cubin beside it.

    Products and sums are in one operation where nvcc may `contract` them.

    Raises DeviceError without nvcc, or when it fails.
    """
    compiler, cubin = nvcc(), unit.with_suffix(".cubin")
    if compiler is None:
        raise DeviceError("nvcc was not found", hint="put it on the PATH, or set NVCC")
    options = _OPTIONS if contract else (*_OPTIONS, _EXACT)
    command = [compiler, *options, f"-arch={machine.arch}", str(unit), "-o", str(cubin)]
    finished = run_to_end(command, timeout=2 * COMPILE_TIMEOUT)
    if finished.status != 0:
        lines = finished.output.strip().splitlines()[:QUOTED_LINES] or [f"exit status {finished.status}"]
        raise DeviceError("nvcc failed:\n    " + "\n    ".join(lines))
    said, code = parse(finished.output), cubin.read_bytes()
    found = []
    for kernel in kernels:
        figures, size = said[kernel.name], len(section(code, f".text.{kernel.name}".encode()))
        found.append(resources(kernel, machine, "ptxas", figures.registers, size, figures.spill_bytes))
    return found
