"""Snapshots of inputs: reads that always find what an array held before the SCoP find it in a copy made first.

before: for (i < m) for (j < n) { for (k = i + 1; k < m; k++) S0: B[i][j] += A[k][i] * B[k][j]; S1: B[i][j] *= alpha; }
after:  for (1 <= k < m) for (j < n) S2: B_in[k][j] = B[k][j];
        for (i < m) for (j < n) { for (k = i + 1; k < m; k++) S0: B[i][j] += A[k][i] * B_in[k][j]; S1: ... }

S0[i, j, k] has to read B[k][j] before S0[k, j, ...] overwrites it, which keeps i in order. The values are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Name
from polytile.ir.isl_util import affine_rank
from polytile.ir.name_supply import fresh, names_of_scop
from polytile.ir.scop import AccessKind, Array, Origin, Scop, Statement
from polytile.scheduling.analysis.dependences import (
    ArrayDependences,
    Dependences,
    array_dependences,
    collected,
    unset_reads,
)
from polytile.scheduling.analysis.source_loops import Loop, SourceNest, carried, nest_of
from polytile.scheduling.transform.array_expansion import known_extents
from polytile.scheduling.transform.copy_statements import (
    copy_iterators,
    copy_schedule,
    copy_statement,
    unused_number,
    with_iterators,
)
from polytile.scheduling.transform.element_reads import ElementRead, element_reads, read_from

MOST_REGIONS = 4  # of the elements that one copy has

Reads = Mapping[str, Sequence[ElementRead]]  # of one array, by statement


@dataclass(frozen=True, slots=True)
class Snapshots:
    """A Scop that reads copies of its inputs, with its dependences and what is said of it."""

    scop: Scop
    dependences: Dependences
    notes: tuple[str, ...]


def snapshot_inputs(
    scop: Scop, dependences: Dependences, max_operations: int = 0, *, at_any_cost: bool = False
) -> Snapshots | None:
    """Copy the inputs whose overwriting alone keeps loops in order, where these do more work than the copies, or
    `at_any_cost`; None where there are none. `max_operations` are for the dependences of each array that changes.

    before: for (i < n) a[i] = a[i + 1] + b[i];    which is serial, and as much work as the copy
    after:  for (1 <= i <= n) a_in[i] = a[i];  for (i < n) a[i] = a_in[i + 1] + b[i];
    """
    candidates = [d for d in dependences.by_array if may_be_copied(scop, d, at_any_cost)]
    if not candidates:
        return None
    nest = nest_of(scop)
    loops = _blocked_loops(scop, dependences, candidates, nest)
    reads = {d.array: _reads_in_the_way(scop, d, nest, loops) for d in candidates} if loops else {}
    reads = {array: found for array, found in reads.items() if found and is_simple(scop, array, found)}
    if not reads:
        return None
    _, after = with_copies(scop, dependences, reads, max_operations)
    left = after.all.intersect_domain(scop.domain).intersect_range(scop.domain)
    freed = [loop for loop in loops if not carried(left, nest, loop)]
    needed = {
        array: found
        for array, found in reads.items()
        if any(carried(dependences.of(array).anti, nest, loop) for loop in freed)
    }
    if not freed or not (at_any_cost or any(_pays(scop, needed, nest, loop) for loop in freed)):
        return None
    made, after = with_copies(scop, dependences, needed, max_operations)
    if not all(after.of(a.name).exact for a in made.arrays if a.root in needed):
        return None
    return Snapshots(made, after, tuple(_notes(scop, made, nest, freed)))


def awaits_expansion(scop: Scop, dependences: Dependences) -> bool:
    """Return whether inputs keep loops in order that otherwise only the reuse of the SCoP's own arrays does."""
    candidates = [d for d in dependences.by_array if may_be_copied(scop, d)]
    own = {a.name for a in scop.arrays if a.origin is not Origin.EXTERNAL}
    if not candidates or not own:
        return False
    rest = tuple(replace(d, anti=_none(d), output=_none(d)) if d.array in own else d for d in dependences.by_array)
    return bool(_blocked_loops(scop, replace(dependences, by_array=rest), candidates, nest_of(scop)))


def _none(found: ArrayDependences) -> isl.UnionMap:
    return isl.UnionMap.empty(found.flow.get_space())


# What is copied -----------------------------------------------------------------------------------------------------
def may_be_copied(scop: Scop, found: ArrayDependences, at_any_cost: bool = False) -> bool:
    array = scop.array(found.array)
    if array.origin is not Origin.EXTERNAL or not array.live_in or array.fields or not found.exact:
        return False
    deep = at_any_cost or any(len(s.iterators) > array.rank for s in readers(scop, found.array))
    return deep and not found.anti.is_empty() and not found.uninitialised.is_empty()


def readers(scop: Scop, array: str) -> Iterator[Statement]:
    for statement in scop.statements:
        if any(a.array == array and a.kind is AccessKind.READ for a in statement.accesses):
            yield statement


def _blocked_loops(
    scop: Scop, dependences: Dependences, candidates: Sequence[ArrayDependences], nest: SourceNest
) -> list[Loop]:
    """Return the loops that anti dependences of the candidates alone keep in order."""
    names = {d.array for d in candidates}
    lasting = dependences.flow
    for d in dependences.by_array:
        lasting = lasting.union(d.output if d.array in names else d.false)
    anti = reduce(lambda a, b: a.union(b), (d.anti for d in candidates))
    loops = {loop: None for d in candidates for s in readers(scop, d.array) for loop in nest.around[s.name]}
    return [loop for loop in loops if carried(anti, nest, loop) and not carried(lasting, nest, loop)]


