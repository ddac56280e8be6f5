"""`counts`: what the emulator counts for each access, and what Nsight Compute counts for the same kernels on a GPU.

Writes an export (see export.py) with two more files: `counts.json`, and `counts.sh`, which profiles the programs on a
machine with nvcc and ncu. With --read, a table of both.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polybench.runner.count_table import COUNTERS, PAGE, RAW, Line, Total, lines_of, markdown, totals_of
from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.markdown import show
from polybench.runner.tables import Entry

FIVE = ("polybench/gemm", "polybench/doitgen", "polybench/jacobi-2d", "polybench/atax", "polybench/mvt")
TABLE, SCRIPT = "counts.json", "counts.sh"
KIND = "polytile counts"
SEED = 1


def counts(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """Write the folder, or read it; the exit status is 1 when something failed or differs."""
    if not chosen.read:
        return write(chosen, entries)
    programs = load(chosen.folder)
    lines = [line for program in programs for line in lines_of(chosen.folder, program)]
    totals = [total for program in programs for total in totals_of(chosen.folder, program)]
    show(markdown(lines, totals), chosen.markdown)
    differ = [_summary("lines", lines), _summary("totals of kernels", totals)]
    return EXIT_FAILED if any(differ) else 0


def _summary(what: str, compared: Sequence[Line] | Sequence[Total]) -> int:
    """Print how many are measured; return how many of these differ."""
    measured = [one for one in compared if one.is_measured]
    differ = sum(not one.equal for one in measured)
    print(f"{len(measured)} of {len(compared)} {what} are measured, {differ} of them differ")
    return differ


def write(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """Write an export with the emulator's counts and the script that profiles the same programs on a GPU."""
    from polybench.runner.export import export

    chosen.folder = chosen.folder.resolve()
    status = export(chosen, entries)
    done = [_count(chosen, entry, dtype, schedule) for entry, dtype, schedule in _jobs(chosen, entries)]
    (chosen.folder / TABLE).write_text(json.dumps({"kind": KIND, "programs": done}, indent=1) + "\n")
    script = chosen.folder / SCRIPT
    script.write_text(script_text(done))
    script.chmod(0o755)
    print(f"run {script} where nvcc and ncu are, then: python -m polybench counts {chosen.folder} --read")
    return status


def _jobs(chosen: argparse.Namespace, entries: Sequence[Entry]) -> Iterator[tuple[Entry, str, str]]:
    return ((e, t, s) for e in entries for t in chosen.dtype for s in chosen.schedule)


def _count(chosen: argparse.Namespace, entry: Entry, dtype: str, schedule: str) -> dict[str, Any]:
    """Compile as the export does, in the folder of the families, so that the texts are the same."""
    import polytile
    from polybench.runner.figures import values_of
    from polytile.cli.count_report import as_facts
    from polytile.diagnostics import PolytileError

    here = os.getcwd()
    os.chdir(chosen.root)
    try:
        program = polytile.compile(Path(entry.file), defines=entry.defines(chosen.dataset, dtype), schedule=schedule)
        found = []
        for scop in program.scops:
            sizes = values_of(scop, entry.sizes(chosen.dataset))
            counted = scop.count(parameters=sizes, seed=SEED, unit=program.unit)
            if counted is None:
                raise RunnerError(f"{entry.id}: {scop.name} stays on the host")
            found.append(as_facts(counted.counts))
    except PolytileError as error:
        raise RunnerError(f"{entry.id}: {' '.join(str(error).split())}") from error
    finally:
        os.chdir(here)
    return {
        "program": entry.id,
        "folder": f"{entry.family}-{entry.name}-{dtype}-{schedule}",
        "file": f"{program.stem}_kernel.cu",
        "sizes": entry.sizes(chosen.dataset),
        "scops": found,
    }


def script_text(programs: Sequence[Mapping[str, Any]]) -> str:
    """Print a shell script.

    It builds with line information, and for each program profiles one run of each of its kernels.
    """
    calls = []
    for program in programs:
        kernels = [kernel for scop in program["scops"] for kernel in scop["kernels"]]
        names = "|".join(kernel["name"] for kernel in kernels)
        launches = sum(kernel["launches"] for kernel in kernels)
        calls.append(f"profile {shlex.quote(program['folder'])} {launches} {shlex.quote(f'regex:^({names})$')}")
    return f"""#!/bin/sh
# Profiles the programs of this folder with Nsight Compute. ARCH: the GPU (sm_90). NVCC, NCU: the tools.
cd "$(dirname "$0")" || exit 4
ncu=${{NCU:-ncu}}
command -v "$ncu" >/dev/null || {{ echo "counts.sh: $ncu was not found: put it on PATH or set NCU" >&2; exit 4; }}
make -s -k -B NVCCFLAGS="-std=c++17 -O3 -arch=${{ARCH:-sm_90}} -lineinfo" || exit 4

# profile FOLDER LAUNCHES KERNELS: the launches of the first run, each access of theirs by its line.
profile() {{
    "$ncu" --clock-control none --section SourceCounters --metrics {",".join(COUNTERS.values())} \\
        --import-source yes --kernel-name "$3" --launch-count "$2" --force-overwrite --export "$1/counts" \\
        "$1/driver" >"$1/ncu.log" 2>&1 || {{ cat "$1/ncu.log"; failed=1; return; }}
    "$ncu" --import "$1/counts.ncu-rep" --page source --print-source cuda,sass --csv --print-units base \\
        >"$1/{PAGE}" || failed=1
    "$ncu" --import "$1/counts.ncu-rep" --page raw --csv --print-units base >"$1/{RAW}" || failed=1
}}

{chr(10).join(calls)}
exit ${{failed:-0}}
"""


def load(folder: Path) -> list[dict[str, Any]]:
    """Load the programs of a folder of counts."""
    try:
        table = json.loads((folder / TABLE).read_text())
    except OSError as error:
        raise RunnerError(f"{folder} is no folder of counts: {TABLE}: {error.strerror}") from error
    except ValueError as error:
        raise RunnerError(f"{folder / TABLE}: broken JSON") from error
    if not isinstance(table, dict) or table.get("kind") != KIND:
        raise RunnerError(f"{folder / TABLE} holds no counts")
    programs: list[dict[str, Any]] = table["programs"]
    return programs
