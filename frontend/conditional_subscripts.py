"""Subscripts that choose between values which are no single affine one, as a choice between elements.

before: int left = i == 0 ? k : k - 1;  x = a[left];      with k = i + n * j
after:  x = i == 0 ? a[i + n * j] : a[i + n * j - 1];
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polytile.ir.expr import Access, Assign, Cast, Expr, Invoke, Stmt, Ternary
from polytile.ir.expr_trees import rewrite


def choice(expr: Expr) -> Ternary | None:
    """An expression that is `c ? a : b`, maybe converted, as one that is no conversion."""
    if isinstance(expr, Cast):
        inner = choice(expr.operand)
        if inner is None:
            return None
        then, otherwise = Cast(expr.type, inner.then), Cast(expr.type, inner.otherwise)
        return Ternary(inner.condition, then, otherwise, expr.type)
    return expr if isinstance(expr, Ternary) else None


def with_chosen_elements(statement: Stmt, is_affine: Callable[[Expr], bool]) -> Stmt:
    """A statement whose reads choose elements where `is_affine` says no of a subscript that chooses."""
    if isinstance(statement, Invoke):
        return statement
    originals: dict[int, Access] = {}
    kept: list[Expr] = []

    def chosen(access: Access) -> Expr:
        for k, subscript in enumerate(access.subscripts):
            found = choice(subscript)
            if found is not None and not is_affine(subscript):
                before, after = access.subscripts[:k], access.subscripts[k + 1 :]
                then = chosen(replace(access, subscripts=(*before, found.then, *after)))
                otherwise = chosen(replace(access, subscripts=(*before, found.otherwise, *after)))
                return Ternary(found.condition, then, otherwise, access.type)
        return access

    def change(node: Expr | Stmt) -> Expr | Stmt:
        if isinstance(node, Access):
            made = chosen(node)
            originals[id(made)] = node
            kept.append(made)
            return made
        if isinstance(node, Assign) and isinstance(node.target, Ternary):
            return replace(node, target=originals[id(node.target)])
        return node

    made = rewrite(statement, change)
    assert isinstance(made, Stmt)
    return made
