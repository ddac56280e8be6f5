"""Elements that a block has just set, as the variable of what they were set to."""

from __future__ import annotations

import pytest
from pycparser import c_ast, c_generator, c_parser

from polytile.frontend.store_to_load_forwarding import with_forwarded_elements
from polytile.ir.expr import INT

# Each is the body of a function before and behind, with q and r of integers.
BODIES = {
    "one use": ("q[i] = p[i]; y = x[q[i]];", "int q_value = p[i]; q[i] = q_value; y = x[q_value];"),
    "no use": ("q[i] = p[i]; y = x[q[i + 1]];", "q[i] = p[i]; y = x[q[i + 1]];"),
    "no integer": ("y[i] = p[i]; z = y[i];", "y[i] = p[i]; z = y[i];"),
    "nested": ("q[i] = 1; if (a) { y = q[i]; }", "int q_value = 1; q[i] = q_value; if (a) { y = q_value; }"),
    "set again": (
        "q[i] = 1; q[i] = q[i] + 1; y = q[i];",
        "int q_value = 1; q[i] = q_value; int q_value_ = q_value + 1; q[i] = q_value_; y = q_value_;",
    ),
    "set under a condition": ("q[i] = 1; if (a) q[i] = 2; y = q[i];", "q[i] = 1; if (a) q[i] = 2; y = q[i];"),
    "another element is set": ("q[i] = 1; q[j] = 2; y = q[i];", "q[i] = 1; q[j] = 2; y = q[i];"),
    "the subscript changes": ("q[i] = 1; i++; y = q[i];", "q[i] = 1; i++; y = q[i];"),
    "memory in the subscript changes": ("q[p[i]] = 1; p[j] = 0; y = q[p[i]];", "q[p[i]] = 1; p[j] = 0; y = q[p[i]];"),
    "another loop's iterator": (
        "q[i] = 1; for (int i = 0; i < n; i++) y = q[i];",
        "q[i] = 1; for (int i = 0; i < n; i++) y = q[i];",
    ),
    "behind the block": ("{ q[i] = 1; } y = q[i];", "{ q[i] = 1; } y = q[i];"),
    "an update": ("q[i] += 1; y = q[i];", "q[i] += 1; y = q[i];"),
    "its address": ("q[i] = 1; f(&q[i]); y = q[i];", "q[i] = 1; f(&q[i]); y = q[i];"),
}


def items(body: str) -> list[c_ast.Node]:
    return list(c_parser.CParser().parse(f"void f(void) {{ {body} }}").ext[0].body.block_items)


@pytest.mark.parametrize("name", BODIES)
def test_forwarded(name: str) -> None:
    before, behind = BODIES[name]
    taken = set("ijnpqxyza")
    made = with_forwarded_elements(items(before), lambda array: INT if array in ("q", "r") else None, taken)
    printed = c_generator.CGenerator().visit(c_ast.Compound(list(made)))
    assert printed == c_generator.CGenerator().visit(c_ast.Compound(items(behind)))
