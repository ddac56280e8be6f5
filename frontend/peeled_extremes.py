"""Extremes that start with the first element, whose loop starts behind it: the loop takes the first element in.

before: x = a[i][0]; k = 0; for (int j = 1; j < m; j++) if (a[i][j] > x) { x = a[i][j]; k = j; }
after:  x = a[i][0]; k = 0; for (int j = 0; j < m; j++) if (a[i][j] > x) { x = a[i][j]; k = j; }

No element is greater or less than itself, so that this iteration changes nothing, even where it is no number; nor does
`x = fmaxf(x, a[i][0])`. Rows then start where their first element is: all threads read whole vectors, and none has an
iteration less than the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pycparser import c_ast

from polytile.frontend.ast_builders import integer, is_plain
from polytile.frontend.parse import nodes_below
from polytile.frontend.reduction_statements import calls_others, changed_variables
from polytile.frontend.scope import Scope
from polytile.frontend.trees import alike, block_items, copied, statements_below, substituted, variables_in
from polytile.frontend.trip_counts import Count, count_of
from polytile.frontend.trip_counts import integer as constant
from polytile.frontend.value_types import ValueTypes

_HELD_EXACTLY = {"fmax": ("double", "float"), "fmin": ("double", "float"), "fmaxf": ("float",), "fminf": ("float",)}


def with_peeled_extremes(body: Sequence[c_ast.Node], scope: Scope) -> Sequence[c_ast.Node]:
    """Let such loops of a SCoP start at the first element, in place."""
    blocks = [n.block_items or [] for node in body for n in statements_below(node) if isinstance(n, c_ast.Compound)]
    types: ValueTypes | None = None
    for items in (body, *blocks):
        for k, loop in enumerate(items):
            if k and isinstance(loop, c_ast.For) and (found := _extreme(loop)) is not None:
                types = types or ValueTypes.of(body, scope)
                _take_first_in(loop, *found, reversed(items[:k]), types)
    return body


def _extreme(loop: c_ast.For) -> tuple[str, c_ast.Node] | None:
    """Return x and the value of a loop of `if (value > x) { x = value; .. }`, `x = value > x ? value : x;` or
    `x = fmax(x, value);`, whichever way round, or None."""
    items = block_items(loop.stmt)
    match items:
        case [c_ast.If(cond=c_ast.BinaryOp(op="<" | ">" as op, left=left, right=right), iftrue=then, iffalse=None)]:
            sets = [(n.lvalue, n.rvalue) for n in block_items(then) if isinstance(n, c_ast.Assignment) and n.op == "="]
        case [c_ast.Assignment(op="=", lvalue=x, rvalue=c_ast.TernaryOp(cond=c_ast.BinaryOp(op=op) as test) as chosen)]:
            left, right = test.left, test.right
            if op not in ("<", ">", "<=", ">=") or not _same_two(left, right, chosen.iftrue, chosen.iffalse):
                return None
            sets = [(x, left), (x, right)]
        case [c_ast.Assignment(op="=", lvalue=x, rvalue=c_ast.FuncCall(name=c_ast.ID(name=name), args=args))]:
            if name not in _HELD_EXACTLY or args is None or len(args.exprs) != 2:
                return None
            left, right = args.exprs
            sets = [(x, left), (x, right)]
        case _:
            return None
    for value, x in ((left, right), (right, left)) if is_plain(left, right) else ():
        if isinstance(x, c_ast.ID) and any(_is(place, x.name) and alike(one, value) for place, one in sets):
            return str(x.name), value
    return None


def _same_two(*parts: c_ast.Node) -> bool:
    """Whether the last two of four expressions are the first two, in any order."""
    one, other, *chosen = parts
    return any(alike(one, a) and alike(other, b) for a, b in (chosen, chosen[::-1]))


def _is(node: c_ast.Node, name: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name == name


def _take_first_in(loop: c_ast.For, x: str, value: c_ast.Node, before: Iterable[Any], types: ValueTypes) -> None:
    """Let a loop start one iteration earlier, where the nearest of the statements `before` it, last one first, that has
    to do with x sets it to the value of that iteration."""
    count = count_of(loop)
    if count is None or not count.declared or count.step != 1:
        return
    if not types.of_value(value) or types.of_value(value) != types.of_scalar(x) or _rounds(loop, types.of_scalar(x)):
        return  # what is rounded may be less than the element
    earlier = _one_less(count)
    if earlier is None or not _is_element(value):
        return
    first = substituted(copied(value), {count.name: earlier})
    start = _start(before, x, {*_names_in(first), x})
    if start is not None and alike(start, first):
        loop.init.decls[0].init = copied(earlier)


def _rounds(loop: c_ast.For, ctype: str) -> bool:
    """Whether a function that the loop calls for the extreme rounds values of a type."""
    (statement,) = block_items(loop.stmt)
    called = statement.rvalue if isinstance(statement, c_ast.Assignment) else None
    return isinstance(called, c_ast.FuncCall) and ctype not in _HELD_EXACTLY[str(called.name.name)]


def _is_element(value: c_ast.Node) -> bool:
    return any(isinstance(n, c_ast.ArrayRef) for n in nodes_below(value))


def _names_in(value: c_ast.Node) -> set[str]:
    return {str(use.name) for use in variables_in(value)}


def _one_less(count: Count) -> c_ast.Node | None:
    """Return the value of the iterator one iteration before the first, of a constant or of `e + 1`."""
    first = constant(count.first)
    if first is not None:
        return integer(first - 1) if first > 0 else None
    match count.first:
        case c_ast.BinaryOp(op="+", left=left, right=right) if constant(right) == 1:
            return copied(left)
    return None


def _start(before: Iterable[Any], x: str, used: set[str]) -> c_ast.Node | None:
    """Return what x is set to, before statements that change nothing of what is used."""
    for node in before:
        if isinstance(node, c_ast.Decl):
            if node.name == x:
                return node.init
            if node.name in used or (node.init is not None and not is_plain(node.init)):
                return None
        elif isinstance(node, c_ast.Assignment) and node.op == "=" and _is(node.lvalue, x):
            return node.rvalue
        elif calls_others(node) or changed_variables(node) & used:
            return None
    return None
