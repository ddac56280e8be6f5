"""Privatised reductions: partial results for chunks and lanes of a loop, combined in a fixed order.

before: for (i) for (j) S: x[i] += A[i][j];
after:  for (i) for (l < 32) I: part[i][l] = 0;                      splits (j, 32, lanes)
        for (i) for (j)      U: part[i][j % 32] += A[i][j];
        for (i)              C: { v = 0; for (l < 32) v = v + part[i][l]; x[i] += v; }

With chunks of 64 iterations as well, C leaves its value in mid[j / 64][i], and F: x[i] += mid[c][i] adds up the chunks;
or 8 lanes do, F: sums[i][c % 8] += mid[c][i], of which x[i] gets the total.
Every order of the new statements that keeps their dependences gives the same bits: nothing is left to chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import islpy as isl

from polytile.ir.expr import Name
from polytile.ir.expr_trees import walk
from polytile.ir.isl_util import OverBudgetError, budget, maps, with_tuple_names
from polytile.ir.partial_results import Privatised, Split
from polytile.ir.reductions import partial_type
from polytile.ir.scop import Scop, Statement
from polytile.options import MAX_OPERATIONS
from polytile.scheduling.analysis.chains import Values, accumulated, broken_chain, own_element, projection, settled
from polytile.scheduling.analysis.dependences import (
    ArrayDependences,
    Dependences,
    array_dependences,
    array_values,
    collected,
    values_through,
)
from polytile.scheduling.analysis.last_writers import is_seen, last_writers
from polytile.scheduling.proof.reductions import wrong_parts
from polytile.scheduling.transform.reductions.layout import Tiles
from polytile.scheduling.transform.reductions.plan import Adders, plan_of
from polytile.scheduling.transform.reductions.statements import rewritten

GROUP = "x"
NONE: Adders = {}
ARRAY_OPERATIONS = MAX_OPERATIONS // 40


def privatise(
    scop: Scop,
    dependences: Dependences,
    statement: str,
    splits: Sequence[Split],
    blocked: Mapping[int, Tiles] | None = None,
    adders: Adders = NONE,
) -> Scop | None:
    """Split the reduction that `statement` does into partial results (see the top of this file).

    `splits` say which of its iterators become chunks and lanes; iterators in `blocked`, with a tile, that tell results
    apart become two dimensions of the partial results, floor(i / tile) and i mod tile, or more with tiles within it.
    `adders` are the lanes that add up the chunks of a result, by the number of iterators that index results. None
    where the instances with one result are not one uninterrupted chain over the iterators of the splits, where partial
    results would not add up, and where they have too many forms to follow each value (in reasonable time, or at all).
    """
    after = _split(scop, dependences, statement, tuple(splits), blocked or {}, adders)
    if after is None:
        return None
    made = after.privatised[-1]
    found = [array_dependences(after, a, ARRAY_OPERATIONS) for a in made.temporaries]
    return after if not any(wrong_parts(after, replace(dependences, by_array=tuple(found)), made)) else None


def privatised(
    scop: Scop,
    dependences: Dependences,
    statement: str,
    splits: Sequence[Split],
    blocked: Mapping[int, Tiles] | None = None,
    adders: Adders = NONE,
) -> tuple[Scop, Dependences] | None:
    """Privatise a reduction, with the dependences of the result.

    They take less time to find from those of `scop` than anew.
    """
    after = _split(scop, dependences, statement, tuple(splits), blocked or {}, adders)
    found = None if after is None else _dependences(dependences, after)
    if after is None or found is None or any(wrong_parts(after, found, after.privatised[-1])):
        return None
    return after, found


def _split(
    scop: Scop,
    dependences: Dependences,
    statement: str,
    splits: tuple[Split, ...],
    blocked: Mapping[int, Tiles],
    adders: Adders,
) -> Scop | None:
    before = scop.statement(statement)
    made = {name for p in scop.privatised for name in (p.update, *p.added)}
    found = accumulated(before)
    if not found or not splits or statement in made or not dependences.of(found[0][1].target.array).exact:
        return None
    element, types = own_element(before, found[0][1].target.array), {partial_type(update) for _, update in found}
    ctype = types.pop()
    if any(not before.domain.get_stride(s.iterator).is_one() for s in splits):
        return None  # isl loses values where strides and lanes meet
    group = result_group(scop, before)
    if element is None or ctype is None or types or group is None or {s.iterator for s in splits} & set(group):
        return None
    names = {before.iterators[k] for k in group} | {p.name for p in scop.parameters}
    used = (n for _, update in found for s in update.target.subscripts for n in walk(s))
    if any(isinstance(n, Name) and n.name not in names for n in used):
        return None
    if not element.apply_domain(projection(before.domain, group, GROUP)).is_single_valued():
        return None
    return rewritten(plan_of(scop, before, found, ctype, group, splits, blocked, adders))


def _dependences(before: Dependences, program: Scop) -> Dependences | None:
    """Derive the dependences of a Scop whose last reduction was privatised from those before.

    Returns None where they take long.
    """
    made, found = program.privatised[-1], []
    for array in program.arrays:
        if array.name in made.temporaries:
            gathers = made.gathering is not None and array.name == made.gathering.partial
            own = _through_partial(program, array.name, made.finish if gathers and made.finish else made.update)
        elif array.name == made.array:
            own = array_dependences(program, array.name, ARRAY_OPERATIONS)
        else:
            own = _with_update(before.of(array.name), made)
        if own is None or (array.name == made.array and not own.exact):
            return None
        found.append(own)
    return collected(program, tuple(found))


def _through_partial(program: Scop, array: str, update: str) -> ArrayDependences | None:
    """Return the dependences through a partial result: the flow is all there is.

    Each is read by whoever writes it next, and by what combines it.
    """
    try:
        with budget(ARRAY_OPERATIONS):
            flow, unset = values_through(program, array)
    except OverBudgetError:
        return None
    rewritten = flow.intersect_range(isl.UnionSet.from_set(program.statement(update).domain))
    return ArrayDependences(array, flow, isl.UnionMap.empty(flow.get_space()), rewritten, unset)


def _with_update(found: ArrayDependences, made: Privatised) -> ArrayDependences:
    """Rename the statement in the dependences: where it runs, and what else it uses, has not changed."""
    names = {made.statement: made.update}
    flow, anti, output, unset = (
        with_tuple_names(relation, names) for relation in (found.flow, found.anti, found.output, found.uninitialised)
    )
    return replace(found, flow=flow, anti=anti, output=output, uninitialised=unset)


def result_group(scop: Scop, statement: Statement) -> tuple[int, ...] | None:
    """Return the iterators of a reduction that index its results: those that no value crosses.

    Returns None where the instances that agree in them are not one uninterrupted chain.
    """
    assert statement.reduction is not None
    name = statement.reduction.array
    scop = settled(scop, frozenset((statement.name,)))
    found = array_values(scop, name, ARRAY_OPERATIONS)
    if not found.exact:
        return None
    members = isl.UnionSet.from_set(statement.domain.intersect_params(scop.context))
    inner = maps(found.flow.intersect_domain(members).intersect_range(members))
    rank = len(statement.iterators)
    same = (all(m.is_subset(m.equate(isl.dim_type.in_, k, isl.dim_type.out, k)) for m in inner) for k in range(rank))
    group = tuple(k for k, agree in enumerate(same) if agree)
    try:
        last = last_writers(scop, name) if is_seen(scop, name) else isl.UnionMap.empty(found.flow.get_space())
    except OverBudgetError:  # isl loses writers
        return None
    by_group = isl.UnionMap.from_map(projection(statement.domain, group, GROUP))
    broken = broken_chain(members, by_group, Values(found.flow, found.uninitialised, last))
    return group if broken is None else None
