"""Values that threads of a block forward to one another, of arrays that stay in device memory: through a shared copy.

before: t[i] = s; barrier; y[j] += A[i][j] * t[i];                      another thread's value, from L2
after:  t[i] = s; t_here[i % 16] = s; barrier; y[j] += A[i][j] * t_here[i % 16];

A block has a copy of the elements that it uses, indexed by their remainders. All that the kernel reads of the array
must have been written by the same block of the same launch, so that nothing is loaded into the copy.
"""

from __future__ import annotations

import islpy as isl

from polytile.ir.expr import Literal
from polytile.ir.external_functions import addressed_arrays
from polytile.ir.isl_util import sets
from polytile.ir.memory import Space, Storage, shared_size
from polytile.ir.placed_storage import Homes
from polytile.ir.scop import AccessKind, Array, Origin, Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.analysis.instance_map import KernelPlace, flow_within_blocks, places, stays

MOST_BYTES = 4096  # of one copy: larger ones cost a multiprocessor blocks


def choose_forwarded(run: Executions, placed: Homes, shared_left: int) -> Homes:
    """Choose the shared-memory copies that each kernel has, by its number and the array.

    They take at most `shared_left` bytes with what `placed` puts there.
    """
    inside = addressed_arrays(run.scop.statements).union(*placed.values())
    shared = [s for kernel in placed.values() for s in kernel.values() if s.space is Space.SHARED]
    left = shared_left - sum(map(shared_size, shared))
    found: dict[int, dict[str, Storage]] = {}
    for array in run.scop.arrays:
        own = array.origin is Origin.TEMPORARY  # a strategy's, which has chosen how threads share it
        if own or array.name in inside or array.fields or not array.rank or not run.scop.written(array.name):
            continue
        for place in places(run.schedule):
            copy = _copy(run.scop, run.dependences, array, place)
            if copy is not None and shared_size(copy) <= min(left, MOST_BYTES):
                left -= shared_size(copy)
                found.setdefault(place.kernel, {})[array.name] = copy
    return found


def _copy(scop: Scop, dependences: Dependences, array: Array, place: KernelPlace) -> Storage | None:
    """Return the copy in shared memory where threads read what others wrote, or None."""
    names = frozenset((array.name,))
    kinds = ((AccessKind.READ,), (AccessKind.WRITE, AccessKind.MAY_WRITE))
    here = [scop.accesses(*kind, arrays=names).intersect_domain(place.domain) for kind in kinds]
    if any(accesses.is_empty() for accesses in here):
        return None
    flow = flow_within_blocks(scop, dependences, array.name, place)
    if flow is None or flow.is_empty() or stays(flow, place.thread):
        return None
    moduli = _moduli(here[0].union(here[1]).intersect_params(scop.context), array.rank, place)
    if moduli is None:
        return None
    keeps = tuple(k for k, m in enumerate(moduli) if m > 1) or (array.rank - 1,)
    kept = tuple(moduli[k] for k in keeps)
    extents = tuple(Literal(str(m)) for m in kept)
    return Storage(array.name, Space.SHARED, array.element, extents, array.name, keeps, moduli=kept)


def _moduli(accesses: isl.UnionMap, rank: int, place: KernelPlace) -> list[int] | None:
    """Return for each subscript a power of two that no two elements of one block are as far apart as; None where there
    is none, or subscripts may be negative."""
    used = place.block.reverse().apply_range(accesses)
    apart = used.reverse().apply_range(used).deltas()
    lows = (s.dim_min_val(k) for s in sets(accesses.range()) for k in range(rank))
    if not all(low.is_int() and low.is_nonneg() for low in lows):
        return None
    highs = [[s.dim_max_val(k) for s in sets(apart)] for k in range(rank)]
    if not all(high.is_int() for found in highs for high in found):
        return None
    return [1 << max(high.to_python() for high in found).bit_length() for found in highs]
