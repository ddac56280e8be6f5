"""What a counting build counted: for each access of a kernel to an array, the requests of warps and what they cost.

The figures are those of a GPU's own counters:

    requests         instructions executed by a warp with at least one lane; for global memory
                     l1tex__t_requests_pipe_lsu_mem_global_op_{ld,st}.sum
    sectors          32-byte segments that the lanes of a request touch, summed over requests; for global memory
                     l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st}.sum
    wavefronts       passes over the 32 banks of shared memory;
                     l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st}.sum
    bank_conflicts   wavefronts beyond those of the same requests without conflicts
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.runtime.emulator.library import EmulatorLibrary
from polytile.runtime.emulator.line_table import columns
from polytile.runtime.emulator.sites import Sites

ACCESSES = ("load", "store", "atomic")
DYNAMIC_SHARED = "polytile_emulator_dynamic_shared"


@dataclass(frozen=True, slots=True)
class SiteCount:
    """The accesses of one kernel at one place of its text to one array.

    `space` is "global" or "shared", `access` one of ACCESSES, `size` the bytes of one lane. `line` and `column` are
    those of the .cu (0 where the compiler does not say), `location` those of the C file. `lanes` is the sum over
    requests of the lanes that took part. Wavefronts are counted for shared memory only.
    """

    kernel: str
    array: str
    space: str
    access: str
    size: int
    line: int
    column: int
    requests: int
    lanes: int
    sectors: int
    wavefronts: int
    ideal_wavefronts: int
    location: Location | None = None

    @property
    def sectors_per_request(self) -> float:
        """Between 1 and 32; two sectors for each lane that straddles a boundary."""
        return self.sectors / self.requests

    @property
    def lanes_per_request(self) -> float:
        """32 where no request has a partial mask."""
        return self.lanes / self.requests

    @property
    def bank_conflicts(self) -> int:
        return self.wavefronts - self.ideal_wavefronts


@dataclass(frozen=True, slots=True)
class KernelCount:
    """A kernel's launches and its warps; barriers are counted once per block, divergent branches once per warp."""

    name: str
    launches: int
    warps: int
    barriers: int
    divergent_branches: int


@dataclass(frozen=True, slots=True)
class Counts:
    """All that was counted since the last reset; sites are in the order of the text."""

    kernels: tuple[KernelCount, ...]
    sites: tuple[SiteCount, ...]

    def of(self, array: str, access: str = "load", kernel: str | None = None) -> tuple[SiteCount, ...]:
        """Return the sites of one kind, in the order of the text."""
        named = [s for s in self.sites if s.array == array and s.access == access]
        return tuple(s for s in named if kernel in (None, s.kernel))


class _Site(ctypes.Structure):
    """SiteCount of count.h."""

    _fields_ = [
        *((name, ctypes.c_uint) for name in ("kernel", "site", "kind", "size")),
        ("array", ctypes.c_longlong),
        *((name, ctypes.c_ulonglong) for name in ("requests", "lanes", "sectors", "wavefronts", "ideal_wavefronts")),
    ]


class _Kernel(ctypes.Structure):
    """KernelCount of count.h."""

    _fields_ = [
        ("kernel", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        *((name, ctypes.c_ulonglong) for name in ("launches", "warps", "barriers", "divergences")),
    ]


_Record = TypeVar("_Record", _Site, _Kernel)


def reset(library: EmulatorLibrary) -> None:
    """Count from zero, and number device allocations from zero."""
    library.function("polytile_emulator_reset_site_counts")()


@contextmanager
def learning(library: EmulatorLibrary) -> Iterator[None]:
    """Learn the control flow of the kernels from the runs in this context, and count nothing.

    Which lanes of a warp step together depends on where branches lead. A run that is counted knows that from the first
    instruction on when the same run has been learned before; otherwise it learns on the way, and may put lanes of a
    kernel with long loops together too late.
    """
    learn = library.function("polytile_emulator_learn")
    learn(1)
    try:
        yield
    finally:
        learn(0)
        reset(library)


def read(
    library: EmulatorLibrary, *, arrays: Sequence[str] = (), lines: Mapping[int, Location] | None = None
) -> Counts:
    """Read what the library counted since `reset`.

    `arrays` names the device allocations since then, in their order; `lines` says where lines of the .cu come from.
    """
    kernels = _records(library, "polytile_emulator_kernel_counts", _Kernel)
    sites = _records(library, "polytile_emulator_site_counts", _Site)
    names = [k.name.decode(errors="replace") if k.name else f"kernel {i}" for i, k in enumerate(kernels)]
    resolver = Sites(library.path)
    places = resolver.places(s.site for s in sites)
    inner = columns(library.path, (s.site for s in sites))
    found = []
    for site in sites:
        place, (row, column) = places[site.site], inner.get(site.site, (0, 0))
        line = place.line if place else 0
        array = _array(site.array, arrays, resolver)
        count = _count(site, names[site.kernel], array, line, column if row == line else 0)
        found.append(replace(count, location=(lines or {}).get(line)))
    totals = (
        KernelCount(n, k.launches, k.warps, k.barriers, k.divergences) for n, k in zip(names, kernels, strict=True)
    )
    return Counts(tuple(totals), merged(found))


def _count(site: _Site, kernel: str, array: str, line: int, column: int) -> SiteCount:
    return SiteCount(
        kernel=kernel,
        array=array,
        space="global" if site.array >= 0 else "shared",
        access=ACCESSES[site.kind],
        size=site.size,
        line=line,
        column=column,
        requests=site.requests,
        lanes=site.lanes,
        sectors=site.sectors,
        wavefronts=site.wavefronts,
        ideal_wavefronts=site.ideal_wavefronts,
    )


def _records(library: EmulatorLibrary, name: str, kind: type[_Record]) -> list[_Record]:
    count = ctypes.c_uint()
    function = library.function(name)
    function.restype = ctypes.POINTER(kind)
    records = function(ctypes.byref(count))
    return [kind.from_buffer_copy(records[i]) for i in range(count.value)]


def _array(number: int, arrays: Sequence[str], sites: Sites) -> str:
    """Name an allocation by its number, or a variable of the library by the complement of its offset."""
    if number >= 0:
        return arrays[number] if number < len(arrays) else f"buffer {number}"
    symbol = sites.variable(~number)
    return "shared" if symbol is None or symbol.name == DYNAMIC_SHARED else symbol.name


def _place(site: SiteCount) -> tuple[int, int, str, str, str, int]:
    return (site.line, site.column, site.kernel, site.access, site.array, site.size)


def merged(sites: Iterable[SiteCount]) -> tuple[SiteCount, ...]:
    """Merge counts by place and array, where the compiler made several instructions of one access; sort them."""
    places: dict[tuple[int, int, str, str, str, int], SiteCount] = {}
    for site in sites:
        key = _place(site)
        places[key] = _sum(places[key], site) if key in places else site
    return tuple(places[key] for key in sorted(places))


def _sum(a: SiteCount, b: SiteCount) -> SiteCount:
    return replace(
        a,
        requests=a.requests + b.requests,
        lanes=a.lanes + b.lanes,
        sectors=a.sectors + b.sectors,
        wavefronts=a.wavefronts + b.wavefronts,
        ideal_wavefronts=a.ideal_wavefronts + b.ideal_wavefronts,
    )
