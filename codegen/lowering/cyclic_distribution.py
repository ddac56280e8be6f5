"""Loops over the values of a thread band: each thread takes those that equal it modulo the block's size.

before: for (j = max(1, 38 * bj); j <= last; j += 1) S(j);                  a loop of the band [j] below thread[32]
after:  for (j = tj + 32 * floord(max(1, 38 * bj) - tj + 31, 32); j <= last; j += 32) S(j);

isl can do the same with the remainder in the domain; but where a thread has at most one iteration, it makes a value and
a condition of the loop, full of remainders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polytile.dataclass import dataclass
from polytile.ir.expr import Binary, Call, CType, Expr, For, If, Literal, Name, Stmt
from polytile.ir.expr_trees import with_bodies


def thread_labels(count: int) -> tuple[str, ...]:
    """Return the labels of the loops of a thread band until they are distributed; no plan has such names."""
    return tuple(f"thread:{k}" for k in range(count))


def distribute_to_threads(
    body: tuple[Stmt, ...], threads: Sequence[tuple[str, str]], block: tuple[int, int, int], integer: CType
) -> tuple[Stmt, ...]:
    """Distribute the iterations of thread loops cyclically: return the statements with the share of one thread.

    `threads` are names and axes, outermost first.
    """
    sizes = [block["xyz".index(axis)] for _, axis in threads]
    names = [name for name, _ in threads]
    shares = dict(zip(thread_labels(len(names)), zip(names, sizes, strict=True), strict=True))
    return _Distribution(shares, integer).block(body)


@dataclass(frozen=True, slots=True)
class _Distribution:
    shares: Mapping[str, tuple[str, int]]
    integer: CType

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(self._statement(stmt) for stmt in body)

    def _statement(self, stmt: Stmt) -> Stmt:
        stmt = with_bodies(stmt, self.block)
        if not isinstance(stmt, For) or stmt.label not in self.shares:
            return stmt
        name, size = self.shares[stmt.label]
        thread = Name(name, self.integer)
        if stmt.step == 1:
            start = self._start(stmt.lower, thread, size)
            return replace(stmt, lower=start, step=size, label="")
        away = self._of("-", Name(stmt.iterator, self.integer), thread)
        own = Binary("==", self._of("pmod()", away, self._literal(size)), self._literal(0))
        return replace(stmt, body=(If(own, stmt.body),), label="")

    def _start(self, lower: Expr, thread: Name, size: int) -> Expr:
        """Return the first value from `lower` on that is the thread's."""
        if isinstance(lower, Literal) and lower.text == "0":
            return thread
        ahead = self._of("+", self._of("-", lower, thread), self._literal(size - 1))
        turns = self._of("floord", ahead, self._literal(size))
        return self._of("+", thread, self._of("*", self._literal(size), turns))

    def _literal(self, value: int) -> Literal:
        return Literal(str(value), self.integer)

    def _of(self, op: str, left: Expr, right: Expr) -> Expr:
        if op in ("floord", "pmod()"):
            return Call(op, (left, right), self.integer)
        return Binary(op, left, right, self.integer)
