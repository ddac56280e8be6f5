"""`ablation`: large bodies without one of what makes their kernels fast at a time, as jobs of `sweep` and as a table.

Each program is compiled with everything on, without points of a thread, flat blocks, orders of statements, constants
multiplied out, shared sums, sums in another order at all, 32-bit offsets, and bounds of registers, each by itself, and
without all of them. Without points, blocks are those that were chosen with them, so that nothing else differs. What
makes no difference to the kernels is no job. Where nvcc is, the table has the registers and spills that ptxas reports.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from polybench.runner import rows
from polybench.runner.caps import capped
from polybench.runner.errors import EXIT_FAILED
from polybench.runner.figures import ARCH
from polybench.runner.markdown import show, table_head, table_line
from polybench.runner.pool import Pool
from polybench.runner.rows import Row
from polybench.runner.tables import Entry
from polytile.api import Program
from polytile.machine import machine_of
from polytile.runtime.compilers import nvcc

NOTHING, POINTS, BLOCKS, ORDER, EVERYTHING = "nothing", "register tile", "flat blocks", "order", "all of these"
PASSES = {
    "constants multiplied out": ("distribute-constants",),
    "shared sums": ("share-sums",),
    "sums in another order": ("reassociate-sums",),
    "32-bit offsets": ("offset-addressing",),
    "register bound": ("register-limit",),
}
STEPS = (NOTHING, POINTS, BLOCKS, ORDER, *PASSES, EVERYTHING)  # what is left out
EVERY_PASS = ("order-statements", "reassociate-sums", "offset-addressing", "register-limit")
WIDE = "_wide"  # how names of versions without offsets end, which are not launched where arrays are this small


def settings_without(step: str, whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of `polytile.compile` without one thing; `whole` is the row with everything on."""
    if step in PASSES:
        return {"disable_pass": list(PASSES[step])}
    one_point, default = {"points": [1] * whole["loops"]}, {"block": whole["default_block"]}
    own = {"block": whole["block"]} if whole["block"] else {}
    everything = {**one_point, **default, "order": "source", "disable_pass": list(EVERY_PASS)}
    return {POINTS: {**one_point, **own}, BLOCKS: default, ORDER: {"order": "source"}, EVERYTHING: everything}[step]


