"""Figures and names as they stand in a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from polytile.facts import AccessFacts, ArrayFacts, KernelFacts, LoopFacts, ScopFacts, Values, in_words

UNKNOWN = "\u2013"  # a dash
TIMES = " \u00d7 "
_UNITS = ((1e6, "s"), (1e3, "ms"), (1.0, "\u00b5s"))


def duration(microseconds: float | None) -> str:
    """Format a duration, such as `1.1 ms`; a dash where nothing is known."""
    if microseconds is None:
        return UNKNOWN
    scale, unit = next((one for one in _UNITS if microseconds >= one[0]), (1.0, "\u00b5s"))
    return f"{figure(microseconds / scale)} {unit}"


def figure(value: float | None) -> str:
    """Format a number with three digits that count: 1100, 12.3, 0.045."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}".replace(",", "\u202f") if value >= 100 else f"{value:.3g}"


def counted(number: int, what: str) -> str:
    """Format a count: `1 kernel`, `2 kernels`."""
    return f"{number} {what}{'s' * (number != 1)}"


def values(known: Values, assumed: Iterable[str] = ()) -> str:
    """Format values of parameters: `m = n = 2000 (assumed), k = 3`."""
    open_ones = set(assumed)
    same: dict[tuple[int, bool], list[str]] = {}
    for name, value in known:
        same.setdefault((value, name in open_ones), []).append(name)
    shown = (f"{' = '.join(names)} = {value}{' (assumed)' * is_open}" for (value, is_open), names in same.items())
    return ", ".join(shown)


def short_names(scop: ScopFacts) -> dict[str, str]:
    """Return the names of functions of the generated code where the SCoP is known: `k0` of `gemm_scop0_k0`."""
    names = [*(part.name for part in scop.parts), *(kernel.name for kernel in scop.kernels)]
    return {name: name.removeprefix(f"{scop.name}_") or name for name in names}


def grid(kernel: KernelFacts) -> str:
    """Return the extents of a grid, without those after the last that is not 1."""
    return _extents(kernel.grid)


def block(kernel: KernelFacts) -> str:
    return _extents([str(size) for size in kernel.block])


def _extents(sizes: Iterable[str]) -> str:
    shown = list(sizes)
    while len(shown) > 1 and shown[-1] in ("1", ""):
        shown.pop()
    return TIMES.join(f"({size})" if len(shown) > 1 and " " in size else size for size in shown)


def array(facts: ArrayFacts) -> str:
    """Format the declaration of an array: `double A[n][m]`."""
    return f"{facts.type} {facts.name}" + "".join(f"[{'' if e is None else e}]" for e in facts.extents)


def mappings(loop: LoopFacts, names: dict[str, str]) -> list[tuple[str, str]]:
    """Return the kernels, and where they run the loop; kernels that do it in the same way share an entry."""
    found: dict[str, list[str]] = {}
    for one in loop.mappings:
        steps = f"; {one.steps} steps of it in a kernel" if one.steps else ""
        found.setdefault(in_words(one) + steps, []).append(names.get(one.kernel, one.kernel))
    return [(", ".join(kernels), where) for where, kernels in found.items()]


def accesses(kernel: KernelFacts) -> list[tuple[AccessFacts, int]]:
    """Count the accesses of a kernel, each with how often there is one like it."""
    return list(Counter(kernel.accesses).items())


def cost(access: AccessFacts) -> str:
    """Format what a request of a warp takes: `2 turns of shared memory`, `1 sector`."""
    what = "turn" if access.shared else "sector"
    shown = figure(access.sectors)
    return f"{shown} {what}{'s' * (shown != '1')}{' of shared memory' * access.shared}"
