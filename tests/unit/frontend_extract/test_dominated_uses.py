"""Uses of an array's elements that say nothing which one in front of them does not."""

from __future__ import annotations

import pytest
from pycparser import c_ast, c_parser

from polytile.frontend.dominated_uses import dominated_uses
from polytile.frontend.parse import nodes_below

# Each is the body of a function, with how many of its uses of x, in the order of the text, repeat others.
BODIES = {
    "in one statement": ("y = x[k]; z = x[k];", [1]),
    "another subscript": ("y = x[k]; z = x[k + 1];", []),
    "a condition": ("if (x[k] > 1) x[k] = 1; else x[k] = 2;", [1, 2]),
    "a subscript that changes": ("y = x[k]; k = k + 1; z = x[k];", []),
    "a subscript that a use changes": ("k = x[k]; z = x[k];", []),
    "a subscript in memory that changes": ("y = x[p[i]]; p[j] = 3; z = x[p[i]];", []),
    "memory that nothing changes": ("y = x[p[i]]; q[i] = 3; z = x[p[i]];", [1]),
    "behind a condition": ("if (a) y = x[k]; z = x[k];", []),
    "behind a part of a condition": ("if (a && x[k] > 0) y = 1; z = x[k];", []),
    "behind the first part of a condition": ("if (x[k] > 0 && a) y = 1; z = x[k];", [1]),
    "behind a choice": ("y = a ? x[k] : 0; z = x[k];", []),
    "in a loop": ("y = x[k]; for (int i = 0; i < n; i++) z += x[k] * x[i];", [1]),
    "an iterator of the same name": ("y = x[k]; for (int k = 0; k < n; k++) z += x[k];", []),
    "behind a loop": ("for (int i = 0; i < n; i++) z += x[k]; y = x[k];", []),
    "in a loop that changes it behind": ("y = x[k]; for (int i = 0; i < n; i++) { z += x[k]; k += 2; }", []),
    "a block with a name of its own": ("y = x[k]; { int k = 5; z = x[k]; }", []),
    "the first element": ("y = *x; if (a) *x = 0;", [1]),
}


@pytest.mark.parametrize("name", BODIES)
def test_repeated(name: str) -> None:
    body, expected = BODIES[name]
    tree = c_parser.CParser().parse(f"void f(void) {{ {body} }}")
    items = tree.ext[0].body.block_items

    def is_use(node: c_ast.Node) -> bool:
        inner = node.expr if isinstance(node, c_ast.UnaryOp) and node.op == "*" else None
        inner = node.name if isinstance(node, c_ast.ArrayRef) else inner
        return isinstance(inner, c_ast.ID) and inner.name == "x"

    uses = [n for item in items for n in nodes_below(item) if is_use(n)]
    places = sorted(range(len(uses)), key=lambda k: body_position(uses[k]))
    found = dominated_uses(items, is_use)
    assert [order for order, k in enumerate(places) if id(uses[k]) in found] == expected


def body_position(node: c_ast.Node) -> tuple[int, int]:
    return node.coord.line, node.coord.column
