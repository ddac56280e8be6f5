"""All threads of a block reach its barriers: none stands below a condition that may differ between them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod

from polytile.ir.checks.refuse import ensure
from polytile.ir.device import Atomic, Leave, Load, Shuffle, WarpReduce
from polytile.ir.expr import Access, Assign, Declare, Expr, For, If, Name, Scope, Stmt, walk
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.memory import Space


def check_uniform(kernel: Kernel) -> None:
    """Raise InternalError where a barrier of the block or grid, or a `Leave`, may miss some threads of a block.

    Values from memory, from other lanes and from `threadIdx` may differ; so may what is computed from them.
    """
    if prod(kernel.block) > 1 and any(_meets(n) for n in kernel.nodes):
        _check(kernel, kernel.body, differing_names(kernel), False)


def _meets(node: object) -> bool:
    return isinstance(node, Leave) or (isinstance(node, Barrier) and node.scope != "warp")


def _check(kernel: Kernel, body: Iterable[Stmt], differing: frozenset[str], apart: bool) -> None:
    for stmt in body:
        match stmt:
            case If(then=then, otherwise=otherwise):
                inside = apart or _splits(kernel, stmt, differing)
                _check(kernel, (*then, *otherwise), differing, inside)
            case For(body=inner):
                _check(kernel, inner, differing, apart or _splits(kernel, stmt, differing))
            case Scope(body=inner):
                _check(kernel, inner, differing, apart)
            case Barrier() | Leave():
                message = "below a condition that may differ between the threads of a block"
                ensure(not apart or not _meets(stmt), kernel, stmt, message)


def _splits(kernel: Kernel, stmt: If | For, differing: frozenset[str]) -> bool:
    """Whether threads of a block may go different ways at a statement."""
    match stmt:
        case If(condition=condition):
            return differs(kernel, condition, differing)
        case For(lower=lower, condition=condition, step=step):
            steps = [step] if isinstance(step, Name) else []
            return any(differs(kernel, e, differing) for e in (lower, condition, *steps))


def differs(kernel: Kernel, value: Expr, differing: frozenset[str]) -> bool:
    """Whether a value may differ between the threads of a block, given the names that may."""
    for node in walk(value):
        match node:
            case Name(name=name) if name in differing or "threadIdx" in name:
                return True
            case Access(array=array) if kernel.home(array).space is not Space.VALUE:
                return True
            case Shuffle() | WarpReduce():
                return True
    return False


def differing_names(kernel: Kernel) -> frozenset[str]:
    """The names that may have different values in the threads of a block."""
    found: set[str] = set()
    for c in kernel.coordinates:
        if "threadIdx" in c.source or found & set(re.findall(r"\w+", c.source)):
            found.add(c.name)
    before = -1
    while len(found) > before:
        before = len(found)
        _collect(kernel, kernel.body, found, False)
    return frozenset(found)


def _collect(kernel: Kernel, body: Iterable[Stmt], found: set[str], apart: bool) -> None:
    for stmt in body:
        now = frozenset(found)
        match stmt:
            case Declare(name=name, value=Expr() as value) if differs(kernel, value, now):
                found.add(name)
            case Assign(target=Name(name=name), value=value) if apart or differs(kernel, value, now):
                found.add(name)
            case Atomic(old=Name(name=name)):
                found.add(name)
            case Load(targets=targets):
                found.update(t.name for t in targets if isinstance(t, Name))
            case If(then=then, otherwise=otherwise):
                _collect(kernel, (*then, *otherwise), found, apart or _splits(kernel, stmt, now))
            case For(iterator=iterator, body=inner):
                inside = _splits(kernel, stmt, now)
                if inside:
                    found.add(iterator)
                _collect(kernel, inner, found, apart or inside)
            case Scope(body=inner):
                _collect(kernel, inner, found, apart)
