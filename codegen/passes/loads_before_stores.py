"""Which loads of an iteration may be made before it runs: those whose elements nothing changes before they are read.

before: A[c][p] = x[c]; s += A[c][q];                                                                 p may be q
after:  A[c][q] is read where it stands, behind the store

A store to the very element is no obstacle where it stands below the conditions of the load: what holds the element is
changed with it (`with_held`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.codegen.passes.iteration_loads import Guard, HeldLoad, Setting, distinct, loads_of
from polytile.dataclass import dataclass
from polytile.ir.expr import Access, Assign, Declare, Expr, For, If, Scope, Stmt
from polytile.ir.expr_trees import walk
from polytile.ir.linear_access import Element, Known, as_key, behind, element, expanded


def lasting(loop: For, setting: Setting, *, alike: bool = True) -> list[HeldLoad]:
    """Return each element once that an iteration reads (`loads_of`), without those it may change before."""
    loads = distinct(loads_of(loop, setting, alike=alike))
    changed = set(_changed(loop.body, loads))
    return [load for load in loads if (load.access.array, as_key(load.form)) not in changed]


@dataclass(frozen=True, slots=True)
class _Use:
    """A read of an element, or a store to it, below conditions; None: where nothing that is held is looked for."""

    access: Access
    form: Element | None
    guard: Guard | None
    stores: bool = False


def _changed(body: Sequence[Stmt], loads: Sequence[HeldLoad]) -> Iterator[tuple[str, object]]:
    """Yield the elements that are read after a store which may be to them, and which their loads do not follow."""
    stores: list[_Use] = []
    for use in _uses(body, {}, ()):
        before = (s for s in stores if s.access.array == use.access.array)
        if use.stores:
            stores.append(use)
        elif use.form is not None and any(not _followed(s, use.form, loads) for s in before):
            yield use.access.array, as_key(use.form)


def _followed(store: _Use, form: Element, loads: Sequence[HeldLoad]) -> bool:
    """Return whether what holds an element has its value after a store."""
    if store.form is None or store.form != form:
        return store.form is not None and _apart(store.form, form)
    own = (load for load in loads if (load.access.array, load.form) == (store.access.array, form))
    return store.guard is not None and all(load.serves(store.guard) for load in own)


def _apart(one: Element, other: Element) -> bool:
    """Return whether a subscript differs by a constant."""
    for a, b in zip(one, other, strict=True):
        by = {name: a.get(name, 0) - b.get(name, 0) for name in (*a, *b)}
        if by.pop("", 0) and not any(by.values()):
            return True
    return False


def _uses(body: Sequence[Stmt], known: Known, guard: Guard | None) -> Iterator[_Use]:
    """Yield what the statements read and store to, in their order."""
    for stmt in body:
        match stmt:
            case Declare() | Assign():
                target = [stmt.target] if isinstance(stmt, Assign) else []
                read = [s for t in target if isinstance(t, Access) for s in t.subscripts]
                read += target if isinstance(stmt, Assign) and stmt.op else []
                yield from _reads([*read, *([] if stmt.value is None else [stmt.value])], known, guard)
                yield from (_Use(t, element(t, known), guard, True) for t in target if isinstance(t, Access))
                known = behind(known, stmt)
            case Scope():
                yield from _uses(stmt.body, known, guard)
            case If():
                yield from _reads([stmt.condition], known, guard)
                inner = None if guard is None else (*guard, expanded(stmt.condition, known))
                yield from _uses(stmt.then, known, inner)
                yield from _uses(stmt.otherwise, known, None)


def _reads(values: Sequence[Expr], known: Known, guard: Guard | None) -> Iterator[_Use]:
    for node in walk(*values):
        if isinstance(node, Access):
            yield _Use(node, element(node, known), guard)
