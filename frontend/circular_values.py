"""A variable that turns around (circular_counters.py): where its value lies within the period, and what it is then.

Where a loop in another one goes on turning, so does the other one, by as much as the inner loop does:
before: k = 0; for (i = 0; i < n; i++) for (j = 0; j < m; j++) { x[i][j] = y[k]; k = (k + 1) % p; }
after:  for (i = 0; i < n; i++) for (j = 0; j < m; j++) x[i][j] = y[((m * i) % p + j) % p];
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from math import inf
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.assumptions import is_linear
from polytile.frontend.ast_builders import base_of, mentions, type_of
from polytile.frontend.circular_counters import Turn, as_long, converted, plain, plain_long, turn_of
from polytile.frontend.loop_facts import is_never_negative
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import calls_others, changed_variables, target
from polytile.frontend.scalar_value import ScalarValue, UnknownValueError
from polytile.frontend.trees import copied, text_of, variables_in, written_name
from polytile.frontend.trip_counts import Count, bound, integer, iterations, iterations_before, minus, number, plus
from polytile.ir.expr import LONG, CType

_FLOATING = ("float", "double")


@dataclass(frozen=True, slots=True)
class _Reached:
    """A value that lies within a period: what became of `start` by turning."""

    start: c_ast.Node
    turn: Turn
    times: c_ast.Node


@dataclass(slots=True)
class CircularValue(ScalarValue):
    """Follows a variable that may turn around; `asked` are conditions on sizes, by their text, under which it does."""

    body: Sequence[c_ast.Node] = ()  # all statements
    around: list[c_ast.For] = field(default_factory=list)  # the loops around
    unknown: list[str] = field(default_factory=list)  # names for values at the start of iterations
    reached: dict[str, _Reached] = field(default_factory=dict)  # by their text
    asked: dict[str, c_ast.Node] = field(default_factory=dict)

    def _known(self, node: Any) -> c_ast.Node:
        if self.reached and isinstance(node, c_ast.Cast | c_ast.BinaryOp) and text_of(node) in self.reached:
            found: c_ast.Node = node
            return found
        return ScalarValue._known(self, node)

    def _turn(self, end: c_ast.Node, inside: str, count: Count) -> Turn | None:
        """Find what an iteration does to the value `inside`, which it leaves as `end`."""
        inner = self.reached.get(text_of(end))
        if inner is None:
            return turn_of(end, inside, signed=self.type.signed)
        if not mentions(inner.start, inside) or mentions(inner.times, count.name):
            return None
        step = inner.times if integer(inner.turn.step) == 1 else c_ast.BinaryOp("*", inner.turn.step, inner.times)
        return Turn(inner.turn.period, step, inner.turn.down, inner.turn.asked)

    def _check_turn(self, loop: c_ast.For, start: c_ast.Node, turn: Turn) -> None:
        """Raise UnknownValueError unless the value turns around in a loop, and may do so for what uses it."""
        self._ask(turn.asked)
        if integer(turn.period) is None and not only_reads(loop.stmt, self.body, self.name, self._is_floating):
            raise UnknownValueError
        self._check_start(start, turn.period)

    def _check_start(self, start: c_ast.Node, period: c_ast.Node) -> None:
        """Raise UnknownValueError unless a value is one of 0 to the period - 1, or the host can ask that."""
        known, last = self.reached.get(text_of(start)), plus(copied(period), -1)
        if isinstance(start, c_ast.TernaryOp):
            self._check_start(start.iftrue, period)
            self._check_start(start.iffalse, period)
            return
        if isinstance(start, c_ast.ID) and start.name in self.unknown:
            return  # the loop around asks it of its own start
        if known is not None and text_of(known.turn.period) == text_of(period):
            return
        value = plain(copied(start))
        numbers = integer(value), integer(period)
        if numbers[0] is not None and numbers[1] is not None:
            if not 0 <= numbers[0] < numbers[1]:
                raise UnknownValueError
            return
        rest = minus(last, value)
        if numbers[0] == 0:
            return  # the period is 1 at least
        if isinstance(value, c_ast.Constant) and int(value.value.rstrip("uUlL"), 0) >= self._largest(period):
            raise UnknownValueError  # no period is greater
        if not all(is_never_negative(part, self.around, self._is_size) for part in (value, rest)):
            self._ask([c_ast.BinaryOp(">=", value, number(0)), c_ast.BinaryOp(">", copied(period), copied(value))])

    def _largest(self, period: c_ast.Node) -> float:
        """Return the largest value of a variable; none for other expressions."""
        found = plain(copied(period))
        kind = self._type_of(str(found.name)) if isinstance(found, c_ast.ID) else None
        return inf if kind is None else 2 ** (8 * kind.size - kind.signed) - 1

    def _ask(self, conditions: Sequence[c_ast.Node]) -> None:
        """Have the host ask conditions on sizes, unless they are on constants that fulfil them."""
        for condition in conditions:
            left, right = integer(condition.left), integer(condition.right)
            if left is not None and right is not None:
                holds = (
                    left >= right if condition.op == ">=" else left > right if condition.op == ">" else left <= right
                )
            else:
                names = (str(use.name) for use in variables_in(condition))
                holds = is_linear(condition, self.scope) and all(self._is_size(name) for name in names)
                self.asked |= {text_of(condition): condition} if holds else {}
            if not holds:
                raise UnknownValueError

    def _is_size(self, name: str) -> bool:
        """Whether a variable is an integer that no statement changes."""
        return name not in {loop for loop, _ in self.loops} and self._type_of(name) is not None

    def _is_floating(self, name: str) -> bool:
        own = self.inner.get(name)
        return (type_of(own[0]) if own else base_of(name, self.scope, arrays=False)) in _FLOATING

    def _turned(self, start: c_ast.Node, turn: Turn, times: c_ast.Node) -> c_ast.Node:
        """Return what becomes of a value by turning, in the type of the variable."""
        whole, inside = plain_long(times), integer(start) == 0 and integer(turn.step) == 1 and not turn.down
        kinds = {self._leaf_type(n) for n in (whole, turn.period)} if whole is not None and inside else {None}
        if whole is not None and len(kinds) == 1 and None not in kinds:
            (kind,) = kinds
            found: c_ast.Node = c_ast.BinaryOp("%", copied(whole), copied(turn.period))
        else:
            kind, found = LONG, turn.after(start, times)
        made = found if kind == self.type else converted(found, self.type.name)
        self.reached[text_of(made)] = _Reached(start, turn, times)
        return made

    def _leaf_type(self, node: c_ast.Node) -> CType | None:
        """Return the type of a variable, or of one more; that of an iterator for constants, which it has as well."""
        if isinstance(node, c_ast.BinaryOp) and integer(node.right) == 1:
            node = node.left
        if isinstance(node, c_ast.ID):
            return self._type_of(str(node.name))
        return self.loops[-1][1] if integer(node) is not None and self.loops else None

    def _before(self, count: Count, here: CType) -> c_ast.Node:
        """Count the iterations before this one, as a long."""
        first = integer(count.first)
        self._check_whole(count.first, here)
        iterator = as_long(c_ast.ID(count.name))
        return iterations_before(count, iterator, number(0) if first == 0 else as_long(count.first))

    def _all(self, count: Count, here: CType) -> c_ast.Node | None:
        """Count the iterations of a loop, as a long; None where that is not known."""
        found = bound(count)
        if found is None:
            return None
        try:
            self._check_whole(count.first, here)
            self._check_whole(found[1], here)
        except UnknownValueError:
            return None
        return iterations(count, as_long(count.first), as_long(found[1]), found[0])

    def _check_whole(self, node: c_ast.Node, kind: CType) -> None:
        """Raise UnknownValueError unless an expression is known and an integer type has its value."""
        if not is_linear(node, self.scope) and not all(self._type_of(str(u.name)) for u in variables_in(node)):
            raise UnknownValueError
        for use in variables_in(node):
            found = self._type_of(str(use.name))
            if (
                found is None
                or found.size > kind.size
                or (found.size == kind.size and kind.signed and not found.signed)
            ):
                raise UnknownValueError


def only_reads(loop: c_ast.Node, body: Sequence[c_ast.Node], name: str, is_floating: Callable[[str], bool]) -> bool:
    """Whether a variable decides nothing in a loop but which elements it reads of arrays that no statement changes."""
    chosen: set[str] = set()
    for node in nodes_below(loop):
        if isinstance(node, c_ast.ArrayRef) and mentions(node.subscript, name):
            chosen.add(str(target(node)))
        elif isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile):
            parts = [getattr(node, slot, None) for slot in ("init", "cond", "next")]
            if any(part is not None and mentions(part, name) for part in parts):
                return False
        elif isinstance(node, c_ast.Decl | c_ast.Assignment) and not _keeps(node, name, is_floating):
            return False
    changed = {array for node in body for array in changed_variables(node)}
    return not chosen & changed and not (chosen and any(calls_others(node) for node in body))


def _keeps(node: c_ast.Node, name: str, is_floating: Callable[[str], bool]) -> bool:
    """Whether a statement keeps a variable out of the values of other integers, which may decide anything."""
    value = node.init if isinstance(node, c_ast.Decl) else node.rvalue
    scalar = str(node.name) if isinstance(node, c_ast.Decl) else written_name(node)
    return value is None or scalar in (None, name) or is_floating(str(scalar)) or not _is_part(name, value)


def _is_part(name: str, value: c_ast.Node) -> bool:
    """Whether a value uses a variable other than to choose elements."""
    if isinstance(value, c_ast.ID):
        return bool(value.name == name)
    return not isinstance(value, c_ast.ArrayRef) and any(_is_part(name, child) for child in value)
