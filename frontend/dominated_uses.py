"""Uses of an element of an array that another use dominates: it stands in front of them whenever they are reached.

c[k] = 1 / d; if (c[k] > 1) c[k] = 1;      the first c[k] says all: whether the last is used is of no interest

What guards a use need not be known then, where it only matters which elements are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pycparser import c_ast

from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import block_items, text_of
from polytile.frontend.written_names import may_change

_WORD = re.compile(r"[A-Za-z_]\w*")
_Place = Callable[[c_ast.Node], str | None]  # which element a use is of, None for other nodes


def dominated_uses(
    body: Sequence[c_ast.Node],
    is_use: Callable[[c_ast.Node], bool],
    columns: Callable[[c_ast.Node], Sequence[c_ast.Node]] = lambda _: (),
) -> frozenset[int]:
    """The identities of those uses that repeat what was used before; `is_use` is true of uses of one array, which have
    `columns` behind their first subscript."""
    found: set[int] = set()
    _block(body, lambda node: _place(node, columns(node)) if is_use(node) else None, set(), found)
    return frozenset(found)


def _block(items: Sequence[c_ast.Node], place: _Place, before: set[str], found: set[int]) -> None:
    """Go through statements that run one after the other; `before` are the uses that were made whenever they run."""
    used = set(before)
    for item in items:
        used = _without_changed(used, item)
        _statement(item, place, used, found)
        used |= set(filter(None, map(place, _always(item))))
        used = _without_changed(used, item)


def _statement(node: c_ast.Node, place: _Place, used: set[str], found: set[int]) -> None:
    match node:
        case c_ast.Compound():
            _block(block_items(node), place, used, found)
            return
        case c_ast.If():
            _mark([node.cond], place, used, found)
            inside = used | set(filter(None, map(place, _always(node.cond))))
            for side in (node.iftrue, node.iffalse):
                _block(block_items(side), place, inside, found)
            return
        case c_ast.For():
            _mark([p for p in (node.init, node.cond, node.next) if p is not None], place, used, found)
            _block(block_items(node.stmt), place, used, found)
            return
        case c_ast.While() | c_ast.DoWhile():
            _mark([node.cond], place, used, found)
            _block(block_items(node.stmt), place, used, found)
            return
    _mark([node], place, used, found)


def _mark(nodes: Sequence[c_ast.Node], place: _Place, used: set[str], found: set[int]) -> None:
    found |= {id(n) for node in nodes for n in nodes_below(node) if place(n) in used}


def _always(node: c_ast.Node) -> list[c_ast.Node]:
    """What is evaluated of a statement or an expression whatever holds."""
    match node:
        case c_ast.Compound():
            return []  # may declare what its subscripts name
        case c_ast.If() | c_ast.TernaryOp():
            return _always(node.cond)
        case c_ast.BinaryOp(op="&&" | "||"):
            return _always(node.left)
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            return []
    return [node, *(inner for _, child in node.children() for inner in _always(child))]


def _without_changed(used: set[str], item: c_ast.Node) -> set[str]:
    """The uses whose subscripts a statement does not change."""
    if not used:
        return used
    changed = may_change(item)
    return {text for text in used if not changed & set(_WORD.findall(text))}


def _place(use: c_ast.Node, columns: Sequence[c_ast.Node]) -> str:
    """Which element is used, in C."""
    first = [use.subscript] if isinstance(use, c_ast.ArrayRef) else []
    return ", ".join([*(text_of(n) for n in (*first, *columns)), *([] if first else ["0"])])
