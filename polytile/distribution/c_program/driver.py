"""The files of a program for ranks: `NAME_mpi.c`, `NAME_mpi.h`, `NAME_mpi_kernel.cu` and its header.

before: a DistributionPlan, and the kernels of its phases and copies
after:  himeno_mpi(MPI_Comm comm, int n, void *p): boxes, messages and steps of each rank, in C for mpicc
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.codegen.targets.templating import render_from
from polytile.distribution.c_program import functions, signatures, tables
from polytile.distribution.c_program.distributed import Distributed, check
from polytile.distribution.c_program.reductions import reductions
from polytile.distribution.exchanges import MANY_PLANES
from polytile.distribution.rank_combinations import PARTS
from polytile.ir.c_text import in_comment

_TEMPLATES = Path(__file__).parent / "templates"


def driver_files(made: Sequence[Distributed], stem: str, title: Sequence[str]) -> dict[str, str]:
    """Return the files for the SCoPs of a C file called `stem`, by their names.

    Raises UserError for what C entries cannot take.
    """
    for one in made:
        check(one)
    prefix = f"polytile_{_word(stem)}_mpi"
    kernels = _kernels(made, stem, title, prefix)
    programs = [_values(one, kernels) for one in made]
    plans = [one.plan for one in made]
    shared = {
        "title": [in_comment(line) for line in title],
        "stem": stem,
        "prefix": prefix,
        "programs": programs,
        "guard": f"POLYTILE_{_word(stem).upper()}_MPI_H",
        "axes": max(len(p.axes) for p in plans),
        "dimensions": max([1, *(len(a.axes) for p in plans for a in p.arrays)]),
        "values": max([1, *(len(p.scop.parameters) for p in plans)]),
        "arrays": max(len(p.arrays) for p in plans),
        "planes": MANY_PLANES,
        "parts": PARTS,
    }
    entries = [program for one in made for program in one.programs]
    return {
        f"{stem}_mpi.c": render_from(_TEMPLATES, "driver.c.j2", **shared),
        f"{stem}_mpi.h": render_from(_TEMPLATES, "driver.h.j2", **shared),
        f"{stem}_mpi_kernel.cu": kernels,
        f"{stem}_mpi_kernel.h": print_header(entries, guard_name=f"POLYTILE_{_word(stem).upper()}_MPI_KERNEL_H"),
    }


def _kernels(made: Sequence[Distributed], stem: str, title: Sequence[str], prefix: str) -> str:
    """Print the kernels, whose entry points do not wait, and what the driver needs of CUDA."""
    entries = [program for one in made for program in one.programs]
    unit = print_unit(entries, header=f"{stem}_mpi_kernel.h", title=title, deferred=True)
    return f"{unit.rstrip()}\n{render_from(_TEMPLATES, 'device.cu.j2', stem=stem, prefix=prefix)}"


def _word(stem: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in stem)


def _values(made: Distributed, kernels: str) -> dict[str, Any]:
    """Return the values that the template of a SCoP's functions is filled with."""
    plan = made.plan
    told = tables.tables(made)
    digest = hashlib.sha256(f"{kernels}{told}{made.wish}".encode()).digest()
    numbers = {p.name: k for k, p in enumerate(plan.scop.parameters)}
    return {
        "name": made.name,
        "function": made.function,
        "described": in_comment(f"{plan.scop.name} of {Path(plan.scop.location.file).name}:{plan.scop.location.line}"),
        "about": signatures.about(made),
        "axes": len(plan.axes),
        "axis_names": in_comment(", ".join(a.name for a in plan.axes)),
        "scalars": [{"type": a.element.name, "name": a.name} for a in made.scalars],
        "tables": told,
        "extents": functions.extents(made),
        "time": functions.time(plan),
        "places": functions.places(plan),
        "phases": list(functions.phases(made)),
        "copies": list(functions.copies(made)),
        "reductions": list(reductions(made)),
        "program": tables.program(made, int.from_bytes(digest[:8], "little")),
        "init": _function(signatures.init(made), [(numbers[p.name], p.name) for p in made.sizes]),
        "iterate": _function(signatures.iterate(made), [(numbers[p.name], p.name) for p in made.others]),
        "whole": {**_function(signatures.whole(made), []), **_whole(made)},
    }


def _function(made: signatures.Function, numbers: list[tuple[int, str]]) -> dict[str, Any]:
    return {"declaration": made.declaration, "definition": made.definition, "numbers": numbers}


def _whole(made: Distributed) -> dict[str, Any]:
    """Return the values that the function that does everything passes on."""
    written = made.plan.scop.written
    later = [*(p.name for p in made.others), *(a.name for a in made.scalars)]
    return {
        "arrays": [
            {
                "number": made.number(a.name),
                "name": a.name,
                "written": written(a.name),
                "described": in_comment(signatures.described(made, a)),
            }
            for a in made.given
        ],
        "init": ", ".join(["&state", "our_comm", *(f"given_{p.name}" for p in made.sizes)]),
        "iterate": ", ".join(["state", *(f"given_{name}" for name in later)]),
    }
