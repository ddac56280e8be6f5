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
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from polybench.runner.errors import EXIT_FAILED, RunnerError
from polybench.runner.ncu import Key, Measured, read_source_page, totals
from polybench.runner.tables import Entry

FIVE = ("polybench/gemm", "polybench/doitgen", "polybench/jacobi-2d", "polybench/atax", "polybench/mvt")
TABLE, SCRIPT, PAGE, RAW = "counts.json", "counts.sh", "ncu-source.csv", "ncu-raw.csv"
KIND = "polytile counts"
SEED = 1
COUNTERS = {
    (access, unit): f"l1tex__t_{unit}_pipe_lsu_mem_global_op_{op}.sum"
    for access, op in (("load", "ld"), ("store", "st"))
    for unit in ("requests", "sectors")
}


@dataclass(frozen=True, slots=True)
class Line:
    """All accesses of one kind that one kernel makes on one line of the .cu: what the two counted."""

    program: str
    kernel: str
    arrays: Mapping[str, tuple[int, int]]  # of each array: requests and cost
    place: str  # of the C file
    access: str
    space: str
    requests: int
    lanes: int
    cost: int  # sectors of global memory, wavefronts of shared memory
    measured: Measured | None

    @property
    def measured_cost(self) -> int | None:
        if self.measured is None:
            return None
        return self.measured.wavefronts if self.space == "shared" else self.measured.sectors

    @property
    def equal(self) -> bool:
        """Whether lanes and costs are the same. (A GPU also counts requests whose lanes are all predicated off.)"""
        return self.measured is not None and (self.measured.lanes, self.measured_cost) == (self.lanes, self.cost)


