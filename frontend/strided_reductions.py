"""Loops with a step other than 1 that add something up, as loops that count iterations: isl follows partial results of
these, which it does not where strides and remainders meet.

before: for (i = lower; i < upper; i += 5) s = s + a[i] + a[i + 1];
after:  for (i = 0; lower + 5 * i < upper; i++) s = s + a[lower + 5 * i] + a[lower + 5 * i + 1];
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pycparser import c_ast

from polytile.frontend.conversions import cast_to
from polytile.frontend.induction_variables import outside_own_loops
from polytile.frontend.jump_elimination import has_break
from polytile.frontend.parse import nodes_below
from polytile.frontend.scalar_value import changes
from polytile.frontend.scope import Scope
from polytile.frontend.trees import alike, copied, map_statements, substituted, variables_in
from polytile.frontend.trip_counts import Count, bound, count_of, integer, scaled, total
from polytile.frontend.type_shapes import Shape
from polytile.ir.expr import INT

_COMPOUND = ("+=", "-=", "*=", "&=", "|=", "^=")


def with_counted_reductions(
    body: Sequence[c_ast.Node], scope: Scope, live_after: Callable[[str], bool]
) -> tuple[c_ast.Node, ...]:
    """The statements of a SCoP, whose loops that accumulate count by 1, in place. `live_after` says whether the value
    of a variable may be read after them."""

    def changed(node: Any) -> Any:
        node = map_statements(node, changed)
        count = count_of(node) if isinstance(node, c_ast.For) else None
        if count is None or abs(count.step) == 1 or not _adds_up(count, node):
            return node
        if not count.declared and (live_after(count.name) or any(outside_own_loops(n, count.name) for n in body)):
            return node
        shape = _iterator_shape(node, count, body, scope)
        return node if shape is None else _counted(node, count, shape, scope)

    return tuple(map(changed, body))


def _adds_up(count: Count, loop: Any) -> bool:
    """Whether a loop accumulates, and the header alone sets its iterator, from what the loop does not change."""
    limit = bound(count)
    if limit is None or limit[0] == "!=" or has_break(loop) or changes(loop.stmt, count.name):
        return False
    parts = [n for part in (count.first, limit[1]) for n in nodes_below(part)]
    if any(isinstance(n, c_ast.ArrayRef | c_ast.StructRef | c_ast.FuncCall) for n in parts):
        return False
    if any(changes(loop.stmt, str(n.name)) for n in parts if isinstance(n, c_ast.ID)):
        return False
    return any(True for _ in _accumulations(loop.stmt, count.name))


def _iterator_shape(loop: Any, count: Count, body: Sequence[c_ast.Node], scope: Scope) -> Shape | None:
    """The type of the iterator, where that is a signed integer that holds an int."""
    if count.declared:
        shape = scope.shape(loop.init.decls[0].type)
    else:
        binding = scope.lookup(count.name)
        own = [n for node in body for n in nodes_below(node) if isinstance(n, c_ast.Decl) and n.name == count.name]
        if len(own) != (binding is None):
            return None  # there are several variables of the name
        shape = scope.shape(own[0].type) if binding is None else binding.shape
    base = None if shape.layers else shape.base
    return shape if base is not None and base.kind == "int" and base.signed and base.size >= INT.size else None


def _accumulations(node: c_ast.Node, iterator: str, tests: tuple[c_ast.Node, ...] = ()) -> Iterator[c_ast.Node]:
    """Assignments to what does not depend on an iterator that also read it, or that stand under a test of it."""
    if isinstance(node, c_ast.Assignment):
        read = (node.rvalue, *tests)
        again = node.op in _COMPOUND or any(alike(n, node.lvalue) for part in read for n in nodes_below(part))
        if again and all(use.name != iterator for use in variables_in(node.lvalue)):
            yield node
    inner = (*tests, node.cond) if isinstance(node, c_ast.If) else tests
    for _, child in node.children():
        if not (isinstance(node, c_ast.For) and child is node.next):  # the step of a loop inside is `j = j + 3`, too
            yield from _accumulations(child, iterator, inner)


def _counted(loop: Any, count: Count, shape: Shape, scope: Scope) -> c_ast.Node:
    """The loop, counting its iterations with the same variable."""
    at, zero = loop.coord, c_ast.Constant("int", "0")
    first = count.first if integer(count.first) is not None else cast_to(shape, count.first, scope)

    def here() -> c_ast.Node:
        return total(copied(first), scaled(c_ast.ID(count.name, at), count.step))

    if isinstance(loop.init, c_ast.DeclList):
        loop.init.decls[0].init = zero
    else:
        loop.init.rvalue = zero
    loop.cond = substituted(loop.cond, {count.name: here()})
    loop.next = c_ast.UnaryOp("p++", c_ast.ID(count.name, at), at)
    loop.stmt = substituted(loop.stmt, {count.name: here()})
    return loop
