"""Updates of one element by one operation, in one loop body, as one statement: a reduction, of which there can be
partial results (privatise.py).

before: for (i) { S0: s += x[i]; S1: y[i] = 0; S2: s -= z[i]; }            S0 waits for S2, and S2 for S0
after:  for (i) { S1: y[i] = 0; S2: { s += x[i]; s -= z[i]; } }            S2 is a sum, which waits for itself alone

The statement does what they did, in their order, so that no result changes; but what would run in another order apart
is bound to the sum. So it is made only where the order of sums may change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.ir.reductions import partial_type
from polytile.ir.scop import Scop, Statement
from polytile.scheduling.analysis.chains import accumulated, own_element
from polytile.scheduling.transform.loop_body_fusion import (
    LoopBody,
    can_run_together,
    fused_statement,
    loop_bodies,
    used_arrays,
    with_fused,
)


def combine_updates(scop: Scop) -> Scop:
    """Combine the updates of each element that the iterations of a loop add to (see the top of this file)."""
    counted = Counter(s.reduction for s in scop.statements if s.reduction is not None)
    if not counted or max(counted.values()) < 2:
        return scop
    after = next((found for body in loop_bodies(scop) for found in _combined(scop, body)), None)
    return scop if after is None else combine_updates(after)  # where statements are has changed


def _combined(scop: Scop, body: LoopBody) -> Iterator[Scop]:
    """Yield the Scop with the updates of an element combined, where the last one of them is, or the first."""
    for group in _alike(body):
        array = frozenset(_accumulator(group[0]))
        for first in (False, True):
            if can_run_together(scop, body, group, array, first=first):
                made = fused_statement(scop, group, frozenset(), first=first)
                after = with_fused(scop, {made.name: made}, {s.name for s in group} - {made.name}, ())
                if is_over_a_loop(after, made):
                    yield after
                break


def _alike(body: LoopBody) -> Iterator[list[Statement]]:
    """Yield the statements of a loop body that update the same elements alike, in the same iterations.

    They do so by the same operation.
    """
    left = [s for s in body.leaves if s.reduction is not None]
    while left:
        one, *others = left
        alike = [s for s in others if s.reduction == one.reduction and body.same_instances(one, s)]
        group = [one, *(s for s in alike if _same_element(one, s))]
        left = [s for s in others if s not in group]
        if len(group) > 1:
            yield group


def common_accumulator(group: Sequence[Statement], scalars: frozenset[str]) -> frozenset[str]:
    """Return the array of which several statements of a group only update the same element.

    The others do not use it, and none updates another array but their scalars. Empty where there is none.
    """
    adding = [s for s in group if s.reduction is not None and s.reduction.array not in scalars]
    if len(adding) < 2 or any(not _same_element(adding[0], s) for s in adding):
        return frozenset()
    array = _accumulator(adding[0])
    others = [s for s in group if s not in adding]
    return frozenset() if any(array & used_arrays(s) for s in others) else frozenset(array)


def is_over_a_loop(scop: Scop, statement: Statement) -> bool:
    """Return whether a reduction adds up what the iterations of a loop give, each result in one uninterrupted chain."""
    from polytile.scheduling.transform.reductions.privatise import result_group  # few groups have one

    group = result_group(scop, statement)
    return group is not None and len(group) < len(statement.iterators)


def _accumulator(statement: Statement) -> set[str]:
    assert statement.reduction is not None
    return {statement.reduction.array}


def _same_element(one: Statement, other: Statement) -> bool:
    """Return whether two statements update the same element in each iteration, by one operation, in one type."""
    if one.reduction != other.reduction:
        return False
    (array,), updates = _accumulator(one), [accumulated(s) for s in (one, other)]
    types = {partial_type(found) for own in updates for _, found in own}
    if not all(updates) or len(types) > 1 or None in types:
        return False
    first, second = own_element(one, array), own_element(other, array)
    if first is None or second is None:
        return False
    return bool(first.is_equal(second.set_tuple_name(isl.dim_type.in_, one.name)))
