"""Live range splitting: loops that share an iterator with other code get iterators of their own.

before: for (i = 0; i < n; i++) S(i); ... i = 0; while (x[i] > 0) i++; y = i;
after:  for (int i_ = 0; i_ < n; i_++) S(i_); ... i = 0; while (x[i] > 0) i++; y = i;

Where the last value may be read, `i = n > 0 ? n : 0;` follows the loop; where that is not known, the loop stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.conversions import declared
from polytile.frontend.induction_variables import outside_own_loops
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.scalar_value import changes
from polytile.frontend.scope import Scope
from polytile.frontend.trees import address_taken, block_items, copied, substituted, variables_in, written_name
from polytile.frontend.trip_counts import bound, count_of, integer, iterations, scaled, total
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import CType
from polytile.ir.name_supply import fresh

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_JUMPS = (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Return, c_ast.Label)
_Asked = Callable[[str], bool]
_Live = Callable[[], bool]


class _Effect(Enum):
    """What a statement does first to a variable."""

    READS = "may read it"
    SETS = "sets it in any case"
    NEITHER = "does not read it before it sets it"


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
        shape = _shape(name, nodes, scope)
        shared = live_after(name) or any(outside_own_loops(node, name) for node in items)
        if shape is not None and shared and not has_address(name):
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


def _shape(name: str, nodes: Sequence[c_ast.Node], scope: Scope) -> Shape | None:
    """The type of the one variable of a name, an automatic integer that no pointer leads to; else None."""
    own = [n for n in nodes if isinstance(n, c_ast.Decl) and n.name == name]
    binding = scope.lookup(name)
    if len(own) + (binding is not None) != 1 or any(address_taken(n) == name for n in nodes):
        return None
    if binding is not None and (binding.level == "global" or binding.static or binding.kind == "function"):
        return None
    shape = binding.shape if binding is not None else scope.shape(own[0].type)
    plain = not shape.layers and not shape.const and shape.base is not None and shape.base.kind == "int"
    return shape if plain and not (own and own[0].storage) else None


@dataclass(slots=True)
class _Splitting:
    name: str
    shape: Shape
    taken: set[str]
    types: Mapping[str, CType | None]

    def block(self, nodes: Sequence[c_ast.Node], live: _Live) -> list[c_ast.Node]:
        """The statements of a block; `live` says whether the variable may be read behind it."""
        result: list[c_ast.Node] = []
        for k, node in enumerate(nodes):
            result += self._statement(node, partial(self._is_read, nodes[k + 1 :], live))
        return result

    def _is_read(self, rest: Sequence[c_ast.Node], live: _Live) -> bool:
        effect = self._first(rest)
        return effect is _Effect.READS or (effect is _Effect.NEITHER and live())

    def _statement(self, node: Any, live: _Live) -> list[c_ast.Node]:
        match node:
            case c_ast.Compound():
                node.block_items = self.block(node.block_items or [], live)
            case c_ast.If():
                for slot in ("iftrue", "iffalse"):
                    self._inside(node, slot, live)
            case c_ast.For(init=c_ast.Assignment() as start) if written_name(start) == self.name:
                return self._split(node, live)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                again = any(self._mentions(getattr(node, slot, None)) for slot in ("cond", "next"))
                again = again or self._first(block_items(node.stmt)) is _Effect.READS
                self._inside(node, "stmt", lambda: again or live())
        return [node]

    def _inside(self, node: Any, slot: str, live: _Live) -> None:
        inner = getattr(node, slot)
        if inner is not None:
            made = self.block(block_items(inner), live)
            setattr(node, slot, c_ast.Compound(made, inner.coord))

    def _split(self, loop: Any, live: _Live) -> list[c_ast.Node]:
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

    # What is read -----------------------------------------------------------------------------------------------------
    def _first(self, nodes: Sequence[c_ast.Node]) -> _Effect:
        """What statements that follow one another do first to the variable."""
        may_leave = False
        for node in nodes:
            effect = self._effect(node)
            if effect is not _Effect.NEITHER:
                return _Effect.NEITHER if may_leave and effect is _Effect.SETS else effect
            may_leave = may_leave or any(isinstance(n, _JUMPS) for n in nodes_below(node))
        return _Effect.NEITHER

    def _effect(self, node: Any) -> _Effect:
        if not self._mentions(node):
            return _Effect.NEITHER
        match node:
            case c_ast.Compound():
                return self._first(node.block_items or [])
            case c_ast.Assignment(op="=") if written_name(node) == self.name:
                return _Effect.READS if self._mentions(node.rvalue) else _Effect.SETS
            case c_ast.Decl() if node.name == self.name:
                return _Effect.READS if self._mentions(node.init) else _Effect.SETS
            case c_ast.If() if not self._mentions(node.cond):
                ends = {self._first(block_items(branch)) for branch in (node.iftrue, node.iffalse)}
                if _Effect.READS in ends:
                    return _Effect.READS
                return _Effect.NEITHER if _Effect.NEITHER in ends else _Effect.SETS
            case c_ast.For() if node.init is not None and self._effect(node.init) is _Effect.SETS:
                return _Effect.SETS
            case c_ast.For() | c_ast.While():
                around = any(self._mentions(getattr(node, slot, None)) for slot in ("init", "cond", "next"))
                inside = self._first(block_items(node.stmt))
                return _Effect.READS if around or inside is _Effect.READS else _Effect.NEITHER
            case c_ast.DoWhile():
                inside = self._first(block_items(node.stmt))
                if inside is _Effect.NEITHER and self._mentions(node.cond):
                    return _Effect.READS
                return inside
        return _Effect.READS

    def _mentions(self, node: c_ast.Node | None) -> bool:
        return node is not None and any(
            isinstance(n, c_ast.ID | c_ast.Decl) and n.name == self.name for n in nodes_below(node)
        )
