"""`resources`: what kernels take by polytile's estimate, beside what ptxas makes of them."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from math import log
from pathlib import Path
from statistics import correlation, median

import polytile
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.figures import ARCH, nvcc_release
from polybench.runner.markdown import show, table_head, table_line
from polybench.runner.tables import Entry
from polytile.api import Program
from polytile.codegen.resources.estimate import estimate
from polytile.codegen.resources.occupancy import KernelResources
from polytile.dataclass import dataclass
from polytile.diagnostics import PolytileError
from polytile.machine import machine_of
from polytile.runtime.compilers import nvcc
from polytile.runtime.ptxas import compiled_resources

COLUMNS = "kernel", "threads", "registers", "ptxas", "spilled", "shared", "blocks", "ptxas", "code", "ptxas"
FARTHEST = 12  # kernels listed as the farthest off


@dataclass(frozen=True, slots=True)
class Pair:
    """One kernel, estimated and compiled."""

    program: str
    estimated: KernelResources
    compiled: KernelResources

    @property
    def kernel(self) -> str:
        return f"{self.program} {self.compiled.kernel.rpartition('_')[2]}"

    def error(self, figure: Callable[[KernelResources], float]) -> float:
        """Compute by how much of the true figure the estimate is off."""
        true = figure(self.compiled)
        return abs(figure(self.estimated) - true) / true if true else 0.0


def resources(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """Compile the programs and print, or write, the table; the exit status is 1 when one fails."""
    if nvcc() is None:
        raise RunnerError("nvcc was not found; put it on the PATH, or set NVCC")
    pairs, failed = [], 0
    folder = Path.cwd()
    for entry in entries:
        try:
            found = pairs_of(entry, chosen)
        except PolytileError as error:
            failed += 1
            print(f"{entry.id}: {error}", file=sys.stderr)
            continue
        finally:
            os.chdir(folder)
        pairs += found
        print(f"{entry.id}: {len(found)} kernels", flush=True)
    show(markdown(pairs) if pairs else "", chosen.markdown)
    return EXIT_FAILED if failed else 0


def pairs_of(entry: Entry, chosen: argparse.Namespace) -> list[Pair]:
    """Return both figures of the kernels of one program."""
    os.chdir(chosen.root)
    defines = entry.defines(chosen.dataset, chosen.dtype)
    return compare(entry.id, polytile.compile(Path(entry.file), defines=defines))


def compare(name: str, program: Program) -> list[Pair]:
    """Return both figures of the kernels of a compiled program."""
    kernels = [k for p in program.programs for k in p.kernels]
    machine = machine_of(ARCH)
    with tempfile.TemporaryDirectory(prefix="polytile-") as folder:
        _, unit, _ = program.write(Path(folder))
        compiled = compiled_resources(unit, kernels, machine)
    return [Pair(name, estimate(k, machine), c) for k, c in zip(kernels, compiled, strict=True)]


def _registers(found: KernelResources) -> float:
    return found.registers


def _blocks(found: KernelResources) -> float:
    return found.blocks_per_multiprocessor


def _code(found: KernelResources) -> float:
    return found.instruction_bytes


def markdown(pairs: Sequence[Pair]) -> str:
    """Print how far the estimates are off, and the table."""
    lines = [
        f"{len(pairs)} kernels, {ARCH}, nvcc {nvcc_release(nvcc() or '')}",
        "",
        *table_head(("figure", "median error", "90% are within", "correlation"), left=1),
        _summary("registers", pairs, _registers),
        _summary("blocks on a multiprocessor", pairs, _blocks),
        _summary("code", pairs, _code, logarithmic=True),
        "",
        _farthest(pairs),
        "",
        *table_head(COLUMNS, left=1),
        *map(_row, pairs),
    ]
    return "\n".join(lines) + "\n"


def _summary(
    name: str, pairs: Sequence[Pair], figure: Callable[[KernelResources], float], *, logarithmic: bool = False
) -> str:
    errors = sorted(p.error(figure) for p in pairs)
    most = errors[min(len(errors) - 1, len(errors) * 9 // 10)]
    scale: Callable[[float], float] = log if logarithmic else float
    both = [[scale(figure(r)) for r in side] for side in zip(*((p.estimated, p.compiled) for p in pairs), strict=True)]
    related = f"{correlation(*both):.2f}" if all(len(set(side)) > 1 for side in both) else "-"
    return f"| {name} | {median(errors):.1%} | {most:.0%} | {related} |"


def _farthest(pairs: Sequence[Pair]) -> str:
    worst = sorted(pairs, key=lambda p: p.error(_registers), reverse=True)[:FARTHEST]
    named = (f"{p.kernel} ({p.estimated.registers} for {p.compiled.registers})" for p in worst)
    return f"Registers, farthest off: {', '.join(named)}."


def _row(pair: Pair) -> str:
    a, b = pair.estimated, pair.compiled
    cells = [
        pair.kernel,
        b.threads,
        a.registers,
        b.registers,
        b.spill_bytes,
        b.static_shared + b.dynamic_shared,
        a.blocks_per_multiprocessor,
        b.blocks_per_multiprocessor,
        a.instruction_bytes,
        b.instruction_bytes,
    ]
    return table_line(cells)
