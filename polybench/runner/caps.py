"""`caps`: registers and spills that ptxas reports of programs whose threads may have so many registers at most.

Each program is compiled for each cap, type and order, with and without `--fp strict`, and nvcc compiles its kernels (as
it would for running them: without contraction where floating point is strict). Beside ptxas' registers stand the
estimate and MAXLIVE: the registers that all values and addresses take at once in the order of the kernel's text.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, product
from pathlib import Path
from statistics import median
from typing import Any

from polybench.runner import rows
from polybench.runner.errors import EXIT_FAILED, EXIT_MACHINE, RunnerError
from polybench.runner.figures import ARCH, nvcc_release
from polybench.runner.markdown import show, table_head, table_line
from polybench.runner.pool import Pool
from polybench.runner.rows import Row
from polybench.runner.tables import Entry
from polytile.api import Program
from polytile.codegen.resources.estimate import estimate, needed_registers
from polytile.machine import INSTRUCTION_BYTES, machine_of
from polytile.runtime.compilers import nvcc
from polytile.runtime.ptxas import compiled_resources

FAMILY = "reorder"  # the programs where none is named
NO_CAP = 0  # the bounds that polytile chooses
WITHIN = 0.15  # of ptxas' registers
Key = tuple[str, str, str, str, int]


def key(row: Row) -> Key:
    """Return what a row is about."""
    return row["program"], row["dtype"], row["fp"], row["order"], row["cap"]


def caps(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """Print the tables, append the rows to `--json`; the exit status is 1 when a program could not be compiled."""
    if nvcc() is None:
        raise RunnerError("nvcc was not found; put it on the PATH, or set NVCC", status=EXIT_MACHINE)
    settings = product(entries, chosen.dtype, chosen.fp, chosen.order, chosen.caps)
    work = [job_of(chosen, *one) for one in settings]
    found: dict[Key, Row] = {}
    for row in Pool(chosen.jobs, chosen.timeout).run(work):
        found[key(row)] = row
        print(line(row), file=sys.stderr if rows.failed(row) else sys.stdout, flush=True)
        if chosen.json is not None:
            rows.append(chosen.json, [row])
    in_order = [found[key(head)] for head, _ in work]
    done = [row for row in in_order if not rows.failed(row)]
    show(markdown(done), chosen.markdown)
    return EXIT_FAILED if len(done) < len(work) else 0


def job_of(chosen: argparse.Namespace, entry: Entry, dtype: str, fp: str, order: str, cap: int) -> tuple[Row, Row]:
    """Return (head of the row, job for the child)."""
    about = {"fp": fp, "order": order, "cap": cap, "points": list(chosen.points)}
    job = {
        "root": str(chosen.root),
        "file": entry.file,
        "defines": entry.defines(chosen.dataset, dtype),
        "parameters": entry.sizes(chosen.dataset),
        "schedule": "auto",
        "on": "caps",
        "metrics": False,
        "settings": {
            "strict": fp == "strict",
            "order": order,
            **({"registers": cap} if cap != NO_CAP else {}),
            **({"points": chosen.points} if chosen.points else {}),
        },
    }
    return {**rows.head(entry.id, dtype, "auto", chosen.dataset, "caps"), **about}, job


def capped(program: Program, strict: bool, folder: Path) -> Row:
    """Return what ptxas says of each kernel of a program, beside the estimates; runs in the process of its job."""
    machine = machine_of(ARCH)
    kernels = [kernel for one in program.programs for kernel in one.kernels]
    _, unit, _ = program.write(folder)
    compiled = compiled_resources(unit, kernels, machine, contract=not strict)
    figures = [
        {
            "kernel": kernel.name.rpartition("scop")[2].partition("_")[2],
            "registers": by_ptxas.registers,
            "spill_bytes": by_ptxas.spill_bytes,
            "instructions": by_ptxas.instruction_bytes // INSTRUCTION_BYTES,
            "estimate": estimate(kernel, machine).registers,
            "max_live": needed_registers(kernel),
        }
        for kernel, by_ptxas in zip(kernels, compiled, strict=True)
    ]
    return {"capped": figures, "arch": ARCH, "nvcc_release": nvcc_release(nvcc() or "")}


# Tables -------------------------------------------------------------------------------------------
def line(row: Row) -> str:
    """Print the line that is shown when a row is known."""
    about = f"{row['program']} {row['dtype']} {row['fp']} {row['order']} {row['cap'] or 'no cap'}"
    if rows.failed(row):
        return f"{about}: FAILED {row['error']}"
    return f"{about}: {', '.join(_cell(kernel) for kernel in row['capped'])}"


def _cell(kernel: Mapping[str, Any]) -> str:
    """Print registers by ptxas / by estimate, MAXLIVE, and spilled bytes where there are any."""
    spilled = f" **({kernel['spill_bytes']})**" if kernel["spill_bytes"] else ""
    return f"{kernel['registers']} / {kernel['estimate']}, {kernel['max_live']}{spilled}"


def markdown(found: Sequence[Row]) -> str:
    """Print tables by type and floating point, and how far off the estimates are."""
    if not found:
        return ""
    about = [
        f"{found[0]['arch']}, nvcc {found[0]['nvcc_release']}. Registers by ptxas / by estimate, MAXLIVE (registers of "
        "values and addresses at once), and in brackets the bytes that a thread spills, stores and loads. Columns are "
        "caps on registers; `own` are the bounds that polytile chooses.",
    ]
    return "\n".join([*about, *_errors(found), *_tables(found)]) + "\n"


def _about(row: Row) -> tuple[str, str]:
    return row["dtype"], row["fp"]


def _tables(found: Sequence[Row]) -> Iterator[str]:
    numbers = list(dict.fromkeys(row["cap"] for row in found))
    names = [str(cap) if cap != NO_CAP else "own" for cap in numbers]
    for (dtype, fp), group in groupby(sorted(found, key=_about), key=_about):
        yield from ("", f"## {dtype}, {fp}", "", *table_head(("kernel", "order", *names), left=2))
        cells: dict[tuple[str, str, str], dict[int, str]] = {}
        for row in group:
            for kernel in row["capped"]:
                place = row["program"].partition("/")[2] + _points(row), kernel["kernel"], row["order"]
                cells.setdefault(place, {})[row["cap"]] = _cell(kernel)
        for (program, kernel_name, order), by_cap in sorted(cells.items(), key=lambda item: item[0][:2]):
            yield table_line((f"{program} {kernel_name}", order, *(by_cap.get(n, "") for n in numbers)))


def _points(row: Row) -> str:
    return f" ({' x '.join(map(str, row['points']))} points)" if row["points"] else ""


def _errors(found: Iterable[Row]) -> Iterator[str]:
    """Print how far the estimates of registers are off, by type, floating point and order."""
    errors: dict[tuple[str, str, str], list[float]] = {}
    for row in found:
        place = (row["dtype"], row["fp"], row["order"])
        errors.setdefault(place, []).extend(abs(k["estimate"] - k["registers"]) / k["registers"] for k in row["capped"])
    columns = ("estimates of registers", "kernels", "median error", "largest", f"within {WITHIN:.0%}")
    yield from ("", *table_head(columns, left=1))
    for place, own in errors.items():
        near = sum(error <= WITHIN for error in own)
        yield f"| {', '.join(place)} | {len(own)} | {median(own):.1%} | {max(own):.0%} | {near / len(own):.0%} |"
