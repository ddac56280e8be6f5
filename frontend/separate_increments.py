"""Increments of a variable inside other statements, as statements of their own.

before: a[j++] = b[i];  if (++k == m) k = 0;  for (i = 0, j = n; i < n; i++, j--) S;
after:  a[j] = b[i]; j++;  ++k; if (k == m) k = 0;  j = n; for (i = 0; i < n; i++) { S; j--; }

before: if (k++ == m) k = 0;
after:  if (k == m) { k++; k = 0; } else k++;
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polytile.frontend.ast_builders import block, mentions
from polytile.frontend.parse import nodes_below
from polytile.frontend.trees import block_items, copied, map_children, statements_below, written_name


def with_increments_before_conditions(body: Sequence[c_ast.Node]) -> tuple[c_ast.Node, ...]:
    """Take `++k` and `k++` out of conditions that ask it first, and use k nowhere else: `if (++k == m) S;`"""
    root = c_ast.Compound(list(body))
    for node in statements_below(root):
        if isinstance(node, c_ast.Compound):
            node.block_items = [part for item in node.block_items or [] for part in _asked_after(item)]
        for slot in ("stmt", "iftrue", "iffalse"):
            inner = getattr(node, slot, None)
            parts = _asked_after(inner) if isinstance(inner, c_ast.If) else []
            if len(parts) > 1:
                setattr(node, slot, block(parts, parts[0].coord))
    return tuple(root.block_items or [])


def _asked_after(node: c_ast.Node) -> list[c_ast.Node]:
    """Return what `if (++k == m) S;` does, one after the other, and a statement of another kind as it is."""
    if not isinstance(node, c_ast.If):
        return [node]
    changed = {written_name(n) for n in nodes_below(node.cond) if isinstance(n, c_ast.UnaryOp | c_ast.Assignment)}
    names = [name for name in changed if name is not None]
    return separate_increments(node, names[0]) if len(names) == 1 else [node]


def separate_increments(node: Any, name: str) -> list[c_ast.Node]:
    """Take apart what one statement does at once, in place, where it changes the variable once and uses it nowhere
    else."""
    match node:
        case c_ast.ExprList():
            return [part for inner in node.exprs for part in separate_increments(inner, name)]
        case c_ast.For():
            return [*_listed_first(node, name), node]
        case c_ast.If():
            step = _only_step(node.cond, name)
            if step is None:
                return [node]
            node.cond = _exchanged(node.cond, step, step.expr)
            if step.op in ("p++", "p--"):
                node.iftrue, node.iffalse = (
                    c_ast.Compound([_apart(step), *block_items(branch)], node.coord)
                    for branch in (node.iftrue, node.iffalse)
                )
                return [node]
        case c_ast.Assignment() if written_name(node) != name:
            step = _only_step(node, name)
            if step is None:
                return [node]
            node = _exchanged(node, step, step.expr)
        case _:
            return [node]
    return [node, _apart(step)] if step.op in ("p++", "p--") else [_apart(step), node]


def _apart(step: c_ast.UnaryOp) -> c_ast.UnaryOp:
    """Copy an increment, as a statement."""
    return c_ast.UnaryOp(step.op, copied(step.expr), step.coord)


def _only_step(node: c_ast.Node, name: str) -> Any:
    """Find the increment that is the only use of the variable, and is always evaluated; None where there is none."""
    uses = [n for n in nodes_below(node) if isinstance(n, c_ast.ID) and n.name == name]
    steps = [n for n in nodes_below(node) if isinstance(n, c_ast.UnaryOp) and written_name(n) == name]
    return steps[0] if len(steps) == len(uses) == 1 and _always(node, steps[0]) else None


def _listed_first(loop: Any, name: str) -> list[c_ast.Node]:
    """Return what a loop's header does to the variable at first; what it does at the end goes to that of the body."""
    before: list[c_ast.Node] = []
    for slot in ("init", "next"):
        listed = getattr(loop, slot)
        if not isinstance(listed, c_ast.ExprList):
            continue
        own = [n for n in listed.exprs if written_name(n) == name]
        rest = [n for n in listed.exprs if written_name(n) != name]
        if len(own) != 1 or len(rest) != 1 or mentions(rest[0], name) or mentions(own[0], str(written_name(rest[0]))):
            continue
        setattr(loop, slot, rest[0])
        if slot == "init":
            before += own
        else:
            loop.stmt = c_ast.Compound([*block_items(loop.stmt), own[0]], loop.stmt.coord)
    return before


def _always(node: c_ast.Node, part: c_ast.Node) -> bool:
    """Whether a part of an expression is evaluated whenever the whole is."""
    match node:
        case _ if node is part:
            return True
        case c_ast.TernaryOp(cond=first) | c_ast.BinaryOp(op="&&" | "||", left=first):
            return _always(first, part)
    return any(_always(child, part) for _, child in node.children())


def _exchanged(node: Any, old: c_ast.Node, new: c_ast.Node) -> Any:
    """Put one node in the place of another, in place."""
    return new if node is old else map_children(node, lambda child: _exchanged(child, old, new))
