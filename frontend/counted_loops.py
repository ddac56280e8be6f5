"""`while` and `do` loops that count, as `for` loops.

before: i = 0; while (i < n) { S; i++; }          after: for (i = 0; i < n; i++) { S; }
before: i = 0; do { S; i++; } while (i < n);      after: for (i = 0; i == 0 || i < n; i++) { S; }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polytile.diagnostics import Location
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.trees import (
    address_taken,
    block_items,
    copied,
    map_statements,
    statements_below,
    variables_in,
    written_name,
)

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_WHILE = (c_ast.While, c_ast.DoWhile)
_VALUES = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp, c_ast.UnaryOp)


def while_loops(nodes: Sequence[c_ast.Node]) -> frozenset[Location]:
    """The places of the `while` and `do` loops in statements, which are those of the `for` loops made of them, too."""
    return frozenset(location_of(n) for node in nodes for n in statements_below(node) if isinstance(n, _WHILE))


def with_counted_loops(nodes: Sequence[c_ast.Node]) -> list[c_ast.Node]:
    """Rewrite the loops in the statements of a block and below them, in place. A loop that does not count, or whose
    first value is not set in the same block before it, stays, and is refused."""
    items = [_inside(node) for node in nodes]
    result: list[c_ast.Node] = []
    for node in items:
        made = _counted(node, result) if isinstance(node, _WHILE) else None
        result.append(node if made is None else made)
    return result


def _inside(node: Any) -> Any:
    if isinstance(node, c_ast.Compound):
        node.block_items = with_counted_loops(node.block_items or [])
        return node
    return map_statements(node, _inside)


def _counted(loop: Any, before: list[c_ast.Node]) -> c_ast.For | None:
    """The loop as a `for` loop, or None; `before` loses the assignment of the first value."""
    *body, step = block_items(loop.stmt) or [c_ast.EmptyStatement()]
    name = written_name(step)
    if name is None or loop.cond is None or not _only_counts(name, loop, body):
        return None
    place = next((k for k in range(len(before) - 1, -1, -1) if _mentions(before[k], name)), None)
    first = None if place is None else _first_value(before[place], name)
    if place is None or first is None:
        return None
    uses = {str(use.name) for use in variables_in(first)}
    moved_over = [*before[place + 1 :], *(body if isinstance(loop, c_ast.DoWhile) else ())]
    if any(_changes(node, used) for node in moved_over for used in uses):
        return None
    start = before[place]
    if isinstance(start, c_ast.Decl):
        start.init = None
    else:
        before.pop(place)
    condition = loop.cond
    if isinstance(loop, c_ast.DoWhile):
        at_start = c_ast.BinaryOp("==", c_ast.ID(name, loop.coord), copied(first), loop.coord)
        condition = c_ast.BinaryOp("||", at_start, condition, loop.coord)
    init = c_ast.Assignment("=", c_ast.ID(name, loop.coord), first, loop.coord)
    return c_ast.For(init, condition, step, c_ast.Compound(body, loop.coord), loop.coord)


def _only_counts(name: str, loop: Any, body: list[c_ast.Node]) -> bool:
    """Whether nothing but the last statement changes the iterator, and every iteration comes to it."""
    if not _mentions(loop.cond, name) or _changes(loop.cond, name):
        return False
    return not any(_changes(node, name) or _leaves(node) for node in body)


def _leaves(node: c_ast.Node, inner: bool = False) -> bool:
    """Whether a jump may skip the rest of an iteration; `inner` says that the node stands in a loop inside of it."""
    if isinstance(node, c_ast.Continue | c_ast.Break):
        return not inner
    if isinstance(node, c_ast.Goto | c_ast.Return | c_ast.Label | c_ast.Switch):
        return True
    return any(_leaves(child, inner or isinstance(node, _LOOPS)) for _, child in node.children())


def _changes(node: c_ast.Node, name: str) -> bool:
    """Whether a statement assigns a variable, hands out its address, or declares another one of its name."""
    return any(
        name in (written_name(n), address_taken(n)) or (isinstance(n, c_ast.Decl) and n.name == name)
        for n in nodes_below(node)
    )


def _mentions(node: c_ast.Node, name: str) -> bool:
    return any(name == getattr(n, "name", None) for n in nodes_below(node) if isinstance(n, c_ast.ID | c_ast.Decl))


def _first_value(node: c_ast.Node, name: str) -> c_ast.Node | None:
    """What a statement sets the iterator to, where that is a sum of variables and constants."""
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(), rvalue=value) if written_name(node) == name:
            pass
        case c_ast.Decl(init=value) if node.name == name and isinstance(node.type, c_ast.TypeDecl) and not node.storage:
            pass
        case _:
            return None
    parts = list(nodes_below(value))
    plain = all(isinstance(n, _VALUES) for n in parts) and not any(written_name(n) or address_taken(n) for n in parts)
    return value if value is not None and plain and not _mentions(value, name) else None
