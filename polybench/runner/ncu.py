"""Reads what Nsight Compute counted for each line of a .cu: `ncu --page source --print-source cuda,sass --csv`.

Such a page is a section for each launch and each source file:

    "File Path","/export/gemm_kernel.cu"
    "Function Name","kernel_gemm_scop0_k0"
    "Line No","Source","Address","Source","Warp Stall Sampling (All Samples)",...,"Instructions Executed",...
    "34","C_acc += alpha * A[...] * B[...];","-","-","12",...          a line, with the sum over its instructions
    "","","0x7f2c10","@!P0 LDG.E.64.CONSTANT R4, desc[UR4][R2.64]","3",...     an instruction of that line

Only instructions count here, as only they tell loads from stores. Columns are found by their names, in any order; their
names have changed over the versions of the tool, and those that are known are tried in turn.

Of version 2025.3, to know when reading such a page: columns that would hold zeros only are left out, so a kernel that
touches no shared memory has no `L1 Wavefronts Shared`; quotes in the text of a line are not doubled, so such a row has
too many fields, and only its number is sound; in a module of several kernels each instruction is printed twice, with
the same figures; an instruction of an inlined function is printed under the line of the call, too.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath

from polybench.runner.errors import RunnerError
from polytile.dataclass import dataclass

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

    `requests` counts instructions also where every lane was predicated off; `lanes` counts only lanes that were on. Of
    the requests, between `fewest` and `most` had a lane that was on: a guarded instruction tells no more than that.
    `sectors` and `wavefronts` are None when the page has no such column although the instructions were executed.
    `ratios` are the sectors (of shared memory: wavefronts) per request of the single instructions, without repetitions.
    """

    kernel: str
    line: int
    space: str
    access: str
    requests: int
    fewest: int
    most: int
    lanes: int
    sectors: int | None
    wavefronts: int | None
    ratios: frozenset[float] = frozenset()

    @property
    def key(self) -> Key:
        return (self.kernel, self.line, self.space, self.access)


def read_source_page(text: str, file: str) -> tuple[Measured, ...]:
    """Read the accesses of the file called `file`.

    Raises RunnerError when the text is no such page, or has no lines.
    """
    found: dict[Key, Measured] = {}
    sections = list(_sections(_rows(text)))
    if not sections:
        raise RunnerError("this is no source page of ncu: make it with --page source --print-source cuda,sass --csv")
    if all(_column(s.header, _LINE) is None for s in sections):
        raise RunnerError("the page has no source lines: compile with -lineinfo, print with --print-source cuda,sass")
    for section in sections:
        if not section.file or _base(section.file) == file:
            for one in _accesses(section):
                found[one.key] = together(found[one.key], one) if one.key in found else one
    return tuple(found[key] for key in sorted(found))


def _rows(text: str) -> Iterator[Sequence[str]]:
    """Parse line by line, as an odd quote in the text of one line would swallow those after it."""
    for line in text.lstrip("\ufeff").split("\n"):
        yield next(csv.reader([line.rstrip("\r")]), [])


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
        elif section is not None and row:
            section.rows.append(row)
    if section is not None:
        yield section


def _accesses(section: _Section) -> Iterator[Measured]:
    header = section.header
    line_at, address_at = _column(header, _LINE), _column(header, _ADDRESS)
    if line_at is None or address_at is None:
        return
    text_at = len(header) - 1 - list(reversed(header)).index("Source")
    line, seen = 0, set[str]()
    for row in section.rows:
        if line_at < len(row) and row[line_at].strip().isdigit():
            line = int(row[line_at])
        if len(row) != len(header):
            continue
        kind, address = _kind(row[text_at]), row[address_at].strip()
        if kind is not None and re.match(r"(0x)?[0-9a-fA-F]+$", address) and address not in seen:
            seen.add(address)
            key = (section.kernel, line, *kind)
            yield _access(key, row, header, guarded=_PREDICATE.match(row[text_at].strip()) is not None)


def _access(key: Key, row: Sequence[str], header: Sequence[str], *, guarded: bool) -> Measured:
    requests, lanes = (_number(row, header, names) for names in (INSTRUCTIONS, LANES))
    if requests is None or lanes is None:
        missing = INSTRUCTIONS if requests is None else LANES
        raise RunnerError(f"the page has no column {missing[0]!r}: collect --section SourceCounters")
    fewest, most = (-(-lanes // 32), min(requests, lanes)) if guarded else (requests, requests)
    shared = key[2] == "shared"
    cost = _number(row, header, WAVEFRONTS if shared else SECTORS)
    if cost is None and lanes == 0:
        cost = 0  # the column was left out as it would hold zeros only
    ratios = frozenset([cost / requests] if requests and cost is not None else [])
    sectors, wavefronts = (0, cost) if shared else (cost, 0)
    return Measured(*key, requests, fewest, most, lanes, sectors, wavefronts, ratios)


def _kind(instruction: str) -> tuple[str, str] | None:
    """(space, access) of `@P0 LDG.E.64 R4, desc[UR4][R2.64]`; None for what accesses neither space."""
    opcode = re.split(r"[.\s;]", _PREDICATE.sub("", instruction.strip()), maxsplit=1)[0]
    return _OPCODES.get(opcode)


def _number(row: Sequence[str], header: Sequence[str], names: Sequence[str]) -> int | None:
    """Return the value of the first of these columns that the page has; None when it has none of them."""
    at = _column(header, names)
    if at is None:
        return None
    text = row[at].strip().replace(",", "").replace("\u202f", "").replace("'", "")
    try:
        return round(float(text))
    except ValueError:
        return 0  # a dash: the instruction has no such figure


def _column(header: Sequence[str], names: Sequence[str]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _function(signature: str) -> str:
    """Shorten `void space::k0<2>(int, double *)` to `k0`."""
    name = re.sub(r"<.*>", "", signature).split("(", 1)[0].split()
    return name[-1].rpartition("::")[2] if name else ""


def _base(path: str) -> str:
    return (PureWindowsPath(path) if "\\" in path else PurePosixPath(path)).name


def together(a: Measured, b: Measured) -> Measured:
    return Measured(
        *a.key,
        requests=a.requests + b.requests,
        fewest=a.fewest + b.fewest,
        most=a.most + b.most,
        lanes=a.lanes + b.lanes,
        sectors=_plus(a.sectors, b.sectors),
        wavefronts=_plus(a.wavefronts, b.wavefronts),
        ratios=a.ratios | b.ratios,
    )


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def totals(text: str) -> Mapping[str, Mapping[str, float]]:
    """Return kernel -> metric -> sum over launches, of `ncu --page raw --csv`."""
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
