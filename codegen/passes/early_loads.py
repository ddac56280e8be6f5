"""Elements that a thread updates once, loaded before what it adds to them is known.

before: y[i] = 0; ...; s = polytile_warp_sum(part); if (lane == 0) { w[j] += s; w[j] = w[j] + z[j]; y[i] += t; }
after:  double w_held = lane == 0 ? w[j] : 0.0, z_held = lane == 0 ? z[j] : 0.0; ...; s = polytile_warp_sum(part);
        if (lane == 0) { w_held += s; w[j] = w_held; w_held = w_held + z_held; w[j] = w_held;
                         y_held = 0; y_held += t; y[i] = y_held; }

Compilers move no load up past shuffles, barriers and the condition that it is below, so that several updates would wait
for memory one after another, at the end of a kernel, where nothing else is under way. An element that the same thread
has given a constant before is not loaded at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations
from math import gcd

from polytile.codegen.passes.iteration_loads import needed
from polytile.codegen.passes.plan import Context, LoweredPlan, kept_arrays
from polytile.dataclass import dataclass
from polytile.ir.arith import both, select, zero
from polytile.ir.def_use import value_names
from polytile.ir.expr import Access, Assign, Binary, Declare, Expr, For, If, Literal, Name, Scope, Stmt
from polytile.ir.expr_trees import rewrite, statements, walk, with_bodies
from polytile.ir.gpu_ops import WarpReduce
from polytile.ir.kernel import Barrier, Kernel
from polytile.ir.linear_access import Element, Form, Known, as_key, behind, element, evaluated, expanded
from polytile.ir.name_supply import Names
from polytile.ir.polynomial import constant_difference, linear
from polytile.tuning import LoadTuning


@dataclass(frozen=True, slots=True)
class _Use:
    """An assignment to an element, with the conditions around it, in terms of names outside."""

    stmt: Assign
    access: Access
    form: Element
    conditions: tuple[Expr, ...]
    known: Known

    @property
    def key(self) -> Form:
        return as_key(self.form)

    @property
    def facts(self) -> frozenset[object]:
        return frozenset(_normal(part) for condition in self.conditions for part in _parts(condition))

    @property
    def own(self) -> int:
        """Count how often what is assigned reads the element itself."""
        return sum(self.is_own(n) for n in walk(self.stmt.value))

    @property
    def updates(self) -> bool:
        return bool(self.stmt.op or self.own)

    def is_own(self, node: object) -> bool:
        if not isinstance(node, Access) or node.array != self.access.array:
            return False
        form = element(node, self.known)
        return form is not None and as_key(form) == self.key


def early_loads(kernel: Kernel, _: LoweredPlan, context: Context) -> Kernel:
    """Load elements at the start of the kernel that a thread updates after a reduction of threads."""
    if not kernel.wanted_registers:
        return kernel
    tuning = context.machine.tuning.loads
    return replace(kernel, body=update_early(kernel.body, kept_arrays(kernel), context.names, tuning))


def update_early(
    body: tuple[Stmt, ...], kept: frozenset[str], names: Names, tuning: LoadTuning
) -> tuple[Stmt, ...]:
    """Load elements at the start of a kernel's body that are updated after threads meet.

    Threads meet at a barrier or in a reduction; `kept` are the arrays that live inside the kernel.
    """
    found: list[tuple[int, _Use]] = []
    known: Known = {}
    for number, stmt in enumerate(body):
        found += [(number, use) for use in _uses(stmt, known, ())]
        known = behind(known, stmt)
    start: list[Stmt] = []
    changed: dict[int, tuple[Stmt, ...]] = {}
    for array in dict.fromkeys(use.access.array for _, use in found if use.updates and use.access.array not in kept):
        held = _held(body, [(k, use) for k, use in found if use.access.array == array], names, tuning)
        if held:
            start += held.start
            changed |= held.changed
    written = {n.target.array for n in statements(*body) if isinstance(n, Assign) and isinstance(n.target, Access)}
    updates = [use for _, use in found if id(use.stmt) in changed]
    operands = list(_operands(updates, written | kept, _made_inside(body), names))[: tuning.max_early_updates]
    for use in updates:
        changed[id(use.stmt)] = tuple(_with_operands(s, use, operands) for s in changed[id(use.stmt)])
    return (*start, *(o.declared for o in operands), *_changed(body, changed))


@dataclass(frozen=True, slots=True)
class _Held:
    """What declares the registers of an array's elements, and what takes the place of its uses, by their identities."""

    start: tuple[Declare, ...]
    changed: dict[int, tuple[Stmt, ...]]


