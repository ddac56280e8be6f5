"""Stores to cells of a thread that nothing reads, and the loops that do nothing else.

before: if (t0 == 0) for (int c = max(max(1 - n, 1 - m), -b); c < 0; ++c) { int i = -c; v = x[i]; }
after:  nothing

A dead statement has them that is kept for the memory that it reads. nvcc of CUDA 13.0 does not end on such a loop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from polytile.ir.def_use import mentioned_names
from polytile.ir.expr import Access, Assign, Break, Declare, For, If, Name, Node, Scope, Stmt, While
from polytile.ir.expr_trees import bodies, expressions, statements, with_bodies
from polytile.ir.gpu_ops import Atomic, AwaitLaunches, Load, Store
from polytile.ir.kernel import Barrier, Comment, Kernel
from polytile.ir.memory import Space

_KNOWN = (Assign, Atomic, AwaitLaunches, Barrier, Break, Comment, Declare, For, If, Load, Scope, Store, While)


def without_dead_stores(kernel: Kernel) -> tuple[Stmt, ...]:
    """Remove private arrays and variables that nothing reads, and what only they needed, from a kernel's body."""
    every = tuple(statements(*kernel.body))
    own = {s.array for s in kernel.storage if s.space is Space.PRIVATE}
    own.update(s.name for s in every if isinstance(s, Declare))
    dead = own & {_definition(s)[0] for s in every} - _live(every, own)
    return _kept(kernel.body, dead) if dead and all(isinstance(s, _KNOWN) for s in every) else kernel.body


def _live(every: Iterable[Stmt], own: Collection[str]) -> set[str]:
    """Return the names and arrays that live statements read, and what the values of these read.

    A statement is live where it does more than set one of the kernel's own.
    """
    sources: dict[str, set[str]] = {}
    live: set[str] = set()
    for stmt in every:
        name, parts = _definition(stmt)
        (sources.setdefault(name, set()) if name in own else live).update(mentioned_names(*parts))
    waiting = list(live)
    while waiting:
        found = sources.get(waiting.pop(), set()) - live
        live |= found
        waiting += found
    return live


def _definition(stmt: Stmt) -> tuple[str, Sequence[Node]]:
    """Return the name or array that a statement sets, if it does no more than that, else "", and what it reads."""
    match stmt:
        case Assign(target=Access(array=array, subscripts=subscripts, inside=inside), value=value):
            return array, (*subscripts, *inside, value)
        case Assign(target=Name(name=name), value=value):
            return name, (value,)
        case Declare(name=name):
            return name, expressions(stmt)
    return "", expressions(stmt)


def _kept(body: tuple[Stmt, ...], dead: Collection[str]) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for stmt in body:
        left = with_bodies(stmt, lambda inner: _kept(inner, dead))
        emptied = isinstance(left, For | If | Scope) and not any(bodies(left)) and any(bodies(stmt))
        if not emptied and _definition(left)[0] not in dead:
            found.append(left)
    return tuple(found)
