"""Reductions that begin with the steps whose terms are known long before, whichever come first in the source.

before: for (i = n - 1; i >= 0; i--) for (j = i + 1; j < n; j++) {
            S0: t[i][j] = max(t[i][j], t[i + 1][j]);
            for (k = i + 1; k < j; k++) S1: t[i][j] = max(t[i][j], t[i][k] + t[k + 1][j]);
        }
after:  the same with the S1 of some k in front of S0, those that use no t[i][k] or t[k + 1][j] near t[i][j]

Nothing is relaxed after that: the new order of the steps is kept as any is. Several statements may accumulate into an
element, by one operation; all of their steps are one chain in the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import islpy as isl

from polytile.ir.isl_util import maps
from polytile.ir.lexicographic import lexmin
from polytile.ir.partial_results import EarlyTerms
from polytile.ir.reads_apart import in_place, with_reads_apart
from polytile.ir.reductions import partial_type
from polytile.ir.scop import Reduction, Scop, Statement
from polytile.options import MAX_OPERATIONS
from polytile.scheduling.analysis.chains import Values, accumulated, broken_chain, own_element, projection
from polytile.scheduling.analysis.dependences import array_values
from polytile.scheduling.analysis.last_writers import is_seen, last_writers
from polytile.scheduling.transform.reductions.exact import is_exact

IN, OUT = isl.dim_type.in_, isl.dim_type.out
_RESULT = "x"


def accumulating(scop: Scop, *, strict: bool = False) -> tuple[EarlyTerms, ...]:
    """Return the chains of steps that may run in another order, each of what accumulates into one array by one
    operation, where the steps into one element are one uninterrupted chain.

    `first` is empty. `strict`: only those whose results do not depend on the order.
    """
    return tuple(made for made in updates(scop, strict=strict) if is_chain(scop, made))


def updates(scop: Scop, *, strict: bool = False) -> Iterator[EarlyTerms]:
    """Yield the same, and steps into one element that are no uninterrupted chain."""
    found: dict[Reduction, list[str]] = {}
    for statement in scop.main:
        reduction = statement.reduction or in_place(statement)
        if reduction is not None:
            found.setdefault(reduction, []).append(statement.name)
    for reduction, names in found.items():
        steps = _steps(scop, reduction.array, names, strict=strict)
        if steps:
            yield EarlyTerms(steps, reduction.op, "")


def _steps(scop: Scop, array: str, names: Sequence[str], *, strict: bool) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the statements with the iterators that their elements are; none where one cannot be a step."""
    apart = with_reads_apart(scop, names)
    statements = [apart.statement(name) for name in names]
    types = {partial_type(update) for s in statements for _, update in accumulated(s)}
    if types != {scop.array(array).element} or (strict and not all(map(is_exact, statements))):
        return ()
    groups = [_group(s, array) for s in statements]
    steps = ((s.name, group) for s, group in zip(statements, groups, strict=True) if group is not None)
    return () if None in groups else tuple(steps)


def is_chain(scop: Scop, made: EarlyTerms) -> bool:
    """Return whether the steps into one element are one uninterrupted chain."""
    names = [name for name, _ in made.steps]
    apart = with_reads_apart(scop, names)
    reduction = apart.statement(names[0]).reduction
    assert reduction is not None
    values = array_values(apart, reduction.array, MAX_OPERATIONS)
    if not values.exact:
        return False
    results = results_of(apart, made.steps)
    nobody = isl.UnionMap.empty(values.flow.get_space())
    last = last_writers(apart, reduction.array) if is_seen(apart, reduction.array) else nobody
    known = (m.intersect_params(scop.context) for m in (values.flow, values.uninitialised, last))
    return broken_chain(results.domain(), results, Values(*known)) is None


def _group(statement: Statement, array: str) -> tuple[int, ...] | None:
    """Return the iterators that the subscripts of the element are, in their order; None where these are others."""
    element = own_element(statement, array)
    if element is None:
        return None
    found = []
    for k in range(element.dim(OUT)):
        same = [
            i
            for i in range(len(statement.iterators))
            if element.is_subset(element.equate(IN, i, OUT, k)) and i not in found
        ]
        if not same:
            return None
        found.append(same[0])
    return tuple(found) if found == sorted(found) else None


def results_of(scop: Scop, steps: Sequence[tuple[str, tuple[int, ...]]]) -> isl.UnionMap:
    """Map the steps to the results that they make up, `{ S1[i, j, k] -> x[i, j] }`."""
    total = isl.UnionMap.empty(scop.context.get_space())
    for name, group in steps:
        domain = scop.statement(name).domain.intersect_params(scop.context)
        total = total.union(isl.UnionMap.from_map(projection(domain, group, _RESULT)))
    return total


def with_early_terms(scop: Scop, made: EarlyTerms) -> Scop:
    """Run the steps in `made.first` in front of what runs beside them, in their order.

    That is all that the Scop's order tells apart from them after what it tells the first steps of elements apart from.

    before: [-i, j, 0], [-i, j, 1, k]            S0 begins, and S1 goes on
    after:  [-i, j, 1, 0, 0], [-i, j, 1, 1, k], or [-i, j, 0, 1, k] for early k
    """
    first = isl.UnionSet(made.first)
    order = scop.schedule.get_map().intersect_domain(scop.domain.intersect_params(scop.context))
    results = results_of(scop, made.steps)
    (times,) = maps(order.intersect_domain(results.domain()).apply_domain(results))
    start = results.intersect_domain(first).apply_range(isl.UnionMap.from_map(lexmin(times)))
    shared = _shared(start, order.intersect_domain(first), times.dim(OUT))
    total: isl.UnionMap | None = None
    for phase, own in enumerate((order.intersect_domain(first), order.subtract_domain(first))):
        for time in maps(own):
            time = time.insert_dims(OUT, shared, 1).fix_val(OUT, shared, isl.Val(phase))
            part = isl.UnionMap.from_map(time)
            total = part if total is None else total.union(part)
    assert total is not None
    band = isl.MultiUnionPwAff.from_union_map(total)
    tree = isl.Schedule.from_domain(total.domain()).insert_partial_schedule(band)
    return replace(scop, schedule=tree, backwards=(*scop.backwards, made))


def _shared(one: isl.UnionMap, other: isl.UnionMap, rank: int) -> int:
    """Return how many of the first dimensions of two times are the same everywhere."""
    pairs = maps(one.range_product(other))
    for k in range(rank):
        for pair in (found.range().unwrap() for found in pairs):
            if not pair.is_subset(pair.equate(IN, k, OUT, k)):
                return k
    return rank
