"""Batches: a loop that adds up loads the elements of several iterations before it adds the first.

before: for (c = 0; c <= (n - t - 1) / 32; ++c) part += A[i][32 * c + t] * x[32 * c + t];
after:  const c_last = (n - t - 1) / 32;
        for (c = 0; c <= c_last - 1; c += 2) {
            double A_at0 = A[i][32 * c + t], x_at0 = x[32 * c + t];
            double A_at1 = A[i][32 * (c + 1) + t], x_at1 = x[32 * (c + 1) + t];
            part += A_at0 * x_at0;
            part += A_at1 * x_at1; }
        for (c_rest = ...; c_rest <= c_last; ++c_rest) part += A[i][32 * c_rest + t] * x[32 * c_rest + t];

More that is left is added up in smaller batches: `double A_at1 = A[i][32 * min(c_rest + 1, c_last) + t], ...`.

Where lanes meet they stay together, and the iterations behind the last one are switched off: `c <= c_last - 1 ? A[i][
32 * (c + 1) + t] : 0`.

An element that its own iteration changes is changed in both places: A_at0 += u[i]; A[i][32 * c + t] = A_at0.

Few threads add up much, so the time is that of waiting for memory: once a batch. Compilers unroll with a second loop
for what is left, which waits for each iteration, and do not unroll where lanes meet in the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from polytile.codegen.fold import folded
from polytile.codegen.iterations import Element, Known, at, behind, element, evaluated, expanded
from polytile.codegen.meet import meeting
from polytile.codegen.names import Names
from polytile.codegen.passes.facts import Facts
from polytile.ir.arith import both, least, select, zero
from polytile.ir.device import WarpReduce
from polytile.ir.expr import (
    Access,
    Assign,
    Binary,
    Call,
    CType,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Scope,
    Stmt,
    rewrite,
    walk,
    with_bodies,
)
from polytile.ir.kernel import Barrier
from polytile.ir.polynomial import linear

Guard = tuple[Expr, ...]  # conditions below one another
_Form = tuple[frozenset[tuple[str, int]], ...]  # of an Element, to be compared

IN_FLIGHT = 256  # bytes that the loads of a batch bring each thread
MOST = 32  # iterations of a batch
FEW, LEFT = 16, 8  # of one where few are expected, and of one of what whole batches leave
MOST_MEETING = 2  # where lanes meet in each of them: more loads cost more registers, and so warps that take turns
MOST_JOINED = 8  # where they meet once for all of them
REGISTERS, REGISTERS_MEETING = 128, 64  # of a thread at most; ptxas by itself saves them, and loads one after another
REGISTERS_STORING = 80  # where iterations store as well: more threads hide that
REGISTERS_BESIDE = 32  # what is loaded, where lanes meet once


def batched(
    body: tuple[Stmt, ...], kept: frozenset[str], names: Names, lane: str | None = None
) -> tuple[tuple[Stmt, ...], int]:
    """Batches in place of the loops that are to be unrolled, and how many registers a thread may have then (0: as
    many as the compiler likes); `kept` are the arrays that live inside the kernel, `lane` is a thread's in its warp."""
    written = frozenset(t.array for s in body for t in _targets(s))
    batches = _in_body(body, _Arrays(written - kept, kept, lane), names)
    made = [n for n in walk(*batches) if isinstance(n, For) and n.unroll == 1]
    if not made:
        return batches, 0
    return batches, min(_registers(n, kept) for n in made)


def _registers(loop: For, kept: frozenset[str]) -> int:
    """How many registers a thread may have for a batch."""
    if not _meets(*loop.body):
        stores = any(target.array not in kept for s in loop.body for target in _targets(s))
        return REGISTERS_STORING if stores else REGISTERS
    declared = [s for s in loop.body if isinstance(s, Declare)]
    loads = [s for s in declared if any(isinstance(n, Access) and n.array not in kept for n in walk(s))]
    joined = any(isinstance(n, WarpReduce) and n.more for n in walk(*loop.body))
    return REGISTERS_BESIDE + sum(s.type.size for s in loads) // 4 if joined else REGISTERS_MEETING


@dataclass(frozen=True, slots=True)
class _Arrays:
    """Those in device memory that the kernel changes, and those that live inside it; the name of a thread's lane."""

    changing: frozenset[str]
    kept: frozenset[str]
    lane: str | None


def _meets(*body: Stmt) -> bool:
    return any(isinstance(n, WarpReduce) for n in walk(*body))


def _targets(stmt: Stmt) -> Iterator[Access]:
    return (n.target for n in walk(stmt) if isinstance(n, Assign) and isinstance(n.target, Access))


