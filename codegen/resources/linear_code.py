"""The values that a kernel computes, in the order of its code: what a register allocator sees of it.

before: y[i] = x[i] + x[i + 1];
after:  address of x[i]; x[i]; x[i + 1]; their sum; address of y[i]; the store

Equal values of one block are computed once, what does not depend on a loop before it, as compilers do; parameters and
constants take no registers, comparisons have predicates of their own. An access whose index differs by a constant from
another's shares its address.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from polytile.codegen.resources.instruction_costs import helper_registers, instructions, operation, registers, width
from polytile.codegen.resources.register_pressure import Loop, Value
from polytile.codegen.resources.register_variables import register_variable
from polytile.dataclass import dataclass
from polytile.ir.expr import (
    Access,
    Assign,
    Binary,
    Cast,
    CType,
    Declare,
    Expr,
    For,
    If,
    Literal,
    Name,
    Scope,
    Stmt,
    While,
)
from polytile.ir.expr_trees import children
from polytile.ir.gpu_ops import Advance, AsyncCopy, Atomic, Load, Pointer, Prefetch, PrivateArray, Store, ThreadIndex
from polytile.ir.kernel import Barrier, Comment, Kernel
from polytile.ir.memory import Space
from polytile.ir.polynomial import Polynomial, index_polynomial

MOST_UNROLLED = 16  # iterations of an innermost loop that compilers compute together
LONGEST_UNROLLED = 60  # instructions of such a loop
UNROLLED = 192  # instructions of its unrolled body, about
COSTLY = 20  # instructions; what takes fewer is as good as a constant when it depends on parameters alone
ADDRESS = 3  # instructions for an address in 64 bits
_CHANGES = 1 << 30  # the level of what no loop leaves alone
Token = int | str  # the number of a value, or the text of what needs no register


@dataclass(slots=True)
class Code:
    """The values, loops and number of instructions of one kernel; `helpers` are the registers of the largest function
    that it calls."""

    values: list[Value] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    instructions: int = 0
    helpers: int = 0


def code_of(kernel: Kernel) -> Code:
    """Return what `kernel` computes; its loops are unrolled where its own text says so."""
    builder = _Builder(kernel)
    builder.block(kernel.body)
    return builder.code


class _Builder:
    """Goes through a kernel once; positions count instructions."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.code = kernel, Code()
        self.at = self.block_start = 0
        self.starts: list[int] = []  # of the loops around
        self.equal: list[tuple[int, dict[Hashable, int]]] = [(0, {})]  # by scope: its level, what is computed
        self.names: dict[str, Token] = {}
        self.variables: dict[Hashable, int] = {}
        self.declared: dict[str, int] = {}
        self.versions: dict[str, int] = {}
        self.writes: dict[int, int] = {}  # how often a variable was set
        self.reads: dict[Hashable, int] = {}  # where a variable was read last
        self.joined: dict[Hashable, list[tuple[int, int]]] = {}  # values of other branches, to these ends
        self.conditions = 0  # around, inside of the innermost loop
        self.needs: dict[int, int] = {}  # by identity of the expression
        self.changing = kernel.changing
        self.constant = {p.buffer for p in kernel.parameters if p.const}
        self.sources = {c.name: c.source for c in kernel.coordinates}

    # Statements -----------------------------------------------------------------------------------
    def block(self, body: Iterable[Stmt]) -> None:
        for stmt in body:
            self._statement(stmt)

    def _statement(self, stmt: Stmt) -> None:
        match stmt:
            case Declare(name=name, type=ctype, value=value):
                self._declare(name, ctype, value)
            case Assign(target=target, op=op, value=value):
                old = [target] if op else []
                self._store([target], [self.value(e) for e in (*old, value)])
            case Load(targets=targets, source=source):
                self._store(targets, [self.value(source)])
            case Store(target=target, values=values):
                self._store([target], [self.value(v) for v in values])
            case Atomic(target=target, value=value):
                self._store([target], [self.value(value)])
            case AsyncCopy(target=target, source=source):
                self._store([target], [self._address(source)])
            case For():
                self._loop(stmt)
            case If(condition=condition, then=then, otherwise=otherwise):
                self.value(condition)
                self._branches(then, otherwise)
            case While(condition=condition, body=body):
                self._repeated(condition, body)
            case Scope(body=body):
                self.block(body)
            case Barrier():
                self._barrier()
            case PrivateArray(name=name):
                self.declared[name] = self.at
            case Pointer(name=name, target=target):
                self.names[name] = self._variable(name, 2)
                self._use([self._address(target)])
            case Advance(pointer=name, by=by):
                self._step([self._variable(name, 2), self.value(by)])
            case Prefetch(source=source):
                self._use([self._address(source)])
            case Comment():
                pass
            case _:
                self._step([self.value(e) for e in children(stmt) if isinstance(e, Expr)])

    def _declare(self, name: str, ctype: CType, value: Expr | None) -> None:
        if name not in self.changing and value is not None:
            self.names[name] = self.value(value)
            return
        self.declared[name] = self.at
        self.variables.pop(name, None)
        self.names.pop(name, None)
        if value is not None:
            self._store([Name(name, ctype)], [self.value(value)])

    def _loop(self, loop: For) -> None:
        """Add a loop.

        One that strides over the grid mostly runs once: little is worth keeping in registers over it.
        """
        self._step([self.value(loop.lower)])
        start, strides = self.at, isinstance(loop.step, Name)
        if not strides:
            self.starts.append(start)
        count, first = self.code.instructions, len(self.code.values)
        iterator = self._new(width(loop.type), _CHANGES)
        self.code.values[iterator].level = len(self.starts)
        self.names[loop.iterator] = iterator
        conditions, self.conditions = self.conditions, 0
        with self._scope():
            self.block(loop.body)
            self._step([self.value(loop.condition), iterator])
            straight = self.block_start == start
        self.conditions = conditions
        if not strides:
            self.starts.pop()
        if loop.unroll is not None:
            again = loop.unroll if loop.unroll > 1 else 0  # and what is left over
            self.code.instructions += again * (self.code.instructions - count)
        elif straight and not strides:
            self._unroll(self.code.instructions - count, self.code.values[first:])
        self.code.loops.append(Loop(start, self.at))
        self.block_start = self.at

    def _branches(self, then: Iterable[Stmt], otherwise: Iterable[Stmt]) -> None:
        """Add two branches, of which one runs.

        The elements of private arrays that the first sets do not reach the other.

        before: if (c) { x[0] = ..; y = x[0]; } else { x[0] = ..; z = x[0]; }
        after:  two values for x[0], each live in its branch, and up to its end where what follows reads x[0]
        """
        self.conditions += 1
        start, first = self.at, len(self.code.values)
        with self._scope():
            self.block(then)
        end, new = self.at, {key: v for key, v in self.variables.items() if v >= first and isinstance(key, tuple)}
        for key, variable in new.items():
            if self.code.values[variable].start >= start:
                del self.variables[key]
        with self._scope():
            self.block(otherwise)
        for key, variable in new.items():
            if self.variables.setdefault(key, variable) != variable:
                self.joined.setdefault(key, []).append((variable, end))
        self.conditions -= 1

    def _repeated(self, condition: Expr, body: Iterable[Stmt]) -> None:
        """Add a loop of a statement's body, whose iterations nobody knows."""
        start = self.at
        self.starts.append(start)
        with self._scope():
            self._step([self.value(condition)])
            self.block(body)
        self.starts.pop()
        self.code.loops.append(Loop(start, self.at))
        self.block_start = self.at

    def _unroll(self, size: int, values: Sequence[Value]) -> None:
        """Unroll a short loop, so that its loads come in one batch; shorter loops after it run what is left over."""
        if size > LONGEST_UNROLLED:
            return
        factor = max(4, min(MOST_UNROLLED, 1 << (UNROLLED // size).bit_length() - 1))
        self.code.instructions += 2 * factor * size
        for value in values:
            if value.early < value.start:
                value.copies = MOST_UNROLLED

    def _barrier(self) -> None:
        self._step([])
        self.block_start = self.at
        for name in [s.array for s in self.kernel.storage if s.array not in self.constant]:
            self.versions[name] = self.at

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """Open a scope: what is computed inside is not known after it, nor do loads move across its ends."""
        self.block_start = self.at
        self.equal.append((len(self.starts), {}))
        yield
        self.equal.pop()
        self.block_start = self.at

    # Values ---------------------------------------------------------------------------------------
    def value(self, expr: Expr) -> Token:
        """Return the number of the expression's value."""
        match expr:
            case Literal(text=text):
                return text
            case Name(name=name):
                return self._name(name)
            case Access():
                return self._access(expr)
        operands = [e for e in children(expr) if isinstance(e, Expr)]
        in_order = sorted(operands, key=self._need, reverse=True)  # what needs most comes first: Sethi, Ullman 1970
        found = {id(e): self.value(e) for e in in_order}
        uses = [found[id(e)] for e in operands]
        cost = instructions(expr)
        if all(isinstance(u, str) for u in uses) and cost < COSTLY:
            return f"{operation(expr)}({', '.join(map(str, uses))})"
        self.code.helpers = max(self.code.helpers, helper_registers(expr))
        return self._emit((operation(expr), *uses), uses, registers(expr), cost)

    def _need(self, expr: Expr) -> int:
        """Return the registers that it takes to compute `expr` in the best order."""
        if id(expr) not in self.needs:
            parts = sorted((self._need(e) for e in children(expr) if isinstance(e, Expr)), reverse=True)
            own = registers(expr)
            need = max((n + own * i for i, n in enumerate(parts)), default=0) if not isinstance(expr, Access) else 0
            self.needs[id(expr)] = max(need, own)
        return self.needs[id(expr)]

    def _name(self, name: str) -> Token:
        if name in self.names:
            return self.names[name]
        if name in self.declared:
            return self._read(name, 1)
        source = self.sources.get(name)
        if not isinstance(source, ThreadIndex):
            return name
        self.names[name] = self._emit((source,), [], 1, 1)
        return self.names[name]

    def _access(self, access: Access) -> Token:
        storage = self.kernel.storage_of(access.array)
        subscripts = self.kernel.subscripts(access)
        if storage.space is Space.VALUE:
            return access.array
        if storage.space is Space.PRIVATE:
            if (key := register_variable(self.kernel, access)) is not None:
                return self._read(*key)
            return self._load(access, ("local", *(self.value(s) for s in subscripts)), [])
        address = self._address(access)
        where = index_polynomial(self.kernel, access)
        constant: Hashable = subscripts if where is None else where.get((), 0)
        return self._load(access, (address, constant), [address])

    def _load(self, access: Access, where: Hashable, uses: Sequence[Token]) -> Token:
        array = access.array
        level = 0 if array in self.constant else _CHANGES
        key = ("load", array, access.field, access.inside, where, self.versions.get(array, 0))
        before = len(self.code.values)
        found = self._emit(key, uses, width(access.type), 1, level)
        if found == before and self.code.values[found].level >= len(self.starts):
            self.code.values[found].early = self.block_start
        return found

    def _address(self, access: Access) -> Token:
        """Return what an access adds a constant to.

        Terms that a loop does not change are added before it.
        """
        storage, array = self.kernel.storage_of(access.array), access.array
        size, cost = (1, 1) if storage.space is Space.SHARED else (2, ADDRESS)
        base: list[Token] = [self._name(array)] if storage.space is Space.POINTER else []
        where = index_polynomial(self.kernel, access)
        if where is None:
            parts = [*base, *(self.value(_without_constant(s)) for s in self.kernel.subscripts(access))]
            return self._computed_again(self._emit(("address", array, *parts), parts, size, cost))
        terms = self._terms(where)
        if base and not terms:
            return base[0]
        steady = {t for t in terms if self._level(t[1]) < len(self.starts)} if not base else set()
        if steady and steady != terms:
            base = [self._emit(("address", array, frozenset(steady)), _tokens(steady), size, cost)]
        uses = [*base, *_tokens(terms - steady if base else terms)]
        return self._computed_again(self._emit(("address", array, frozenset(terms)), uses, size, cost))

    def _computed_again(self, address: int) -> int:
        self.code.values[address].again = True
        return address

    def _terms(self, where: Polynomial) -> set[tuple[int, tuple[Token, ...]]]:
        return {(factor, tuple(map(self._name, names))) for names, factor in where.items() if names}

    def _emit(self, key: Hashable, uses: Sequence[Token], size: int, cost: int, level: int = 0) -> int:
        """Return the value of this key, computed where that is possible first."""
        key = key, *(self.writes.get(use, 0) for use in uses if isinstance(use, int))
        for _, scope in reversed(self.equal):
            if key in scope:
                return scope[key]
        level = min(max(level, self._level(uses)), len(self.starts))
        self._use(uses, None if level == len(self.starts) else self.starts[level])
        found = self._new(size, level)
        next(scope for at, scope in reversed(self.equal) if at <= level)[key] = found
        self.code.instructions += cost
        self.at += 1
        return found

    def _new(self, size: int, level: int) -> int:
        start = self.at if level >= len(self.starts) else self.starts[level]
        self.code.values.append(Value(size, start, start, level))
        return len(self.code.values) - 1

    def _level(self, uses: Iterable[Token]) -> int:
        return max((self.code.values[u].level for u in uses if isinstance(u, int)), default=0)

    def _use(self, uses: Iterable[Token], at: int | None = None) -> None:
        for use in uses:
            if isinstance(use, int):
                self.code.values[use].uses.append(self.at if at is None else at)

    def _step(self, uses: Sequence[Token]) -> None:
        """Add an instruction without a value."""
        self._use(uses)
        self.at += 1
        self.code.instructions += 1

    # Variables ------------------------------------------------------------------------------------
    def _store(self, targets: Iterable[Access | Name], uses: list[Token]) -> None:
        for target in targets:
            key = register_variable(self.kernel, target)
            if key is not None:
                self._use(uses)
                if self._starts_anew(key[0], target):
                    del self.variables[key[0]]
                self._variable(*key)
            elif isinstance(target, Access):
                self._step([*uses, self._address(target)])
                self.versions[target.array] = self.at
        self.at += 1

    def _starts_anew(self, key: Hashable, target: Access | Name) -> bool:
        """Return whether each iteration of the innermost loop sets a private element before it reads it.

        What the element held before is then needed no longer.
        """
        if isinstance(target, Name) or target.field is not None or not isinstance(key, tuple) or len(key) == 1:
            return False
        if not self.starts or self.conditions or key not in self.variables:
            return False
        inside = self.code.values[self.variables[key]].start >= self.starts[-1]
        return inside or self.reads.get(key, -1) < self.starts[-1]

    def _variable(self, key: Hashable, size: int) -> int:
        """Return the variable of this key, which changes here."""
        if key not in self.variables:
            self.variables[key] = self._new(size, _CHANGES)
        if isinstance(key, str):
            self.names[key] = self.variables[key]
        found = self.variables[key]
        self.writes[found] = self.writes.get(found, 0) + 1
        return found

    def _read(self, key: Hashable, size: int) -> int:
        """Return the variable, which has a value here: one from before when nothing has set it yet."""
        if key not in self.variables:
            found = self._variable(key, size)
            name = key[0] if isinstance(key, tuple) else key
            self.code.values[found].start = self.declared.get(str(name), 0)
        self.reads[key] = self.at
        for variable, end in self.joined.pop(key, ()):
            self.code.values[variable].uses.append(end)
        return self.variables[key]


def _without_constant(subscript: Expr) -> Expr:
    """Return a subscript of 64 bits without the constant that an access adds to its address."""
    match subscript:
        case Binary(op="+" | "-", left=Cast() as left, right=Literal()) if left.type.size > 4:
            return left
    return subscript


def _tokens(terms: Iterable[tuple[int, tuple[Token, ...]]]) -> list[Token]:
    return [token for _, tokens in terms for token in tokens]