def ablation(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """Print the table, write the jobs to `--write`; the exit status is 1 when a program could not be compiled."""
    wanted = list(product(entries, chosen.dtype))
    whole = {key(row): row for row in _compiled(chosen, [_job(chosen, *one, NOTHING, {}) for one in wanted])}
    work = [
        _job(chosen, entry, dtype, step, settings_without(step, first), first["digest"])
        for (entry, dtype), step in product(wanted, STEPS[1:])
        if not rows.failed(first := whole[entry.id, dtype, NOTHING])
    ]
    found = whole | {key(row): row for row in _compiled(chosen, work)}
    keys = [(entry.id, dtype, step) for (entry, dtype), step in product(wanted, STEPS)]
    in_order = [found[one] for one in keys if one in found]
    done = [row for row in in_order if not rows.failed(row)]
    if chosen.write is not None:
        chosen.write.write_text("".join(json.dumps(job) + "\n" for job in jobs(done)))
    show(markdown(done), chosen.markdown)
    return EXIT_FAILED if len(done) < len(in_order) else 0


def key(row: Row) -> tuple[str, str, str]:
    """Return what a row is about."""
    return row["program"], row["dtype"], row["without"]


def _compiled(chosen: argparse.Namespace, work: list[tuple[Row, Row]]) -> list[Row]:
    found: list[Row] = []
    for row in Pool(chosen.jobs, chosen.timeout).run(work):
        found.append(row)
        about = f"{row['program']} {row['dtype']} without {row['without']}"
        said = f"FAILED {row['error']}" if rows.failed(row) else cell(row) or "compiled"
        print(f"{about}: {said}", file=sys.stderr, flush=True)
        if chosen.json is not None:
            rows.append(chosen.json, [row])
    return found


def _job(
    chosen: argparse.Namespace, entry: Entry, dtype: str, step: str, settings: Mapping[str, Any], whole: str = ""
) -> tuple[Row, Row]:
    """Return (head of the row, job for the child); `whole` is the digest of the kernels with everything on."""
    head = rows.head(entry.id, dtype, "auto", chosen.dataset, "ablation")
    sizes = entry.sizes(chosen.dataset)
    job = {
        "root": str(chosen.root),
        "file": entry.file,
        "defines": entry.defines(chosen.dataset, dtype),
        "parameters": sizes,
        "schedule": "auto",
        "on": "ablation",
        "metrics": False,
        "settings": {**settings, "parameters": sizes},
        "whole": whole,
    }
    return {**head, "without": step, "settings": dict(settings)}, job


def ablated(program: Program, text: str, folder: Path, whole: str = "") -> Row:
    """Return figures of a program's kernels, unless they are the `whole` ones, and what their blocks are.

    Runs in the process of its job.
    """
    kernels = [kernel for one in program.programs for kernel in one.kernels]
    blocks = {kernel.block for kernel in kernels}
    loops = max(len(s.iterators) for one in program.scops for s in one.scop.statements)
    threads = min(loops, 3)
    row: Row = {
        "loops": loops,
        "block": list(reversed(blocks.pop()))[3 - threads :] if len(blocks) == 1 else [],
        "default_block": list(machine_of(ARCH).tuning.blocks.of_rank(threads)),
        "digest": hashlib.sha256(text.encode()).hexdigest(),
    }
    return row | (capped(program, False, folder) if nvcc() and row["digest"] != whole else {"capped": []})


def jobs(found: Sequence[Row]) -> list[Row]:
    """List the jobs of `sweep` for rows, those of each program and type whose kernels no row before has."""
    made: list[Row] = []
    seen: set[tuple[str, str, str]] = set()
    for row in found:
        kernels = row["program"], row["dtype"], row["digest"]
        if kernels not in seen:
            seen.add(kernels)
            about = {name: row[name] for name in ("program", "dtype", "dataset", "settings")}
            label = "everything on" if row["without"] == NOTHING else f"without {row['without']}"
            made.append({**about, "known": True, "label": label})
    return made


# The table ----------------------------------------------------------------------------------------
def cell(row: Row) -> str:
    """Print the registers of each kernel, and spilled bytes where there are any."""
    launched = [kernel for kernel in row["capped"] if not kernel["kernel"].endswith(WIDE)]
    spilled = (f" ({n})" if (n := kernel["spill_bytes"]) else "" for kernel in launched)
    return ", ".join(f"{kernel['registers']}{more}" for kernel, more in zip(launched, spilled, strict=True))


def markdown(found: Sequence[Row]) -> str:
    """Print tables by type: a row for a program, a column for what is left out; `=` where that makes no difference."""
    if not found or not found[0]["capped"]:
        return ""
    release = found[0]["nvcc_release"]
    lines = [f"{ARCH}, nvcc {release}: registers of a thread and, in brackets, bytes spilled, without each of these."]
    for dtype in dict.fromkeys(row["dtype"] for row in found):
        lines += ["", *table_head((dtype, *STEPS), left=1)]
        for program in dict.fromkeys(row["program"] for row in found):
            by_step = {row["without"]: row for row in found if (row["program"], row["dtype"]) == (program, dtype)}
            whole = by_step.get(NOTHING)
            lines.append(table_line((program.partition("/")[2], *(_shown(by_step.get(step), whole) for step in STEPS))))
    return "\n".join(lines) + "\n"


def _shown(row: Row | None, whole: Row | None) -> str:
    if row is None:
        return ""
    return "=" if whole is not None and row is not whole and row["digest"] == whole["digest"] else cell(row)
