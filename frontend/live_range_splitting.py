"""Live range splitting: loops that share an iterator with other code get iterators of their own.

before: for (i = 0; i < n; i++) S(i); ... i = 0; while (x[i] > 0) i++; y = i;
after:  for (int i_ = 0; i_ < n; i_++) S(i_); ... i = 0; while (x[i] > 0) i++; y = i;

Where the last value may be read, `i = n > 0 ? n : 0;` follows the loop; where that is not known, the loop stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.conversions import declared
from polytile.frontend.induction_variables import outside_own_loops
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.live_ranges import Live, LiveRangeWalk, one_scalar
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.scalar_value import changes
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, substituted, variables_in, written_name
from polytile.frontend.trip_counts import bound, count_of, integer, iterations, scaled, total
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import CType
from polytile.ir.name_supply import fresh

_Asked = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Split:
    """Statements where loops have iterators of their own in place of those in `names`."""

    body: tuple[c_ast.Node, ...]
    names: frozenset[str]


def with_own_iterators(body: Sequence[c_ast.Node], scope: Scope, live_after: _Asked, has_address: _Asked) -> Split:
    """The statements of a SCoP, with loops changed in place. `live_after` says whether a variable may be read after
    them, `has_address` whether pointers may lead to it."""
    items = list(body)
    index = NodeIndex.of(items)
    nodes = index.nodes
    counts = [c for n in index.all(c_ast.For) if (c := count_of(n)) is not None and not c.declared]
    taken = {*index.names, *(b.name for b in scope.bindings())}
    names: set[str] = set()
    for name in dict.fromkeys(c.name for c in counts):
        shape = one_scalar(name, nodes, scope)
        shared = live_after(name) or any(outside_own_loops(node, name) for node in items)
        if (
            shape is not None
            and shape.base is not None
            and shape.base.kind == "int"
            and shared
            and not has_address(name)
        ):
            splitting = _Splitting(name, shape, taken, _types(nodes, scope))
            items = splitting.block(items, partial(live_after, name))
            names.add(name)
    return Split(tuple(items), frozenset(names))


def _types(nodes: Sequence[c_ast.Node], scope: Scope) -> dict[str, CType | None]:
    """The types of scalars, None for names with several of them and for others."""
    found: dict[str, CType | None] = {}
    shapes = [(b.name, b.shape) for b in scope.bindings()]
    shapes += [(str(n.name), scope.shape(n.type)) for n in nodes if isinstance(n, c_ast.Decl) and n.name]
    for name, shape in shapes:
        base = None if shape.layers else shape.base
        found[name] = base if found.get(name, base) == base else None
    return found


@dataclass(slots=True)
class _Splitting(LiveRangeWalk):
    shape: Shape
    taken: set[str]
    types: Mapping[str, CType | None]

    def changed(self, node: Any, live: Live) -> list[c_ast.Node] | None:
        match node:
            case c_ast.For(init=c_ast.Assignment() as start) if written_name(start) == self.name:
                return self._split(node, live)
        return None

    def _split(self, loop: Any, live: Live) -> list[c_ast.Node]:
        """A loop that counts with the variable, over an iterator of its own where that is possible."""
        count = count_of(loop)
        if count is None or changes(loop.stmt, self.name):
            return [loop]
        last: list[c_ast.Node] = []
        if live():
            value = self._last(loop)
            if value is None:
                return [loop]
            last = [c_ast.Assignment("=", c_ast.ID(self.name, loop.coord), value, loop.coord)]
        name = fresh(self.name, self.taken)
        self.taken.add(name)
        start, other = loop.init.rvalue, {self.name: c_ast.ID(name, loop.coord)}
        loop.cond, loop.next = substituted(loop.cond, other), substituted(loop.next, other)
        loop.stmt = substituted(loop.stmt, other)
        loop.init = c_ast.DeclList([declared(name, start, self.shape, loop.coord)], loop.coord)
        return [loop, *last]

    def _last(self, loop: Any) -> c_ast.Node | None:
        """The value of the iterator behind a loop, of what the loop does not change; None where it is not known."""
        count = count_of(loop)
        limit = None if count is None or has_break(loop) else bound(count)
        if count is None or limit is None:
            return None
        parts = (count.first, limit[1])
        if not all(self._is_plain(n) for part in parts for n in nodes_below(part)):
            return None
        if any(changes(loop.stmt, use.name) for part in parts for use in variables_in(part)):
            return None
        trips = iterations(count, copied(count.first), copied(limit[1]), limit[0])
        return None if trips is None else total(copied(count.first), scaled(trips, count.step))

    def _is_plain(self, node: c_ast.Node) -> bool:
        """Whether a part of a bound is an integer that does not wrap around, no wider than the iterator."""
        own = self.shape.base
        match node:
            case c_ast.BinaryOp(op="+" | "-" | "*"):
                return True
            case c_ast.ID(name=name):
                kind = self.types.get(str(name))
                return kind is not None and own is not None and kind.signed and 4 <= kind.size <= own.size
        return integer(node) is not None and own is not None and own.signed and own.size >= 4
