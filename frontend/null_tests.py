"""Tests whether a pointer is null, as conditions on a number that the call passes.

before: for (i = 0; i < n; i++) a[i] += b != NULL ? b[i] : 1;
after:  for (i = 0; i < n; i++) a[i] += b_given != 0 ? b[i] : 1;      with b_given = b != 0

Loops then split by the condition, and what is used of an array that is not given is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import reduce
from typing import Any

from pycparser import c_ast

from polytile.dataclass import dataclass
from polytile.frontend.ast_builders import integer
from polytile.frontend.callees import effects_below
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.scop_region import Symbol
from polytile.frontend.scope import Scope
from polytile.frontend.trees import map_children
from polytile.ir.expr import INT
from polytile.ir.name_supply import fresh


@dataclass(frozen=True, slots=True)
class NullTests:
    """The statements with numbers in the place of pointers that are tested, their symbols, what the call passes for
    each, the pointers by these, and what is known of them."""

    body: tuple[c_ast.Node, ...]
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    values: Mapping[str, c_ast.Node] = field(default_factory=dict)
    pointers: Mapping[str, str] = field(default_factory=dict)

    @property
    def known(self) -> tuple[c_ast.Node, ...]:
        """0 <= b_given && b_given <= 1"""
        ends = ((">=", 0), ("<=", 1))
        return tuple(c_ast.BinaryOp(op, c_ast.ID(name), integer(end)) for name in self.symbols for op, end in ends)


def with_null_tests(body: Sequence[c_ast.Node], scope: Scope) -> NullTests:
    """Replace tests of pointers that no statement changes."""
    index = NodeIndex.of(body)
    if not _may_test(index):
        return NullTests(tuple(body))
    tests = _Tests(scope, index.changed, {*index.names, *(b.name for b in scope.bindings())})
    made = tuple(tests.visit(node) for node in body)
    return NullTests(made, tests.symbols, tests.values, {number: name for name, number in tests.names.items()})


def _may_test(index: NodeIndex) -> bool:
    """Whether there is a condition besides comparisons of sizes, as most bodies of stencils have none."""
    if index.all(c_ast.If, c_ast.TernaryOp, c_ast.While, c_ast.DoWhile):
        return True
    bounds = [loop.cond for loop in index.all(c_ast.For) if isinstance(loop.cond, c_ast.ID)]
    operators = {n.op for n in index.all(c_ast.BinaryOp, c_ast.UnaryOp)}
    return bool(bounds) or not operators.isdisjoint(("&&", "||", "!", "==", "!="))


@dataclass(slots=True)
class _Tests:
    scope: Scope
    changed: set[str]
    taken: set[str]
    symbols: dict[str, Symbol] = field(default_factory=dict)
    values: dict[str, c_ast.Node] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # of the symbols, by those of the pointers

    def visit(self, node: Any) -> Any:
        match node:
            case c_ast.If() | c_ast.TernaryOp():
                node.cond = self._condition(node.cond)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile() if node.cond is not None:
                node.cond = self._condition(node.cond)
            case c_ast.BinaryOp(op="&&" | "||"):
                node.left, node.right = self._condition(node.left), self._condition(node.right)
            case c_ast.UnaryOp(op="!"):
                node.expr = self._condition(node.expr)
            case c_ast.BinaryOp(op="==" | "!=", left=left, right=right):
                for pointer, other in ((left, right), (right, left)):
                    if self._is_pointer(pointer) and _is_null(other):
                        return c_ast.BinaryOp(node.op, self._given(pointer), integer(0), node.coord)
        node = map_children(node, self.visit)
        return self._first(node) if isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||") else node

    def _first(self, node: c_ast.BinaryOp) -> c_ast.BinaryOp:
        """x[i] > 0 && b_given != 0 as b_given != 0 && x[i] > 0: where it does not hold nothing of b is used."""
        parts = _parts(node, node.op)
        tests = [part for part in parts if self._is_test(part)]
        if not tests or any(_does_more(part) for part in parts):
            return node
        rest = [part for part in parts if part not in tests]
        return reduce(lambda a, b: c_ast.BinaryOp(node.op, a, b, node.coord), [*tests, *rest])

    def _is_test(self, node: Any) -> bool:
        if isinstance(node, c_ast.UnaryOp) and node.op == "!":
            return self._is_test(node.expr)
        return isinstance(node, c_ast.BinaryOp) and isinstance(node.left, c_ast.ID) and node.left.name in self.symbols

    def _condition(self, node: Any) -> Any:
        """An expression of which only counts whether it is 0."""
        if self._is_pointer(node):
            return c_ast.BinaryOp("!=", self._given(node), integer(0), node.coord)
        return node

    def _is_pointer(self, node: Any) -> bool:
        if not isinstance(node, c_ast.ID) or node.name in self.changed:
            return False
        binding = self.scope.lookup(node.name)
        layers = binding.shape.layers if binding is not None and binding.kind in ("variable", "parameter") else ()
        return bool(layers) and (layers[0].pointer or (binding is not None and binding.kind == "parameter"))

    def _given(self, pointer: Any) -> c_ast.Node:
        if pointer.name not in self.names:
            name = fresh(f"{pointer.name}_given", self.taken)
            self.taken.add(name)
            self.names[pointer.name] = name
            self.values[name] = c_ast.BinaryOp("!=", c_ast.ID(pointer.name), integer(0))
            self.symbols[name] = Symbol(name, INT, live_after=False, location=location_of(pointer))
        return c_ast.ID(self.names[pointer.name], pointer.coord)


def _is_null(node: Any) -> bool:
    """0, or that as a pointer."""
    if isinstance(node, c_ast.Cast):
        return isinstance(node.to_type.type, c_ast.PtrDecl) and _is_null(node.expr)
    return isinstance(node, c_ast.Constant) and node.value == "0"


def _parts(node: c_ast.Node, op: str) -> list[c_ast.Node]:
    """What `&&` or `||` connects."""
    if isinstance(node, c_ast.BinaryOp) and node.op == op:
        return _parts(node.left, op) + _parts(node.right, op)
    return [node]


def _does_more(node: c_ast.Node) -> bool:
    """Whether an expression may do more than to have a value."""
    return any(isinstance(n, c_ast.FuncCall) for n in nodes_below(node)) or any(effects_below(node))
