"""Whether a SCoP may read the value that a local variable holds before it, and whether one may be read after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.find_scops import ScopPlace
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.scope import Binding
from polytile.frontend.trees import block_items, statements_below, variables_in

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_Live = frozenset[str]
_NONE: _Live = frozenset()


@dataclass(slots=True)
class Liveness:
    """Liveness around one SCoP.

    The analysis follows C's control flow backwards and is by name: an inner variable of the same name can only make
    more live. A function with a `goto` backwards, or with a `case` inside another statement of its `switch`, counts
    every mention as a read.
    """

    place: ScopPlace
    body: NodeIndex  # of the function
    _before: _Live = _NONE
    _after: _Live = _NONE
    _opaque: bool = False

    @classmethod
    def around(cls, place: ScopPlace, body: NodeIndex) -> Liveness:
        found = cls(place, body)
        found._opaque = not (_goes_forwards(body) and all(map(_is_flat, body.all(c_ast.Switch))))
        if not found._opaque:
            flow = _Backward(place.items[0], place.items[-1])
            flow.statement(place.function.body, _NONE)
            found._before, found._after = flow.before, flow.after
        return found

    def of(self, binding: Binding) -> tuple[bool, bool]:
        """(live before, live after) of a parameter or an automatic variable."""
        name = binding.name
        if name in self.body.addressed:
            return True, True
        return self.reads_first(binding) and self._may_be_set(binding), self._opaque or name in self._after

    def has_address(self, name: str) -> bool:
        """Whether the function takes the address of a variable."""
        return name in self.body.addressed

    def reads_first(self, binding: Binding) -> bool:
        """Whether the SCoP may read a variable before it assigns it, as far as its control flow tells: also where the
        loop that assigns it might run no iteration, or only later ones read it."""
        return self._opaque or binding.name in self.body.addressed or binding.name in self._before

    def _may_be_set(self, binding: Binding) -> bool:
        if binding.kind == "parameter" or self._opaque:
            return True
        if isinstance(binding.node, c_ast.Decl) and binding.node.init is not None:
            return True
        order = self.body.order
        declared, start = order.get(id(binding.node), -1), order[id(self.place.items[0])]
        for loop in self.place.path:
            if isinstance(loop, _LOOPS) and order[id(loop)] > declared and _mentions(loop, binding.name):
                return True
        between = self.body.nodes[declared + 1 : start]
        return any(isinstance(n, c_ast.ID) and n.name == binding.name for n in between)


def _mentions(node: c_ast.Node, name: str) -> bool:
    return any(i.name == name for i in variables_in(node))


def _goes_forwards(body: NodeIndex) -> bool:
    """Whether labels stand behind the `goto` statements that lead to them."""
    last = {str(n.name): body.order[id(n)] for n in body.all(c_ast.Label)}
    return all(body.order[id(n)] < last.get(str(n.name), 0) for n in body.all(c_ast.Goto))


def _is_flat(switch: c_ast.Switch) -> bool:
    """Whether all cases stand beside one another, none inside a loop or a condition."""
    if not isinstance(switch.stmt, c_ast.Compound):
        return False
    below = list(statements_below(switch.stmt))
    inner = {id(n) for other in below if isinstance(other, c_ast.Switch) for n in statements_below(other.stmt)}
    own = [n for n in below if isinstance(n, c_ast.Case | c_ast.Default) and id(n) not in inner]
    return len(own) == sum(isinstance(n, c_ast.Case | c_ast.Default) for n in block_items(switch.stmt))


@dataclass(slots=True)
class _Jumps:
    """What is live where `break`, `continue` and `return` go."""

    on_break: _Live = _NONE
    on_continue: _Live = _NONE


@dataclass(slots=True)
class _Backward:
    """Backward liveness over a function body that remembers what is live before `first` and after `last`."""

    first: c_ast.Node
    last: c_ast.Node
    before: _Live = _NONE
    after: _Live = _NONE
    jumps: _Jumps = field(default_factory=_Jumps)
    _labels: dict[str, _Live] = field(default_factory=dict)  # what is live at each
    _known: dict[tuple[object, ...], _Live] = field(default_factory=dict)  # of loops, in their surroundings
    _used: dict[int, _Live] = field(default_factory=dict)  # by an expression

    def statement(self, node: c_ast.Node | None, live: _Live) -> _Live:
        """What is live before `node`, given what is live after it."""
        if node is self.last:
            self.after |= live
        live = self._before(node, live)
        if node is self.first:
            self.before |= live
        return live

    def _before(self, node: c_ast.Node | None, live: _Live) -> _Live:
        match node:
            case None | c_ast.EmptyStatement() | c_ast.Pragma() | c_ast.Typedef():
                return live
            case c_ast.Compound():
                return self._block(block_items(node), live)
            case c_ast.Decl():
                return self._declaration(node, live)
            case c_ast.DeclList(decls=decls):
                return self._sequence(decls, live)
            case c_ast.If(cond=condition, iftrue=first, iffalse=second):
                otherwise = self.statement(second, live)  # before the first branch, which may go to a label in it
                return self.expression(condition, self.statement(first, live) | otherwise)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                key = (id(node), live, self.jumps.on_break, self.jumps.on_continue, *self._labels.items())
                if key not in self._known:  # each loop around it asks twice
                    self._known[key] = self._loop_statement(node, live)
                return self._known[key]
            case c_ast.Switch(cond=condition, stmt=stmt):
                return self.expression(condition, self._cases(block_items(stmt), live))
            case c_ast.Label(name=name, stmt=stmt):
                self._labels[str(name)] = found = self.statement(stmt, live)
                return found
            case c_ast.Goto(name=name):
                return self._labels[str(name)]
            case c_ast.Return(expr=value):
                return self.expression(value, _NONE)
            case c_ast.Break():
                return self.jumps.on_break
            case c_ast.Continue():
                return self.jumps.on_continue
        return self.expression(node, live)

    def _loop_statement(self, node: c_ast.For | c_ast.While | c_ast.DoWhile, live: _Live) -> _Live:
        match node:
            case c_ast.While(cond=condition, stmt=stmt):
                return self._loop(lambda again: self.expression(condition, self.statement(stmt, again) | live), live)
            case c_ast.DoWhile(cond=condition, stmt=stmt):
                return self._do(condition, stmt, live)
        return self._for(node, live)

    def _sequence(self, nodes: list[c_ast.Node], live: _Live) -> _Live:
        for node in reversed(nodes):
            live = self.statement(node, live)
        return live

    def _block(self, nodes: list[c_ast.Node], live: _Live) -> _Live:
        own = frozenset(str(n.name) for n in nodes if isinstance(n, c_ast.Decl) and n.name)
        return (self._sequence(nodes, live - own) - own) | (live & own)

    def _cases(self, nodes: list[c_ast.Node], live: _Live) -> _Live:
        """What is live before a `switch` finds its case, each of which falls through to the next one."""
        outer, self.jumps = self.jumps, _Jumps(live, self.jumps.on_continue)
        own = frozenset(str(n.name) for n in nodes if isinstance(n, c_ast.Decl) and n.name)
        chosen = _NONE if any(isinstance(n, c_ast.Default) for n in nodes) else live
        behind = live - own
        for node in reversed(nodes):
            if isinstance(node, c_ast.Case | c_ast.Default):
                behind = self._sequence(node.stmts or [], behind)
                chosen |= behind - own
            else:
                behind = self.statement(node, behind)
        self.jumps = outer
        return chosen | (live & own)

    def _declaration(self, node: c_ast.Decl, live: _Live) -> _Live:
        live = live - {str(node.name)}
        live = live if node.init is None else self.expression(node.init, live)
        return live | frozenset(str(i.name) for i in variables_in(node.type))

    def _for(self, node: c_ast.For, live: _Live) -> _Live:
        own = frozenset(str(d.name) for d in node.init.decls) if isinstance(node.init, c_ast.DeclList) else _NONE

        def once(again: _Live) -> _Live:
            before_step = self.expression(node.next, again)
            self.jumps.on_continue = before_step
            return self.expression(node.cond, self.statement(node.stmt, before_step) | (live - own))

        inner = self._loop(once, live - own)
        return (self.statement(node.init, inner) - own) | (live & own)

    def _do(self, condition: c_ast.Node, stmt: c_ast.Node, live: _Live) -> _Live:
        def once(again: _Live) -> _Live:
            before_test = self.expression(condition, again | live)
            self.jumps.on_continue = before_test
            return self.statement(stmt, before_test)

        return self._loop(once, live)

    def _loop(self, once: Callable[[_Live], _Live], live: _Live) -> _Live:
        """The fixed point of one round of a loop; `once` maps what is live at its start to the same a round earlier."""
        outer, self.jumps = self.jumps, _Jumps(on_break=live)
        start = _NONE
        while True:
            self.jumps.on_continue |= start
            before = once(start) | start
            if before == start:
                break
            start = before
        self.jumps = outer
        return start

    def expression(self, node: c_ast.Node | None, live: _Live) -> _Live:
        """What is live before an expression; only an assignment that surely happens kills."""
        match node:
            case None:
                return live
            case c_ast.ExprList(exprs=exprs):
                for part in reversed(exprs):
                    live = self.expression(part, live)
                return live
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=value):
                return self.expression(value, live - {str(name)})
        if id(node) not in self._used:  # each loop around it asks several times
            self._used[id(node)] = frozenset(str(i.name) for i in variables_in(node))
        return live | self._used[id(node)]
