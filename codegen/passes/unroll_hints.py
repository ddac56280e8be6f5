"""Loops that the compiler of the kernel unrolls, as plans ask for it.

before: for (u = 0; u < 4; ++u) S(u)
after:  #pragma unroll
        for (u = 0; u < 4; ++u) S(u)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polytile.codegen.passes.plan import Context, LoweredPlan
from polytile.ir.expr import For
from polytile.ir.expr_trees import rewrite
from polytile.ir.kernel import Kernel


def unroll_hints(kernel: Kernel, plan: LoweredPlan, _: Context) -> Kernel:
    """Mark loops of tiles to be unrolled by the compiler of the kernel."""
    factors = {label: loop.unroll for label, loop in plan.loops.items() if loop.unroll != 1}

    def change(node: Any) -> Any:
        if isinstance(node, For) and node.label in factors:
            return replace(node, unroll=factors[node.label])
        return node

    return replace(kernel, body=tuple(rewrite(stmt, change) for stmt in kernel.body))
