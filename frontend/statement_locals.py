"""Scalars of a function that only the body of one statement uses, always set before they are read: names of that body.

before: double t; for (..) { while (x < 4) { t = x * x; x = t + c; } .. }    t is written by each instance
after:  for (..) { { double t; while (x < 4) { t = x * x; x = t + c; } } .. }
before: double t; for (..) if (x[i] > 0) { t = x[i] * y[i]; z[i] = t; }      t may be written by each instance
after:  for (..) { double t; if (x[i] > 0) { t = x[i] * y[i]; z[i] = t; } }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polytile.frontend.build_scop import Draft
from polytile.frontend.shapes import Shape, Shapes
from polytile.ir.expr import Access, Assign, Declare, Expr, If, Scope, Stmt, While, bodies, walk
from polytile.ir.scop import AccessKind
from polytile.ir.substitute import with_names


def with_body_locals(drafts: Sequence[Draft], shapes: Shapes) -> list[Draft]:
    """The statements, those with loops and conditions on data with names of their own, which `shapes` loses."""
    users: dict[str, set[str]] = {}
    for draft in drafts:
        for access in draft.accesses:
            users.setdefault(access.access.array, set()).add(draft.name)
    return [_localised(draft, users, shapes) if _has(draft, While, If) else draft for draft in drafts]


def _has(draft: Draft, *kinds: type[Stmt]) -> bool:
    return any(isinstance(node, kinds) for node in walk(*draft.body))


def _localised(draft: Draft, users: dict[str, set[str]], shapes: Shapes) -> Draft:
    read = {a.access.array for a in draft.accesses if a.kind is AccessKind.READ}
    if not _has(draft, While):  # where accesses are those of the body, one by one
        read = {name for name in read if not _is_set_first(draft.body, name)}
    own = {a.access.array for a in draft.accesses} - read
    names = [n for n in sorted(own) if users[n] == {draft.name} and _ends_here(shapes.found[n])]
    if not names:
        return draft
    declared = [Declare(n, shapes.found[n].variable.type, None, draft.location) for n in names]
    for name in names:
        shapes.forget(shapes.found[name].variable)
    body = tuple(with_names(stmt, names) for stmt in draft.body)
    accesses = tuple(a for a in draft.accesses if a.access.array not in names)
    return replace(draft, body=(Scope((*declared, *body)),), accesses=accesses)


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
    variable, symbol = shape.variable, shape.variable.symbol
    scalar = not shape.extents and variable.type.kind != "struct"
    return scalar and (symbol is None or not (symbol.live_after or symbol.pointer or symbol.scope == "global"))
