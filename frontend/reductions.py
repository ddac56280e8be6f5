"""Recognising reductions: `x op= e`, where e does not read the array of x and op can be reordered."""

from __future__ import annotations

from polytile.ir.expr import Stmt
from polytile.ir.reductions import accumulation, can_reorder
from polytile.ir.scop import Reduction


def reduction(body: tuple[Stmt, ...]) -> Reduction | None:
    """The reduction that a statement body performs, if it is one (see accumulation)."""
    found = accumulation(body[0]) if len(body) == 1 else None
    return None if found is None or not can_reorder(found) else Reduction(found.op, found.target.array)
