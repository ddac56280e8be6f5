"""The deterministic figures of compiled SCoPs: what a change of the compiler shows in without a GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from polybench.runner.errors import RunnerError
from polybench.runner.rows import Row
from polytile.api import CompiledScop, Program
from polytile.codegen.targets.cuda.shared_memory import shared_bytes
from polytile.ir.evaluate import evaluate
from polytile.ir.host import HostProgram
from polytile.machine import machine_of
from polytile.runtime.compilers import nvcc
from polytile.runtime.emulator.process import run_to_end
from polytile.runtime.host_interpreter import execute
from polytile.runtime.layout import element_dtype
from polytile.runtime.ptxas import compiled_resources

LAUNCH_LIMIT = 500_000  # counting stops here: the host program runs in Python
ARCH = "sm_90"
_RELEASE = re.compile(r"release (\d+\.\d+)")


class _Enough(Exception):
    """The limit of the launches to count was reached."""


def count_launches(program: HostProgram, sizes: Mapping[str, int], limit: int = LAUNCH_LIMIT) -> tuple[int, bool]:
    """Count the kernels that one run launches, and return whether that is all: beyond `limit` it stops counting."""
    count = 0

    def launch(_name: str, _grid: tuple[int, int, int], _scope: Mapping[str, int]) -> None:
        nonlocal count
        if count >= limit:
            raise _Enough
        count += 1

    try:
        execute(program.body, sizes, launch)
    except _Enough:
        return count, False
    return count, True


def device_bytes(program: HostProgram, sizes: Mapping[str, int]) -> int:
    """Sum the device memory of all buffers, temporary arrays included, in bytes."""
    return sum(max(0, evaluate(b.elements, sizes)) * element_dtype(b.array).itemsize for b in program.buffers)


def figures(program: Program, sizes: Mapping[str, int]) -> Row:
    """Return kernels, launches, barriers, shared and device memory, and generated lines of a program."""
    found = [(s.program, values_of(s, sizes)) for s in program.scops if s.program is not None]
    counts = [count_launches(p, values) for p, values in found]
    kernels = [k for p, _ in found for k in p.kernels]
    row: Row = {
        "strategy": ", ".join(dict.fromkeys(strategy(s) for s in program.scops)),
        "kernels": len(kernels),
        "launches": sum(count for count, _ in counts),
        "barriers": sum(k.barriers for k in kernels),
        "shared_bytes": max((shared_bytes(k) for k in kernels), default=0),
        "device_bytes": sum(device_bytes(p, values) for p, values in found),
        "lines": program.cuda.count("\n"),
    }
    if not all(complete for _, complete in counts):
        row["launches_are_more"] = True
    return row


def strategy(scop: CompiledScop) -> str:
    """Return the name of the schedule that was chosen."""
    chosen = scop.compilation.schedule
    return chosen.strategy if scop.program is not None and chosen is not None else "sequential"


def values_of(scop: CompiledScop, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the values of the parameters of one SCoP."""
    missing = [p.name for p in scop.scop.parameters if p.name not in sizes]
    if missing:
        raise RunnerError(f"the table has no value for the parameter {missing[0]} of {scop.name}")
    return {p.name: sizes[p.name] for p in scop.scop.parameters}


def ptxas(program: Program, folder: Path) -> Row:
    """Return registers of the largest kernel, spilled bytes of all; nothing without nvcc, or without kernels."""
    compiler = nvcc()
    if compiler is None or not program.programs:
        return {}
    _, unit, _ = program.write(folder)
    found = compiled_resources(unit, [k for p in program.programs for k in p.kernels], machine_of(ARCH))
    row: Row = {
        "registers": max((r.registers for r in found), default=0),
        "spill_bytes": sum(r.spill_bytes for r in found),
    }
    return {**row, "nvcc_release": nvcc_release(compiler)}


def nvcc_release(compiler: str) -> str:
    """Return the release of nvcc, such as `13.0`."""
    found = _RELEASE.search(run_to_end([compiler, "--version"], timeout=60).output)
    return found[1] if found else "unknown"
