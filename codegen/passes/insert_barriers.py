"""Barriers where threads hand each other something through shared memory, and none where they do not.

before: s[t] = x; y = s[t + 1]; s[t] = y; z = s[t];
after:  s[t] = x; barrier; y = s[t + 1]; barrier; s[t] = y; z = s[t];

Two accesses of one array need a barrier between them when one writes; unless both name the same element of the same
thread: equal subscripts that no two threads have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.def_use import elements, names_of, reads_memory, targets, written_names
from polytile.ir.expr import Access, Assign, Declare, Expr, For, If, Scope, Stmt
from polytile.ir.expr_trees import expressions, walk, with_bodies
from polytile.ir.gpu_ops import Atomic, Await, Pointer, ThreadIndex
from polytile.ir.kernel import Barrier, Comment, Kernel
from polytile.ir.memory import Space
from polytile.ir.polynomial import linear
from polytile.ir.substitute import Body, substituted_expr
from polytile.ir.verify.uniform import differing_names, differs


@dataclass(frozen=True, slots=True)
class _Use:
    """An access of a shared array. `own` are its subscripts, where no two threads have them in common."""

    array: str
    writes: bool
    own: tuple[Expr, ...] | None

    def meets(self, other: _Use) -> bool:
        """Return whether two threads may need a barrier between these accesses."""
        same = self.own is not None and self.own == other.own
        return self.array == other.array and (self.writes or other.writes) and not same


_Uses = frozenset[_Use]
_NOTHING: _Uses = frozenset()


def insert_barriers(kernel: Kernel) -> Kernel:
    """Insert the barriers of the block that a kernel's shared arrays need.

    A wait for a split barrier counts as one. Raises InternalError where a barrier would stand below a condition that
    threads of a block may see differently.
    """
    inserter = _Inserter(kernel, _threads(kernel), kernel.changing, differing_names(kernel))
    return replace(kernel, body=inserter.block(kernel.body, _NOTHING, {})[0])


def _threads(kernel: Kernel) -> dict[str, int]:
    """Return the coordinates of threads, and how many there are of each."""
    sizes = dict(zip("xyz", kernel.block, strict=True))
    return {c.name: sizes[c.source.axis] for c in kernel.coordinates if isinstance(c.source, ThreadIndex)}


@dataclass(frozen=True, slots=True)
class _Inserter:
    kernel: Kernel
    threads: Mapping[str, int]
    changing: frozenset[str]
    differing: frozenset[str]

    def block(self, body: Body, state: _Uses, values: Mapping[str, Expr]) -> tuple[Body, _Uses]:
        """Return the statements with barriers, and the accesses since the last one.

        `values` are those of constants.
        """
        out: list[Stmt] = []
        values = dict(values)
        for stmt in body:
            part, state = self._statement(stmt, state, values)
            out += part
            if isinstance(stmt, Declare) and stmt.value is not None and stmt.name not in self.changing:
                values[stmt.name] = substituted_expr(stmt.value, values)
        return tuple(out), state

    def _statement(self, stmt: Stmt, state: _Uses, values: Mapping[str, Expr]) -> tuple[Body, _Uses]:
        if (isinstance(stmt, Barrier) and stmt.scope != "warp") or isinstance(stmt, Await):
            return (stmt,), _NOTHING
        uses = frozenset(self._uses(stmt, values))
        met = [new for new in uses for old in state if new.meets(old)]
        if met:
            part, after = self._statement(stmt, _NOTHING, values)
            return (_barrier(met[0].array), *part), after
        if isinstance(stmt, If | For | Scope):
            return self._compound(stmt, state | uses, values)
        return (stmt,), state | uses

    def _compound(self, stmt: If | For | Scope, state: _Uses, values: Mapping[str, Expr]) -> tuple[Body, _Uses]:
        """Place a barrier inside a statement only where what is before the statement is not the reason."""
        inside, after = self._inside(stmt, state, values)
        if inside == stmt:
            return (stmt,), after
        alone, after_alone = self._inside(stmt, _NOTHING, values)
        if alone != stmt and not self._together(stmt):
            raise InternalError(f"kernel {self.kernel.name}: a barrier is needed where some threads do not come")
        if inside == alone:
            return (inside,), after
        return (_barrier(*sorted({u.array for u in state})), alone), after_alone

    def _inside(self, stmt: If | For | Scope, state: _Uses, values: Mapping[str, Expr]) -> tuple[Stmt, _Uses]:
        match stmt:
            case If(then=then, otherwise=otherwise):
                (then, after), (otherwise, other) = (self.block(b, state, values) for b in (then, otherwise))
                return replace(stmt, then=then, otherwise=otherwise), after | other
            case For(body=body):
                once, after = self.block(body, state, values)
                again = frozenset(_later(use, frozenset(written_names(stmt))) for use in after)
                twice, after = self.block(once, again, values)
                return replace(stmt, body=twice), after | state
            case Scope(body=body):
                body, after = self.block(body, state, values)
                return replace(stmt, body=body), after

    def _together(self, stmt: If | For | Scope) -> bool:
        """Return whether all threads of the block take the same path."""
        return not any(differs(self.kernel, e, self.differing) for e in expressions(stmt))

    # Accesses ------------------------------------------------------------------------------------
    def _uses(self, stmt: Stmt, values: Mapping[str, Expr]) -> Iterator[_Use]:
        """Yield the shared accesses of a statement; of a loop or branch, those of its head."""
        written = {id(target) for target in targets(stmt)}
        pointed = stmt.target if isinstance(stmt, Pointer) else None
        whole = elements(stmt) > 1 or isinstance(stmt, Atomic)
        for node in walk(*expressions(stmt)):
            if isinstance(node, Access) and node is not pointed and (array := self._shared(node.array)):
                own = None if whole or array != node.array else self._own(node, values)
                yield _Use(array, id(node) in written, own)

    def _shared(self, name: str) -> str:
        """Return the shared array that a name stands for, or ""."""
        home = self.kernel.root(name)
        return home.array if home.space is Space.SHARED and home.element.kind != "struct" else ""

    def _own(self, access: Access, values: Mapping[str, Expr]) -> tuple[Expr, ...] | None:
        """Return the subscripts in terms of coordinates, where different threads have different ones; else None."""
        subscripts = tuple(substituted_expr(s, values) for s in self.kernel.subscripts(access))
        others = names_of(subscripts) - set(self.threads)
        if others & (self.changing | self.differing) or reads_memory(*subscripts):
            return None
        told = {name for s in subscripts for name in self._told(s)}
        return subscripts if told >= {name for name, count in self.threads.items() if count > 1} else None

    def _told(self, subscript: Expr) -> Iterable[str]:
        """Return the coordinates that a subscript's value determines: of `ti + 32 * tj` both, for ti below 32."""
        form = linear(subscript)
        if form is None:
            return ()
        factors = sorted((abs(factor), name) for name, factor in form.items() if name in self.threads)
        reach = 0
        for factor, name in factors:
            if factor <= reach:
                return ()
            reach += factor * (self.threads[name] - 1)
        return [name for _, name in factors]


