"""Loops that count, as `for` loops that set one iterator.

before: i = 0; while (i < n) { S; i++; }          after: for (i = 0; i < n; i++) { S; }
before: i = 0; do { S; i++; } while (i < n);      after: for (i = 0; i == 0 || i < n; i++) { S; }
before: i = 0; for (; i < n; i++) { S; }          after: for (i = 0; i < n; i++) { S; }
before: for (int i = 0, k = 5; i < n; i++) S;     after: { int k = 5; for (int i = 0; i < n; i++) S; }
before: for (int i = n; i-- > 0;) S(i);           after: for (int i = n; i > 0; i--) S(i - 1);
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pycparser import c_ast

from polytile.diagnostics import Location
from polytile.frontend.jump_elimination import jumps
from polytile.frontend.parse import location_of, nodes_below
from polytile.frontend.trees import (
    address_taken,
    block_items,
    copied,
    map_statements,
    statements_below,
    substituted,
    variables_in,
    written_name,
)

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_WHILE = (c_ast.While, c_ast.DoWhile)
_VALUES = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp, c_ast.UnaryOp)


def while_loops(nodes: Sequence[c_ast.Node]) -> frozenset[Location]:
    """The places of the `while` and `do` loops in statements, which are those of the `for` loops made of them, too."""
    return frozenset(location_of(n) for node in nodes for n in statements_below(node) if isinstance(n, _WHILE))


def with_counted_loops(
    nodes: Sequence[c_ast.Node],
    value_before: Callable[[str], c_ast.Node | None] = lambda _: None,
    shared: frozenset[str] = frozenset(),
) -> list[c_ast.Node]:
    """Rewrite the loops in the statements of a block and below them, in place. A loop that does not count, or whose
    first value is not set in the same block before it, stays, and is refused; `value_before` gives what a variable has
    when the block starts, and functions that are called use the `shared` ones."""
    items = [_inside(node, shared) for node in nodes]
    result: list[c_ast.Node] = []
    for node in items:
        made = _counted(node, result, value_before, shared) if counts(node) else None
        result.append(_plain_header(node) if made is None else made)
    return result


def counts(node: c_ast.Node) -> bool:
    """Whether a loop without a first value changes in its last statement, and only there, what its condition tests."""
    if isinstance(node, c_ast.For):
        name = written_name(node.next) if node.init is None and node.next is not None else None
        return name is not None and _tested(name, node) and not _changes(node.stmt, name)
    if not isinstance(node, _WHILE):
        return False
    *body, step = block_items(node.stmt) or [c_ast.EmptyStatement()]
    name = written_name(step)
    if any(isinstance(n, c_ast.Decl) and _mentions(step, n.name) for n in body):
        return False  # behind the body that is another variable, or none
    return name is not None and _tested(name, node) and not any(_changes(n, name) or _leaves(n) for n in body)


def _tested(name: str, loop: Any) -> bool:
    return loop.cond is not None and _mentions(loop.cond, name) and not _changes(loop.cond, name)


def _plain_header(node: c_ast.Node) -> c_ast.Node:
    return _with_one_iterator(_with_own_step(node))


def _with_own_step(node: Any) -> Any:
    """A `for` loop that counts down in its condition, `i--` or `i-- > 0`, whose iterator nobody else sees."""
    if not (isinstance(node, c_ast.For) and node.next is None and isinstance(node.init, c_ast.DeclList)):
        return node
    match node.cond:
        case c_ast.UnaryOp(op="p--", expr=c_ast.ID(name=name)) as step:
            pass
        case c_ast.BinaryOp(op=">" | "!=", left=c_ast.UnaryOp(op="p--", expr=c_ast.ID(name=name)) as step, right=end):
            if not (isinstance(end, c_ast.Constant) and end.value == "0"):
                return node
        case _:
            return node
    if [d.name for d in node.init.decls] != [name] or _changes(node.stmt, name):
        return node
    at = node.coord
    node.cond = c_ast.BinaryOp(">", c_ast.ID(name, at), c_ast.Constant("int", "0"), at)
    node.next = step
    node.stmt = substituted(node.stmt, {name: c_ast.BinaryOp("-", c_ast.ID(name, at), c_ast.Constant("int", "1"), at)})
    return node


def _with_one_iterator(node: c_ast.Node) -> c_ast.Node:
    """A `for` loop whose header declares several variables, behind those that do not count."""
    if not (isinstance(node, c_ast.For) and isinstance(node.init, c_ast.DeclList) and len(node.init.decls) > 1):
        return node
    counting = [d for d in node.init.decls if node.cond is not None and _mentions(node.cond, d.name)]
    own = [d for d in counting if node.next is not None and _changes(node.next, d.name)]
    if len(own) != 1:
        return node
    before = [d for d in node.init.decls if d is not own[0]]
    if any(d.init is not None and _mentions(d.init, own[0].name) for d in before):
        return node
    behind = node.init.decls[node.init.decls.index(own[0]) + 1 :]  # `int i = k, k = 5`: i starts with another k
    if any(_mentions(own[0], d.name) for d in behind):
        return node
    node.init.decls = own
    return c_ast.Compound([*before, node], node.coord)


def with_plain_headers(node: Any) -> Any:
    """Rewrite the loops of a statement whose headers do several things, in place, where no `continue` is left.

    before: for (i = 0, k = 5; i < n; i++, k--) S;   after: { k = 5; for (i = 0; i < n; i++) { S; k--; } }
    """
    node = map_statements(node, with_plain_headers)
    if not isinstance(node, c_ast.For) or node.cond is None or jumps(node.stmt):
        return node
    before: list[c_ast.Node] = []
    for slot in ("init", "next"):
        listed = getattr(node, slot)
        if not isinstance(listed, c_ast.ExprList):
            continue
        own = [n for n in listed.exprs if (name := written_name(n)) is not None and _mentions(node.cond, name)]
        rest = [n for n in listed.exprs if n not in own]
        changed = str(written_name(own[0])) if own else ""
        if len(own) != 1 or any(_mentions(n, changed) for n in rest):
            continue
        if any(_mentions(own[0], str(written_name(n))) for n in rest):
            continue
        setattr(node, slot, own[0])
        if slot == "init":
            before = rest
        else:
            items = block_items(node.stmt)
            hidden = {d.name for d in items if isinstance(d, c_ast.Decl) and any(_mentions(n, d.name) for n in rest)}
            node.stmt = c_ast.Compound([*([node.stmt] if hidden else items), *rest], node.stmt.coord)
    return c_ast.Compound([*before, node], node.coord) if before else node


def _inside(node: Any, shared: frozenset[str]) -> Any:
    if isinstance(node, c_ast.Compound):
        node.block_items = with_counted_loops(node.block_items or [], shared=shared)
        return node
    node = map_statements(node, lambda child: _inside(child, shared))
    return map_statements(node, _plain_header)


def _counted(
    loop: Any, before: list[c_ast.Node], value_before: Callable[[str], c_ast.Node | None], shared: frozenset[str]
) -> c_ast.For | None:
    """A loop that counts as a `for` loop, or None; `before` loses the assignment of the first value."""
    if isinstance(loop, c_ast.For):
        body, step = [loop.stmt], loop.next
    else:
        *body, step = block_items(loop.stmt)
    name = str(written_name(step))
    if name in shared:
        return None  # a call may change it, or see when it is set
    place = next((k for k in range(len(before) - 1, -1, -1) if _mentions(before[k], name)), None)
    first = value_before(name) if place is None else _first_value(before[place], name)
    if first is None:
        return None
    moved_over = [*before[(-1 if place is None else place) + 1 :], *(body if isinstance(loop, c_ast.DoWhile) else ())]
    uses = {str(use.name) for use in variables_in(first)} - ({name} if place is None else set())
    if uses & shared or any(_changes(node, used) for node in moved_over for used in uses):
        return None
    if place is not None:
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
    stmt = loop.stmt if isinstance(loop, c_ast.For) else c_ast.Compound(body, loop.coord)
    return c_ast.For(init, condition, step, stmt, loop.coord)


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
