"""Straight-line statements as a value graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field, replace

from polytile.codegen.ordering.dead_stores import without_dead_stores
from polytile.codegen.ordering.operand_slots import operands_of, slots_of, with_operands
from polytile.codegen.ordering.value_graph import Kind, ValueGraph, ValueNode, words
from polytile.dataclass import dataclass
from polytile.diagnostics import Location
from polytile.ir.arith import add, lift
from polytile.ir.def_use import mentioned_names, value_names
from polytile.ir.expr import Access, Assign, Binary, Call, Cast, CType, Declare, Expr, Literal, Name, Scope, Stmt, Unary
from polytile.ir.expr_trees import walk
from polytile.ir.identity_key import remembered
from polytile.ir.kernel import Comment, Kernel
from polytile.ir.memory import Space, Storage
from polytile.ir.polynomial import (
    IndexTerms,
    Monomial,
    Polynomial,
    difference,
    expression,
    have_other_remainders,
    polynomial,
)
from polytile.ir.substitute import with_values

_COSTLY = ("/", "%")


class NotStraightError(Exception):
    """A block holds what value graphs do not express."""


@dataclass(frozen=True, slots=True)
class Block:
    """The graph of a block, and the declarations of integers that its subscripts use."""

    graph: ValueGraph
    integers: tuple[Declare, ...]


@remembered
def is_straight(stmt: Stmt) -> bool:
    """Return whether a statement can be part of a block: assignments and declarations of values without conditions."""
    match stmt:
        case Scope(body=body):
            return all(map(is_straight, body))
        case Declare(value=None, type=ctype):
            return ctype.kind == "float"
        case Declare(value=value) if value is not None:
            return _is_plain(value)
        case Assign(target=target, op=op, value=value):
            plain = _is_plain(value) and isinstance(target, Access | Name) and op in ("", "+", "-", "*", "/")
            subscripts = target.subscripts if isinstance(target, Access) else ()
            whole = not isinstance(target, Access) or target.field is None
            return plain and whole and target.type.kind == "float" and not _reads(subscripts)
    return isinstance(stmt, Comment)


@dataclass(slots=True)
class _Known:
    """Blocks by the identity of their statements, which are kept alive so that no others take their places: several
    passes ask for the graph of the same ones. `storages` are of the arrays that a block uses."""

    found: dict[tuple[int, ...], tuple[tuple[Stmt, ...], dict[str, Storage], Block]] = field(default_factory=dict)

    def block(self, kernel: Kernel, body: tuple[Stmt, ...]) -> Block | None:
        """Return the block, if the kernel has its arrays where they were."""
        _, storages, block = self.found.get(tuple(map(id, body)), (None, {}, None))
        return block if all(kernel.storage_of(array) == where for array, where in storages.items()) else None

    def remember(self, body: tuple[Stmt, ...], storages: dict[str, Storage], block: Block) -> None:
        if len(self.found) >= _MOST_KNOWN:
            self.found.clear()
        self.found[tuple(map(id, body))] = (body, storages, block)


_KNOWN = _Known()
_MOST_KNOWN = 64  # blocks


def build_graph(kernel: Kernel, body: Sequence[Stmt], behind: Sequence[Stmt] = ()) -> Block:
    """Build the graph of statements that are all straight-line code.

    Raises NotStraightError where names would have to live on, as in the statements `behind` them, or change that are
    declared elsewhere.
    """
    statements = tuple(body)
    declared = {s.name for s in _inside(statements) if isinstance(s, Declare)}
    if declared and not all(declared.isdisjoint(_mentioned(stmt)) for stmt in behind):
        raise NotStraightError
    known = _KNOWN.block(kernel, statements)
    if known is not None:
        return known
    builder = _Builder(kernel)
    builder.taken |= set(_free(statements, frozenset()))
    builder.block(statements, top=True)
    block = Block(without_dead_stores(builder.graph), tuple(builder.integers))
    _KNOWN.remember(statements, builder.storages, block)
    return block


@remembered
def _mentioned(stmt: Stmt) -> frozenset[str]:
    return frozenset(mentioned_names(stmt))


def _is_plain(value: Expr) -> bool:
    """Return whether all of a value is computed whatever its parts are, and reads no element at a place in memory."""
    for node in walk(value):
        match node:
            case Access(subscripts=subscripts, field=member):
                if member is not None or _reads(subscripts):
                    return False
            case Binary(op=op):
                if op not in ("+", "-", "*", "/", "%"):
                    return False
            case Unary(op="-" | "+") | Cast() | Call() | Literal() | Name():
                pass
            case _:
                return False
    return True


def _reads(subscripts: Iterable[Expr]) -> bool:
    return any(isinstance(n, Access) for s in subscripts for n in walk(s))


def _free(body: Sequence[Stmt], declared: frozenset[str]) -> Iterator[str]:
    """Yield the names that statements use of what is declared around them."""
    for stmt in body:
        if isinstance(stmt, Scope):
            yield from _free(stmt.body, declared)
            continue
        yield from (name for name in value_names(stmt) if name not in declared)
        declared |= {stmt.name} if isinstance(stmt, Declare) else frozenset()


def _inside(body: Sequence[Stmt]) -> Iterator[Stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, Scope):
            yield from _inside(stmt.body)


@dataclass(slots=True)
class _Place:
    """An element of an array: the loads and the store that have reached it last."""

    moving: frozenset[tuple[Monomial, int]]  # the terms of its index that are no constant
    subscripts: tuple[Expr, ...]
    store: int | None = None
    value: int | None = None  # what was stored
    loads: list[int] = field(default_factory=list)


class _Builder:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.graph = kernel, ValueGraph()
        self.integers: list[Declare] = []
        self.named: list[tuple[Name, Polynomial]] = []  # integers of the block, and their values
        self.taken: set[str] = set()  # names of these, and those that the block uses of what is around it
        self.known: dict[str, Expr] = {}  # integers, in terms of names that are declared around all points
        self.own: dict[str, Expr] = {}  # those among them that scopes inside declare
        self.values: dict[str, int | None] = {}
        self.places: dict[str, dict[Hashable, _Place]] = {}
        self.storages: dict[str, Storage] = {}  # of the arrays that are used
        self.indices: dict[str, IndexTerms] = {}  # of the same
        self.subscripts: dict[Expr, tuple[Expr, Expr]] = {}  # as they are written, and in names around all points

    def storage(self, array: str) -> Storage:
        if array not in self.storages:
            self.storages[array] = self.kernel.storage_of(array)
        return self.storages[array]

    # Statements -----------------------------------------------------------------------------------
    def block(self, body: Sequence[Stmt], *, top: bool) -> None:
        for stmt in body:
            match stmt:
                case Scope():
                    known, own, values = dict(self.known), dict(self.own), dict(self.values)
                    self.block(stmt.body, top=False)
                    changed = {name: self.values[name] for name in values}
                    shadowed = {s.name for s in stmt.body if isinstance(s, Declare)}
                    self.known, self.own = known, own
                    self.subscripts.clear()
                    self.values = {n: v if n in shadowed else changed[n] for n, v in values.items()}
                case Declare(type=ctype, value=value) if ctype.kind == "int" and value is not None:
                    self._integer(stmt, value, top=top)
                case Declare(name=name, type=ctype, value=value):
                    self.values[name] = None if value is None else self._named(name, self._as(value, ctype))
                case Assign():
                    self._assign(stmt)

    def _integer(self, stmt: Declare, value: Expr, *, top: bool) -> None:
        if _reads([value]):
            raise NotStraightError
        here = with_values(value, self.own)
        self.subscripts.clear()
        self.known[stmt.name] = with_values(value, self.known)
        place = polynomial(self.known[stmt.name])
        near = None if top or place is None else self._beside(stmt.name, place)
        if near is None and stmt.name not in self.taken:
            self.taken.add(stmt.name)
            self.own.pop(stmt.name, None)
            self.integers.append(replace(stmt, value=here))
            self.named += [(Name(stmt.name, stmt.type), place)] if place is not None else []
        else:
            self.own[stmt.name] = here if near is None else near

    def _beside(self, name: str, place: Polynomial) -> Expr | None:
        """Express an integer by one of the block that it is a constant away from, or return None."""
        for other, known in sorted(self.named, key=lambda one: one[0].name != name):
            apart = difference(place, known)
            if not apart.keys() - {()}:
                return add(other, lift(apart.get((), 0)))
        return None

    def _assign(self, stmt: Assign) -> None:
        target, value = stmt.target, stmt.value
        if stmt.op:
            ctype = max((target.type, value.type), key=lambda t: (t.kind == "float", t.size))
            value = Binary(stmt.op, target, value, ctype)
        found = self._as(value, target.type)
        if isinstance(target, Access):
            self._store(target, found, stmt.location)
        elif target.name in self.values:
            self.values[target.name] = self._named(target.name, found)
        else:
            raise NotStraightError

    def _named(self, name: str, value: int) -> int:
        if self.graph.nodes[value].kind is Kind.OPERATION:
            self.graph.names.setdefault(value, name)
        return value

    # Values ---------------------------------------------------------------------------------------
    def _as(self, value: Expr, ctype: CType) -> int:
        """Return the number of the value in the type of what it is assigned to."""
        return self.value(value if value.type == ctype else Cast(ctype, value))

    def value(self, expr: Expr) -> int:
        match expr:
            case Access():
                return self._load(expr)
            case Name(name=name, type=ctype) if ctype.kind == "float" and name in self.values:
                found = self.values[name]
                if found is None:
                    raise NotStraightError
                return found
            case Literal() | Name():
                return self._constant(expr)
        if expr.type.kind == "int" and not _reads([expr]):
            return self._constant(expr)
        return self._operation(expr)

    def _constant(self, expr: Expr) -> int:
        here = with_values(expr, self.own)
        return self.graph.add(ValueNode(Kind.CONSTANT, _normal(with_values(expr, self.known)), (), here, 0))

    def _operation(self, expr: Expr) -> int:
        parts = operands_of(expr)
        operands = tuple(self.value(e) for e in parts)
        nodes = [self.graph.nodes[o] for o in operands]
        if all(n.kind is Kind.CONSTANT for n in nodes) and _is_cheap(expr):
            whole = with_operands(expr, [n.expr for n in nodes])
            key = with_operands(expr, [n.key for n in nodes if isinstance(n.key, Expr)])
            if whole is None or key is None:
                raise NotStraightError
            return self.graph.add(ValueNode(Kind.CONSTANT, key, (), whole, 0))
        slots = slots_of(expr, [e.type for e in parts])
        if slots is None:
            raise NotStraightError
        return self.graph.add(ValueNode(Kind.OPERATION, slots, operands, slots, words(expr)))

    # Memory ---------------------------------------------------------------------------------------
    def _place(self, access: Access) -> tuple[_Place, Hashable, Access]:
        """Return the place of an access, its key among other places, and the access as it is written."""
        written, known = zip(*map(self._subscript, access.subscripts), strict=True) if access.subscripts else ((), ())
        same = all(a is b for a, b in zip(written, access.subscripts, strict=True))
        here = access if same else replace(access, subscripts=written)
        home = self.storage(access.array)
        if access.array not in self.indices:
            self.indices[access.array] = IndexTerms(home.extents)
        index = self.indices[access.array].of(known if home.keeps is None else [known[k] for k in home.keeps])
        key = frozenset(index.items())
        moving = key if () not in index else frozenset(term for term in key if term[0])
        place = self.places.setdefault(access.array, {}).setdefault(key, _Place(moving, known))
        return place, key, here

    def _met(self, array: str, place: _Place) -> list[_Place]:
        """Return the other places of an array that may be the same."""
        return [p for p in self.places[array].values() if p is not place and _may_meet(p, place)]

    def _subscript(self, subscript: Expr) -> tuple[Expr, Expr]:
        """Return a subscript as it is written in the block, and in names that are declared around all points."""
        if subscript not in self.subscripts:
            self.subscripts[subscript] = self._written(subscript), with_values(subscript, self.known)
        return self.subscripts[subscript]

    def _written(self, subscript: Expr) -> Expr:
        """Rewrite a subscript in names that are declared around all of the block.

        before: i - 2, where i is one more than the block's i
        after:  i - 1
        """
        found = with_values(subscript, self.own)
        place = None if found is subscript else polynomial(found)
        types = {n.name: n.type for n in walk(found) if isinstance(n, Name)}
        plain = place is not None and all(len(key) < 2 for key in place) and len({*types.values()}) == 1
        return expression(place, types) if place is not None and plain else found

    def _load(self, access: Access) -> int:
        space = self.storage(access.array).space
        if space is Space.VALUE:
            return self._constant(access)
        if space is Space.POINTER:
            raise NotStraightError
        place, where, here = self._place(access)
        if place.value is not None:
            return place.value
        stored = [p for p in self.places[access.array].values() if p.store is not None]
        after = tuple(p.store for p in stored if p.store is not None and (p is place or _may_meet(p, place)))
        key = (access.array, where, max(after, default=-1))
        found = self.graph.add(ValueNode(Kind.LOAD, key, (), here, words(access), after))
        if found not in place.loads:
            place.loads.append(found)
        return found

    def _store(self, target: Access, value: int, location: Location) -> None:
        if self.storage(target.array).space in (Space.POINTER, Space.VALUE):
            raise NotStraightError
        place, where, here = self._place(target)
        others = self._met(target.array, place)
        before: list[int] = []
        for p in (place, *others):
            before += [*p.loads, *([p.store] if p.store is not None else [])]
        node = ValueNode(Kind.STORE, (target.array, where), (value,), here, 0, tuple(dict.fromkeys(before)), location)
        for p in others:  # what was known of them may have changed
            p.value = None
        place.store, place.value, place.loads = self.graph.add(node), value, []


def _normal(expr: Expr) -> Expr:
    """Normalize an integer to a polynomial, so that `i + 1` is the same value however `i` was declared."""
    place = polynomial(expr) if expr.type.kind == "int" else None
    if place is None:
        return expr
    types = {node.name: node.type for node in walk(expr) if isinstance(node, Name)}
    return Cast(expr.type, expression(place, types))


def _is_cheap(expr: Expr) -> bool:
    """Return whether compilers compute it anew wherever it is used."""
    return isinstance(expr, Unary | Cast) or (isinstance(expr, Binary) and expr.op not in _COSTLY) or _literal(expr)


def _literal(expr: Expr) -> bool:
    return all(isinstance(n, Literal | Binary | Unary | Cast) for n in walk(expr))


def _may_meet(a: _Place, b: _Place) -> bool:
    """Return whether two places may be one element.

    Their distance is then no constant, and no subscript makes them differ, as it does for `A[t % 2][i]` and
    `A[(t + 1) % 2][j]`.
    """
    return a.moving != b.moving and not any(map(have_other_remainders, a.subscripts, b.subscripts))