def _later(use: _Use, changed: frozenset[str]) -> _Use:
    """Return the access from a later iteration, in which its subscripts may have had other values."""
    return replace(use, own=None) if use.own is not None and names_of(use.own) & changed else use


def _barrier(*arrays: str) -> Barrier:
    return Barrier(f"threads read and write {', '.join(arrays)} for each other")


# Barriers that nothing needs ------------------------------------------------------------------------
def remove_barriers(kernel: Kernel) -> Kernel:
    """Remove barriers that follow another one of at least their scope, with no access between.

    before: barrier ("a"); x = x + 1; barrier ("b");
    after:  barrier ("a; b"); x = x + 1;
    """
    return replace(kernel, body=_thinned(kernel, kernel.body))


def _thinned(kernel: Kernel, body: Body) -> Body:
    out: list[Stmt] = []
    last: int | None = None  # where the barrier is that nothing was accessed since
    for stmt in body:
        stmt = with_bodies(stmt, lambda inside: _thinned(kernel, inside))
        if isinstance(stmt, Barrier):
            before = out[last] if last is not None else None
            if isinstance(before, Barrier) and last is not None and _covers(before, stmt):
                out[last] = _merged(before, stmt)
                continue
            last = len(out)
        elif not _quiet(kernel, stmt):
            last = None
        out.append(stmt)
    return tuple(out)


def _covers(one: Barrier, other: Barrier) -> bool:
    order = ("warp", "block", "grid")
    return order.index(one.scope) >= order.index(other.scope)


def _merged(one: Barrier, other: Barrier) -> Barrier:
    reasons = one.reason.split("; ")
    return one if other.reason in reasons else replace(one, reason=f"{one.reason}; {other.reason}")


def _quiet(kernel: Kernel, stmt: Stmt) -> bool:
    """Return whether a statement touches registers alone."""
    registers = (Space.PRIVATE, Space.VALUE)
    quiet = Expr | Assign | Declare | For | If | Scope | Comment
    return all(
        kernel.storage_of(n.array).space in registers if isinstance(n, Access) else isinstance(n, quiet)
        for n in walk(stmt)
    )
