"""What the emulator counted beside what Nsight Compute counted: by line of the .cu, and by kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product
from pathlib import Path
from typing import Any

from polybench.runner.markdown import table_line
from polybench.runner.ncu import Key, Measured, read_source_page, together, totals
from polytile.dataclass import dataclass

PAGE, RAW = "ncu-source.csv", "ncu-raw.csv"
ACCESSES = (("load", "ld"), ("store", "st"))
# (space, access, unit) -> the counter of a whole kernel
COUNTERS = {
    **{
        ("global", access, unit): f"l1tex__t_{unit}_pipe_lsu_mem_global_op_{op}.sum"
        for access, op in ACCESSES
        for unit in ("requests", "sectors")
    },
    **{
        ("shared", access, "wavefronts"): f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
        for access, op in ACCESSES
    },
}


@dataclass(frozen=True, slots=True)
class Line:
    """All accesses of one kind that one kernel makes on one line of the .cu: what the two counted."""

    program: str
    kernel: str
    launches: int
    arrays: Mapping[str, tuple[int, int]]  # of each array: requests and cost
    place: str  # of the C file; of the .cu where no statement of it stands
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
    def is_measured(self) -> bool:
        return self.measured_cost is not None

    @property
    def equal(self) -> bool:
        """Whether lanes and costs are the same, and requests as far as the page tells those with a lane that is on."""
        found = self.measured
        return (
            found is not None
            and (found.lanes, self.measured_cost) == (self.lanes, self.cost)
            and found.fewest <= self.requests <= found.most
        )


@dataclass(frozen=True, slots=True)
class Total:
    """One counter of a kernel, over all launches: as emulated, and as the GPU counted it."""

    program: str
    kernel: str
    space: str
    access: str
    unit: str
    emulated: int
    measured: int | None

    @property
    def is_measured(self) -> bool:
        return self.measured is not None

    @property
    def equal(self) -> bool:
        return self.measured == self.emulated


def lines_of(folder: Path, program: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the lines of one program, with what was measured where there is a page of ncu."""
    page, unit = folder / program["folder"] / PAGE, folder / program["folder"] / program["file"]
    if not page.exists():
        return _lines(program, None, {})
    starts = statement_starts(unit.read_text(errors="replace")) if unit.exists() else {}
    measured: dict[Key, Measured] = {}
    for one in read_source_page(page.read_text(errors="replace"), program["file"]):
        moved = replace(one, line=starts.get(one.line, one.line))
        measured[moved.key] = together(measured[moved.key], moved) if moved.key in measured else moved
    return _lines(program, measured, starts)


def statement_starts(text: str) -> dict[int, int]:
    """Map each line of a text to the first line of its statement.

    Compilers disagree about which of several has an access.

    Before: line 7 `double x =`, line 8 `A[i];  // f.c:3`; after: {7: 7, 8: 7}.
    """
    starts: dict[int, int] = {}
    start = 0
    for number, line in enumerate(text.splitlines(), start=1):
        start = start or number
        starts[number] = start
        code = line.partition("//")[0].strip()
        if not code or code[-1] in ";{}" or code[0] == "#":
            start = 0
    return starts


def _lines(
    program: Mapping[str, Any], measured: Mapping[Key, Measured] | None, starts: Mapping[int, int]
) -> Iterator[Line]:
    """Yield both sides by kernel, line, space and access; a line where only the GPU made any has no arrays."""
    sites: dict[Key, list[Mapping[str, Any]]] = {}
    for site in (site for scop in program["scops"] for site in scop["sites"]):
        line = starts.get(site["cu_line"], site["cu_line"])
        sites.setdefault((site["kernel"], line, site["space"], site["access"]), []).append(site)
    launches = {kernel["name"]: kernel["launches"] for scop in program["scops"] for kernel in scop["kernels"]}
    unknown = [key for key, found in (measured or {}).items() if key not in sites and found.lanes]
    for key in [*sites, *unknown]:
        own = sites.get(key, [])
        kernel, line, space, access = key
        first = next((s for s in own if "file" in s), None)
        arrays = _by_array(own, space)
        yield Line(
            program=_title(program),
            kernel=kernel,
            launches=launches.get(kernel, 0),
            arrays=arrays,
            place=f"{Path(first['file']).name}:{first['line']}" if first else f"{program['file']}:{line}",
            access=access,
            space=space,
            requests=sum(s["requests"] for s in own),
            lanes=sum(s["lanes"] for s in own),
            cost=sum(cost for _, cost in arrays.values()),
            measured=None if measured is None else measured.get(key, Measured(*key, 0, 0, 0, 0, 0, 0)),
        )


def _by_array(sites: Sequence[Mapping[str, Any]], space: str) -> dict[str, tuple[int, int]]:
    arrays: dict[str, tuple[int, int]] = {}
    for site in sites:
        requests, cost = arrays.get(site["array"], (0, 0))
        more = site["wavefronts" if space == "shared" else "sectors"]
        arrays[site["array"]] = (requests + site["requests"], cost + more)
    return arrays


def _title(program: Mapping[str, Any]) -> str:
    """Shorten `polybench/gemm` in the folder `polybench-gemm-double-classic` to `gemm, double, classic`."""
    way = program["folder"].removeprefix(program["program"].replace("/", "-") + "-")
    return ", ".join([program["program"].rpartition("/")[2], *way.split("-", 1)])