def _in_body(body: tuple[Stmt, ...], arrays: _Arrays, names: Names) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For) and stmt.unroll:
            found += _batches(stmt, arrays, names) or [replace(stmt, unroll=None)]
        else:
            found.append(with_bodies(stmt, lambda inner: _in_body(inner, arrays, names)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Load:
    """An element that each iteration reads where the conditions of `guard` hold, which iterations do not change. Other
    iterations do not change the element."""

    access: Access
    form: Element
    guard: Guard

    def serves(self, guard: Guard) -> bool:
        """Whether the element is there wherever these conditions hold."""
        return set(self.guard) <= set(guard)


def _batches(loop: For, arrays: _Arrays, names: Names) -> list[Stmt]:
    """The loop in batches; nothing where it is none over consecutive numbers, or loads nothing that it can."""
    bound = loop.condition.right if isinstance(loop.condition, Binary) else None
    if bound is None or not _is_simple(loop) or any(isinstance(n, For | Barrier) for s in loop.body for n in walk(s)):
        return []
    found = _distinct(_loads(loop, loop.body, {}, (), arrays))
    loads = [load for load in found if _varies(load, loop)]
    met = meeting(loop.body, arrays.lane)
    most = MOST_JOINED if met else MOST_MEETING if _meets(*loop.body) else MOST
    exclusive = isinstance(loop.condition, Binary) and loop.condition.op == "<"
    end = folded(Binary("-", bound, Literal("1"), loop.type)) if exclusive else bound
    many = _iterations([load.access.type for load in loads], min(most, _trips(loop.lower, end)))
    if many < 2 or not _apart_from_stores(loop, found, arrays.changing):
        return []
    last = Name(names.shared(f"{loop.iterator}_last"), loop.type)
    # Compilers move what does not vary out of the loop, but not past the condition it is read below.
    once = [load for load in found if not _varies(load, loop) and load.guard]
    fixed, held = _held(once, "", Binary("<=", loop.lower, last), names)
    loop = replace(loop, body=_with_held(loop.body, {}, (), held))
    make = _together if _meets(*loop.body) else _apart
    return [Scope((Declare(last.name, last.type, end), *fixed, *make(loop, loads, many, last, arrays, names)))]


def _together(
    loop: For, loads: Sequence[_Load], many: int, last: Name, arrays: _Arrays, names: Names
) -> Iterator[Stmt]:
    """Batches that lanes run together; those iterations of the last one that are too many are switched off."""
    met = meeting(loop.body, arrays.lane)
    iterator = Name(loop.iterator, loop.type)
    start: list[Stmt] = []
    work: list[Stmt] = []
    parts: list[Name] = []
    for i in range(many):
        if met:
            parts.append(Name(names.shared(f"{met.part.array}_at{i}"), met.part.type))
            start.append(Declare(parts[i].name, parts[i].type, zero(parts[i].type)))
            loop = replace(loop, body=(*met.before, Assign(parts[i], "", met.part)))
        runs = Binary("<=", iterator, folded(Binary("-", last, Literal(str(i)), loop.type)))
        declared, body = _iteration(loop, loads, iterator, i, names, None, None if i == 0 else runs)
        start += declared
        work.append(Scope(body) if i == 0 else If(runs, body))
    if met:
        declared_once, rest, own = met.joined(iterator, last, parts)
        work += [declared_once, replace(rest, then=tuple(_moved(s, loop.iterator, own) for s in rest.then))]
    yield replace(loop, condition=Binary("<=", iterator, last), step=many, body=(*start, *work), unroll=1)


def _apart(loop: For, loads: Sequence[_Load], many: int, last: Name, arrays: _Arrays, names: Names) -> Iterator[Stmt]:
    """Whole batches, then small ones of what is left. There a load that is too many is the last iteration's once more:
    a condition on each would take one of a thread's seven predicates, and so make it wait between them. One batch of
    each size would be long code, waited for when a small kernel starts."""
    iterator, integer = Name(loop.iterator, loop.type), loop.type

    def reaches(first: Name, count: int) -> Expr:
        return Binary("<=", first, folded(Binary("-", last, Literal(str(count - 1)), integer)))

    def batch(first: Name, count: int, surely: int) -> tuple[Stmt, ...]:
        parts = [_iteration(loop, loads, first, i, names, last if i >= surely else None) for i in range(count)]
        runs = [(body, None if i < surely else reaches(first, i + 1)) for i, (_, body) in enumerate(parts)]
        work = (Scope(body) if condition is None else If(condition, body) for body, condition in runs)
        return (*(d for declared, _ in parts for d in declared), *work)

    rest, start, few = iterator, loop.lower, min(many, FEW)
    if loop.unroll != FEW:
        yield replace(loop, condition=reaches(iterator, many), step=many, body=batch(iterator, many, many), unroll=1)
        count = Binary("+", Binary("-", last, loop.lower, integer), Literal("1"), integer)
        whole = Binary("*", Binary("/", count, Literal(str(many)), integer), Literal(str(many)), integer)
        rest, few = Name(names.shared(f"{loop.iterator}_rest"), integer), min(many // 2, LEFT)
        start = folded(Binary("+", loop.lower, whole, integer))
    yield For(rest.name, start, reaches(rest, 1), few, batch(rest, few, 1), integer, loop.location, unroll=1)


def _varies(load: _Load, loop: For) -> bool:
    return any(f.get(loop.iterator) for f in load.form)


def _apart_from_stores(loop: For, loads: Sequence[_Load], changing: AbstractSet[str]) -> bool:
    """Whether each array that is loaded and stored to is used at one element an iteration, another one in each."""
    loaded = {load.access.array for load in loads} & changing
    used = set(_elements(loop.body, {}, loaded))
    single = len(used) == len(loaded)
    return single and all(form is not None and any(dict(f).get(loop.iterator) for f in form) for _, form in used)


def _elements(body: tuple[Stmt, ...], known: Known, arrays: AbstractSet[str]) -> Iterator[tuple[str, _Form | None]]:
    """Every access to the arrays, as its array and its subscripts; None for what is not linear."""
    for stmt in body:
        match stmt:
            case Scope():
                yield from _elements(stmt.body, known, arrays)
            case If():
                yield from _elements((Assign(Name("_"), "", stmt.condition),), known, arrays)
                yield from _elements((*stmt.then, *stmt.otherwise), known, arrays)
            case _:
                for node in walk(stmt):
                    if isinstance(node, Access) and node.array in arrays:
                        form = element(node, known)
                        yield node.array, None if form is None else tuple(frozenset(f.items()) for f in form)
        known = behind(known, stmt)


def _is_simple(loop: For) -> bool:
    """Whether the loop counts by one up to a bound that it does not change."""
    match loop.condition:
        case Binary(op="<" | "<=", left=Name(name=name), right=bound) if name == loop.iterator and loop.step == 1:
            return not _mentions(bound, {name})
    return False


def _trips(start: Expr, end: Expr) -> int:
    """How many iterations there are at most from `start` to `end`, as far as their forms say: one of a block's chunk
    has a constant number, `for (c = 16 * b; c <= min(16 * b + 15, n - 1); ++c)`."""
    ends = end.arguments if isinstance(end, Call) and end.function == "min" else (end,)
    forms = (linear(Binary("-", one, start, end.type)) for one in ends)
    counts = (form.get("", 0) + 1 for form in forms if form is not None and not any(form[n] for n in form if n))
    return max(min(counts, default=MOST), 1)


def _iterations(types: Sequence[CType], most: int) -> int:
    """How many iterations a batch has, a power of two: what one loads, that often, is in flight at once."""
    if not types:
        return 0
    room = min(most, IN_FLIGHT // sum(t.size for t in types))
    return 1 << room.bit_length() - 1 if room else 0


def _loads(loop: For, body: tuple[Stmt, ...], known: Known, guard: Guard, arrays: _Arrays) -> Iterator[_Load]:
    """What an iteration reads whatever it finds, or below conditions that are the same in all iterations."""
    targets = [n.target for s in loop.body for n in walk(s) if isinstance(n, Assign)]
    inner = {loop.iterator, *(t.name for t in targets if isinstance(t, Name))}
    for stmt in body:
        match stmt:
            case Declare() | Assign() if stmt.value is not None:
                target = [stmt.target] if isinstance(stmt, Assign) and stmt.op else []
                for node in (*target, *evaluated(stmt.value)):
                    form = element(node, known) if isinstance(node, Access) and node.array not in arrays.kept else None
                    if form and isinstance(node, Access):
                        where = stmt.location if stmt.location.line else node.location
                        yield _Load(replace(node, subscripts=_expanded(node, known), location=where), form, guard)
                known = behind(known, stmt)
            case Scope():
                yield from _loads(loop, stmt.body, known, guard, arrays)
            case If() if not _mentions(condition := expanded(stmt.condition, known), inner):
                yield from _loads(loop, stmt.then, known, (*guard, condition), arrays)


def _expanded(access: Access, known: Known) -> tuple[Expr, ...]:
    return tuple(expanded(s, known) for s in access.subscripts)


def _mentions(node: Expr, names: set[str]) -> bool:
    return any(n.name in names if isinstance(n, Name) else isinstance(n, Access) for n in walk(node))


def _distinct(loads: Iterator[_Load]) -> list[_Load]:
    """Each element once below each condition, and not below one where it is read without it."""
    found: list[_Load] = []
    for load in loads:
        same = [f for f in found if (f.access.array, f.form) == (load.access.array, load.form)]
        if not any(f.serves(load.guard) for f in same):
            served = [f for f in same if load.serves(f.guard)]
            place = found.index(served[0]) if served else len(found)
            found = [f for f in found if f not in served]
            found.insert(place, replace(served[0], guard=load.guard) if served else load)
    return found


def _iteration(
    loop: For,
    loads: Sequence[_Load],
    first: Name,
    number: int,
    names: Names,
    last: Name | None,
    runs: Expr | None = None,
) -> tuple[list[Stmt], tuple[Stmt, ...]]:
    """The declarations that load for an iteration of the batch that begins with `first`, and what it then does. Loads
    of an iteration behind the `last` one are that one's, and 0 is loaded where an iteration does not run."""
    later = folded(Binary("+", first, Literal(str(number)), loop.type))
    loaded = later if last is None else least(later, last)
    moved = [replace(load, access=at(load.access, {}, loop.iterator, loaded)) for load in loads]
    declared, _ = _held(moved, f"_at{number}", runs, names)
    held = [(load, Name(d.name, d.type)) for load, d in zip(loads, declared, strict=True)]
    body = _with_held(loop.body, {}, (), held)
    return list(declared), tuple(_moved(s, loop.iterator, later) for s in body)


def _held(
    loads: Sequence[_Load], suffix: str, runs: Expr | None, names: Names
) -> tuple[list[Declare], list[tuple[_Load, Name]]]:
    """Declarations that load the elements, and what holds each."""
    declared: list[Declare] = []
    held: list[tuple[_Load, Name]] = []
    for load in loads:
        number = sum(other.access.array == load.access.array for other, _ in held) or ""
        name = Name(names.shared(f"{load.access.array}{number}{suffix or '_fixed'}"), load.access.type)
        held.append((load, name))
        declared.append(_declared(name, load, runs))
    return declared, held


def _declared(name: Name, load: _Load, runs: Expr | None) -> Declare:
    """The element where the iteration runs and reads it, or 0."""
    conditions = [*([runs] if runs is not None else []), *_needed(load.guard)]
    value = select(both(*conditions), load.access, zero(name.type)) if conditions else load.access
    return Declare(name.name, name.type, value, load.access.location)


def _needed(guard: Guard) -> Iterator[Expr]:
    """The conditions that no other one implies."""
    for k, condition in enumerate(guard):
        others = (c for c in guard[k + 1 :] if c != condition)
        if not any(Facts().where(other).value(condition) for other in others):
            yield condition


def _with_held(
    body: tuple[Stmt, ...], known: Known, guard: Guard, held: Sequence[tuple[_Load, Name]]
) -> tuple[Stmt, ...]:
    """The body of an iteration that reads what is held in place of memory."""

    def change(node: Expr) -> Expr:
        form = element(node, known) if isinstance(node, Access) else None
        fits = (name for load, name in held if _same(load, node, form) and load.serves(guard))
        return node if form is None else next(fits, node)

    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Declare() | Assign() if stmt.value is not None:
                moved = replace(stmt, value=rewrite(stmt.value, change))
                held_target = change(stmt.target) if isinstance(stmt, Assign) else None
                found += _stored(moved, held_target) if isinstance(held_target, Name) else [moved]
                known = behind(known, stmt)
            case Scope():
                found.append(Scope(_with_held(stmt.body, known, guard, held)))
            case If():
                inner = (*guard, expanded(stmt.condition, known))
                found.append(replace(stmt, then=_with_held(stmt.then, known, inner, held)))
            case _:
                found.append(stmt)
    return tuple(found)


def _stored(stmt: Declare | Assign, held: Name) -> list[Stmt]:
    """An assignment to an element that is held: what holds it changes first."""
    if not isinstance(stmt, Assign) or stmt.target == held:
        return [stmt]
    return [replace(stmt, target=held), replace(stmt, op="", value=held)]


def _same(load: _Load, node: Expr, form: Element | None) -> bool:
    return isinstance(node, Access) and (node.array, form) == (load.access.array, load.form)


def _moved(stmt: Stmt, iterator: str, value: Expr) -> Stmt:
    """The statement with the iterator's value in its place."""

    def change(node: Stmt | Expr) -> Stmt | Expr:
        return value if isinstance(node, Name) and node.name == iterator else node

    result: Stmt = rewrite(stmt, change)
    return result
