"""Elements that an iteration of a loop reads, loaded into names before it runs.

before: for (c = ...) part += A[i][32 * c + t] * x[32 * c + t];
after:  double A_at1 = A[i][32 * (c + 1) + t], x_at1 = x[32 * (c + 1) + t];         iteration c + 1
        part += A_at1 * x_at1;
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace

from polytile.codegen.passes.warp_lanes import WarpLanes
from polytile.dataclass import dataclass
from polytile.ir.affine_facts import Facts
from polytile.ir.arith import both, least, select, zero
from polytile.ir.expr import Access, Assign, Binary, Declare, Expr, For, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import rewrite, statements, walk
from polytile.ir.fold import folded
from polytile.ir.linear_access import Element, Known, at, behind, element, evaluated, expanded
from polytile.ir.name_supply import Names
from polytile.ir.plan import LoopPlan
from polytile.ir.substitute import with_values
from polytile.tuning import Tuning

Guard = tuple[Expr, ...]  # conditions below one another
Extents = tuple[Expr | None, ...]  # of an array, outermost first; None: not known


@dataclass(frozen=True, slots=True)
class Setting:
    """The kernel around a loop: the arrays in device memory that it changes, and those that live inside it; the name
    of a thread's lane; how many threads a block has, and how many registers are there for each; the machine's tuning;
    what is planned of loops, by label, and which of these keep a tile in registers; whether half of the threads there
    can be share the registers; the extents of the arrays; what lanes of a warp differ in."""

    changing: frozenset[str]
    kept: frozenset[str]
    lane: str | None
    threads: int
    registers: int
    tuning: Tuning
    loops: Mapping[str, LoopPlan] = field(default_factory=dict)
    tiles: frozenset[str] = frozenset()
    half: bool = False
    extents: Mapping[str, Extents] = field(default_factory=dict)
    lanes: WarpLanes = field(default_factory=WarpLanes)


@dataclass(frozen=True, slots=True)
class HeldLoad:
    """An element that each iteration reads where the conditions of `guard` hold, which iterations do not change. Other
    iterations do not change the element."""

    access: Access
    form: Element
    guard: Guard

    def serves(self, guard: Guard) -> bool:
        """Return whether the element is there wherever these conditions hold."""
        return set(self.guard) <= set(guard)

    def varies(self, iterator: str) -> bool:
        """Return whether iterations read different elements."""
        return any(form.get(iterator) for form in self.form)

    def is_fixed(self, iterator: str) -> bool:
        """Return whether iterations read the same element, below the same conditions."""
        return not self.varies(iterator) and not any(mentions(condition, {iterator}) for condition in self.guard)

    def moved(self, iterator: str, value: Expr) -> HeldLoad:
        """Return the load of the element of the iteration `value`."""
        guard = tuple(with_values(condition, {iterator: value}) for condition in self.guard)
        return replace(self, access=at(self.access, {}, iterator, value), guard=guard)


def loads_of(loop: For, setting: Setting, *, alike: bool = True) -> Iterator[HeldLoad]:
    """Yield the loads that an iteration makes, whatever values it finds, or below conditions on names.

    Those conditions are the same in all iterations, if they have to be `alike`.
    """
    assigned = [n.target for s in loop.body for n in statements(s) if isinstance(n, Assign)]
    inner = {*(t.name for t in assigned if isinstance(t, Name)), *([loop.iterator] if alike else [])}
    yield from _loads(loop.body, {}, (), setting.kept, inner)


def _loads(
    body: tuple[Stmt, ...], known: Known, guard: Guard, kept: AbstractSet[str], inner: set[str]
) -> Iterator[HeldLoad]:
    """Yield what the statements read, of arrays that are not `kept`, and below conditions without `inner` names."""
    for stmt in body:
        match stmt:
            case Declare() | Assign() if stmt.value is not None:
                target = [stmt.target] if isinstance(stmt, Assign) and stmt.op else []
                for node in (*target, *evaluated(stmt.value)):
                    form = element(node, known) if isinstance(node, Access) and node.array not in kept else None
                    if form and isinstance(node, Access):
                        where = stmt.location if stmt.location.line else node.location
                        yield HeldLoad(replace(node, subscripts=_expanded(node, known), location=where), form, guard)
                known = behind(known, stmt)
            case Scope():
                yield from _loads(stmt.body, known, guard, kept, inner)
            case If() if not mentions(condition := expanded(stmt.condition, known), inner):
                yield from _loads(stmt.then, known, (*guard, condition), kept, inner)


def _expanded(access: Access, known: Known) -> tuple[Expr, ...]:
    return tuple(expanded(s, known) for s in access.subscripts)


def targets(stmt: Stmt) -> Iterator[Access]:
    """Return the elements that a statement assigns to."""
    return (n.target for n in statements(stmt) if isinstance(n, Assign) and isinstance(n.target, Access))


def mentions(node: Expr, names: set[str]) -> bool:
    """Return whether an expression has one of these names in it, or reads memory."""
    return any(n.name in names if isinstance(n, Name) else isinstance(n, Access) for n in walk(node))


def distinct(loads: Iterator[HeldLoad]) -> list[HeldLoad]:
    """Keep each element once below each condition, and not below one where it is read without it."""
    found: list[HeldLoad] = []
    for load in loads:
        same = [f for f in found if (f.access.array, f.form) == (load.access.array, load.form)]
        if not any(f.serves(load.guard) for f in same):
            served = [f for f in same if load.serves(f.guard)]
            place = found.index(served[0]) if served else len(found)
            found = [f for f in found if f not in served]
            found.insert(place, replace(served[0], guard=load.guard) if served else load)
    return found


@dataclass(frozen=True, slots=True)
class Iteration:
    """An iteration of a batch, the one at `place`: the declarations that load for it, what they load, what it runs, and
    the `elements` that are held there."""

    place: Expr
    declared: tuple[Declare, ...]
    loads: tuple[HeldLoad, ...]
    body: tuple[Stmt, ...]
    elements: tuple[Access, ...]


def iteration(
    loop: For,
    loads: Sequence[HeldLoad],
    first: Name,
    number: int | Name,
    names: Names,
    last: Name | None,
    runs: Expr | None = None,
) -> Iteration:
    """Build an iteration of the batch that begins with `first`.

    Loads of one after the `last` are the last one's, and 0 is loaded where an iteration does not run.
    """
    later = folded(Binary("+", first, number if isinstance(number, Name) else Literal(str(number)), loop.type))
    place = later if last is None else least(later, last)
    moved = tuple(load.moved(loop.iterator, place) for load in loads)
    suffix = f"_at{number}" if isinstance(number, int) else "_at" if last is None else "_rest"
    declared, _ = held_in(moved, suffix, runs, names)
    held = [(load, Name(d.name, d.type)) for load, d in zip(loads, declared, strict=True)]
    body = with_held(loop.body, {}, (), held)
    here = tuple(load.moved(loop.iterator, later).access for load in loads)
    return Iteration(place, tuple(declared), moved, tuple(with_values(s, {loop.iterator: later}) for s in body), here)


def held_in(
    loads: Sequence[HeldLoad], suffix: str, runs: Expr | None, names: Names
) -> tuple[list[Declare], list[tuple[HeldLoad, Name]]]:
    """Declare names that load the elements, and return the declarations and what holds each."""
    declared: list[Declare] = []
    held: list[tuple[HeldLoad, Name]] = []
    for load in loads:
        number = sum(other.access.array == load.access.array for other, _ in held)
        name = Name(names.numbered(load.access.array, number, suffix or "_fixed"), load.access.type)
        held.append((load, name))
        declared.append(_declared(name, load, runs))
    return declared, held


def _declared(name: Name, load: HeldLoad, runs: Expr | None) -> Declare:
    """Declare a name for the element where the iteration runs and reads it, or 0."""
    conditions = [*([runs] if runs is not None else []), *needed(load.guard)]
    value = select(both(*conditions), load.access, zero(name.type)) if conditions else load.access
    return Declare(name.name, name.type, value, load.access.location)


def needed(guard: Guard) -> Iterator[Expr]:
    """Yield the conditions that no other one implies."""
    for k, condition in enumerate(guard):
        others = (c for c in guard[k + 1 :] if c != condition)
        if not any(Facts().where(other).value(condition) for other in others):
            yield condition


def with_held(
    body: tuple[Stmt, ...], known: Known, guard: Guard, held: Sequence[tuple[HeldLoad, Name]]
) -> tuple[Stmt, ...]:
    """Let the body of an iteration read what is held in place of memory."""

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
                found.append(Scope(with_held(stmt.body, known, guard, held)))
            case If():
                inner = (*guard, expanded(stmt.condition, known))
                found.append(replace(stmt, then=with_held(stmt.then, known, inner, held)))
            case _:
                found.append(stmt)
    return tuple(found)


def _stored(stmt: Declare | Assign, held: Name) -> list[Stmt]:
    """Split an assignment to an element that is held: what holds it changes first."""
    if not isinstance(stmt, Assign) or stmt.target == held:
        return [stmt]
    return [replace(stmt, target=held), replace(stmt, op="", value=held)]


def _same(load: HeldLoad, node: Expr, form: Element | None) -> bool:
    return isinstance(node, Access) and (node.array, form) == (load.access.array, load.form)
