"""Elements that a thread updates once, loaded before what it adds to them is known.

before: y[i] = 0; ...; s = polytile_warp_sum(part); if (lane == 0) { w[j] += s; y[i] += t; }
after:  double w_held = lane == 0 ? w[j] : 0.0; ...; s = polytile_warp_sum(part);
        if (lane == 0) { w_held += s; w[j] = w_held; y_held = 0; y_held += t; y[i] = y_held; }

Compilers move no load up past shuffles, barriers and the condition that it is below, so that several updates would wait
for memory one after another, at the end of a kernel, where nothing else is under way. An element that the same thread
has given a constant before is not loaded at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from polytile.codegen.held import needed
from polytile.codegen.iterations import Element, Known, behind, element, expanded
from polytile.codegen.names import Names
from polytile.ir.arith import both, select, zero
from polytile.ir.device import WarpReduce
from polytile.ir.expr import (
    Access,
    Assign,
    Binary,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Scope,
    Stmt,
    walk,
    with_bodies,
)
from polytile.ir.kernel import Barrier
from polytile.ir.polynomial import linear

MOST = 4  # elements of a kernel


@dataclass(frozen=True, slots=True)
class _Use:
    """An assignment to an element, with the conditions around it, in terms of names outside."""

    stmt: Assign
    access: Access
    form: Element
    conditions: tuple[Expr, ...]

    @property
    def facts(self) -> frozenset[object]:
        return frozenset(_normal(part) for condition in self.conditions for part in _parts(condition))


def update_early(body: tuple[Stmt, ...], kept: frozenset[str], names: Names) -> tuple[Stmt, ...]:
    """A kernel's body in which updates behind a meeting of threads have been loaded; `kept` are the arrays that live
    inside the kernel."""
    found: list[tuple[int, _Use]] = []
    known: Known = {}
    for number, stmt in enumerate(body):
        found += [(number, use) for use in _uses(stmt, known, ())]
        known = behind(known, stmt)
    arrays = dict.fromkeys(use.access.array for _, use in found if use.stmt.op and use.access.array not in kept)
    for array in arrays:
        mine = [(number, use) for number, use in found if use.access.array == array]
        body = _held(body, array, mine, names) or body
    return body


def _held(
    body: tuple[Stmt, ...], array: str, uses: Sequence[tuple[int, _Use]], names: Names
) -> tuple[Stmt, ...] | None:
    """The body with the updates of an array's elements in registers; None where they cannot be."""
    updates = [(number, use) for number, use in uses if use.stmt.op]
    last = max(number for number, _ in updates)
    before = [n for stmt in body[: last + 1] for n in walk(stmt) if isinstance(n, Access) and n.array == array]
    meets = any(isinstance(n, Barrier | WarpReduce) for s in body[: last + 1] for n in walk(s))
    stores = [use for number, use in uses if not use.stmt.op and number <= last]
    if not meets or len(updates) > MOST or len(before) != len(updates) + len(stores):
        return None
    if not all(_apart(one.form, other.form) for (_, one), (_, other) in combinations(updates, 2)):
        return None
    start: list[Stmt] = []
    changed: dict[int, tuple[Stmt, ...]] = {}
    for _, use in updates:
        name = Name(names.shared(f"{array}{len(changed) or ''}_held"), use.access.type)
        value = _value(use, stores)
        if value is None or _names(value) & _made_inside(body):
            return None
        first = () if isinstance(value, Literal) else (Declare(name.name, name.type, value, use.stmt.location),)
        start += first
        inside: tuple[Stmt, ...] = () if first else (Declare(name.name, name.type, value, use.stmt.location),)
        changed[id(use.stmt)] = (*inside, replace(use.stmt, target=name), replace(use.stmt, op="", value=name))
    return (*start, *_changed(body, changed))


def _value(update: _Use, stores: Sequence[_Use]) -> Expr | None:
    """What an update finds: what a store of the same thread has left, or what is in memory; None where that is
    unknown."""
    for store in stores:
        if store.form == update.form and store.facts <= update.facts and isinstance(store.stmt.value, Literal):
            return replace(store.stmt.value, type=update.access.type) if _fits(store, update) else None
    if stores:
        return None
    return select(both(*needed(update.conditions)), update.access, zero(update.access.type))


def _names(value: Expr) -> set[str]:
    return {n.name for n in walk(value) if isinstance(n, Name)}


def _made_inside(body: Sequence[Stmt]) -> set[str]:
    """The names that a body declares or changes."""
    found = set[str]()
    for node in walk(*body):
        match node:
            case Declare(name=name) | For(iterator=name) | Assign(target=Name(name=name)):
                found.add(name)
    return found


def _fits(store: _Use, update: _Use) -> bool:
    """Whether a literal is the same in the element's type."""
    assert isinstance(store.stmt.value, Literal)
    return store.stmt.value.type == update.access.type or store.stmt.value.text == "0"


def _changed(body: Sequence[Stmt], changed: dict[int, tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for stmt in body:
        if id(stmt) in changed:
            found.append(Scope(changed[id(stmt)]))
        else:
            found.append(with_bodies(stmt, lambda inner: _changed(inner, changed)))
    return tuple(found)


def _uses(stmt: Stmt, known: Known, conditions: tuple[Expr, ...]) -> Iterator[_Use]:
    """The assignments to elements in a statement, outside of loops."""
    match stmt:
        case Assign(target=Access() as target):
            form = element(target, known)
            if form is not None:
                subscripts = tuple(expanded(s, known) for s in target.subscripts)
                yield _Use(stmt, replace(target, subscripts=subscripts), form, conditions)
        case If(otherwise=()):
            condition = expanded(stmt.condition, known)
            if all(isinstance(n, Expr) and not isinstance(n, Access) for n in walk(condition)):
                yield from _all_uses(stmt.then, known, (*conditions, condition))
        case Scope():
            yield from _all_uses(stmt.body, known, conditions)


def _all_uses(body: Sequence[Stmt], known: Known, conditions: tuple[Expr, ...]) -> Iterator[_Use]:
    for stmt in body:
        yield from _uses(stmt, known, conditions)
        known = behind(known, stmt)


def _apart(one: Element, other: Element) -> bool:
    """Whether two elements are surely different."""
    pairs = zip(one, other, strict=True)
    return any(set(rest := {n: a.get(n, 0) - b.get(n, 0) for n in {*a, *b}}) and _constant(rest) for a, b in pairs)


def _constant(form: dict[str, int]) -> bool:
    return bool(form.get("", 0)) and not any(c for name, c in form.items() if name)


def _parts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Binary(op="&&" | "&", left=left, right=right):
            yield from _parts(left)
            yield from _parts(right)
        case _:
            yield condition


def _normal(condition: Expr) -> object:
    """The same for comparisons that say the same of linear forms."""
    match condition:
        case Binary(op=op, left=left, right=right) if op in ("<", "<=", ">", ">=", "=="):
            form = linear(Binary("-", left, right, left.type))
            if form is not None:
                return op, frozenset((name, c) for name, c in form.items() if c)
    return condition
