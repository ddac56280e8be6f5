"""Vectors where no loop is: neighbours in memory that the instances of a thread's tile load and store one by one.

before: C[i][2 * t] *= beta; if (2 * t + 1 < n) C[i][2 * t + 1] *= beta;
after:  if ((2 * t + 1 < n) & polytile_aligned<16>(&C[i][2 * t])) {
            double2 v = *(const double2 *)&C[i][2 * t]; double C_at0 = v.x, C1_at0 = v.y;
            C_at0 *= beta; C1_at0 *= beta;
            *(double2 *)&C[i][2 * t] = {C_at0, C1_at0};
        } else { C[i][2 * t] *= beta; if (2 * t + 1 < n) C[i][2 * t + 1] *= beta; }

Every element is stored as its statement does it; one by one, lanes would leave gaps between what they load or store at
once.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations

from polytile.codegen.passes.alignment_versioning import are_aligned, loaded, stored, unguarded, vectors
from polytile.codegen.passes.iteration_loads import HeldLoad, Setting, distinct, iteration, loads_of
from polytile.ir.arith import both
from polytile.ir.expr import BOOL, Access, Assign, Binary, Declare, For, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import statements, walk, with_bodies
from polytile.ir.linear_access import Element, Form, Known, as_key, behind, element, elements, expanded
from polytile.ir.name_supply import Names
from polytile.ir.polynomial import constant_difference

_ZERO = Literal("0")
_ONCE = "<once>"  # the iterator of a loop of one iteration, which is not there: no name of a program


def together(body: tuple[Stmt, ...], setting: Setting, names: Names) -> tuple[Stmt, ...]:
    """Use vectors in a kernel's body, outside of the loops that update a tile."""
    found: list[Stmt] = []
    run: list[Stmt] = []
    ends: tuple[Stmt | None, ...] = (*body, None)
    for stmt in ends:
        if stmt is not None and _is_straight(stmt):
            run.append(stmt)
            continue
        found += _in_vectors(tuple(run), setting, names)
        run = []
        if isinstance(stmt, For) and stmt.label in setting.tiles:
            found.append(stmt)
        elif stmt is not None:
            found.append(with_bodies(stmt, lambda inner: together(inner, setting, names)))
    return tuple(found)


def _is_straight(stmt: Stmt) -> bool:
    """Return whether a statement assigns, perhaps below conditions, and declares nothing for later ones."""
    match stmt:
        case Assign():
            return True
        case Scope(body=body) | If(then=body, otherwise=()):
            return all(isinstance(s, Declare) or _is_straight(s) for s in body)
    return False


def _in_vectors(run: tuple[Stmt, ...], setting: Setting, names: Names) -> tuple[Stmt, ...]:
    once = For(_ONCE, _ZERO, Binary("<", Name(_ONCE), Literal("1"), BOOL), 1, run)
    free = unguarded(once)
    if not run or any(isinstance(n, If) for n in statements(*free.body)):
        return run
    loop = replace(once, body=free.body)
    loads = [load for load in distinct(loads_of(loop, setting)) if not load.guard]
    held = [*loads, *_only_stored(free.body, setting.kept)]
    groups = vectors(held, _ONCE, setting.extents, setting.lanes)
    within = {number for group in groups for number in group}
    # Elements that are only stored, and belong to no vector, are stored where they are.
    left = [number for number in range(len(held)) if number < len(loads) or number in within]
    held = [held[number] for number in left]
    groups = [tuple(left.index(number) for number in group) for group in groups]
    if not groups or not _are_apart(run, {one.access.array for one in held} & setting.changing):
        return run
    part = iteration(loop, held, Name(_ONCE), 0, names, None)
    made = loaded(part.declared, part.loads, groups)
    read = [load for group, load in zip(groups, made.whole, strict=True) if min(group) < len(loads)]
    works = stored(part, groups, None)
    aligned = are_aligned(held, groups, _ONCE, _ZERO, _ZERO)
    condition = free.hold(_ONCE, _ZERO, _ZERO)
    holds = aligned if condition is None else both(condition, aligned)
    return (If(holds, (*made.declared, *read, Scope(works)), run),)


def _only_stored(body: tuple[Stmt, ...], kept: AbstractSet[str]) -> list[HeldLoad]:
    """Return the elements that the statements assign to and never read."""
    found: dict[tuple[str, Form], HeldLoad] = {}
    read: list[tuple[str, Element | None]] = []
    for stmt, known in _assignments(body, {}):
        target = stmt.target if isinstance(stmt, Assign) else None
        if isinstance(stmt, Assign) and isinstance(target, Access) and not stmt.op and target.array not in kept:
            form = element(target, known)
            if form is not None:
                place = tuple(expanded(s, known) for s in target.subscripts)
                found.setdefault((target.array, as_key(form)), HeldLoad(replace(target, subscripts=place), form, ()))
                target = None
        nodes = (n for part in (target, stmt.value) if part is not None for n in walk(part))
        read += [(n.array, element(n, known)) for n in nodes if isinstance(n, Access)]
    seen = {(array, None if form is None else as_key(form)) for array, form in read}
    return [load for (array, key), load in found.items() if not {(array, key), (array, None)} & seen]


def _assignments(body: tuple[Stmt, ...], known: Known) -> Iterator[tuple[Assign | Declare, Known]]:
    """Yield what straight statements assign, with what they have declared before."""
    for stmt in body:
        if isinstance(stmt, Scope):
            yield from _assignments(stmt.body, known)
        elif isinstance(stmt, Assign | Declare):
            yield stmt, known
            known = behind(known, stmt)


def _are_apart(run: tuple[Stmt, ...], arrays: AbstractSet[str]) -> bool:
    """Return whether any two elements of each of these arrays are the same or surely others.

    A store then changes no other one that is held.
    """
    found = set(elements(run, {}, arrays))
    return all(
        one is not None and other is not None and any(_differ(a, b) for a, b in zip(one, other, strict=True))
        for (array, one), (second, other) in combinations(found, 2)
        if array == second
    ) and all(form is not None for _, form in found)


def _differ(one: frozenset[tuple[str, int]], other: frozenset[tuple[str, int]]) -> bool:
    """Return whether two subscripts have a constant difference that is not 0."""
    return bool(constant_difference(dict(one), dict(other)))
