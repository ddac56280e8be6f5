"""`switch` statements as `if` and `else`, where each way through one ends in `break` or leaves it otherwise.

before: switch (k) { case 1: a = 0; break; case 2: b = 0; case 3: c = 0; break; default: d = 0; }
after:  if (k == 1) a = 0; else if (k == 2) { b = 0; c = 0; } else if (k == 3) c = 0; else d = 0;
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from polytile.frontend.builtin_functions import calls
from polytile.frontend.gnu_c import RANGE
from polytile.frontend.jump_elimination import LOOPS
from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import block_items, copied, map_statements
from polytile.ir.integer_constants import integer_value

MOST_COPIES = 64  # of statements that are reached from several cases
_Section = tuple[list[c_ast.Node | None], list[c_ast.Node]]  # the values (None: `default`) and what follows them


def without_switch(node: Any) -> Any:
    """Rewrite the `switch` statements of a statement, in place. One with declarations, with a `break` inside another
    statement of it, or of a value that a side effect computes, stays, and is refused."""
    node = map_statements(node, without_switch)
    if not isinstance(node, c_ast.Switch):
        return node
    made = _as_branches(node)
    return node if made is None else made


def _as_branches(node: c_ast.Switch) -> c_ast.Node | None:
    sections = _sections(block_items(node.stmt))
    if sections is None or any(isinstance(n, c_ast.Assignment | c_ast.FuncCall) for n in nodes_below(node.cond)):
        return None
    if any(isinstance(n, c_ast.UnaryOp) and n.op in ("++", "--", "p++", "p--") for n in nodes_below(node.cond)):
        return None
    ways: list[tuple[list[c_ast.Node | None], list[c_ast.Node]]] = []
    for k, (values, _) in enumerate(sections):
        found = list(_from(sections, k))
        plain = all(_plain(bound) for value in values for bound in _bounds(value))
        if any(_jumps(n) or isinstance(n, c_ast.Decl) for n in found) or not plain:
            return None
        ways.append((values, [copied(n) for n in found]))
    if sum(len(way) for _, way in ways) > MOST_COPIES + sum(len(items) for _, items in sections):
        return None
    made: c_ast.Node = c_ast.EmptyStatement(node.coord)
    for _, way in [w for w in ways if None in w[0]]:
        made = _block(way, node.coord)
    for values, way in [w for w in reversed(ways) if None not in w[0]]:
        tests = [_test(node.cond, value) for value in values]
        condition: c_ast.Node = tests[0]
        for test in tests[1:]:
            condition = c_ast.BinaryOp("||", condition, test, node.coord)
        made = c_ast.If(condition, _block(way, node.coord), made, node.coord)
    return made


def _test(condition: c_ast.Node, value: c_ast.Node | None) -> c_ast.Node:
    """before: case 2:    case 4 ... 7:
    after:  k == 2     k >= 4 && k <= 7
    """
    coord, bounds = condition.coord, _bounds(value)
    signs = ("==",) if len(bounds) == 1 else (">=", "<=")
    first, *rest = [c_ast.BinaryOp(s, copied(condition), b, coord) for s, b in zip(signs, bounds, strict=True)]
    return c_ast.BinaryOp("&&", first, rest[0], coord) if rest else first


def _bounds(value: c_ast.Node | None) -> list[c_ast.Node | None]:
    """The first and the last value of a range of cases; one value alone."""
    return list(value.args.exprs) if value is not None and calls(value, (RANGE,)) else [value]


def _block(items: list[c_ast.Node], coord: Any) -> c_ast.Node:
    return items[0] if len(items) == 1 and isinstance(items[0], c_ast.Compound) else c_ast.Compound(items, coord)


def _sections(items: list[c_ast.Node]) -> list[_Section] | None:
    """The cases of a `switch`, neighbouring labels together."""
    found: list[_Section] = []
    for item in items:
        values: list[c_ast.Node | None] = []
        inner: c_ast.Node | None = item
        while isinstance(inner, c_ast.Case | c_ast.Default):
            values.append(inner.expr if isinstance(inner, c_ast.Case) else None)
            stmts = list(inner.stmts or [])
            nested = len(stmts) == 1 and isinstance(stmts[0], c_ast.Case | c_ast.Default)
            if nested:
                inner = stmts[0]
                continue
            if found and not found[-1][1]:
                values = [*found.pop()[0], *values]
            found.append((values, stmts))
            break
        else:
            if not found:
                return None  # a statement before the first case is never reached, or holds declarations
            found[-1][1].append(item)
    return found


def _from(sections: list[_Section], start: int) -> Iterator[c_ast.Node]:
    """What runs from one case on, up to the `break` or another jump."""
    for _, items in sections[start:]:
        for item in items:
            flat = block_items(item) if isinstance(item, c_ast.Compound) and _ends(item) else [item]
            for inner in flat:
                if isinstance(inner, c_ast.Break):
                    return
                yield inner
                if isinstance((block_items(inner) or [inner])[-1], c_ast.Return | c_ast.Continue | c_ast.Goto):
                    return


def _ends(block: c_ast.Compound) -> bool:
    """Whether a block in braces ends with the jump at the end of its case, and declares nothing."""
    items, jumps = block_items(block), (c_ast.Break, c_ast.Return, c_ast.Continue, c_ast.Goto)
    return bool(items) and isinstance(items[-1], jumps) and not any(isinstance(n, c_ast.Decl) for n in items)


def _jumps(node: c_ast.Node) -> bool:
    """Whether a `break` of the `switch` is left inside a statement, or a case label."""
    if isinstance(node, (*LOOPS, c_ast.Switch)):
        return False
    if isinstance(node, c_ast.Break | c_ast.Case | c_ast.Default):
        return True
    return any(_jumps(child) for _, child in node.children())


def _plain(value: c_ast.Node | None) -> bool:
    """Whether a case's value compares as it would in the `switch`: numbers of type int, and sums of such."""
    if value is None:
        return True
    if not isinstance(value, c_ast.Constant | c_ast.UnaryOp | c_ast.BinaryOp):
        return False
    constants = [n for n in nodes_below(value) if isinstance(n, c_ast.Constant)]
    small = all(n.type == "int" and _is_small(integer_value(n.value)) for n in constants)
    return small and all(isinstance(n, c_ast.Constant | c_ast.UnaryOp | c_ast.BinaryOp) for n in nodes_below(value))


def _is_small(value: int | None) -> bool:
    return value is not None and value < 2**31
