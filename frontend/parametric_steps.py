"""Loops that count by a size, as loops that count iterations, whose number the host finds before the SCoP.

before: for (i = lower; i < upper; i += s) S(i);
after:  for (i = 0; i < i_trips; i++) S(lower + s * i);    where s >= 1, i_trips = (upper - lower + s - 1) / s

The host asks whether s >= 1 when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.assumptions import is_linear
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import location_of
from polytile.frontend.scalar_value import changes
from polytile.frontend.scop_region import Symbol
from polytile.frontend.scope import Scope
from polytile.frontend.trees import copied, map_statements, substituted, text_of, variables_in, written_name
from polytile.frontend.trip_counts import minus, plus, total
from polytile.ir.expr import CType
from polytile.ir.name_supply import fresh


@dataclass(frozen=True, slots=True)
class CountedSteps:
    """Statements whose loops count by constants; their numbers of iterations, and what these are computed from;
    conditions that always hold, and those that the host asks."""

    body: tuple[c_ast.Node, ...]
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    trips: Mapping[str, c_ast.Node] = field(default_factory=dict)
    known: tuple[c_ast.Node, ...] = ()
    asked: tuple[c_ast.Node, ...] = ()


def with_counted_steps(body: Sequence[c_ast.Node], scope: Scope, live_after: Callable[[str], bool]) -> CountedSteps:
    """Let loops whose step is a sum of sizes, and whose bounds are, count by 1. `live_after` says whether the value of
    a variable may be read after the statements."""
    made = _Steps.of(tuple(body), scope, live_after)
    result = tuple(made.visit(node) for node in body)
    known = tuple(c_ast.BinaryOp(">=", c_ast.ID(name), c_ast.Constant("int", "0")) for name in made.trips)
    return CountedSteps(result, made.symbols, made.trips, known, tuple(made.asked.values()))


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    lower: c_ast.Node
    upper: c_ast.Node
    step: c_ast.Node


@dataclass(slots=True)
class _Steps:
    body: tuple[c_ast.Node, ...]
    scope: Scope
    live_after: Callable[[str], bool]
    changed: set[str]
    taken: set[str]
    symbols: dict[str, Symbol] = field(default_factory=dict)
    trips: dict[str, c_ast.Node] = field(default_factory=dict)
    asked: dict[str, c_ast.Node] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # of the numbers of iterations, by their text

    @classmethod
    def of(cls, body: tuple[c_ast.Node, ...], scope: Scope, live_after: Callable[[str], bool]) -> _Steps:
        index = NodeIndex.of(body)
        return cls(body, scope, live_after, index.changed, {*index.names, *(b.name for b in scope.bindings())})

    def visit(self, node: Any) -> Any:
        node = map_statements(node, self.visit)
        head = _header(node) if isinstance(node, c_ast.For) else None
        counted = None if head is None or not self._can_count(head, node) else self._type(head, node)
        if head is None or counted is None:
            return node
        at, zero = node.coord, c_ast.Constant("int", "0")
        self.asked[text_of(head.step)] = _at_least_one(head.step)
        if isinstance(node.init, c_ast.DeclList):
            node.init.decls[0].init = zero
        else:
            node.init.rvalue = zero
        node.cond = c_ast.BinaryOp("<", c_ast.ID(head.name, at), c_ast.ID(self._trips(head, node, counted), at), at)
        node.next = c_ast.UnaryOp("p++", c_ast.ID(head.name, at), at)
        here = total(head.lower, c_ast.BinaryOp("*", head.step, c_ast.ID(head.name, at), at))
        node.stmt = substituted(node.stmt, {head.name: here})
        return node

    def _trips(self, head: _Header, loop: c_ast.Node, counted: CType) -> str:
        """The symbol for s >= 1 && upper > lower ? (upper - lower + s - 1) / s : 0."""
        distance = minus(copied(head.upper), copied(head.lower))
        quotient = c_ast.BinaryOp("/", total(distance, plus(copied(head.step), -1)), copied(head.step))
        some = c_ast.BinaryOp(">", copied(head.upper), copied(head.lower))
        both = c_ast.BinaryOp("&&", _at_least_one(head.step), some)
        value = c_ast.TernaryOp(both, quotient, c_ast.Constant("int", "0"))
        text = text_of(value)
        if text not in self.names:
            name = fresh(f"{head.name}_trips", self.taken)
            self.taken.add(name)
            self.names[text], self.trips[name] = name, value
            self.symbols[name] = Symbol(name, counted, live_after=False, location=location_of(loop))
        return self.names[text]

    def _can_count(self, head: _Header, loop: Any) -> bool:
        """Whether bounds and step are sums of what no statement changes, and the iterator has no use outside of loops
        that set it."""
        parts = (head.lower, head.upper, head.step)
        used = {str(use.name) for part in parts for use in variables_in(part)}
        if used & self.changed or not any(True for _ in variables_in(head.step)):
            return False
        if changes(loop.stmt, head.name) or has_break(loop) or not all(is_linear(p, self.scope) for p in parts):
            return False
        return isinstance(loop.init, c_ast.DeclList) or not (
            self.live_after(head.name) or any(_outside(node, head.name) for node in self.body)
        )

    def _type(self, head: _Header, loop: Any) -> CType | None:
        """The type of the iterator, a signed integer that holds an int."""
        declared = loop.init.decls[0] if isinstance(loop.init, c_ast.DeclList) else None
        binding = None if declared is not None else self.scope.lookup(head.name)
        shape = self.scope.shape(declared.type) if declared is not None else binding.shape if binding else None
        base = None if shape is None or shape.layers else shape.base
        return base if base is not None and base.kind == "int" and base.signed and base.size >= 4 else None


def _at_least_one(step: c_ast.Node) -> c_ast.Node:
    return c_ast.BinaryOp(">=", copied(step), c_ast.Constant("int", "1"))


def _header(loop: Any) -> _Header | None:
    """The parts of `for (i = lower; i < upper; i += step)` whose step is no constant."""
    match loop.init:
        case c_ast.DeclList(decls=[c_ast.Decl(name=name, init=lower)]) if lower is not None:
            pass
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=lower):
            pass
        case _:
            return None
    match loop.next:
        case c_ast.Assignment(op="+=", lvalue=c_ast.ID(name=counted), rvalue=step) if counted == name:
            pass
        case c_ast.Assignment(
            op="=", lvalue=c_ast.ID(name=counted), rvalue=c_ast.BinaryOp(op="+", left=c_ast.ID(name=left), right=step)
        ) if counted == left == name:
            pass
        case _:
            return None
    match loop.cond:
        case c_ast.BinaryOp(op="<" | "<=" as op, left=c_ast.ID(name=counted), right=upper) if counted == name:
            return _Header(str(name), lower, plus(upper, 1) if op == "<=" else upper, step)
    return None


def _outside(node: c_ast.Node, name: str) -> bool:
    """Whether a variable is mentioned elsewhere than in loops that set it first."""
    if isinstance(node, c_ast.For):
        start = node.init
        if isinstance(start, c_ast.Assignment) and written_name(start) == name:
            return any(use.name == name for use in variables_in(start.rvalue))
    if isinstance(node, c_ast.ID):
        return bool(node.name == name)
    return any(_outside(child, name) for _, child in node.children())