def _held(
    body: tuple[Stmt, ...], uses: Sequence[tuple[int, _Use]], names: Names, tuning: LoadTuning
) -> _Held | None:
    """Return the updates of an array's elements in registers; None where they cannot be."""
    last = max(number for number, use in uses if use.updates)
    early = [use for number, use in uses if number <= last]
    array, inside = early[0].access.array, _made_inside(body)
    accesses = [n for stmt in body[: last + 1] for n in walk(stmt) if isinstance(n, Access) and n.array == array]
    meets = any(isinstance(n, Barrier | WarpReduce) for s in body[: last + 1] for n in walk(s))
    if not meets or len(accesses) != sum(1 + use.own for use in early) or not _independent(early, body):
        return None
    elements = [[use for use in early if use.key == key] for key in dict.fromkeys(use.key for use in early)]
    updated = [one for one in elements if any(use.updates for use in one)]
    start: list[Declare] = []
    changed: dict[int, tuple[Stmt, ...]] = {}
    for number, one in enumerate(updated):
        first = next(k for k, use in enumerate(one) if use.updates)
        weakest = min(one[first:], key=lambda use: len(use.facts))  # a thread that has run one of them runs this one
        value = _value(weakest, one[:first])
        if value is None or not all(weakest.facts <= use.facts for use in one[first:]) or value_names(value) & inside:
            return None
        name = Name(names.numbered(array, number, "_held"), one[first].access.type)
        declared = Declare(name.name, name.type, value, one[first].stmt.location)
        here = isinstance(value, Literal) and len(one) == first + 1
        start += [] if here else [declared]
        for use in one[first:]:
            changed[id(use.stmt)] = (*([declared] if here else []), *_through(use, name))
    return _Held(tuple(start), changed) if len(updated) <= tuning.max_early_updates else None


def _through(use: _Use, held: Name) -> tuple[Stmt, ...]:
    """Split an update into one of the register that holds the element and a store of that."""
    value = rewrite(use.stmt.value, lambda node: held if use.is_own(node) else node)
    return replace(use.stmt, target=held, value=value), replace(use.stmt, op="", value=held)


def _independent(uses: Sequence[_Use], body: tuple[Stmt, ...]) -> bool:
    """Return whether uses of different forms are of different elements, in all of a block's threads.

    Those on one side of a barrier are, if they are in each thread; threads that meet between them could use each
    other's elements.
    """
    nodes = list(walk(*body))
    places = {id(node): k for k, node in enumerate(nodes)}
    barriers = [k for k, node in enumerate(nodes) if isinstance(node, Barrier)]
    for one, other in combinations(uses, 2):
        between = range(*sorted((places[id(one.stmt)], places[id(other.stmt)])))
        meet = any(k in between for k in barriers)
        if one.key != other.key and not _apart(one.form, other.form, everywhere=meet):
            return False
    return True


def _value(update: _Use, stores: Sequence[_Use]) -> Expr | None:
    """Return the value that an update finds: of the thread's last store, or of memory; None if unknown."""
    if not stores:
        return select(both(*needed(update.conditions)), update.access, zero(update.access.type))
    store = stores[-1]
    value = store.stmt.value
    if isinstance(value, Literal) and store.facts <= update.facts and _fits(value, update):
        return replace(value, type=update.access.type)
    return None


