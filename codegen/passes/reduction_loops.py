"""Loops of a thread that data end and that only add up: which of a kernel lanes can share (subwarp_loops.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polytile.dataclass import dataclass
from polytile.ir.arith import known
from polytile.ir.def_use import assigned_names, declared_names, mentioned_names, targets
from polytile.ir.expr import (
    Access,
    Assign,
    Binary,
    Break,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Node,
    Scope,
    Stmt,
    While,
)
from polytile.ir.expr_trees import bodies, walk
from polytile.ir.gpu_ops import Atomic, BlockIndex, BuiltIn, Leave, Shuffle, Store, ThreadIndex, WarpReduce
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.memory import Space
from polytile.ir.reductions import Accumulation, accumulation, partial_type

LONGEST_STEP = 1000


@dataclass(frozen=True, slots=True)
class ReductionLoop:
    """`iterator = lower; while (iterator < bound) { ...; iterator += step; }`, which updates elements that it keeps;
    `length` is an array whose dimension of this number it goes through."""

    iterator: Name
    loop: While
    updates: tuple[Accumulation, ...]  # one for each element
    length: tuple[str, int]

    @property
    def step(self) -> int:
        last = self.loop.body[-1]
        assert isinstance(last, Assign)
        return known(last.value) or 1


def is_linear(kernel: Kernel) -> bool:
    """Return whether the kernel's threads are in one row, and have nothing to do with one another."""
    meets = any(isinstance(n, Barrier | Leave | Shuffle | WarpReduce | Atomic | Store) for n in kernel.nodes)
    places = (*kernel.nodes, *(n for c in kernel.coordinates for n in walk(c.source)))
    beyond = any(isinstance(n, ThreadIndex | BlockIndex) and n.axis != "x" for n in places)
    return not (meets or beyond or kernel.shared)


def reduction_loops(
    kernel: Kernel, body: Sequence[Stmt], known_here: frozenset[str], *, floating: bool
) -> Iterator[ReductionLoop]:
    """Yield the loops that threads can share, in blocks that all threads of a row reach at the same time."""
    known_here |= {c.name for c in kernel.coordinates} | {p.name for p in kernel.parameters}
    for k, stmt in enumerate(body):
        if isinstance(stmt, While):
            found = _loop(kernel, body[k - 1] if k else None, stmt, body[k + 1 :], floating=floating)
            if found is not None:
                yield found
        elif isinstance(stmt, Declare) and stmt.value is not None and _is_same(stmt.value, known_here):
            known_here |= {stmt.name}
        elif isinstance(stmt, Scope) or (isinstance(stmt, If) and _is_same(stmt.condition, known_here)):
            for inner in bodies(stmt):
                yield from reduction_loops(kernel, inner, known_here, floating=floating)


def _is_same(value: Expr, known_here: frozenset[str]) -> bool:
    """Return whether the threads of a row are known to have the same value."""
    return all(not isinstance(n, Access) and (not isinstance(n, Name) or n.name in known_here) for n in walk(value))


def _loop(
    kernel: Kernel, before: Stmt | None, loop: While, behind: Sequence[Stmt], *, floating: bool
) -> ReductionLoop | None:
    """Return the loop that a `while` and the declaration before it are, if threads can share it; else None."""
    if not (isinstance(before, Declare) and before.value is not None and before.type.size >= 4 and before.type.signed):
        return None
    iterator = Name(before.name, before.type)
    match loop.condition, loop.body[-1:]:
        case Binary(op="<" | "<=", left=left, right=bound), (Assign(target=target, op="+", value=Literal() as step),):
            pass
        case _:
            return None
    if left != iterator or target != iterator or not 1 <= (known(step) or 0) <= LONGEST_STEP:
        return None
    if any(isinstance(n, BuiltIn | While) for stmt in loop.body for n in walk(stmt)):
        return None
    inside = loop.body[:-1]
    updates = _updates(kernel, inside, iterator, floating=floating)
    used = set(mentioned_names(bound))
    changed = {u.target.array for u in updates or ()} | set(assigned_names(*loop.body)) | set(declared_names(*inside))
    if not updates or used & (changed | {iterator.name}) or iterator.name in set(mentioned_names(*behind)):
        return None
    length = _length(kernel, inside, iterator)
    return None if length is None else ReductionLoop(iterator, loop, updates, length)


