"""Conditions on data around loops whose bodies cannot change them: each iteration asks, and the loops stay loops.

before: for (i) if (x[i] != 0) for (j) A[i][j] += x[i] * y[j];      one step of data-dependent length
after:  for (i) for (j) if (x[i] != 0) A[i][j] += x[i] * y[j];      two loops of which both may be parallel

So does each of a loop that only adds up where few iterations are left out, `if (i != p) for (j) s += A[i][j];`: sums
ask that in any case, as their iterations are easier to share out all together (left_out_points.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from pycparser import c_ast

from polytile.frontend.ast_builders import base_of, block
from polytile.frontend.node_index import NodeIndex
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import (
    calls_others,
    changed_variables,
    changes_nothing_else,
    reduced_variable,
)
from polytile.frontend.scope import Scope
from polytile.frontend.trees import block_items, conjuncts, copied, statements_below, variables_in
from polytile.frontend.trip_counts import count_of

_FLOATING = ("float", "double", "long double")


def with_conditions_in_loops(body: Sequence[c_ast.Node], scope: Scope) -> tuple[c_ast.Node, ...]:
    """Move such conditions of a SCoP into their loops, in place."""
    index = NodeIndex.of(body)
    own = index.written | index.declared.keys()
    root = c_ast.Compound(list(body))
    for node in statements_below(root):
        if isinstance(node, c_ast.Compound):
            node.block_items = [part for item in node.block_items or [] for part in _inside(item, own, scope)]
        elif isinstance(node, c_ast.For) and isinstance(node.stmt, c_ast.If):
            parts = _inside(node.stmt, own, scope)
            node.stmt = parts[0] if len(parts) == 1 else block(parts, node.stmt.coord)
    return tuple(root.block_items or [])


def _inside(node: c_ast.Node, own: frozenset[str], scope: Scope) -> list[c_ast.Node]:
    """Return a statement, or the loops that it becomes."""
    if not isinstance(node, c_ast.If) or not changes_nothing_else(node.cond):
        return [node]
    if not _asks_data(node.cond, own, scope) and not _leaves_few_out(node):
        return [node]
    branches = [(block_items(part), negated) for part, negated in ((node.iftrue, False), (node.iffalse, True))]
    items = [item for part, _ in branches for item in part]
    if not items or not all(isinstance(item, c_ast.For) and _can_ask(item, node.cond) for item in items):
        return [node]
    return [_asking(item, node.cond, negated) for part, negated in branches for item in part]


def _asks_data(condition: c_ast.Node, own: frozenset[str], scope: Scope) -> bool:
    """Whether a condition is on elements or on floating point numbers: others are those of a polyhedron."""
    if any(isinstance(n, c_ast.ArrayRef) for n in nodes_below(condition)):
        return True
    names = {str(use.name) for use in variables_in(condition)}
    return any(name not in own and base_of(name, scope, arrays=False) in _FLOATING for name in names)


def _leaves_few_out(node: c_ast.If) -> bool:
    """Whether it is a sum but where numbers are equal."""
    if node.iffalse is not None or not all(_only_adds(item) for item in block_items(node.iftrue)):
        return False
    return all(_is_unequal(test) for test in conjuncts(node.cond))


def _is_unequal(test: c_ast.Node) -> bool:
    """Whether it is `a != b`, or `!(a == b)`."""
    if isinstance(test, c_ast.UnaryOp) and test.op == "!":
        return isinstance(test.expr, c_ast.BinaryOp) and test.expr.op == "=="
    return isinstance(test, c_ast.BinaryOp) and test.op == "!="


def _only_adds(node: c_ast.Node) -> bool:
    if isinstance(node, c_ast.For | c_ast.Compound):
        inner = node.stmt if isinstance(node, c_ast.For) else node
        return all(_only_adds(item) for item in block_items(inner))
    return reduced_variable(node) is not None


def _can_ask(loop: c_ast.For, condition: c_ast.Node) -> bool:
    """Whether a loop may run where the condition does not hold, and asks the same in each iteration."""
    count = count_of(loop)
    if count is None or not count.declared or loop.cond is None or calls_others(loop):
        return False
    header = [*nodes_below(count.first), *nodes_below(loop.cond)]
    if any(isinstance(n, c_ast.ArrayRef | c_ast.StructRef | c_ast.FuncCall | c_ast.UnaryOp) for n in header):
        return False
    if any(isinstance(n, c_ast.BinaryOp) and n.op in ("/", "%") for n in header):
        return False
    asked = {str(use.name) for use in variables_in(condition)}
    shadowed = {str(n.name) for n in nodes_below(loop) if isinstance(n, c_ast.Decl)}
    return not asked & (changed_variables(loop) | shadowed)


def _asking(loop: c_ast.For, condition: c_ast.Node, negated: bool) -> c_ast.For:
    test = copied(condition)
    test = c_ast.UnaryOp("!", test, condition.coord) if negated else test
    inner = loop.stmt if isinstance(loop.stmt, c_ast.Compound) else block([loop.stmt], loop.stmt.coord)
    return c_ast.For(loop.init, loop.cond, loop.next, c_ast.If(test, inner, None, loop.coord), loop.coord)
