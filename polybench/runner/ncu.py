"""Reads what Nsight Compute counted for each line of a .cu: `ncu --page source --print-source cuda,sass --csv`.

Such a page is a section for each launch and each source file:

    "File Path","/export/gemm_kernel.cu"
    "Function Name","kernel_gemm_scop0_k0"
    "Line No","Source","Address","Source","Warp Stall Sampling (All Samples)",...,"Instructions Executed",...
    "34","C_acc += alpha * A[...] * B[...];","-","-","12",...          a line, with the sum over its instructions
    "","","0x7f2c10","@!P0 LDG.E.64.CONSTANT R4, desc[UR4][R2.64]","3",...     an instruction of that line

Only instructions count here, as only they tell loads from stores. Columns are found by their names, in any order; their
names have changed over the versions of the tool, and those that are known are tried in turn.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from polybench.runner.errors import RunnerError

INSTRUCTIONS = ("Instructions Executed", "inst_executed")
LANES = (
    "Predicated-On Thread Instructions Executed",
    "Thread Instructions Executed",
    "thread_inst_executed_true",
)
SECTORS = ("L2 Theoretical Sectors Global", "memory_l2_theoretical_sectors_global")
WAVEFRONTS = ("L1 Wavefronts Shared", "memory_l1_wavefronts_shared")
_LINE = ("Line No", "# Line", "Line")
_ADDRESS = ("Address", "# Address")
_PREDICATE = re.compile(r"^@!?U?P\w+\s+")
# Opcode -> (space, access). An asynchronous copy loads from global memory; generic accesses are taken for global ones.
_OPCODES = {
    **dict.fromkeys(("LDG", "LD", "LDGSTS"), ("global", "load")),
    **dict.fromkeys(("STG", "ST"), ("global", "store")),
    **dict.fromkeys(("ATOMG", "ATOM", "RED", "REDG"), ("global", "atomic")),
    "LDS": ("shared", "load"),
    "STS": ("shared", "store"),
    "ATOMS": ("shared", "atomic"),
}
Key = tuple[str, int, str, str]


@dataclass(frozen=True, slots=True)
class Measured:
    """What one kernel's instructions of one kind on one line did, over all launches of the report.

    `requests` counts instructions also where every lane was predicated off; `lanes` counts only lanes that were on.
    `ratios` are the sectors (of shared memory: wavefronts) per request of the single instructions, without repetitions.
    """

    kernel: str
    line: int
    space: str
    access: str
    requests: int
    lanes: int
    sectors: int
    wavefronts: int
    ratios: frozenset[float] = frozenset()

    @property
    def key(self) -> Key:
        return (self.kernel, self.line, self.space, self.access)


def read_source_page(text: str, file: str) -> tuple[Measured, ...]:
    """The accesses of the file called `file`; raises RunnerError when the text is no such page, or has no lines."""
    found: dict[Key, Measured] = {}
    sections = list(_sections(csv.reader(io.StringIO(text.lstrip("\ufeff")))))
    if not sections:
        raise RunnerError("this is no source page of ncu: make it with --page source --print-source cuda,sass --csv")
    if all(_column(s.header, _LINE) is None for s in sections):
        raise RunnerError("the page has no source lines: compile with -lineinfo, print with --print-source cuda,sass")
    for section in sections:
        if not section.file or _base(section.file) == file:
            for one in _accesses(section):
                found[one.key] = _sum(found[one.key], one) if one.key in found else one
    return tuple(found[key] for key in sorted(found))


@dataclass(slots=True)
class _Section:
    """The rows under one header."""

    file: str
    kernel: str
    header: Sequence[str]
    rows: list[Sequence[str]]


def _sections(rows: Iterable[Sequence[str]]) -> Iterator[_Section]:
    file = kernel = ""
    section: _Section | None = None
    for row in rows:
        if len(row) >= 2 and row[0] in ("File Path", "Function Name", "Kernel Name"):
            if section is not None:
                yield section
                section = None
            if row[0] == "File Path":
                file = row[1]
            else:
                kernel = _function(row[1])
        elif _column(row, _ADDRESS) is not None and "Source" in row:
            section = _Section(file, kernel, row, [])
        elif section is not None and len(row) == len(section.header):
            section.rows.append(row)
    if section is not None:
        yield section


def _accesses(section: _Section) -> Iterator[Measured]:
    header = section.header
    line_at, address_at = _column(header, _LINE), _column(header, _ADDRESS)
    if line_at is None or address_at is None:
        return
    text_at = len(header) - 1 - list(reversed(header)).index("Source")
    line = 0
    for row in section.rows:
        if row[line_at].strip().isdigit():
            line = int(row[line_at])
        kind = _kind(row[text_at])
        if kind is not None and re.match(r"(0x)?[0-9a-fA-F]+$", row[address_at].strip()):
            requests, lanes = _number(row, header, INSTRUCTIONS), _number(row, header, LANES)
            sectors, wavefronts = _number(row, header, SECTORS), _number(row, header, WAVEFRONTS)
            cost = wavefronts if kind[0] == "shared" else sectors
            ratios = frozenset([cost / requests] if requests else [])
            yield Measured(section.kernel, line, *kind, requests, lanes, sectors, wavefronts, ratios)


def _kind(instruction: str) -> tuple[str, str] | None:
    """(space, access) of `@P0 LDG.E.64 R4, desc[UR4][R2.64]`; None for what accesses neither space."""
    opcode = re.split(r"[.\s;]", _PREDICATE.sub("", instruction.strip()), maxsplit=1)[0]
    return _OPCODES.get(opcode)


def _number(row: Sequence[str], header: Sequence[str], names: Sequence[str]) -> int:
    """The value of the first of these columns that the page has; raises RunnerError when it has none of them."""
    at = _column(header, names)
    if at is None:
        raise RunnerError(f"the page has no column {names[0]!r}: collect --section SourceCounters")
    text = row[at].strip().replace(",", "").replace("\u202f", "").replace("'", "")
    try:
        return round(float(text))
    except ValueError:
        return 0  # a dash: the instruction has no such figure


def _column(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _function(signature: str) -> str:
    """`void space::k0<2>(int, double *)` -> `k0`."""
    name = re.sub(r"<.*>", "", signature).split("(", 1)[0].split()
    return name[-1].rpartition("::")[2] if name else ""


def _base(path: str) -> str:
    return (PureWindowsPath(path) if "\\" in path else PurePosixPath(path)).name


def _sum(a: Measured, b: Measured) -> Measured:
    return Measured(
        *a.key,
        requests=a.requests + b.requests,
        lanes=a.lanes + b.lanes,
        sectors=a.sectors + b.sectors,
        wavefronts=a.wavefronts + b.wavefronts,
        ratios=a.ratios | b.ratios,
    )


def totals(text: str) -> Mapping[str, Mapping[str, float]]:
    """Kernel -> metric -> sum over launches, of `ncu --page raw --csv`."""
    rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff"))))
    header = next((i for i, row in enumerate(rows) if "Kernel Name" in row), None)
    if header is None:
        raise RunnerError("this is no raw page of ncu: make it with --page raw --csv")
    names = rows[header]
    at = names.index("Kernel Name")
    found: dict[str, dict[str, float]] = {}
    for row in rows[header + 1 :]:
        if len(row) != len(names) or not row[0].strip().isdigit():
            continue  # the row of units
        own = found.setdefault(_function(row[at]), {})
        for name, value in zip(names, row, strict=True):
            if "__" in name and re.fullmatch(r"[\d,.]+(e[+-]?\d+)?", value.strip()):
                own[name] = own.get(name, 0.0) + float(value.replace(",", ""))
    return found