def counts(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """Write the folder, or read it; the exit status is 1 when something failed or differs."""
    if not chosen.read:
        return write(chosen, entries)
    programs = load(chosen.folder)
    lines = [line for program in programs for line in read(chosen.folder, program)]
    text = f"{markdown(lines)}\n{kernels(chosen.folder, programs)}"
    if chosen.markdown is not None:
        chosen.markdown.write_text(text)
    print(text, end="")
    measured = [line for line in lines if line.measured is not None]
    different = [line for line in measured if not line.equal]
    print(f"{len(measured)} of {len(lines)} lines are measured, {len(different)} of them differ")
    return EXIT_FAILED if different else 0


def write(chosen: argparse.Namespace, entries: Sequence[Entry]) -> int:
    """An export with the emulator's counts and the script that profiles the same programs on a GPU."""
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
    from polytile.count_report import as_facts
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
    """A shell script: a build with line information, and for each program one profiled run of each of its kernels."""
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
make -s -k NVCCFLAGS="-std=c++17 -O3 -arch=${{ARCH:-sm_90}} -lineinfo" || exit 4

# profile FOLDER LAUNCHES KERNELS: the launches of the first run, each access of theirs by its line.
profile() {{
    "$ncu" --section SourceCounters --metrics {",".join(COUNTERS.values())} \\
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
    """The programs of a folder of counts."""
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


def read(folder: Path, program: Mapping[str, Any]) -> Iterator[Line]:
    """The lines of one program, with what was measured where there is a page of ncu."""
    page = folder / program["folder"] / PAGE
    if not page.exists():
        return _lines(program, None)
    measured = read_source_page(page.read_text(errors="replace"), program["file"])
    return _lines(program, {m.key: m for m in measured})


def _lines(program: Mapping[str, Any], measured: Mapping[Key, Measured] | None) -> Iterator[Line]:
    """Both sides by kernel, line, space and access; a line that only the GPU knows has no arrays."""
    sites: dict[Key, list[Mapping[str, Any]]] = {}
    for site in (site for scop in program["scops"] for site in scop["sites"]):
        sites.setdefault((site["kernel"], site["cu_line"], site["space"], site["access"]), []).append(site)
    name = program["program"].rpartition("/")[2]
    for key in [*sites, *(k for k in measured or {} if k not in sites)]:
        own = sites.get(key, [])
        kernel, _, space, access = key
        first = next((s for s in own if "file" in s), None)
        arrays: dict[str, tuple[int, int]] = {}
        for site in own:
            requests, cost = arrays.get(site["array"], (0, 0))
            more = site["wavefronts" if space == "shared" else "sectors"]
            arrays[site["array"]] = (requests + site["requests"], cost + more)
        yield Line(
            program=name,
            kernel=kernel,
            arrays=arrays,
            place=f"{Path(first['file']).name}:{first['line']}" if first else "",
            access=access,
            space=space,
            requests=sum(s["requests"] for s in own),
            lanes=sum(s["lanes"] for s in own),
            cost=sum(cost for _, cost in arrays.values()),
            measured=None if measured is None else measured.get(key, Measured(*key, 0, 0, 0, 0)),
        )


def markdown(lines: Sequence[Line]) -> str:
    """A table: sectors (or wavefronts) per request, as emulated and as measured; what differs is bold."""
    heads = (
        "kernel",
        "access",
        "line",
        "requests",
        "lanes",
        "sectors",
        "per request",
        "ncu: sectors",
        "ncu: per request",
    )
    rows = [f"| {' | '.join(heads)} |", "| --- | --- | --- |" + " --: |" * 4 + " --: | --- |"]
    for line in lines:
        of = ", ".join(line.arrays) or "?"
        access = f"{line.access} {of}{', wavefronts of shared memory' if line.space == 'shared' else ''}"
        figures = (line.requests, line.lanes, line.cost, _emulated(line))
        cells = (f"`{line.kernel}`", access, line.place, *figures, *_measured(line))
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows) + "\n"


def kernels(folder: Path, programs: Sequence[Mapping[str, Any]]) -> str:
    """A table of whole kernels, which holds wherever compilers say that an access stands."""
    heads = ("kernel", "access", "requests", "sectors", "ncu: requests", "ncu: sectors")
    rows = [f"| {' | '.join(heads)} |", "| --- | --- |" + " --: |" * 4]
    for program in programs:
        page = folder / program["folder"] / RAW
        measured = totals(page.read_text(errors="replace")) if page.exists() else {}
        for scop in program["scops"]:
            for kernel, access in product((k["name"] for k in scop["kernels"]), ("load", "store")):
                own = [s for s in scop["sites"] if (s["kernel"], s["space"], s["access"]) == (kernel, "global", access)]
                found = measured.get(kernel, {})
                emulated = [sum(s[unit] for s in own) for unit in ("requests", "sectors")]
                ncu = [found.get(COUNTERS[access, unit]) for unit in ("requests", "sectors")]
                cells = [*map(str, emulated), *("" if value is None else f"{value:.0f}" for value in ncu)]
                rows.append(
                    f"| `{kernel}` of {program['program'].rpartition('/')[2]} | {access} | {' | '.join(cells)} |"
                )
    return "\n".join(rows) + "\n"


def _emulated(line: Line) -> str:
    """`3.667 (A 1, B 6.333)`: of all, and of each array where there are several."""
    each = ", ".join(f"{array} {_ratio(cost, requests)}" for array, (requests, cost) in line.arrays.items())
    return _ratio(line.cost, line.requests) + (f" ({each})" if len(line.arrays) > 1 else "")


def _measured(line: Line) -> tuple[str, str]:
    """The same of ncu: of all instructions of the line, and of single ones where they differ."""
    if line.measured is None or line.measured_cost is None:
        return ("", "")
    whole = _ratio(line.measured_cost, line.measured.requests)
    each = ", ".join(f"{ratio:.4g}" for ratio in sorted(line.measured.ratios))
    detail = f" ({each})" if len(line.measured.ratios) > 1 else ""
    cost = str(line.measured_cost)
    return (cost, whole + detail) if line.equal else (f"**{cost}**", f"**{whole}**{detail}")


def _ratio(cost: int, requests: int) -> str:
    return f"{cost / requests:.4g}" if requests else "-"
