"""Node splitting: copies of inputs that break cycles of dependences, so that loops can be distributed [Kuck 1977].

before: for (i) { S0: a[i] = b[i] * c[i]; S1: b[i] = b[i] + c[i]; S2: a[i + 1] = b[i] + a[i + 1]; }
after:  for (i) b_in[i] = b[i];
        for (i) { S0: a[i] = b_in[i] * c[i]; S1: b[i] = b[i] + c[i]; S2: a[i + 1] = b[i] + a[i + 1]; }

S0 has to read b[i] before S1 sets it, S2 uses what S1 sets, and S0 overwrites what S2 has set one iteration before, so
that each iteration waits. With the copy, all S1 may run first, then all S2, then all S0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import islpy as isl

from polytile.ir.digraph import condensed, graph_of
from polytile.ir.isl_util import maps
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.source_loops import Loop, SourceNest, carried, equal_iterators, nest_of
from polytile.scheduling.transform.element_reads import ElementRead, element_reads
from polytile.scheduling.transform.input_snapshot import (
    Reads,
    Snapshots,
    accessed,
    is_simple,
    may_be_copied,
    readers,
    with_copies,
)


def split_nodes(scop: Scop, dependences: Dependences, max_operations: int = 0) -> Snapshots | None:
    """Copy the inputs whose overwriting closes cycles of dependences that keep loops in order; None where other values
    keep all of these in order, too. `max_operations` are for the dependences of each array that changes."""
    nest = nest_of(scop)
    loops = _kept_in_order(scop, dependences, nest, dict.fromkeys(k for own in nest.around.values() for k in own))
    candidates = [d.array for d in dependences.by_array if may_be_copied(scop, d, at_any_cost=True)]
    reads = {array: _overwritten(scop, dependences, array) for array in candidates}
    needed: Mapping[str, Reads] = {a: found for a, found in reads.items() if found and is_simple(scop, a, found)}
    if not loops or not needed:
        return None
    made, after = with_copies(scop, dependences, needed, max_operations)
    freed = set(loops).difference(_kept_in_order(scop, after, nest, loops))
    if not freed:
        return None
    for array in list(needed):
        fewer = {name: found for name, found in needed.items() if name != array}
        other, then = with_copies(scop, dependences, fewer, max_operations)
        if fewer and not freed.intersection(_kept_in_order(scop, then, nest, freed)):
            made, after, needed = other, then, fewer
    if not all(after.of(a.name).exact for a in made.arrays if a.root in needed):
        return None
    return Snapshots(made, after, tuple(_notes(made, needed)))


def _overwritten(scop: Scop, dependences: Dependences, array: str) -> Reads:
    """Return the reads that always find what an array held before, and that other instances overwrite."""
    found = dependences.of(array)
    writes = scop.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=frozenset((array,)))
    result: dict[str, Sequence[ElementRead]] = {}
    for statement in readers(scop, array):
        chosen = []
        for read in element_reads(statement, array) or ():
            pairs = accessed(statement, array, read).intersect_params(scop.context)
            overwritten = pairs.apply_range(writes.reverse()).intersect(found.anti)
            if not read.updates and not overwritten.is_empty() and pairs.is_subset(found.uninitialised):
                chosen.append(read)
        if chosen:
            result[statement.name] = chosen
    return result


def _kept_in_order(scop: Scop, dependences: Dependences, nest: SourceNest, loops: Iterable[Loop]) -> list[Loop]:
    """Return the loops that stay serial when they are distributed over all of their statements.

    A dependence that they carry is in a cycle.
    """
    pairs = dependences.all.intersect_domain(scop.domain).intersect_range(scop.domain).intersect_params(scop.context)
    return [loop for loop in loops if _has_cycle(pairs, nest, loop)]


def _has_cycle(pairs: isl.UnionMap, nest: SourceNest, loop: Loop) -> bool:
    edges: dict[tuple[str, str], bool] = {}
    for m in maps(pairs):
        source, sink = (str(m.get_tuple_name(kind)) for kind in (isl.dim_type.in_, isl.dim_type.out))
        shared = nest.shared(source, sink)
        if loop in shared and not equal_iterators(m, shared.index(loop)).is_empty():
            edges[source, sink] = carried(isl.UnionMap.from_map(m), nest, loop)
    parts, _ = condensed(graph_of((), edges))
    number = {name: k for k, part in enumerate(parts) for name in part}
    return any(number[source] == number[sink] for (source, sink), here in edges.items() if here)


def _notes(scop: Scop, needed: Mapping[str, Reads]) -> list[str]:
    copies = [a for a in scop.arrays if a.holds in needed and a.name != a.holds]
    return [f"{a.holds} is copied to {a.name} first: overwriting it kept statements in order" for a in copies]
