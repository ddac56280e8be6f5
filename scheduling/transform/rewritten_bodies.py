"""Scops whose statements compute the same in other operations: one rewriting of all of their bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polytile.ir.expr import Expr, Stmt
from polytile.ir.expr_trees import rewrite
from polytile.ir.scop import Scop, Statement


def with_rewritten_bodies(scop: Scop, change: Callable[[Expr | Stmt], Expr | Stmt]) -> Scop:
    """Rewrite each node of the bodies of a Scop's statements, inner ones first.

    Statements in which nothing changes stay the same objects, and so does a Scop of these.
    """

    def changed(statement: Statement) -> Statement:
        body = tuple(rewrite(stmt, change) for stmt in statement.body)
        return statement if body == statement.body else replace(statement, body=body)

    statements = tuple(map(changed, scop.statements))
    same = all(a is b for a, b in zip(statements, scop.statements, strict=True))
    return scop if same else replace(scop, statements=statements)
