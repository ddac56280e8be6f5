"""Statements that read all that they read before they write: one assignment, done once."""

from __future__ import annotations

from polytile.ir.expr import Address, Assign, For, Invoke, While
from polytile.ir.expr_trees import walk
from polytile.ir.scop import Statement


def reads_first(statement: Statement) -> bool:
    """Return whether no read of an instance comes after a write of it.

    before: A[i] = A[i - 1] + 1;                  true, in one register, too
            { A[0] = x; r = A[1]; A[0] = r; }     false
    """
    found = list(walk(*statement.body))
    again = any(isinstance(node, Invoke | Address | For | While) for node in found)
    return not again and sum(isinstance(node, Assign) for node in found) == 1
