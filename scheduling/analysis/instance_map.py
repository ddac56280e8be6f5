"""Where a mapped schedule runs each instance, and which cell of contracted storage it then uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_memoization import memoized
from polytile.ir.isl_util import maps, mark_name, times_at
from polytile.ir.schedule import BLOCK, KERNEL, MappedSchedule, nodes, nodes_below, thread_sizes
from polytile.ir.scop import Scop
from polytile.ir.thread_map import thread_map
from polytile.scheduling.analysis.dependences import Dependences


@dataclass(frozen=True, slots=True)
class KernelPlace:
    """Which launch, block and (for threads) thread runs each instance of one kernel, `{ S[i] -> [t, b, t] }`; `threads`
    are the sizes of its blocks."""

    kernel: int
    threads: tuple[int, ...]
    domain: isl.UnionSet = field(compare=False)
    block: isl.UnionMap = field(compare=False)
    thread: isl.UnionMap = field(compare=False)


def places(schedule: MappedSchedule) -> tuple[KernelPlace, ...]:
    """Return the kernels of a schedule, in the order of their marks."""
    if "places" not in schedule.remembered:
        schedule.remembered["places"] = _all_places(schedule.tree)
    found: tuple[KernelPlace, ...] = schedule.remembered["places"]
    return found


@memoized
def _all_places(tree: isl.Schedule) -> tuple[KernelPlace, ...]:
    return tuple(_places(tree))


def _places(tree: isl.Schedule) -> Iterator[KernelPlace]:
    marks = (node for node in nodes(tree) if mark_name(node) == KERNEL)
    for number, mark in enumerate(marks):
        domain = mark.get_domain()
        block = times_at(mark)
        for node in nodes_below(mark):
            if mark_name(node) == BLOCK:
                coordinates = isl.UnionMap.from_multi_union_pw_aff(node.child(0).band_get_partial_schedule())
                block = block.flat_range_product(coordinates)
        threads = isl.UnionMap.from_multi_union_pw_aff(thread_map(mark))
        sizes = next((size for n in nodes_below(mark) if (size := thread_sizes(n))), ())
        yield KernelPlace(number, sizes, domain, block, block.flat_range_product(threads))


@memoized
def stays(pairs: isl.UnionMap, place: isl.UnionMap) -> bool:
    """Return whether the instances of each pair run at one place."""
    moves = pairs.apply_domain(place).apply_range(place)
    return all(m.is_subset(isl.Map.identity(m.get_space())) for m in maps(moves))


def flow_within_blocks(scop: Scop, dependences: Dependences, array: str, place: KernelPlace) -> isl.UnionMap | None:
    """Return the flow of an array's values to the reads of one kernel.

    Returns None unless it is exact and all of it comes from writes of the same block and launch.
    """
    known = dependences.of(array)
    unset = known.uninitialised.intersect_domain(place.domain).intersect_params(scop.context)
    if not known.exact or not unset.is_empty():
        return None
    flow = known.flow.intersect_params(scop.context).intersect_range(place.domain)
    inside = flow.domain().is_subset(place.domain) and stays(flow, place.block)
    return flow if inside else None


def cells(
    accesses: isl.UnionMap,
    place: isl.UnionMap,
    keeps: tuple[int, ...],
    rank: int,
    strides: tuple[int, ...] = (),
    moduli: tuple[int, ...] = (),
) -> isl.UnionMap:
    """Map accesses to contracted storage: one copy for each place, addressed by the kept subscripts.

    before: { S[i, j] -> A[i, j] }, kept: the second of 2, with a stride of 32
    after:  { S[i, j] -> [[place] -> [floor(j/32)]] }; with a modulus of 32 { S[i, j] -> [[place] -> [j mod 32]] }
    """
    kept = kept_subscripts("", keeps, rank, strides, moduli)
    found = [m.reset_tuple_id(isl.dim_type.out) for m in maps(accesses)]
    total = isl.UnionMap.empty(accesses.get_space())
    for m in found:
        total = total.union(isl.UnionMap.from_map(m).apply_range(kept))
    return place.range_product(total).detect_equalities()  # with which isl finds the flow in less time


def kept_subscripts(
    array: str, keeps: tuple[int, ...], rank: int, strides: tuple[int, ...] = (), moduli: tuple[int, ...] = ()
) -> isl.UnionMap:
    """Map the elements of an array, or of any, to the subscripts of their cells.

    Example: `{ A[a0, a1] -> [floor(a1/32)] }`.
    """
    names = [f"a{i}" for i in range(rank)]
    sizes = strides or (1,) * len(keeps)
    parts = [f"floor({names[k]}/{size})" for k, size in zip(keeps, sizes, strict=True)]
    if moduli:
        parts = [f"({part}) mod {modulus}" for part, modulus in zip(parts, moduli, strict=True)]
    addressed = ", ".join(parts)
    return isl.UnionMap(f"{{ {array}[{', '.join(names)}] -> [{addressed}] }}")
