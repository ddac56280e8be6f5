"""Store sinking: stores of straight code go behind all of its loads, where they are to other arrays.

before: B[i] = A[i - 1] + A[i + 1]; B[i + 1] = A[i] + A[i + 2];
after:  double B_new = A[i - 1] + A[i + 1], B_new_2 = A[i] + A[i + 2]; B[i] = B_new; B[i + 1] = B_new_2;

ptxas puts loads under way ahead of stores where nothing aliases the pointer that they go through. A kernel that waits
for the launches before it cannot promise that (dependent_launch.py), so that its loads have to come first in the text.
The results of a block stay in registers until its end, and so their number is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polytile.ir.expr import Access, Assign, Declare, For, If, Name, Scope, Stmt
from polytile.ir.expr_trees import children, walk
from polytile.ir.kernel import Kernel
from polytile.ir.memory import Space
from polytile.ir.name_supply import RESERVED, Names

MOST_RESULTS = 16  # words of 32 bits that wait for the end of a block


def with_sunk_stores(kernel: Kernel) -> Kernel:
    """Move the stores of each branch without branches and loops after its loads."""
    names = Names(set(RESERVED | kernel.names))
    return replace(kernel, body=_within(kernel, kernel.body, names))


def _within(kernel: Kernel, body: Sequence[Stmt], names: Names) -> tuple[Stmt, ...]:
    return tuple(_inside(kernel, stmt, names) for stmt in body)


def _inside(kernel: Kernel, stmt: Stmt, names: Names) -> Stmt:
    match stmt:
        case If(then=then, otherwise=otherwise):
            return replace(stmt, then=_branch(kernel, then, names), otherwise=_branch(kernel, otherwise, names))
        case For(body=inner) | Scope(body=inner):
            return replace(stmt, body=_within(kernel, inner, names))
    return stmt


def _branch(kernel: Kernel, body: tuple[Stmt, ...], names: Names) -> tuple[Stmt, ...]:
    if not _is_straight(body):
        return _within(kernel, body, names)
    return _sunk(kernel, body, names) if _may_move(kernel, body) else body


def _is_straight(body: Sequence[Stmt]) -> bool:
    """Return whether a body has declarations and plain assignments to elements alone.

    No value then changes after it is set.
    """
    return all(
        isinstance(s, Declare) or (isinstance(s, Assign) and s.op == "" and isinstance(s.target, Access)) for s in body
    )


def _may_move(kernel: Kernel, body: Sequence[Stmt]) -> bool:
    stores = [s for s in body if isinstance(s, Assign)]
    targets = {s.target.array for s in stores if isinstance(s.target, Access)}
    storages = [kernel.storage_of(array) for array in targets]
    values = [s.value for s in body if isinstance(s, Assign | Declare) and s.value is not None]
    places = [e for s in stores if isinstance(s.target, Access) for e in children(s.target)]
    loaded = {n.array for n in walk(*values, *places) if isinstance(n, Access)}
    words = sum(_words(s) for s in stores)
    return all(s.space is Space.GLOBAL for s in storages) and not targets & loaded and words <= MOST_RESULTS


def _words(store: Assign) -> int:
    assert isinstance(store.target, Access)
    return max(1, store.target.type.size // 4)


def _sunk(kernel: Kernel, body: Sequence[Stmt], names: Names) -> tuple[Stmt, ...]:
    first: list[Stmt] = []
    last: list[Stmt] = []
    for stmt in body:
        if not (isinstance(stmt, Assign) and isinstance(stmt.target, Access)):
            first.append(stmt)
            continue
        ctype = stmt.target.type  # of an element, or of a field of it
        new = Name(names.fresh(f"{kernel.storage_of(stmt.target.array).name}_new"), ctype)
        first.append(Declare(new.name, ctype, stmt.value, stmt.location))
        last.append(replace(stmt, value=new))
    return (*first, *last)