@dataclass(frozen=True, slots=True)
class _Operand:
    """Another element that an update reads, in a register."""

    declared: Declare
    array: str
    key: Form
    conditions: tuple[Expr, ...]

    def serves(self, use: _Use, node: Access) -> bool:
        form = element(node, use.known) if node.array == self.array else None
        return form is not None and as_key(form) == self.key and use.conditions == self.conditions


def _operands(
    updates: Sequence[_Use], changing: AbstractSet[str], inside: AbstractSet[str], names: Names
) -> Iterator[_Operand]:
    """Yield the elements of other arrays that the updates read, whatever else they find."""
    found: list[_Operand] = []
    for use in updates:
        for node in evaluated(use.stmt.value):
            if not isinstance(node, Access) or node.array in changing:
                continue
            form = element(node, use.known)
            if not form or any(operand.serves(use, node) for operand in found):
                continue
            access = replace(node, subscripts=tuple(expanded(s, use.known) for s in node.subscripts))
            value = select(both(*needed(use.conditions)), access, zero(access.type))
            if not value_names(value) & inside:
                number = sum(operand.array == node.array for operand in found)
                name = names.numbered(node.array, number, "_held")
                declared = Declare(name, access.type, value, use.stmt.location)
                found.append(_Operand(declared, node.array, as_key(form), use.conditions))
                yield found[-1]


def _with_operands(stmt: Stmt, use: _Use, operands: Sequence[_Operand]) -> Stmt:
    def change(node: Expr) -> Expr:
        mine = (o.declared for o in operands if isinstance(node, Access) and o.serves(use, node))
        return next((Name(d.name, d.type) for d in mine), node)

    return replace(stmt, value=rewrite(stmt.value, change)) if isinstance(stmt, Assign) else stmt


def _made_inside(body: Sequence[Stmt]) -> set[str]:
    """Return the names that a body declares or changes."""
    found = set[str]()
    for stmt in statements(*body):
        match stmt:
            case Declare(name=name) | For(iterator=name) | Assign(target=Name(name=name)):
                found.add(name)
    return found


def _fits(value: Literal, update: _Use) -> bool:
    """Return whether a literal is the same in the element's type."""
    return value.type == update.access.type or value.text == "0"


def _changed(body: Sequence[Stmt], changed: dict[int, tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for stmt in body:
        if id(stmt) in changed:
            found.append(Scope(changed[id(stmt)]))
        else:
            found.append(with_bodies(stmt, lambda inner: _changed(inner, changed)))
    return tuple(found)


def _uses(stmt: Stmt, known: Known, conditions: tuple[Expr, ...]) -> Iterator[_Use]:
    """Yield the assignments to elements in a statement, outside of loops."""
    match stmt:
        case Assign(target=Access() as target):
            form = element(target, known)
            if form is not None:
                subscripts = tuple(expanded(s, known) for s in target.subscripts)
                yield _Use(stmt, replace(target, subscripts=subscripts), form, conditions, known)
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


def _apart(one: Element, other: Element, *, everywhere: bool) -> bool:
    """Return whether two elements are surely different in a thread.

    `everywhere`: and from those of the other threads, as are A[4 * t] and A[4 * t + 1].
    """
    for a, b in zip(one, other, strict=True):
        by = constant_difference(a, b)
        step = gcd(*(c for n, c in a.items() if n)) if everywhere else 0
        if by and (step == 0 or by % step):
            return True
    return False


def _parts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Binary(op="&&" | "&", left=left, right=right):
            yield from _parts(left)
            yield from _parts(right)
        case _:
            yield condition


def _normal(condition: Expr) -> object:
    """Return an equal value for comparisons that say the same of linear forms."""
    match condition:
        case Binary(op=op, left=left, right=right) if op in ("<", "<=", ">", ">=", "=="):
            form = linear(Binary("-", left, right, left.type))
            if form is not None:
                return op, frozenset(form.items())
    return condition
