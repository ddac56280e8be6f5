"""Forward substitution of variables that an iteration sets to a counter plus a constant, where the counter is set to
them in turn: what is left counts by a constant.

before: for (..) { k = j + 1; a[k] = b[k]; j = k + 1; c[k] = 0; }
after:  for (..) { a[j + 1] = b[j + 1]; j += 2; c[j - 1] = 0; }
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pycparser import c_ast

from polytile.frontend.parse import nodes_below
from polytile.frontend.scalar_value import ScalarValue, UnknownValueError, changes
from polytile.frontend.scope import Scope
from polytile.frontend.sums import Linear, linear
from polytile.frontend.trees import block_items, copied, substituted, variables_in, written_name
from polytile.frontend.trip_counts import integer, number, plus
from polytile.ir.expr import CType

_Asked = Callable[[str], bool]


def with_forwarded_counters(
    body: tuple[c_ast.Node, ...], scope: Scope, candidates: Iterable[str], live_after: _Asked
) -> tuple[c_ast.Node, ...]:
    """The statements without those of the `candidates` that one loop sets and uses so; `live_after` says whether the
    value of a variable may be read after the statements."""
    for name in candidates:
        loops = [n for node in body for n in nodes_below(node) if isinstance(n, c_ast.For) and _sets(n, name)]
        if len(loops) != 1 or live_after(name) or _mentions(body, name) != _mentions(block_items(loops[0].stmt), name):
            continue
        types = _types(name, loops[0], body, scope)
        made = None if types is None else _forwarded(block_items(loops[0].stmt), name, types)
        if made is not None:
            loops[0].stmt = c_ast.Compound(made, loops[0].stmt.coord)
    return body


def _sets(loop: Any, name: str) -> bool:
    """Whether a statement right in the body of a loop gives a variable its value."""
    return any(_value(item, name) is not None for item in block_items(loop.stmt))


def _mentions(body: Sequence[c_ast.Node], name: str) -> int:
    nodes = (n for node in body for n in nodes_below(node))
    declarations = (c_ast.ID, c_ast.Decl)
    return sum(isinstance(n, declarations) and n.name == name and not _is_bare(n) for n in nodes)


def _is_bare(node: c_ast.Node) -> bool:
    """`int k;`"""
    return isinstance(node, c_ast.Decl) and node.init is None


def _types(name: str, loop: Any, body: Sequence[c_ast.Node], scope: Scope) -> CType | None:
    """The type that the variable and all that it is set to have; None where there is no one such type."""
    values = [v for item in block_items(loop.stmt) if (v := _value(item, name)) is not None]
    try:
        kinds = {ScalarValue.of(n, body, scope).type for n in (name, *(v for v, _ in values))}
    except UnknownValueError:
        return None
    return kinds.pop() if len(kinds) == 1 else None


def _value(node: c_ast.Node, name: str) -> Linear | None:
    """What a statement sets a variable to, where that is another one plus a constant."""
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found), rvalue=value) if found == name:
            pass
        case c_ast.Decl(name=found, init=value) if found == name and value is not None:
            pass
        case _:
            return None
    found = linear(value)
    return None if found is None or found[0] in ("", name) else found


def _forwarded(items: Sequence[c_ast.Node], name: str, ctype: CType) -> list[c_ast.Node] | None:
    """The statements of an iteration without a variable; None where it is not known, or not set first."""
    assert ctype.signed
    held: Linear | None = None
    result: list[c_ast.Node] = []
    for node in items:
        value = _value(node, name)
        if value is not None:
            held = value
            continue
        step = _step(node)
        if step is not None and step[0] == name and held is not None:
            held = held[0], held[1] + step[1]
            continue
        used = any(use.name == name for use in variables_in(node))
        if (used and held is None) or changes(node, name):
            return None
        if used and held is not None:
            node = substituted(copied(node), {name: plus(c_ast.ID(held[0], node.coord), held[1])})
        step = _step(node)
        if step is not None:
            node = c_ast.Assignment("+=", c_ast.ID(step[0], node.coord), number(step[1]), node.coord)
        if held is not None and changes(node, held[0]):
            if step is None:
                return None
            held = held[0], held[1] - step[1]
        result.append(node)
    return result


def _step(node: c_ast.Node) -> Linear | None:
    """`j = j + 1 + 1` adds 2 to j."""
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=value):
            found = linear(value)
            return found if found is not None and found[0] == name else None
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=c_ast.ID(name=name), rvalue=value):
            constant = integer(value)
            return None if constant is None else (str(name), constant if op == "+=" else -constant)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--" as op):
            name = written_name(node)
            return None if name is None else (name, 1 if "+" in op else -1)
    return None
