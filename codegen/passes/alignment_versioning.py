"""Elements that are neighbours in memory, loaded and stored as vectors where they are aligned.

before: float A_at0 = A[i][4 * t], A1_at0 = A[i][4 * t + 1], ...;                     a thread's four columns of a row
after:  const bool aligned = polytile_aligned<16>(&A[i][4 * t]);
        if (aligned) { float4 v = *(const float4 *)&A[i][4 * t]; float A_at0 = v.x, A1_at0 = v.y, ... }
        else { float A_at0 = A[i][4 * t], A1_at0 = A[i][4 * t + 1], ... }

Rows of a length that is no multiple of the vector's begin anywhere, so that it is asked when the kernel runs: all
threads of a row have the same answer. Where constants exclude that all vectors of all lanes are aligned at once, fewer
elements are in vectors: of A[i][t] and A[i][t + 1] every second lane's would be, and warps would run both branches.

What an iteration of a batch runs below conditions that hold in all but the last of them, as those of a thread's
neighbouring columns, is there once more without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from polytile.codegen.passes.iteration_loads import Extents, HeldLoad, Iteration, mentions, needed
from polytile.codegen.passes.warp_lanes import WarpLanes
from polytile.dataclass import dataclass
from polytile.ir.arith import both
from polytile.ir.expr import BOOL, Access, Assign, Binary, Declare, Expr, For, If, Name, Scope, Stmt
from polytile.ir.expr_trees import statements
from polytile.ir.gpu_ops import Aligned, Load, Store
from polytile.ir.linear_access import Known, behind, element, expanded
from polytile.ir.polynomial import Polynomial, difference, index_of, linear, residue, slope
from polytile.ir.substitute import with_values
from polytile.machine import VECTOR_BYTES, VECTOR_ELEMENTS

Group = tuple[int, ...]  # numbers of loads, in the order of their addresses


def vectors(
    loads: Sequence[HeldLoad], iterator: str, extents: Mapping[str, Extents], lanes: WarpLanes
) -> list[Group]:
    """Group loads of neighbours in memory, as many as a vector has, where all of these may be aligned.

    That is, aligned at once in all iterations and in all threads of a warp.
    """
    rows: dict[object, dict[int, int]] = {}
    for number, load in enumerate(loads):
        ctype = load.access.type
        if load.form and ctype.kind != "struct" and ctype != BOOL:
            *outer, last = (frozenset((n, c) for n, c in form.items() if c) for form in load.form)
            place = dict(last).get("", 0)
            row = (load.access.array, tuple(outer), frozenset(pair for pair in last if pair[0]))
            rows.setdefault(row, {})[place] = number
    found = _Vectors(loads, iterator, extents, lanes)
    for numbers in rows.values():
        found.add(numbers)
    return found.groups


@dataclass(frozen=True, slots=True)
class _Vectors:
    """Vectors that may all be aligned: rows of a constant length have only some.

    before: float A[n][6]: A[2 * t][4 * j] to A[2 * t][4 * j + 3], A[2 * t + 1][4 * j] to A[2 * t + 1][4 * j + 3]
    after:  four of the first row, two and two of the second
    """

    loads: Sequence[HeldLoad]
    iterator: str
    extents: Mapping[str, Extents]
    lanes: WarpLanes
    groups: list[Group] = field(default_factory=list)

    def add(self, row: dict[int, int]) -> None:
        """Find the vectors of the elements of one row, by their places."""
        size = self.loads[next(iter(row.values()))].access.type.size
        counts = [count for count in sorted(VECTOR_ELEMENTS, reverse=True) if count * size in VECTOR_BYTES]
        places = sorted(row)
        while places:
            fits = (count for count in counts if all(places[0] + k in row for k in range(count)))
            count = next((c for c in fits if self._may_be_aligned(row[places[0]], c)), 1)
            if count > 1:
                self.groups.append(tuple(row[places[0] + k] for k in range(count)))
            places = [place for place in places if place >= places[0] + count]

    def _may_be_aligned(self, number: int, count: int) -> bool:
        """Return whether no constant excludes that a vector of `count` elements is aligned.

        These are the element's place, how far iterations move it, and how far it is from that of other threads of a
        warp and from the other vectors of its array.
        """
        here, array = self._place(number), self.loads[number].access.array
        step = slope(here, self.iterator)
        apart = [
            residue([difference(here, self._place(group[0]))], min(count, len(group)))
            for group in self.groups
            if self.loads[group[0]].access.array == array
        ]
        moves = None if step is None else residue([step], count)
        return not any((moves, residue([here], count), *apart)) and not self.lanes.exclude(here, count)

    def _place(self, number: int) -> Polynomial:
        access = self.loads[number].access
        unknown = (None,) * len(access.subscripts)
        return index_of(access.subscripts, self.extents.get(access.array, unknown))


def are_aligned(loads: Sequence[HeldLoad], groups: Sequence[Group], iterator: str, first: Expr, second: Expr) -> Expr:
    """Build the test that all vectors are aligned in all iterations.

    Addresses are linear, so two of each decide it.
    """
    found: dict[int, list[Access]] = {}
    for group in groups:
        load = loads[group[0]]
        size = load.access.type.size * len(group)
        *outer, last = load.form
        moves = any(form.get(iterator) for form in outer) or last.get(iterator, 0) % len(group)
        places = (first, second) if moves else (first,)
        found.setdefault(size, []).extend(load.moved(iterator, place).access for place in places)
    return both(*(Aligned(tuple(dict.fromkeys(addresses)), size) for size, addresses in found.items()))


@dataclass(frozen=True, slots=True)
class Loaded:
    """What declares the names of an iteration's loads, and what loads those of vectors: where they are aligned, and
    where they are not."""

    declared: tuple[Declare, ...]
    whole: tuple[Stmt, ...]
    alone: tuple[Stmt, ...]


def loaded(declared: Sequence[Declare], loads: Sequence[HeldLoad], groups: Sequence[Group]) -> Loaded:
    """Build the loads of an iteration, as vectors and one by one."""
    within = {number for group in groups for number in group}
    names = tuple(Declare(d.name, d.type, None) if k in within else d for k, d in enumerate(declared))
    together: list[Stmt] = []
    for group in groups:
        targets = tuple(Name(declared[k].name, declared[k].type) for k in group)
        together.append(Load(targets, loads[group[0]].access, location=declared[group[0]].location))
    alone = tuple(_assigned(declared[k]) for group in groups for k in group)
    return Loaded(names, tuple(together), alone)


def _assigned(declared: Declare) -> Stmt:
    assert declared.value is not None
    return Assign(Name(declared.name, declared.type), "", declared.value, declared.location)


# Conditions ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Unguarded:
    """A loop's body as it is where linear `conditions` hold."""

    body: tuple[Stmt, ...]
    conditions: tuple[Expr, ...]

    def hold(self, iterator: str, first: Expr, last: Expr) -> Expr | None:
        """Build the test that the conditions hold in all iterations from the first to the last; None without any."""
        found = (with_values(condition, {iterator: place}) for place in (first, last) for condition in self.conditions)
        conditions = tuple(needed(tuple(dict.fromkeys(found))))
        return both(*conditions) if conditions else None


