"""Lanes of a warp that update one element combine what they have first (warp-aggregated atomics).

before: if (i < n) atomicAdd(&h[p[i]], x[i]);                       32 updates of h[0], where all p[i] are 0, one by one
after:  if (i < n) polytile_atomic_add(&h[p[i]], x[i]);             one update of h[0], by the sum of all lanes

Updates of one element take turns, where it lives. The lanes that come to an update together are compared with the first
of them; where many have the same element, these alone combine, and the first updates. The others go on alone, so that
updates that are spread out pay a comparison and nothing else. Operations are associative and commutative, as of all
updates that data choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polytile.codegen.passes.plan import LoweredPlan
from polytile.ir.expr_trees import rewrite
from polytile.ir.gpu_ops import Atomic
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.machine import Machine


def warp_aggregation(program: HostProgram, _: Sequence[LoweredPlan], machine: Machine) -> HostProgram:
    """Combine what threads of a warp have for one element before they update it."""
    if not machine.tuning.atomics.aggregated:
        return program
    return replace(program, kernels=tuple(map(_aggregated, program.kernels)))


def _aggregated(kernel: Kernel) -> Kernel:
    def change(node: Any) -> Any:
        return replace(node, aggregated=True) if isinstance(node, Atomic) and node.old is None else node

    if not any(isinstance(n, Atomic) for n in kernel.nodes):
        return kernel
    return replace(kernel, body=tuple(rewrite(stmt, change) for stmt in kernel.body))