def _updates(
    kernel: Kernel, body: Sequence[Stmt], iterator: Name, *, floating: bool
) -> tuple[Accumulation, ...] | None:
    """Return the elements that a body updates, if it changes nothing else but names of its own; else None."""
    own = set(declared_names(*body))
    found: dict[Access, Accumulation] = {}
    for stmt in _units(body):
        update = update_of(stmt)
        if update is None:
            if any(isinstance(t, Access) or t.name not in own for t in targets(stmt)):
                return None
            continue
        ctype, first = partial_type(update), found.setdefault(update.target, update)
        inner = own | {iterator.name}
        if ctype is None or ctype.size < 4 or first.op != update.op or partial_type(first) != ctype:
            return None
        if (ctype.kind == "float" and not floating) or inner & set(mentioned_names(*update.target.subscripts)):
            return None
    arrays = {target.array for target in found}
    uses = sum(isinstance(n, Access) and n.array in arrays for s in body for n in walk(s))
    mine = sum(isinstance(n, Access) and n.array in arrays for s in _units(body) if update_of(s) for n in walk(s))
    once = all(_uses_once(stmt) for stmt in _units(body) if update_of(stmt))
    return tuple(found.values()) if uses == mine and once and len(arrays) == len(found) else None


def _uses_once(stmt: Stmt) -> bool:
    """Return whether an update reads its array nowhere but as the element that it changes."""
    found = update_of(stmt)
    return found is not None and not any(
        isinstance(n, Access) and n.array == found.target.array and n != found.target for n in walk(stmt)
    )


def _units(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """Yield the assignments and updates of a body, and whatever else is no plain block."""
    for stmt in body:
        if isinstance(stmt, Scope) or (isinstance(stmt, If) and update_of(stmt) is None):
            for inner in bodies(stmt):
                yield from _units(inner)
        elif not isinstance(stmt, Declare):
            yield stmt


def _length(kernel: Kernel, body: Sequence[Stmt], iterator: Name) -> tuple[str, int] | None:
    """Return an array that a loop goes through, and its dimension, whose size bounds how long loops are; or None."""
    for node in (n for stmt in body for n in walk(stmt)):
        if isinstance(node, Access) and iterator in node.subscripts:
            dimension, extents = node.subscripts.index(iterator), kernel.storage_of(node.array).extents
            if dimension == len(node.subscripts) - 1 == len(extents) - 1 and extents[dimension] is not None:
                return node.array, dimension
    return None


def only_first_lane_reads(kernel: Kernel, loops: Sequence[ReductionLoop]) -> bool:
    """Return whether what the first thread of a row stores in memory is read by it alone.

    All threads read what loops add up.
    """
    written = {t.array for n in kernel.nodes for t in targets(n) if isinstance(t, Access) and is_global(kernel, t)}
    uses = [n for n in kernel.nodes if isinstance(n, Access) and n.array in written]
    inside = {id(n) for loop in loops for n in walk(*loop.loop.body)}
    alone = (s for s in kernel.nodes if isinstance(s, Assign) and id(s) not in inside)
    stored = [n for s in alone if stores(kernel, s) for n in walk(s)]
    allowed = {id(n) for n in stored} | {id(n) for n in _updated_in(loops)}
    plain = not any(isinstance(n, Break | For) for n in kernel.nodes)
    return plain and all(id(n) in allowed for n in uses)


def _updated_in(loops: Sequence[ReductionLoop]) -> Iterator[Node]:
    """Yield the elements in loops that are updated there, which nothing else in the same loop uses."""
    for loop in loops:
        updated = {u.target.array for u in loop.updates}
        yield from (n for s in loop.loop.body for n in walk(s) if isinstance(n, Access) and n.array in updated)


def stores(kernel: Kernel, stmt: Stmt) -> bool:
    """Return whether a statement itself writes to memory."""
    return any(isinstance(t, Access) and is_global(kernel, t) for t in targets(stmt))


def is_global(kernel: Kernel, target: Access) -> bool:
    return kernel.storage_of(target.array).space is Space.GLOBAL


def update_of(stmt: Stmt) -> Accumulation | None:
    return accumulation(stmt) if isinstance(stmt, Assign | If) else None
