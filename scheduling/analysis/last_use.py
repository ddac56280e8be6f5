"""Last reads: what an earlier kernel wrote, and one kernel reads for the last time, each element once.

before: k0: A[i][j] += u[i];   k1: w[i] += A[i][j] * x[j];      k1 reads all of A, which k0 has written
after:  the same, with { k1: {A} }

Part of what was written is still in L2. Loads of A that are kept there push it out just before it is
read; if they go first again (`__ldcs`), most of it is found, and less is written back meanwhile.
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.isl_util import mark_name
from polytile.ir.schedule import KERNEL, MappedSchedule, nodes
from polytile.ir.scop import AccessKind, Origin, Scop
from polytile.scheduling.analysis.instance_map import KernelPlace, places


def last_reads(scop: Scop, schedule: MappedSchedule) -> dict[int, frozenset[str]]:
    """Return the arrays of which each kernel, by number, is the last reader: none where the host repeats kernels."""
    kernels = places(schedule)
    if len(kernels) < 2 or any(n.get_schedule_depth() for n in nodes(schedule.tree) if mark_name(n) == KERNEL):
        return {}
    found: dict[int, frozenset[str]] = {}
    for number, last in enumerate(kernels):
        before, behind = kernels[:number], kernels[number + 1 :]
        own = (a.name for a in scop.arrays if a.origin is not Origin.TEMPORARY)  # partial results are few
        arrays = {name for name in own if _reads_last(scop, name, before, last, behind)}
        if arrays:
            found[last.kernel] = frozenset(arrays)
    return found


def _reads_last(
    scop: Scop, array: str, before: tuple[KernelPlace, ...], here: KernelPlace, behind: tuple[KernelPlace, ...]
) -> bool:
    """Return whether kernels before this one write an array, whose elements are read here by one instance each and
    nobody else."""
    only = frozenset((array,))
    reads = scop.accesses(AccessKind.READ, arrays=only)
    writes = scop.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=only)
    own = _at(reads, (here,))
    if own.is_empty() or not own.is_injective() or _at(writes, before).is_empty():
        return False
    return _at(writes, (here,)).is_empty() and _at(reads.union(writes), behind).is_empty()


def _at(accesses: isl.UnionMap, kernels: tuple[KernelPlace, ...]) -> isl.UnionMap:
    """Return the accesses of these kernels."""
    total = accesses.intersect_domain(isl.UnionSet.empty(accesses.get_space()))
    for kernel in kernels:
        total = total.union(accesses.intersect_domain(kernel.domain))
    return total
