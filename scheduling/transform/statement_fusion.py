"""Fusion of locals: assignments of one loop body that communicate through scalars of that body are one statement.

before: for (i) { S0: t = A[i]; S1: u = t * t; S2: B[i] = t + u; }           t and u are arrays of the SCoP
after:  for (i) S2: { double t, u; t = A[i]; u = t * t; B[i] = t + u; }      t and u are names of the body

A scalar qualifies when it is the SCoP's own and each iteration writes it before it reads it, be it written again under
conditions on data; its users may set different elements of one array. What sets a scalar that nothing reads joins
another statement of the body, where a kernel of its own would do nothing. Expansion would give it
an element for each iteration, and contraction would take that away again: here neither has anything to do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import islpy as isl

from polytile.ir.digraph import connected
from polytile.ir.expr import Access, Assign, If, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Origin, Scop, Statement
from polytile.scheduling.analysis.chains import own_element
from polytile.scheduling.transform.loop_body_fusion import (
    LoopBody,
    can_run_together,
    changed_arrays,
    fused_statement,
    loop_bodies,
    used_arrays,
    with_fused,
)
from polytile.scheduling.transform.reductions.combined_updates import common_accumulator, is_over_a_loop
from polytile.scheduling.transform.reductions.exact import is_exact
from polytile.scheduling.transform.serializing_fusion import fusion_serializes

MANY = 60  # statements: dependences, schedules and proofs then take seconds


def fuse_locals(scop: Scop, *, sums: bool = False) -> Scop:
    """Fuse what communicates through locals, in every loop body (see the top of this file); `sums` may be part of that
    in several updates, too (reductions/combined_updates.py)."""
    own = [a.name for a in scop.arrays if a.origin is Origin.LOCAL and a.rank == 0 and not a.fields]
    if not own:
        return scop
    alone = _accessed_once(scop).intersection(own)
    fused: dict[str, Statement] = {}
    gone: set[str] = set()
    inner: set[str] = set()
    for body in loop_bodies(scop):
        here = body.together
        unread = {s.name: name for s in here for name in alone & changed_arrays(s) if _is_unread(scop, s, name)}
        for one, shared in _groups_and_others(scop, here, own):
            if any(s.name in gone or s.name in fused for s in one):
                continue  # it has joined another one
            for group, scalars in _with_and_without(here, one, shared, unread):
                apart = _hides_sum(group, scalars, sums) or _is_better_apart(scop, group, scalars, body.times)
                made = None if apart else _joined(scop, body, group, scalars, sums)
                if made is not None:
                    fused[made.name] = made
                    gone.update(s.name for s in group[:-1])
                    inner |= scalars
                    unread = {name: scalar for name, scalar in unread.items() if scalar not in scalars}
                    break
    return with_fused(scop, fused, gone, inner) if fused else scop


def _joined(
    scop: Scop, body: LoopBody, group: list[Statement], scalars: frozenset[str], sums: bool
) -> Statement | None:
    """Fuse a group into one statement, or return None if it cannot be.

    Several updates of an element are a sum over a loop, where that is.
    """
    element = common_accumulator(group, scalars) if sums else frozenset()
    if not can_run_together(scop, body, group, scalars | element):
        return None
    made = fused_statement(scop, group, scalars)
    if element:
        gone = {s.name for s in group[:-1]}
        return made if is_over_a_loop(with_fused(scop, {made.name: made}, gone, scalars), made) else None
    return made


def fuse_writers(scop: Scop) -> Scop:
    """Fuse the statements of one loop body that only set elements of one array, in Scops of many statements.

    The analysis of such Scops takes as many times longer.

    before: for (i) { S0: A[i][0] = x[i]; S1: A[i][1] = 2 * x[i]; ... S74: A[i][74] = y[i]; }
    after:  for (i) S74: { A[i][0] = x[i]; A[i][1] = 2 * x[i]; ...; A[i][74] = y[i]; }
    """
    if len(scop.statements) <= MANY:
        return scop
    fused: dict[str, Statement] = {}
    gone: set[str] = set()
    for body in loop_bodies(scop):
        for writers in _writers(body.together):
            for group in _parts(scop, body, writers):
                fused[group[-1].name] = fused_statement(scop, group, frozenset())
                gone.update(s.name for s in group[:-1])
    return with_fused(scop, fused, gone, ()) if fused else scop


def _writers(statements: list[Statement]) -> Iterator[list[Statement]]:
    """Yield the statements that only assign, and set elements of common arrays."""
    plain = [s for s in statements if len(s.body) == 1 and _assigns(s.body[0]) and s.reduction is None]
    edges = [(("array", array), ("statement", s.name)) for s in plain for array in changed_arrays(s)]
    for members in connected((), edges):
        group = [s for s in plain if ("statement", s.name) in members]
        if len(group) > 1:
            yield group


def _parts(scop: Scop, body: LoopBody, group: list[Statement]) -> Iterator[list[Statement]]:
    """Yield the group, or those of its halves, that can be fused: a reader of what some set separates few.

    before: A[i][0] = x; A[i][1] = y; B[i] = A[i][1]; A[i][2] = z; A[i][3] = w;
    after:  {A[i][0] = x; A[i][1] = y;}  B[i] = A[i][1];  {A[i][2] = z; A[i][3] = w;}
    """
    if can_run_together(scop, body, group, frozenset()):
        yield group
    elif len(group) > 3:
        for half in (group[: len(group) // 2], group[len(group) // 2 :]):
            yield from _parts(scop, body, half)


def _groups(
    scop: Scop, statements: list[Statement], own: list[str]
) -> Iterator[tuple[list[Statement], frozenset[str]]]:
    """Yield the statements that share qualifying scalars, with these scalars."""
    edges: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for name in own:
        users = [s.name for s in scop.accessing(name)]
        here = [s for s in statements if s.name in users]
        if len(here) == len(users) and len(here) > 1 and _is_local(scop, name, here):
            edges += ((("scalar", name), ("statement", user)) for user in users)
    for members in connected((), edges):
        group = [s for s in statements if ("statement", s.name) in members]
        yield group, frozenset(name for kind, name in members if kind == "scalar")


def _accessed_once(scop: Scop) -> set[str]:
    """Return the arrays with one access in all statements."""
    count = Counter(a.array for s in scop.statements for a in s.accesses)
    return {array for array, times in count.items() if times == 1}


def _is_unread(scop: Scop, statement: Statement, name: str) -> bool:
    """Return whether a statement only sets a scalar, which it alone accesses."""
    return changed_arrays(statement) == {name} and _is_local(scop, name, [statement])


def _groups_and_others(
    scop: Scop, statements: list[Statement], own: list[str]
) -> Iterator[tuple[list[Statement], frozenset[str]]]:
    """Yield the statements that share qualifying scalars, and each of the others by itself."""
    grouped: set[str] = set()
    for group, scalars in _groups(scop, statements, own):
        grouped.update(s.name for s in group)
        yield group, scalars
    yield from (([s], frozenset()) for s in statements if s.name not in grouped)


def _with_and_without(
    statements: list[Statement], group: list[Statement], scalars: frozenset[str], unread: dict[str, str]
) -> Iterator[tuple[list[Statement], frozenset[str]]]:
    """Yield a group with what sets scalars that nothing reads, and without those that are not in it."""
    names = {s.name for s in group}
    for taken in dict.fromkeys((frozenset(names | unread.keys()), frozenset(names))):
        found = [s for s in statements if s.name in taken]
        if len(found) > 1 and not names <= unread.keys():
            yield found, scalars | {unread[s.name] for s in found if s.name in unread}


def _is_local(scop: Scop, name: str, users: list[Statement]) -> bool:
    """Return whether the first user gives the scalar its value, by a plain assignment, and all users are assignments.

    Those after the first may be under conditions on data.
    """
    taken = {p.name for p in scop.parameters} | {i for s in users for i in s.iterators}
    if name in taken or not all(len(s.body) == 1 and _assigns(s.body[0]) for s in users):
        return False
    assign = users[0].body[0]
    if not isinstance(assign, Assign):
        return False
    return _sets(assign, name)


def _sets(assign: Assign, name: str) -> bool:
    """Return whether an assignment gives a scalar a value that does not depend on the one before."""
    written = isinstance(assign.target, Access) and assign.target.array == name and assign.op == ""
    return written and not any(isinstance(n, Access) and n.array == name for n in walk(assign.value))


def _hides_sum(group: list[Statement], scalars: frozenset[str], sums: bool) -> bool:
    """Return whether all loops of a group keep the order of some sum of it, which could be partial results if it stood
    alone, and a statement of the group sets something else: no loop is parallel then. `sums` may be those of floating
    point numbers.

    before: for (i) { w = 1 / x[i]; y[i] = w; s += w; }    the statement of all three is no sum
    """
    if sums and common_accumulator(group, scalars):
        return False  # one statement is their sum
    free: set[int] = set(range(min(len(one.iterators) for one in group)))
    found = False
    for one in group:
        if one.reduction is None or one.reduction.array in scalars or not (sums or is_exact(one)):
            continue
        others = frozenset[str]().union(*map(changed_arrays, group)) - scalars - {one.reduction.array}
        element = own_element(one, one.reduction.array) if others else None
        if element is not None:
            found = True
            free &= _told_apart(element.intersect_domain(one.domain))
    return found and not free


def _told_apart(element: isl.Map) -> set[int]:
    """Return the iterators of which different values access different elements."""
    meeting = element.apply_range(element.reverse())
    rank = range(element.dim(isl.dim_type.in_))
    return {k for k in rank if meeting.is_subset(meeting.equate(isl.dim_type.in_, k, isl.dim_type.out, k))}


def _is_better_apart(
    scop: Scop, group: list[Statement], scalars: frozenset[str], times: Mapping[str, isl.Map]
) -> bool:
    """Return whether statements read what later ones of the group change, and may run in another order if separate.

    An iteration may then wait for the one before. They may be separate where that is a scalar, or a scalar that they
    share has several purposes, which get variables of their own later (live_range_splitting.py), or they are in no
    cycle (serializing_fusion.py).
    """
    carried = [a for a in scop.arrays if a.name not in scalars and _reads_before(group, a.name)]
    if any(a.origin is Origin.LOCAL and not a.rank for a in carried):
        return True
    if carried and fusion_serializes(group, scalars, times):
        return True
    plain = [s.body[0] for s in group if isinstance(s.body[0], Assign)]
    return bool(carried) and any(sum(_sets(assign, name) for assign in plain) > 1 for name in scalars)


def _reads_before(group: list[Statement], array: str) -> bool:
    """Return whether one of the statements uses an array before another one changes it."""
    setting = next((k for k, s in enumerate(group) if array in changed_arrays(s)), 0)
    return any(array in used_arrays(s) for s in group[:setting])


def _assigns(stmt: Stmt) -> bool:
    """Return whether a statement only assigns, perhaps under conditions."""
    if isinstance(stmt, If):
        return all(map(_assigns, (*stmt.then, *stmt.otherwise)))
    return isinstance(stmt, Assign)
