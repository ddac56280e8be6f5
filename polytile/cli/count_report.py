"""What `--count` says: a table for a person, and plain facts for JSON."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from polytile.runtime.emulator.counts import Counts, KernelCount, SiteCount

WIDTH = 1000  # nothing is cut off; tables are as wide as what is in them
_HEADINGS = (
    *("array", "access", "source", ".cu", "requests", "lanes/request", "sectors", "sectors/request"),
    *("wavefronts", "conflicts"),
)


def render(counts: Counts) -> str:
    """Format one table per kernel: an access a line, in the order of the .cu."""
    out = io.StringIO()
    console = Console(file=out, width=WIDTH, color_system=None, force_terminal=False)
    for kernel in counts.kernels:
        console.print(_title(kernel), highlight=False)
        console.print(_table([s for s in counts.sites if s.kernel == kernel.name]))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).replace("\n\n\n", "\n\n").strip() + "\n"


def _title(kernel: KernelCount) -> str:
    """Return `gemm_k0: 1 launch, 192 warps, 0 barriers, 0 divergent branches`."""
    parts = [
        _number(kernel.launches, "launch", "launches"),
        _number(kernel.warps, "warp"),
        _number(kernel.barriers, "barrier"),
        _number(kernel.divergent_branches, "divergent branch", "divergent branches"),
    ]
    return f"{kernel.name}: {', '.join(parts)}"


def _number(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _table(sites: Sequence[SiteCount]) -> Table:
    """Build a table without the columns that say nothing about any of the sites."""
    rows = [_row(site) for site in sites]
    kept = [i for i in range(len(_HEADINGS)) if any(row[i] for row in rows)]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i in kept:
        table.add_column(_HEADINGS[i], justify="left" if i < 4 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(row[i] for i in kept))
    return table


def _row(site: SiteCount) -> tuple[str, ...]:
    shared = site.space == "shared"
    return (
        site.array,
        f"{site.access} {site.size} B{' shared' if shared else ''}",
        site.location.short if site.location else "",
        f"{site.line}:{site.column}" if site.column else str(site.line or ""),
        str(site.requests),
        f"{site.lanes_per_request:.4g}",
        "" if shared else str(site.sectors),
        "" if shared else f"{site.sectors_per_request:.4g}",
        str(site.wavefronts) if shared else "",
        str(site.bank_conflicts) if shared else "",
    )


def as_facts(counts: Counts) -> dict[str, Any]:
    """Return the counts as JSON holds them."""
    return {"kernels": [_kernel_facts(k) for k in counts.kernels], "sites": [_site_facts(s) for s in counts.sites]}


def _kernel_facts(kernel: KernelCount) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "launches": kernel.launches,
        "warps": kernel.warps,
        "barriers": kernel.barriers,
        "divergent_branches": kernel.divergent_branches,
    }


def _site_facts(site: SiteCount) -> dict[str, Any]:
    place = site.location
    located = {"file": place.file, "line": place.line, "column": place.column} if place else {}
    own = (
        {"wavefronts": site.wavefronts, "ideal_wavefronts": site.ideal_wavefronts}
        if site.space == "shared"
        else {"sectors": site.sectors}
    )
    return {
        "kernel": site.kernel,
        "array": site.array,
        "space": site.space,
        "access": site.access,
        "bytes": site.size,
        "cu_line": site.line,
        "cu_column": site.column,
        "requests": site.requests,
        "lanes": site.lanes,
        **own,
        **located,
    }
