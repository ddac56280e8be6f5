"""Full tiles are filled by vectors where their plan says so, and rows are aligned when the kernel runs.

before: for (a) A_tile[a + t / 16][t % 16] = A[..];
after:  if (aligned<16>(&A[first row], &A[next row])) for (a) { double2 v = A[..]; *(double2 *)&A_tile[..] = v; }
        else for (a) A_tile[a + t / 16][t % 16] = A[..];
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polytile.codegen.passes.plan import Context, LoweredPlan, WideCopy
from polytile.ir.expr import For, If, Stmt
from polytile.ir.expr_trees import walk, with_bodies
from polytile.ir.gpu_ops import Aligned, Load
from polytile.ir.kernel import Kernel


def wide_copies(kernel: Kernel, plan: LoweredPlan, _: Context) -> Kernel:
    """Fill tiles without guards by vectors, where these are aligned."""
    return replace(kernel, body=tuple(_widened(stmt, plan.wide) for stmt in kernel.body))


def _widened(stmt: Stmt, wide: Mapping[str, WideCopy]) -> Stmt:
    if not isinstance(stmt, For) or stmt.label not in wide:
        return with_bodies(stmt, lambda body: tuple(_widened(inner, wide) for inner in body))
    if any(isinstance(n, Load) and n.guard is not None for n in walk(stmt)):
        return stmt
    found = wide[stmt.label]
    return If(Aligned(found.addresses, found.bytes), found.body, (stmt,))
