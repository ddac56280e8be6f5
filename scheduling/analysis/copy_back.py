"""Copies at the end of the steps of a time loop, `A[i] = B[i]`, that take back what the step made of an array.

for (t < T) {
    for (0 < i < n - 1) S0: B[i] = f(A[i - 1], A[i], A[i + 1]);
    for (0 < i < n - 1) S1: A[i] = B[i];                            copies B to A in steps 0 <= t < T
}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import band_members, maps, sets
from polytile.ir.plain_copies import is_plain_copy
from polytile.ir.schedule import node_at
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.source_loops import equal_iterators, nest_of

MOST_REGIONS = 4  # of the elements that a copy has
NODE = isl.schedule_node_type
IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
READ, WRITE = AccessKind.READ, AccessKind.WRITE


@dataclass(frozen=True, slots=True)
class CopyBack:
    """`statement` copies `elements` of `temporary` to `array` in each of the `steps`, `{ [t] }`; the statements in
    `behind` run after it in a step."""

    statement: str
    array: str
    temporary: str
    elements: isl.Set = field(compare=False)
    steps: isl.Set = field(compare=False)
    behind: frozenset[str] = frozenset()


def copy_back(scop: Scop, dependences: Dependences, name: str) -> CopyBack | None:
    """Return what a statement copies back at the end of each step of an outermost loop, or None."""
    copy = scop.statement(name)
    if not is_plain_copy(scop, copy):
        return None
    (read,), (write,) = ([a for a in copy.accesses if a.kind is kind] for kind in (READ, WRITE))
    array, temporary = write.array, read.array
    moved = read.relation.set_tuple_name(OUT, array)
    if array == temporary or not scop.array(array).rank or not _is_same(copy, moved, write.relation):
        return None
    users = [s.name for s in scop.statements if any(a.array in (array, temporary) for a in s.accesses)]
    order = _order_in_step(scop, name, users)
    if order is None:  # the copy stands in no loop, for one
        return None
    elements = _elements_of_each_step(copy, write.relation)
    if elements is None:
        return None
    behind = frozenset(user for user, place in order.items() if place > order[name])
    found = CopyBack(name, array, temporary, *elements, behind)
    return found if _is_in_steps(scop, found, users) and _keeps_values(scop, dependences, found) else None


def _is_same(copy: Statement, one: isl.Map, other: isl.Map) -> bool:
    return bool(one.intersect_domain(copy.domain).is_equal(other.intersect_domain(copy.domain)))


def _order_in_step(scop: Scop, copy: str, users: Sequence[str]) -> dict[str, int] | None:
    """Return the place of each user in a step of the outermost loop around the copy.

    The copy is alone at its own place. Returns None where some users are not in that loop.
    """
    around = nest_of(scop).around
    loops = {around[user][:1] for user in users}
    if len(loops) != 1 or loops == {()}:
        return None
    ((path, _),) = loops.pop()
    band = node_at(scop.schedule, path)
    steps = band.child(0)
    if int(band.band_n_member()) != 1 or NODE(steps.get_type()) != NODE.sequence or not _counts_up(band, users):
        return None
    place = {name: k for k in range(steps.n_children()) for name in _names(steps.child(k).child(0).get_domain())}
    alone = sum(k == place[copy] for k in place.values()) == 1
    return {user: place[user] for user in users} if alone else None


def _counts_up(band: isl.ScheduleNode, users: Sequence[str]) -> bool:
    """Return whether the loop is over the first iterator of each of the statements, from the least on."""
    pieces: dict[str, isl.PwAff] = {}
    (member,) = band_members(band)
    member.foreach_pw_aff(lambda p: pieces.update({p.get_domain_space().get_tuple_name(SET): p}))

    def is_first_iterator(piece: isl.PwAff) -> bool:
        first = isl.PwAff.var_on_domain(isl.LocalSpace.from_space(piece.get_domain_space()), SET, 0)
        return bool(piece.is_equal(first.intersect_domain(piece.domain())))

    return all(is_first_iterator(pieces[user]) for user in users)


def _names(instances: isl.UnionSet) -> list[str]:
    return [str(s.get_tuple_name()) for s in sets(instances)]


def _elements_of_each_step(copy: Statement, write: isl.Map) -> tuple[isl.Set, isl.Set] | None:
    """Return what each step copies and the steps, or None unless it is the same in all steps from first to last."""
    rank = copy.domain.dim(SET)
    own = write.intersect_domain(copy.domain).project_out(IN, 1, rank - 1).reset_tuple_id(IN)
    steps, elements = own.domain().coalesce(), own.range().coalesce()
    whole = isl.Map.from_domain_and_range(steps, elements)
    simple = steps.n_basic_set() == 1 and elements.n_basic_set() <= MOST_REGIONS
    without_gaps = steps.is_equal(steps.remove_divs())
    return (elements, steps) if simple and without_gaps and own.is_equal(whole) else None


def _is_in_steps(scop: Scop, found: CopyBack, users: list[str]) -> bool:
    """Return whether no other statement writes the array, and all that use it or the temporary run in these steps."""
    if any(name in (*scop.prologue, *scop.epilogue) for name in users):
        return False
    for statement in (scop.statement(name) for name in users if name != found.statement):
        rank = statement.domain.dim(SET)
        if not statement.domain.project_out(SET, 1, rank - 1).reset_tuple_id().is_subset(found.steps):
            return False
        for access in (a for a in statement.accesses if a.array in (found.array, found.temporary)):
            allowed = (READ, WRITE) if access.array == found.temporary else (READ,)
            if access.kind not in allowed or (access.kind is WRITE and statement.name in found.behind):
                return False
    return True


def _keeps_values(scop: Scop, dependences: Dependences, found: CopyBack) -> bool:
    """Return whether values in the temporary stay in their step, among the elements that are copied, and all is known.
    """
    of_array, of_temporary = dependences.of(found.array), dependences.of(found.temporary)
    only = frozenset((found.temporary,))
    used = scop.accesses(READ, WRITE, arrays=only).intersect_params(scop.context).range()
    copied = isl.UnionSet.from_set(found.elements.set_tuple_name(found.temporary))
    unset = of_temporary.uninitialised.intersect_params(scop.context)
    return (
        of_array.exact
        and of_temporary.exact
        and not of_array.flow.is_empty()
        and unset.is_empty()
        and used.is_subset(copied)
        and all(m.is_subset(equal_iterators(m, 1)) for m in maps(of_temporary.flow.intersect_params(scop.context)))
    )
