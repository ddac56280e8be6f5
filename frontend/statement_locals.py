"""Scalars of a function that only the body of one statement uses, always set before they are read: names of that body.

before: double t; for (..) { while (x < 4) { t = x * x; x = t + c; } .. }    t is written by each instance
after:  for (..) { { double t; while (x < 4) { t = x * x; x = t + c; } } .. }
before: double t; for (..) if (x[i] > 0) { t = x[i] * y[i]; z[i] = t; }      t may be written by each instance
after:  for (..) { double t; if (x[i] > 0) { t = x[i] * y[i]; z[i] = t; } }

Elements of small arrays are such scalars where numbers choose them (scalar replacement):

before: double q[2]; for (..) { if (x[i] > 0) { q[0] = x[i]; q[1] = q[0] + 1; z[i] = q[1]; } }
after:  for (..) { double q0, q1; if (x[i] > 0) { q0 = x[i]; q1 = q0 + 1; z[i] = q1; } }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polytile.frontend.delinearised_statements import Draft
from polytile.frontend.polynomial import Polynomial
from polytile.frontend.shapes import Shape, Shapes
from polytile.ir.expr import Access, Address, Assign, Declare, Expr, If, Name, Scope, Stmt, While
from polytile.ir.expr_trees import bodies, rewrite, statements, walk
from polytile.ir.name_supply import fresh
from polytile.ir.scop import AccessKind
from polytile.ir.substitute import with_names


def with_body_locals(drafts: Sequence[Draft], shapes: Shapes) -> list[Draft]:
    """The statements, those with loops and conditions on data with names of their own, which `shapes` loses."""
    users: dict[str, list[Draft]] = {}
    for draft in drafts:
        for name in {access.access.array for access in draft.accesses}:
            users.setdefault(name, []).append(draft)
    alone = {name for name, own in users.items() if len(own) == 1}
    apart = alone | {name for name, own in users.items() if all(_is_apart(d, name) for d in own)}
    gone: dict[str, None] = {}
    found = [
        _localised(_with_scalars(d, alone, shapes), apart, shapes, gone) if d.merged or _has(d, While, If) else d
        for d in drafts
    ]
    for name in gone:
        shapes.forget(shapes.found[name].variable)
    return found


def _is_apart(draft: Draft, name: str) -> bool:
    """Whether a statement can have a variable by itself of which others have one, too: they set it first.

    before: double t; for (..) { if (a > b) { t = a; a = b; b = t; } if (b > c) { t = b; b = c; c = t; } .. }
    after:  for (..) { { double t; if (a > b) .. } { double t; if (b > c) .. } .. }
    """
    return _has(draft, If) and not _has(draft, While) and _is_set_first(draft.body, name)


def _has(draft: Draft, *kinds: type[Stmt]) -> bool:
    return any(isinstance(stmt, kinds) for stmt in statements(*draft.body))


def _with_scalars(draft: Draft, alone: set[str], shapes: Shapes) -> Draft:
    """The statement with scalars for elements of the arrays that it alone uses."""
    if _has(draft, While):
        return draft
    for name in sorted({a.access.array for a in draft.accesses} & alone):
        if shapes.found[name].extents and shapes.found[name].is_own:
            draft = _with_elements_apart(draft, name, shapes)
    return draft


def _localised(draft: Draft, apart: set[str], shapes: Shapes, gone: dict[str, None]) -> Draft:
    """The statement whose scalars are `apart` from those of others; `gone` gets their names."""
    read = {a.access.array for a in draft.accesses if a.kind is AccessKind.READ}
    if not _has(draft, While):  # where accesses are those of the body, one by one
        read = {name for name in read if not _is_set_first(draft.body, name)}
    own = {a.access.array for a in draft.accesses} - read
    names = [n for n in sorted(own) if n in apart and _ends_here(shapes.found[n])]
    if not names:
        return draft
    declared = [Declare(n, shapes.found[n].variable.type, None, draft.location) for n in names]
    gone.update(dict.fromkeys(names))
    body = tuple(with_names(stmt, names) for stmt in draft.body)
    accesses = tuple(a for a in draft.accesses if a.access.array not in names)
    return replace(draft, body=(Scope((*declared, *body)),), accesses=accesses)


def _with_elements_apart(draft: Draft, array: str, shapes: Shapes) -> Draft:
    """The statement with a name of its own for each element of an array, where numbers choose all of these and each is
    set before it is read."""
    shape, places = shapes.found[array], {a.access: a.subscripts for a in draft.accesses if a.access.array == array}
    chosen = {access: _numbers(place, shape) for access, place in places.items()}
    used = {n for n in walk(*draft.body) if isinstance(n, Access) and n.array == array}
    passed = any(isinstance(n, Address) and n.target.array == array for n in walk(*draft.body))
    if passed or used - chosen.keys():
        return draft
    taken = {n.name for n in walk(*draft.body) if isinstance(n, Name)} | {*shapes.found, *draft.iterators}
    names: dict[tuple[int, ...], str] = {}
    for place in sorted({p for p in chosen.values() if p is not None}):
        names[place] = fresh(array + "_".join(map(str, place)), {*taken, *names.values()})

    def renamed(node: Any) -> Any:
        place = chosen.get(node) if isinstance(node, Access) and node.array == array else None
        return node if place is None else replace(node, array=names[place], subscripts=())

    body = tuple(rewrite(stmt, renamed) for stmt in draft.body)
    if None in chosen.values() or not all(_is_set_first(body, name) for name in names.values()):
        return draft
    declared = [Declare(name, shape.variable.type, None, draft.location) for name in names.values()]
    shapes.forget(shape.variable)
    body = tuple(with_names(stmt, names.values()) for stmt in body)
    accesses = tuple(a for a in draft.accesses if a.access.array != array)
    return replace(draft, body=(Scope((*declared, *body)),), accesses=accesses)


def _numbers(subscripts: tuple[Polynomial | None, ...], shape: Shape) -> tuple[int, ...] | None:
    """Which element it is, where numbers say so and it is one of the array."""
    places = [None if p is None else p.constant for p in subscripts]
    extents = [None if p is None else p.constant for p in shape.polynomials]
    pairs = list(zip(places, extents, strict=False))
    inside = len(places) == len(extents) and all(k is not None and n is not None and 0 <= k < n for k, n in pairs)
    return tuple(k for k in places if k is not None) if inside else None


def _is_set_first(body: Sequence[Stmt], name: str) -> bool:
    """Whether every read of a scalar comes behind a plain assignment in its block."""
    for stmt in body:
        if not _uses(stmt, name):
            continue
        if isinstance(stmt, Assign) and isinstance(stmt.target, Access) and stmt.target.array == name:
            return not stmt.op and not _uses(stmt.value, name)
        inner = bodies(stmt)
        if sum(_uses(s, name) for block in inner for s in block) < _uses(stmt, name):
            return False
        if not all(_is_set_first(block, name) for block in inner):
            return False
    return True


def _uses(node: Stmt | Expr, name: str) -> int:
    return sum(isinstance(n, Access) and n.array == name for n in walk(node))


def _ends_here(shape: Shape) -> bool:
    """Whether it is a scalar that nothing reads after the SCoP."""
    return not shape.extents and shape.is_own
