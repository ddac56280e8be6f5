"""Variables that count along with loops, and iterators behind their loops, replaced by what they are.

before: j = 1; for (i = lo; i < n; i++) { a[j] = 0; j += 2; }           b[i] = j;
after:  for (i = lo; i < n; i++) a[1 + 2 * (i - lo)] = 0;               b[lo + t] = 1 + 2 * t;  t = n > lo ? n - lo : 0

A value is a sum of constants, sizes and iterators of the loops around, or the remainder of one (circular_counters.py).
Where one is not known, the variable stays as it is, and is refused where it decides what is accessed. Unsigned ones are
followed where they turn around or are constants alone: sums of others may wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.alpha_renaming import with_names_apart
from polytile.frontend.circular_counters import Turn
from polytile.frontend.circular_values import CircularValue
from polytile.frontend.forward_substitution import with_forwarded_counters
from polytile.frontend.induction_variables import deciding_parts, induction_variables, outside_own_loops
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.parse import nodes_below
from polytile.frontend.scalar_value import UnknownValueError, changes, names
from polytile.frontend.scope import Scope
from polytile.frontend.separate_increments import separate_increments
from polytile.frontend.trees import block_items, copied, substituted, variables_in, written_name
from polytile.frontend.trip_counts import (
    Count,
    bound,
    count_of,
    increment,
    integer,
    iterations,
    iterations_before,
    number,
    plus,
    scaled,
    total,
)
from polytile.ir.expr import CType
from polytile.ir.name_supply import fresh

_Asked = Callable[[str], bool]
_CONTROL = (c_ast.While, c_ast.DoWhile, c_ast.Switch, c_ast.Label, c_ast.Goto, c_ast.Case, c_ast.Default, c_ast.Break)
_OPERATIONS = ("+=", "-=", "%=", "&=")


@dataclass(frozen=True, slots=True)
class Counted:
    """Statements without the variables in `names`, under conditions on sizes that the host asks."""

    body: tuple[c_ast.Node, ...]
    names: frozenset[str] = frozenset()
    asked: tuple[c_ast.Node, ...] = ()


def without_induction(
    body: Sequence[c_ast.Node],
    scope: Scope,
    live_after: _Asked,
    has_address: _Asked,
    initial: Mapping[str, c_ast.Node],
) -> Counted:
    """Replace the variables that count, one after the other. `live_after` says whether a variable's value may be read
    after the statements, `has_address` whether pointers may lead to it; `initial` are values of some before them."""
    done: tuple[c_ast.Node, ...] = tuple(body)
    names: set[str] = set()
    asked: dict[str, c_ast.Node] = {}
    waiting = [n for n in induction_variables(done, scope, live_after) if not has_address(n)]
    if waiting:
        done = with_names_apart(done, scope, waiting)
        waiting = [n for n in induction_variables(done, scope, live_after) if not has_address(n)]
    done = with_forwarded_counters(done, scope, waiting, live_after)
    while waiting:
        left: list[str] = []
        for name in waiting:
            try:
                made = _Replacement.of(name, done, scope, unsigned=True)
                done = made.run(done, live_after, initial.get(name))
            except UnknownValueError:
                left.append(name)
                continue
            names.add(name)
            asked |= made.asked
        if len(left) == len(waiting):
            break
        waiting = left  # what they are set to may be known now
    return Counted(done, frozenset(names), tuple(asked.values()))


@dataclass(slots=True)
class _Replacement(CircularValue):
    """Follows the value of one variable through statements."""

    in_vectors: bool = False  # whether it decides nothing but elements of arrays with one dimension
    turning: bool = False  # whether it is followed through an iteration that may turn it around

    def run(
        self, body: tuple[c_ast.Node, ...], live_after: _Asked, initial: c_ast.Node | None
    ) -> tuple[c_ast.Node, ...]:
        start, self.body = None, body
        self.in_vectors = all(_is_of_vector(part, self.name) for node in body for part in nodes_below(node))
        if self.outer:
            start = c_ast.ID(self.name) if initial is None else self._known(copied(initial))
        items, value = self._block([copied(n) for n in body], start)
        if self.outer and live_after(self.name):
            if value is None or self._mentions(value):
                raise UnknownValueError
            items = [*items, c_ast.Assignment("=", c_ast.ID(self.name), copied(value), body[-1].coord)]
        if not self.outer or any(outside_own_loops(node, self.name) for node in items):
            items = [self._renamed(node) for node in items]
        return tuple(items)

    # Statements -----------------------------------------------------------------------------------------------------
    def _block(
        self, nodes: Sequence[c_ast.Node], value: c_ast.Node | None
    ) -> tuple[list[c_ast.Node], c_ast.Node | None]:
        result: list[c_ast.Node] = []
        for node in (part for item in nodes for part in separate_increments(item, self.name)):
            made, value = self._statement(node, value)
            if made is not None:
                result.append(made)
        return result, value

    def _statement(self, node: Any, value: c_ast.Node | None) -> tuple[c_ast.Node | None, c_ast.Node | None]:
        if isinstance(node, c_ast.Decl) and value is not None and names(value) & {node.name}:
            raise UnknownValueError
        if not self._mentions(node):
            return node, value
        match node:
            case c_ast.Compound():
                node.block_items, value = self._block(node.block_items or [], value)
                return node, value
            case c_ast.Decl() if node.name == self.name:
                return None, None if node.init is None else self._known(self._with(node.init, value))
            case c_ast.For():
                return self._loop(node, value)
            case c_ast.If():
                return self._branches(node, value)
            case c_ast.Assignment(op="=") if written_name(node) == self.name:
                self._must_not_wrap(node.rvalue)
                return None, self._known(self._with(node.rvalue, value))
        step = increment(node, self.name)
        if step is not None:
            self._must_not_wrap(node)
            return None, plus(self._needed(value), step)
        if isinstance(node, c_ast.Assignment) and node.op in _OPERATIONS and written_name(node) == self.name:
            self._must_not_wrap(node)
            added = self._with(node.rvalue, value)
            return None, self._known(c_ast.BinaryOp(node.op[0], copied(self._needed(value)), added, node.coord))
        if isinstance(node, _CONTROL):
            raise UnknownValueError
        return self._with(node, value), value

    def _branches(self, node: c_ast.If, value: c_ast.Node | None) -> tuple[c_ast.Node | None, c_ast.Node | None]:
        """A condition: both of its branches add the same constant, or set the variable to what is known."""
        steps = [self._step_of(block_items(branch)) for branch in (node.iftrue, node.iffalse)]
        if not isinstance(steps[0], int) or steps[0] != steps[1]:
            return self._chosen(node, value)
        node.cond = self._with(node.cond, value)
        for slot in ("iftrue", "iffalse"):
            branch = getattr(node, slot)
            if branch is not None:
                made, _ = self._block(block_items(branch), None if value is None else copied(value))
                setattr(node, slot, c_ast.Compound(made, branch.coord))
        return node, plus(self._needed(value), steps[0]) if steps[0] else value

    def _must_not_wrap(self, value: c_ast.Node) -> None:
        """Raise UnknownValueError for values of unsigned variables, but for those that turn around."""
        if not self.type.signed and not self.turning and not isinstance(value, c_ast.Constant | c_ast.ID):
            raise UnknownValueError

    def _chosen(self, node: c_ast.If, value: c_ast.Node | None) -> tuple[c_ast.Node | None, c_ast.Node | None]:
        """before: end = i + 16; if (end > n) end = n; a[end] = 0;   after: a[i + 16 > n ? n : i + 16] = 0;"""
        node.cond = self._with(node.cond, value)
        condition = self._known(copied(node.cond))
        ends: list[c_ast.Node | None] = []
        for slot in ("iftrue", "iffalse"):
            branch = getattr(node, slot)
            made, end = self._block(block_items(branch), None if value is None else copied(value))
            ends.append(end)
            if branch is not None:
                setattr(node, slot, c_ast.Compound(made, branch.coord))
        rest = None if _is_empty(node.iftrue) and _is_empty(node.iffalse) else node
        if ends[0] is None or ends[1] is None:
            return rest, None
        return rest, c_ast.TernaryOp(condition, ends[0], ends[1], node.coord)

    def _loop(self, loop: Any, value: c_ast.Node | None) -> tuple[c_ast.Node, c_ast.Node | None]:
        count = count_of(loop)
        if count is None or (value is not None and count.name in names(value) and count.name != self.name):
            raise UnknownValueError
        if count.name == self.name:
            return self._own_loop(loop, count, value)
        first = self._with(count.first, value)
        if count.declared:
            loop.init.decls[0].init = first
        else:
            loop.init.rvalue = first
        here = self._iterator_type(loop, count)
        if self._writes(loop.cond) or self._writes(loop.next) or changes(loop.stmt, count.name):
            raise UnknownValueError
        if not self._writes(loop.stmt):
            loop.cond = self._with(loop.cond, value)
            with self._inside(loop, count, here):
                loop.stmt, _ = self._statement(loop.stmt, value)
            return loop, value
        if self._mentions(loop.cond):
            raise UnknownValueError
        return self._counting_loop(loop, count, here, value)

    def _own_loop(self, loop: Any, count: Count, value: c_ast.Node | None) -> tuple[c_ast.Node, c_ast.Node | None]:
        """A loop that counts with the variable itself, which has its last value afterwards."""
        self._must_not_wrap(loop)
        if self._writes(loop.stmt) or count.declared:
            raise UnknownValueError
        loop.init.rvalue = self._with(count.first, value)
        trips = None if has_break(loop) else self._trips(count, loop.init.rvalue)
        if trips is None:
            return loop, None
        return loop, total(self._known(copied(loop.init.rvalue)), scaled(trips, count.step))

    def _counting_loop(
        self, loop: Any, count: Count, here: CType, value: c_ast.Node | None
    ) -> tuple[c_ast.Node, c_ast.Node | None]:
        """A loop whose iterations add a constant to the variable, or set it anew."""
        items = [part for item in block_items(loop.stmt) for part in separate_increments(item, self.name)]
        step = self._step_of(items)
        with self._inside(loop, count, here):
            if step is None:
                return self._handing_on(loop, count, here, items, value)
            self._must_not_wrap(loop)
            first = self._known(copied(count.first))
            iterator = self._known(c_ast.ID(count.name))
            entry = total(copied(self._needed(value)), scaled(iterations_before(count, iterator, first), step))
            made, _ = self._block(items, entry)
        loop.stmt = c_ast.Compound(made, loop.stmt.coord)
        trips = None if has_break(loop) else self._trips(count, count.first)
        return loop, None if trips is None else total(copied(self._needed(value)), scaled(trips, step))

    @contextmanager
    def _inside(self, loop: c_ast.For, count: Count, here: CType) -> Iterator[None]:
        """Look at the body of a loop."""
        self.loops.append((count.name, here))
        self.around.append(loop)
        yield
        self.around.pop()
        self.loops.pop()

    def _handing_on(
        self, loop: Any, count: Count, here: CType, items: Sequence[c_ast.Node], value: c_ast.Node | None
    ) -> tuple[c_ast.Node, c_ast.Node | None]:
        """A loop whose iterations make another value of that before, or set the variable anew."""
        inside = fresh(self.name, self.taken)
        end = self._end(items, inside)
        turn = None if end is None or value is None else self._turn(end, inside, count)
        if turn is not None and value is not None:
            return self._turning_loop(loop, count, items, (value, turn))
        known = None if end is None or value is None or inside in names(end) else (value, end)
        made, _ = self._block(items, None if known is None else self._handed_on(count, *known))
        loop.stmt = c_ast.Compound(made, loop.stmt.coord)
        return loop, None

    def _end(self, items: Sequence[c_ast.Node], inside: str) -> c_ast.Node | None:
        """The value at the end of an iteration, in terms of a name for that at its start."""
        asked, turning = dict(self.asked), self.turning
        self.turning = True
        self.loops.append((inside, self.type))
        self.unknown.append(inside)
        try:
            _, end = self._block([copied(item) for item in items], c_ast.ID(inside))
        except UnknownValueError:
            return None
        finally:
            self.unknown.pop()
            self.loops.pop()
            self.asked, self.turning = asked, turning
        return end

    def _turning_loop(
        self, loop: Any, count: Count, items: Sequence[c_ast.Node], turning: tuple[c_ast.Node, Turn]
    ) -> tuple[c_ast.Node, c_ast.Node | None]:
        """A loop whose iterations turn the variable around.

        before: for (i = 0; i < n; i++) { S(k); if (++k == m) k = 0; T(k); }
        after:  for (i = 0; i < n; i++) { S((k + i) % m); T((k + i + 1) % m); }
        """
        start, turn = turning
        self._check_turn(loop, start, turn)
        here = self.loops[-1][1]
        before, trips = self._before(count, here), None if has_break(loop) else self._all(count, here)
        last = max(k for k, item in enumerate(items) if self._writes(item)) + 1
        outer, self.turning = self.turning, True
        made, _ = self._block(items[:last], self._turned(start, turn, before))
        self.turning = outer
        rest, _ = self._block(items[last:], self._turned(start, turn, plus(copied(before), 1)))
        loop.stmt = c_ast.Compound([*made, *rest], loop.stmt.coord)
        return loop, None if trips is None else self._turned(start, turn, trips)

    def _handed_on(self, count: Count, value: c_ast.Node, end: c_ast.Node) -> c_ast.Node | None:
        """The value at the start of an iteration, where the one before has set it; None where it is not known.

        before: last = n - 1; for (i = 0; i < n; i++) { a[i] = b[last]; last = i; }
        after:  for (i = 0; i < n; i++) a[i] = b[i > 0 ? i - 1 : n - 1];
        """
        try:
            first, iterator = self._known(copied(count.first)), self._known(c_ast.ID(count.name))
        except UnknownValueError:
            return None
        later = c_ast.BinaryOp(">" if count.step > 0 else "<", iterator, first)
        before = substituted(copied(end), {count.name: plus(c_ast.ID(count.name), -count.step)})
        return c_ast.TernaryOp(later, before, copied(value))

    def _step_of(self, items: Sequence[c_ast.Node]) -> int | c_ast.Node | None:
        """What the statements of an iteration add to the variable, if they do nothing else to it."""
        found: int | c_ast.Node = 0
        for node in (part for item in items for part in separate_increments(copied(item), self.name)):
            step = self._step_of_one(node)
            if step is None:
                return None
            if isinstance(found, int) and isinstance(step, int):
                found += step
            elif step != 0:
                found = step if found == 0 else c_ast.BinaryOp("+", _as_node(found), _as_node(step))
        return found

    def _step_of_one(self, node: Any) -> int | c_ast.Node | None:
        if not self._writes(node):
            return 0
        match node:
            case c_ast.Compound():
                return self._step_of(node.block_items or [])
            case c_ast.If():
                steps = [self._step_of(block_items(branch)) for branch in (node.iftrue, node.iffalse)]
                return steps[0] if isinstance(steps[0], int) and steps[0] == steps[1] else None
            case c_ast.For():
                return self._step_of_loop(node)
            case c_ast.Assignment(op="+=", rvalue=size) if increment(node, self.name) is None:
                return self._step_of_size(size)
        return increment(node, self.name)

    def _step_of_size(self, size: c_ast.Node) -> c_ast.Node | None:
        """What `k += s` adds, where all iterations add the same, and products with it make rows."""
        if self._mentions(size) or not self.in_vectors:
            return None
        try:
            return self._known(copied(size))
        except UnknownValueError:
            return None

    def _step_of_loop(self, loop: Any) -> int | c_ast.Node | None:
        """What an inner loop adds up, where the number of its iterations does not change outside of it."""
        count, step = count_of(loop), self._step_of(block_items(loop.stmt))
        if count is None or step is None or count.name == self.name or changes(loop.stmt, count.name):
            return None
        if has_break(loop):
            return None
        if self._writes(loop.cond) or self._writes(loop.next):
            return None
        trips = self._trips(count, count.first)
        whole = None if trips is None else integer(trips)
        if trips is None or (isinstance(step, int) and whole is not None):
            return None if whole is None or not isinstance(step, int) else step * whole
        return scaled(trips, step)

    def _trips(self, count: Count, first: c_ast.Node) -> c_ast.Node | None:
        condition = bound(count)
        if condition is None:
            return None
        try:
            known = self._known(copied(first)), self._known(copied(condition[1]))
        except UnknownValueError:
            return None
        return iterations(count, *known, condition[0])


def _is_of_vector(node: Any, name: str) -> bool:
    """Whether a variable decides nothing in a node but which element of a vector it is."""
    if isinstance(node, c_ast.ArrayRef) and isinstance(node.name, c_ast.ArrayRef):
        return not any(use.name == name for use in variables_in(node))
    return isinstance(node, c_ast.ArrayRef) or not any(
        use.name == name for part in deciding_parts(node) for use in variables_in(part)
    )


def _is_empty(branch: c_ast.Node | None) -> bool:
    return all(isinstance(item, c_ast.EmptyStatement) for item in block_items(branch))


def _as_node(value: int | c_ast.Node) -> c_ast.Node:
    return number(value) if isinstance(value, int) else value
