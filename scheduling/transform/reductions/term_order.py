"""Reductions that run through a loop backwards where their terms are made in that order.

before: for (i = n - 1; i >= 0; i--) { w = y[i]; for (j = i + 1; j < n; j++) w -= A[i][j] * x[j]; x[i] = w / A[i][i]; }
after:  the same with for (j = n - 1; j > i; j--)

x[n - 1] is known first, and now is what each w starts with, so that a schedule may take a column at a time:

        for (j = n - 1; j >= 0; j--) { x[j] = w[j] / A[j][j]; for (i < j) w[i] -= A[i][j] * x[j]; }     i is parallel

Nothing is relaxed after that: the new order of the steps is kept as any is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import islpy as isl

from polytile.ir.digraph import condensed, graph_of
from polytile.ir.isl_util import maps, union_of
from polytile.ir.partial_results import Reversed
from polytile.ir.reads_apart import in_place, with_reads_apart
from polytile.ir.reductions import partial_type
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.options import MAX_OPERATIONS
from polytile.scheduling.analysis.chains import accumulated, own_element
from polytile.scheduling.analysis.dependences import Dependences, array_values
from polytile.scheduling.analysis.source_order import SourceOrder
from polytile.scheduling.transform.reductions.exact import is_exact
from polytile.scheduling.transform.reductions.loop_reversal import turned
from polytile.scheduling.transform.reductions.privatise import result_group

IN, OUT = isl.dim_type.in_, isl.dim_type.out


def in_order_of_terms(scop: Scop, dependences: Dependences, *, strict: bool = False) -> Scop | None:
    """Reverse the reductions of the Scop in loops along which their terms are made backwards.

    See the top of this file. Returns None where there is no such loop. `strict`: only those whose results do not depend
    on the order.
    """
    sums = [s for s in scop.main if s.reduction is not None or in_place(s) is not None]
    if not sums:
        return None
    components, _ = condensed(graph_of((s.name for s in scop.statements), map(_names, maps(dependences.flow))))
    known = _apart(scop, dependences, sums)
    found: list[Reversed] = []
    for statement in sums:
        together = next(c for c in components if statement.name in c)
        terms = _terms(known, statement, together)
        made = None if terms.is_empty() else _reversible(*known, statement.name, strict=strict)
        if made is not None:
            order = SourceOrder.of(scop.schedule.get_map().intersect_domain(scop.domain))
            loops = (k for k in made.loops if _are_made_backwards(statement, (*made.group, *range(k)), k, terms, order))
            found.append(replace(made, loops=tuple(loops)))
    return turned(scop, dependences, [made for made in found if made.loops])


def reversible(scop: Scop, dependences: Dependences, statement: Statement) -> Reversed | None:
    """Return a reduction with all of its loops reversed, or None where its steps have to come in order.

    So they have where sums of signed integers could overflow in another order.
    """
    return _reversible(*_apart(scop, dependences, [statement]), statement.name)


def _apart(scop: Scop, dependences: Dependences, sums: Sequence[Statement]) -> tuple[Scop, Dependences]:
    """Separate what statements read of other elements of the arrays that they accumulate into.

    The dependences come with the Scop, of these arrays those of values alone.
    """
    arrays = {reduction.array for s in sums if (reduction := in_place(s)) is not None}
    apart = with_reads_apart(scop, {s.name for s in sums})
    found = (array_values(apart, d.array, MAX_OPERATIONS) if d.array in arrays else d for d in dependences.by_array)
    return apart, replace(dependences, by_array=tuple(found)) if arrays else dependences


def _terms(known: tuple[Scop, Dependences], statement: Statement, together: Collection[str]) -> isl.UnionMap:
    """Map the statements that wait for a reduction to its instances that read what they made.

    They are `{ S2[j] -> S1[i, j] }`, without those of the values that it accumulates into.
    """
    scop, dependences = known
    reduction, name = scop.statement(statement.name).reduction, statement.name
    assert reduction is not None
    flows = [(m, m.get_tuple_name(OUT), d.array) for d in dependences.by_array for m in maps(d.flow)]
    found = [m for m, sink, array in flows if sink == name and array != reduction.array]
    found += [m.set_tuple_name(OUT, name) for m, sink, _ in flows if sink == f"{name}_reads"]
    kept = (isl.UnionMap.from_map(m) for m in found if m.get_tuple_name(IN) in together)
    return union_of(kept, dependences.flow.get_space())


def _reversible(scop: Scop, dependences: Dependences, name: str, *, strict: bool = False) -> Reversed | None:
    statement = scop.statement(name)
    if statement.reduction is None or (strict and not is_exact(statement)):
        return None
    array, types = statement.reduction.array, {partial_type(update) for _, update in accumulated(statement)}
    if any(a.kind is AccessKind.MAY_WRITE and a.array == array for a in statement.accesses):
        return None
    if types != {scop.array(array).element} or own_element(statement, array) is None or not dependences.of(array).exact:
        return None
    group = result_group(scop, statement)
    if group is None:
        return None
    loops = tuple(k for k in range(len(statement.iterators)) if k not in group)
    return Reversed(statement.name, statement.reduction.op, group, loops)


def _are_made_backwards(
    statement: Statement, fixed: Iterable[int], k: int, terms: isl.UnionMap, order: SourceOrder
) -> bool:
    """Return whether of two steps in one iteration of the `fixed` loops the later one's terms are always made first,
    where these are in different iterations of loop k."""
    steps = order.before(statement.name, statement.name)
    for position in fixed:
        steps = steps.equate(IN, position, OUT, position)
    steps = steps.subtract(steps.equate(IN, k, OUT, k))
    made = isl.UnionMap.from_map(steps).apply_domain(terms.reverse()).apply_range(terms.reverse())
    pairs = [m for m in maps(made) if not m.is_empty()]
    return bool(pairs) and all(m.is_subset(order.before(*reversed(_names(m))).reverse()) for m in pairs)


def _names(m: isl.Map) -> tuple[str, str]:
    return str(m.get_tuple_name(IN)), str(m.get_tuple_name(OUT))
