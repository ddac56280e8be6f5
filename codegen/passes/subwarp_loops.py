"""Lanes of a warp share data-dependent loops that only add up (vector CSR kernels; Bell and Garland, SC 2009).

before: thread i { s = 0; j = row[i]; while (j < row[i + 1]) { s += val[j] * x[col[j]]; j += 1; } y[i] = s; }
after:  lanes 0 to 15 of i { s = 0; part = 0; j = row[i] + lane; while (j < row[i + 1]) { part += ...; j += 16; }
                             s += segment_sum<16>(part); if (lane == 0) y[i] = s; }

All lanes run what one thread ran, and the first of them stores. Neighbouring elements are loaded together, and long
rows keep more threads busy. How many lanes pay depends on how long the rows are: the host takes the average, from the
size of an array that the loop goes through, and chooses among kernels when it runs. The order of additions changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polytile.codegen.passes.plan import LoweredPlan
from polytile.ir.arith import add, compare, div, known, mul
from polytile.ir.def_use import assigned_names, declared_names, mentioned_names, names_of, targets
from polytile.ir.expr import (
    LLONG,
    Access,
    Assign,
    Binary,
    Break,
    Cast,
    CType,
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
    bodies,
    rewrite,
    walk,
    with_bodies,
)
from polytile.ir.gpu_ops import Atomic, BlockIndex, BuiltIn, Leave, Shuffle, Store, ThreadIndex, WarpReduce
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Barrier, Coordinate, Kernel, Launch
from polytile.ir.memory import Space
from polytile.ir.name_supply import fresh
from polytile.ir.reductions import Accumulation, accumulation, combined, identity, partial_type
from polytile.machine import WARP_SIZE, Machine

_LONGEST_STEP = 1000
_LARGEST = 2**31 - 1 - WARP_SIZE * _LONGEST_STEP  # of a place in an array to which a lane may add


def subwarp_loops(program: HostProgram, plans: Sequence[LoweredPlan], machine: Machine) -> HostProgram:
    """Lanes of a warp share the loops of a thread that data end."""
    floating = {k.name for k, p in zip(program.kernels, plans, strict=True) if p.reassociate}
    taken = names_of(program.body) | {p.name for p in program.parameters} | {a.name for a in program.arguments}
    kernels: list[Kernel] = []
    launched: dict[str, _Shared] = {}
    for kernel in program.kernels:
        kernels.append(kernel)
        shared = _shared(kernel, taken, machine, floating=kernel.name in floating)
        if shared is not None:
            launched[kernel.name] = shared
            kernels += [shared.kernel(lanes) for _, lanes in machine.tuning.rows.lanes]
    if not launched:
        return program
    return replace(program, kernels=tuple(kernels), body=_launches(program.body, launched))


def _launches(body: tuple[Stmt, ...], launched: dict[str, _Shared]) -> tuple[Stmt, ...]:
    return tuple(
        launched[stmt.kernel].launch(stmt)
        if isinstance(stmt, Launch) and stmt.kernel in launched
        else with_bodies(stmt, lambda inner: _launches(inner, launched))
        for stmt in body
    )


@dataclass(frozen=True, slots=True)
class _Loop:
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


@dataclass(frozen=True, slots=True)
class _Shared:
    """A kernel of whose threads several lanes can take the part."""

    plain: Kernel
    loops: tuple[_Loop, ...]
    machine: Machine
    taken: frozenset[str]  # names that neither the kernel nor the host may give to something else

    # The launch ------------------------------------------------------------------------------------------------------
    def launch(self, plain: Launch) -> Stmt:
        """The choice of a kernel by the average length of the first loop."""
        x, y, z = plain.grid
        array, dimension = self.loops[0].length
        extents = self.plain.storage_of(array).extents
        size = extents[dimension]
        assert size is not None
        elements, average = _wide(size), Name(fresh("average", self.taken), LLONG)
        rows = mul(x, self.plain.block[0])
        length = elements if dimension else div(elements, rows)
        chosen: Stmt = plain
        for least, lanes in reversed(self.machine.tuning.rows.lanes):
            grid = mul(x, lanes), y, z
            chosen = If(compare(">=", average, least), (Launch(self.name(lanes), grid),), (chosen,))
        fits = Binary("&&", compare(">", rows, 0), compare("<=", elements, _LARGEST))
        return If(fits, (Scope((Declare(average.name, LLONG, length), chosen)),), (plain,))

    def name(self, lanes: int) -> str:
        return f"{self.plain.name}_lanes{lanes}"

    # The kernel ------------------------------------------------------------------------------------------------------
    def kernel(self, lanes: int) -> Kernel:
        """The kernel in which `lanes` threads do what one did."""
        rows = self.plain.block[0] // lanes
        thread = add(ThreadIndex("y"), mul(Binary("%", BlockIndex("x"), Literal(str(lanes))), rows))
        block = Binary("/", BlockIndex("x"), Literal(str(lanes)))

        def place(node: Any) -> Any:
            match node:
                case ThreadIndex(axis="x"):
                    return thread
                case BlockIndex(axis="x"):
                    return block
            return node

        body = tuple(rewrite(stmt, place) for stmt in self.plain.body)
        return replace(
            self.plain,
            name=self.name(lanes),
            block=(lanes, rows, 1),
            coordinates=tuple(Coordinate(c.name, rewrite(c.source, place)) for c in self.plain.coordinates),
            body=self._body(body, lanes),
            summary=(*self.plain.summary, f"{lanes} lanes run what one thread would, and share its loops"),
        )

    def _body(self, body: tuple[Stmt, ...], lanes: int) -> tuple[Stmt, ...]:
        found: list[Stmt] = []
        for k, stmt in enumerate(body):
            loop = next((one for one in self.loops if one.loop is stmt), None)
            following = body[k + 1] if k + 1 < len(body) else None
            own = next((one for one in self.loops if one.loop is following), None)
            if loop is not None:
                found += self._loop(loop, lanes)
            elif own is not None and isinstance(stmt, Declare) and stmt.value is not None:
                found.append(replace(stmt, value=Binary("+", stmt.value, mul(ThreadIndex("x"), own.step), stmt.type)))
            elif _stores(self.plain, stmt):
                found.append(If(compare("==", ThreadIndex("x"), 0), (stmt,)))
            else:
                found.append(with_bodies(stmt, lambda inner: self._body(inner, lanes)))
        return tuple(found)

    def _loop(self, loop: _Loop, lanes: int) -> Iterator[Stmt]:
        """The loop with partial results, and their combination."""
        parts = [Name(fresh(f"{u.target.array}_part", self.taken), _type(u)) for u in loop.updates]
        for part, update in zip(parts, loop.updates, strict=True):
            yield Declare(part.name, part.type, identity(update.op, part.type))
        *inside, step = loop.loop.body
        assert isinstance(step, Assign)
        by = Literal(str(lanes * loop.step))
        named = {u.target: part for u, part in zip(loop.updates, parts, strict=True)}
        body = tuple(_partial(stmt, named) for stmt in inside)
        yield replace(loop.loop, body=(*body, replace(step, value=by)))
        for part, update in zip(parts, loop.updates, strict=True):
            total = WarpReduce(update.op, part, lanes)
            stored: Stmt = Assign(update.target, update.op if update.op in "+*&|^" else "", total)
            if update.op in ("min", "max"):
                value = Name(fresh(f"{update.target.array}_all", self.taken), part.type)
                yield Declare(value.name, value.type, total)
                stored = Assign(update.target, "", combined(update.op, update.target, value, part.type))
            elif _is_global(self.plain, update.target):
                value = Name(fresh(f"{update.target.array}_all", self.taken), part.type)
                yield Declare(value.name, value.type, total)
                stored = Assign(update.target, update.op, value)
            kept = not _is_global(self.plain, update.target)
            yield stored if kept else If(compare("==", ThreadIndex("x"), 0), (stored,))


def _partial(stmt: Stmt, named: dict[Access, Name]) -> Stmt:
    """A statement of a loop with partial results in place of the elements."""
    found = _update(stmt)
    if found is None or found.target not in named:
        return with_bodies(stmt, lambda inner: tuple(_partial(s, named) for s in inner))
    part = named[found.target]
    value = found.value if found.value.type == part.type else Cast(part.type, found.value)
    assert isinstance(stmt, Assign | If)
    if found.op in ("min", "max"):
        return Assign(part, "", combined(found.op, part, value, part.type), stmt.location)
    return Assign(part, "-" if found.inverse else found.op, value, stmt.location)


def _update(stmt: Stmt) -> Accumulation | None:
    return accumulation(stmt) if isinstance(stmt, Assign | If) else None


def _type(update: Accumulation) -> CType:
    ctype = partial_type(update)
    assert ctype is not None
    return ctype


# What can be shared --------------------------------------------------------------------------------------------------
def _shared(kernel: Kernel, taken: frozenset[str], machine: Machine, *, floating: bool) -> _Shared | None:
    """A kernel with loops that can be shared, if it has no others that data end."""
    whiles = [n for n in kernel.nodes if isinstance(n, While)]
    if not whiles or not _is_linear(kernel) or any(kernel.block[0] % lanes for _, lanes in machine.tuning.rows.lanes):
        return None
    loops = tuple(_loops(kernel, kernel.body, frozenset(), floating=floating))
    if len(loops) != len(whiles) or not _only_first_lane_reads(kernel, loops):
        return None
    return _Shared(kernel, loops, machine, taken | kernel.names)


def _is_linear(kernel: Kernel) -> bool:
    """Whether its threads are in one row, and have nothing to do with one another."""
    meets = any(isinstance(n, Barrier | Leave | Shuffle | WarpReduce | Atomic | Store) for n in kernel.nodes)
    places = (*kernel.nodes, *(n for c in kernel.coordinates for n in walk(c.source)))
    beyond = any(isinstance(n, ThreadIndex | BlockIndex) and n.axis != "x" for n in places)
    return not (meets or beyond or kernel.shared or kernel.cooperative or kernel.cluster > 1)


def _loops(kernel: Kernel, body: Sequence[Stmt], known_here: frozenset[str], *, floating: bool) -> Iterator[_Loop]:
    """The loops that can be shared, in blocks that all lanes of a row reach together."""
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
                yield from _loops(kernel, inner, known_here, floating=floating)


def _is_same(value: Expr, known_here: frozenset[str]) -> bool:
    """Whether the lanes of a row are known to have the same value."""
    return all(not isinstance(n, Access) and (not isinstance(n, Name) or n.name in known_here) for n in walk(value))


def _loop(
    kernel: Kernel, before: Stmt | None, loop: While, behind: Sequence[Stmt], *, floating: bool
) -> _Loop | None:
    """The loop that a `while` and the declaration before it are, if lanes can share it."""
    if not (isinstance(before, Declare) and before.value is not None and before.type.size >= 4 and before.type.signed):
        return None
    iterator = Name(before.name, before.type)
    match loop.condition, loop.body[-1:]:
        case Binary(op="<" | "<=", left=left, right=bound), (Assign(target=target, op="+", value=Literal() as step),):
            pass
        case _:
            return None
    if left != iterator or target != iterator or not 1 <= (known(step) or 0) <= _LONGEST_STEP:
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
    return None if length is None else _Loop(iterator, loop, updates, length)


def _updates(
    kernel: Kernel, body: Sequence[Stmt], iterator: Name, *, floating: bool
) -> tuple[Accumulation, ...] | None:
    """The elements that a body updates, if it changes nothing else but names of its own."""
    own = set(declared_names(*body))
    found: dict[Access, Accumulation] = {}
    for stmt in _units(body):
        update = _update(stmt)
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
    mine = sum(isinstance(n, Access) and n.array in arrays for s in _units(body) if _update(s) for n in walk(s))
    once = all(_uses_once(stmt) for stmt in _units(body) if _update(stmt))
    return tuple(found.values()) if uses == mine and once and len(arrays) == len(found) else None


def _uses_once(stmt: Stmt) -> bool:
    """Whether an update reads its array nowhere but as the element that it changes."""
    found = _update(stmt)
    return found is not None and not any(
        isinstance(n, Access) and n.array == found.target.array and n != found.target for n in walk(stmt)
    )


def _units(body: Sequence[Stmt]) -> Iterator[Stmt]:
    """The assignments and updates of a body, and whatever else is no plain block."""
    for stmt in body:
        if isinstance(stmt, Scope) or (isinstance(stmt, If) and _update(stmt) is None):
            for inner in bodies(stmt):
                yield from _units(inner)
        elif not isinstance(stmt, Declare):
            yield stmt


def _length(kernel: Kernel, body: Sequence[Stmt], iterator: Name) -> tuple[str, int] | None:
    """An array that a loop goes through, and its dimension: the size of that bounds how long loops are."""
    for node in (n for stmt in body for n in walk(stmt)):
        if isinstance(node, Access) and iterator in node.subscripts:
            dimension, extents = node.subscripts.index(iterator), kernel.storage_of(node.array).extents
            if dimension == len(node.subscripts) - 1 == len(extents) - 1 and extents[dimension] is not None:
                return node.array, dimension
    return None


def _only_first_lane_reads(kernel: Kernel, loops: Sequence[_Loop]) -> bool:
    """Whether what the first lane stores in memory is read by it alone."""
    written = {t.array for n in kernel.nodes for t in targets(n) if isinstance(t, Access) and _is_global(kernel, t)}
    uses = [n for n in kernel.nodes if isinstance(n, Access) and n.array in written]
    stored = [n for s in kernel.nodes if isinstance(s, Assign) and _stores(kernel, s) for n in walk(s)]
    allowed = {id(n) for n in stored} | {id(n) for n in _updated_in(loops)}
    plain = not any(isinstance(n, Break | For) for n in kernel.nodes)
    return plain and all(id(n) in allowed for n in uses)


def _updated_in(loops: Sequence[_Loop]) -> Iterator[Node]:
    """The elements in loops that are updated there, which nothing else in the same loop uses."""
    for loop in loops:
        updated = {u.target.array for u in loop.updates}
        yield from (n for s in loop.loop.body for n in walk(s) if isinstance(n, Access) and n.array in updated)


def _stores(kernel: Kernel, stmt: Stmt) -> bool:
    """Whether a statement itself writes to memory."""
    return any(isinstance(t, Access) and _is_global(kernel, t) for t in targets(stmt))


def _is_global(kernel: Kernel, target: Access) -> bool:
    return kernel.storage_of(target.array).space is Space.GLOBAL


def _wide(value: Expr) -> Expr:
    """A size, as the host has it."""

    def change(node: Any) -> Any:
        return replace(node, type=LLONG) if isinstance(node, Name | Literal) else node

    changed: Expr = rewrite(value, change)
    return changed