def unguarded(loop: For) -> Unguarded:
    """Take the conditions that are linear inequalities of unchanged names out of a loop's body."""
    targets = [n.target for s in loop.body for n in statements(s) if isinstance(n, Assign)]
    changing = {t.name for t in targets if isinstance(t, Name)}
    conditions: list[Expr] = []
    body = tuple(_unguarded(loop.body, {}, changing, conditions))
    return Unguarded(body, tuple(dict.fromkeys(conditions)))


def _unguarded(body: Sequence[Stmt], known: Known, changing: set[str], conditions: list[Expr]) -> Iterator[Stmt]:
    for stmt in body:
        match stmt:
            case Scope():
                yield Scope(tuple(_unguarded(stmt.body, known, changing, conditions)))
            case If(otherwise=()) if _is_linear(condition := expanded(stmt.condition, known), changing):
                conditions.append(condition)
                yield Scope(tuple(_unguarded(stmt.then, known, changing, conditions)))
            case _:
                yield stmt
                known = behind(known, stmt)


def _is_linear(condition: Expr, changing: set[str]) -> bool:
    match condition:
        case Binary(op="<" | "<=" | ">" | ">=", left=left, right=right):
            return linear(left) is not None and linear(right) is not None and not mentions(condition, changing)
    return False


# Stores --------------------------------------------------------------------------------------------------------------
def stored(part: Iteration, groups: Sequence[Group], aligned: Expr | None) -> tuple[Stmt, ...]:
    """Return an iteration's statements, with vector stores of what it holds at its end.

    `aligned` is the test that these are aligned; None where it is known.
    """
    declared, loads = part.declared, part.loads
    names = {d.name: number for number, d in enumerate(declared) if any(number in group for group in groups)}
    found: set[int] = set()
    rest = tuple(_without_stores(part.body, {}, names, part.elements, found))
    ends: list[Stmt] = []
    for group in (g for g in groups if any(k in found for k in g)):
        values = [Name(declared[k].name, declared[k].type) for k in group]
        places = zip(group, values, strict=True)
        alone = tuple(Assign(loads[k].access, "", value, declared[k].location) for k, value in places if k in found)
        where = declared[group[0]].location
        whole = Store(loads[group[0]].access, tuple(values), location=where)
        both_ways = whole if aligned is None else If(aligned, (whole,), alone)
        ends += [both_ways] if len(alone) == len(group) else alone
    return (*rest, *ends)


def _without_stores(
    body: Sequence[Stmt], known: Known, names: dict[str, int], held: Sequence[Access], found: set[int]
) -> Iterator[Stmt]:
    """Yield the statements without the stores that surely write an element that is held, each its own."""
    for stmt in body:
        match stmt:
            case Scope():
                yield Scope(tuple(_without_stores(stmt.body, known, names, held, found)))
            case Assign(target=Access() as target, op="", value=Name(name=name)) if name in names and _same(
                target, known, held[names[name]]
            ):
                found.add(names[name])
            case _:
                yield stmt
                known = behind(known, stmt)


def _same(target: Access, known: Known, other: Access) -> bool:
    form = element(target, known)
    return target.array == other.array and form is not None and form == element(other, {})