def totals_of(folder: Path, program: Mapping[str, Any]) -> Iterator[Total]:
    """Yield the totals of whole kernels, which agree wherever compilers say that an access stands."""
    page = folder / program["folder"] / RAW
    measured = totals(page.read_text(errors="replace")) if page.exists() else {}
    for scop in program["scops"]:
        for kernel, (key, counter) in product((k["name"] for k in scop["kernels"]), COUNTERS.items()):
            space, access, unit = key
            own = [s for s in scop["sites"] if (s["kernel"], s["space"], s["access"]) == (kernel, space, access)]
            found = measured.get(kernel, {}).get(counter)
            if own or found:
                value = None if found is None else round(found)
                yield Total(_title(program), kernel, space, access, unit, sum(s[unit] for s in own), value)


def markdown(lines: Sequence[Line], totals: Sequence[Total]) -> str:
    """Print a table for each program, and one of all kernels; bold: what differs.

    Schedules that give the same share a table.
    """
    titles: dict[str, list[str]] = {}
    for title, own in groupby(lines, lambda line: line.program):
        titles.setdefault(_table(list(own)), []).append(title)
    tables = [f"### {'; '.join(of)}\n\n{table}" for table, of in titles.items()]
    return "\n".join([*tables, f"### Whole kernels\n\n{_kernels(totals)}"])


def _table(lines: Sequence[Line]) -> str:
    """Print rows: sectors (or wavefronts) per request, as emulated and as measured, and how they differ."""
    heads = ("kernel", "access", "line", "requests", "lanes", "sectors", "per request")
    ncu = ("ncu: requests", "lanes", "sectors", "per request", "remark")
    rule = ["---"] * 3 + ["--:"] * 3 + ["---"] + ["--:"] * 3 + ["---"] * 2
    rows = [table_line((*heads, *ncu)), table_line(rule)]
    for line in lines:
        of = ", ".join(line.arrays) or "?"
        access = f"{line.access} {of}{' (shared: wavefronts)' if line.space == 'shared' else ''}"
        kernel = f"`{line.kernel}`" + (f", {line.launches} launches" if line.launches > 1 else "")
        figures = (line.requests, line.lanes, line.cost, _emulated(line))
        cells = (kernel, access, line.place, *figures, *_measured(line), _remark(line))
        rows.append(table_line(cells))
    return "\n".join(rows) + "\n"


def _kernels(totals: Sequence[Total]) -> str:
    """Print a row for each kernel: one figure where both agree, else both."""
    rows = [
        f"| program | kernel | {' | '.join(_counter_name(*key) for key in COUNTERS)} |",
        f"| --- | --- |{' --: |' * len(COUNTERS)}",
    ]
    for (program, kernel), group in groupby(totals, lambda total: (total.program, total.kernel)):
        own = {(total.space, total.access, total.unit): _both(total) for total in group}
        rows.append(f"| {program} | `{kernel}` | {' | '.join(own.get(key, '') for key in COUNTERS)} |")
    return "\n".join(rows) + "\n"


def _counter_name(space: str, access: str, unit: str) -> str:
    return f"{access}s: {unit}" if space == "global" else f"shared {access}s: {unit}"


def _both(total: Total) -> str:
    if total.measured is None:
        return f"{total.emulated}, not measured"
    return str(total.emulated) if total.equal else f"{total.emulated}, ncu **{total.measured}**"


def _emulated(line: Line) -> str:
    """Print `3.667 (A 1, B 6.333)`: of all, and of each array where there are several."""
    each = ", ".join(f"{array} {_ratio(cost, requests)}" for array, (requests, cost) in line.arrays.items())
    return _ratio(line.cost, line.requests) + (f" ({each})" if len(line.arrays) > 1 else "")


def _measured(line: Line) -> tuple[str, str, str, str]:
    """Print the same figures of ncu: of all instructions of the line, and of single ones where they differ."""
    found, cost = line.measured, line.measured_cost
    if found is None:
        return ("", "", "", "")
    low, high = found.fewest, found.most
    requests = str(low) if low == high else f"{low} to {high}"
    lanes = _bold(str(found.lanes), found.lanes == line.lanes)
    if cost is None:
        return (_bold(requests, low <= line.requests <= high), lanes, "", "")
    each = ", ".join(f"{ratio:.4g}" for ratio in sorted(found.ratios - {0.0}))
    whole = _ratio(cost, low) if low == high else _ratio(cost, line.requests)
    detail = f" ({each})" if len(found.ratios - {0.0}) > 1 else ""
    return (_bold(requests, low <= line.requests <= high), lanes, _bold(str(cost), cost == line.cost), whole + detail)


def _remark(line: Line) -> str:
    """Say in a few words what the machine code does that the source does not say."""
    found = line.measured
    if found is None:
        return ""
    if line.measured_cost is None:
        return "no such column"
    many = f"{line.access}s"
    if found.lanes != line.lanes:
        return f"nvcc keeps {'fewer' if found.lanes < line.lanes else 'more'} {many}"
    if line.requests < found.fewest:
        return "the lanes of a warp go apart"
    if line.requests > found.most:
        return "the lanes of a warp stay together"
    if line.cost != line.measured_cost:
        return "other addresses"
    return f"guarded: {found.requests} executed" if found.requests > line.requests else ""


def _bold(text: str, equal: bool) -> str:
    return text if equal else f"**{text}**"


def _ratio(cost: int, requests: int) -> str:
    return f"{cost / requests:.4g}" if requests else "-"