def _reads_in_the_way(scop: Scop, found: ArrayDependences, nest: SourceNest, loops: Collection[Loop]) -> Reads:
    """Return the reads that always find what an array held before, and that keep one of the loops in order."""
    only = frozenset((found.array,))
    writes = scop.accesses(AccessKind.WRITE, AccessKind.MAY_WRITE, arrays=only)
    first = found.uninitialised
    if not scop.accesses(AccessKind.MAY_WRITE, arrays=only).is_empty():
        first = unset_reads(scop, found.array, scop.accesses(AccessKind.READ, arrays=only))
    result: dict[str, Sequence[ElementRead]] = {}
    for statement in readers(scop, found.array):
        if not set(loops).intersection(nest.around[statement.name]):
            continue
        chosen = []
        for read in element_reads(statement, found.array) or ():
            pairs = accessed(statement, found.array, read).intersect_params(scop.context)
            overwritten = pairs.apply_range(writes.reverse()).intersect(found.anti)
            blocks = any(carried(overwritten, nest, loop) for loop in loops)
            if blocks and not read.updates and pairs.is_subset(first):
                chosen.append(read)
        if chosen:
            result[statement.name] = chosen
    return result


def accessed(statement: Statement, array: str, read: ElementRead) -> isl.UnionMap:
    """Return the elements that a read may be of, by instance."""
    total = isl.UnionMap.empty(statement.domain.get_space().params())
    for _, elements in statement.united(AccessKind.READ, arrays=frozenset((array,))):
        total = total.union(isl.UnionMap.from_map(elements.intersect(read.element)))
    return total


def _elements(scop: Scop, array: str, reads: Reads) -> isl.Set:
    """Return what these reads use."""
    parts = [accessed(scop.statement(name), array, read) for name, own in reads.items() for read in own]
    found = reduce(lambda a, b: a.union(b), parts).intersect_params(scop.context)
    return isl.Set.from_union_set(found.range()).coalesce()


def is_simple(scop: Scop, array: str, reads: Reads) -> bool:
    return bool(_elements(scop, array, reads).n_basic_set() <= MOST_REGIONS)


def _pays(scop: Scop, reads: Mapping[str, Reads], nest: SourceNest, loop: Loop) -> bool:
    """Return whether a loop has statements that read elements of each array again and again, in more dimensions than it
    has: they take longer than the copies."""

    def again(array: str) -> bool:
        return any(
            affine_rank(scop.statement(name).domain.remove_divs()) > scop.array(array).rank
            and any(not accessed(scop.statement(name), array, read).is_injective() for read in own)
            for name, own in reads[array].items()
            if loop in nest.around[name]
        )

    return any(again(array) for array in reads)


# The copies ---------------------------------------------------------------------------------------------------------
def with_copies(
    scop: Scop, dependences: Dependences, reads: Mapping[str, Reads], max_operations: int
) -> tuple[Scop, Dependences]:
    """Rewrite these reads of the Scop to read copies.

    What it does with other arrays, and in which order, is the same.
    """
    known = {d.array: d for d in dependences.by_array}
    for array, own in reads.items():
        scop = apply_snapshot(scop, array, own)
    for name in (*reads, *(a.name for a in scop.arrays if a.name not in known)):
        known[name] = array_dependences(scop, name, max_operations)
    return scop, collected(scop, tuple(known[a.name] for a in scop.arrays))


def apply_snapshot(scop: Scop, array: str, reads: Reads) -> Scop:
    """Rewrite a Scop for one array (see the top of this file)."""
    old = scop.array(array)
    copy = old.temporary(fresh(f"{array}_in", names_of_scop(scop)), known_extents(scop, old))
    filling = _copy_statement(scop, old, copy, reads)
    statements = tuple(read_from(s, array, reads[s.name], copy.name) if s.name in reads else s for s in scop.statements)
    return replace(
        scop,
        arrays=(*scop.arrays, copy),
        statements=(*statements, filling),
        schedule=copy_schedule(filling).sequence(scop.schedule),
        prologue=(filling.name, *scop.prologue),
    )


def _copy_statement(scop: Scop, old: Array, copy: Array, reads: Reads) -> Statement:
    name = f"S{unused_number(scop)}"
    location = scop.statement(next(iter(reads))).location
    elements = _elements(scop, old.name, reads)
    iterators = copy_iterators(scop, old.rank)
    element = tuple(Name(i) for i in iterators)
    same = isl.Map.identity(elements.get_space().map_from_set()).set_tuple_name(isl.dim_type.in_, name)
    into, source = (
        (Access(array, element, old.element), same.set_tuple_name(isl.dim_type.out, array))
        for array in (copy.name, old.name)
    )
    domain = with_iterators(elements, iterators).set_tuple_name(name)
    return copy_statement(name, iterators, domain, into, source, location, f"the first values of {old.name}")


def _notes(scop: Scop, made: Scop, nest: SourceNest, freed: Sequence[Loop]) -> Iterator[str]:
    for copy in made.arrays[len(scop.arrays) :]:
        around = [(s, nest.around[s.name]) for s in readers(made, copy.name)]
        inner = dict.fromkeys(s.iterators[own.index(loop)] for loop in freed for s, own in around if loop in own)
        yield f"{copy.root} is copied to {copy.name} first: overwriting it kept {', '.join(inner)} in order"
