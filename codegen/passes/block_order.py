"""Kernels that run through their arrays in the direction opposite to the one before them.

before: k0: A[0 .. n] -> B    k1: const int b = block.x;                  B[0 .. n] -> A
after:  k0: A[0 .. n] -> B    k1: const int b = grid.x - 1 - block.x;     B[n .. 0] -> A

Blocks start in the order of their indices. What a kernel touched last is what the cache still has of arrays larger than
it, and the next kernel begins there. Blocks of one launch are independent, so that any order of them is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polytile.codegen.passes.plan import LoweredPlan
from polytile.ir.expr import INT, Binary, Literal
from polytile.ir.expr_trees import rewrite, walk
from polytile.ir.gpu_ops import BlockIndex, GridExtent
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Coordinate, Kernel
from polytile.ir.memory import Space
from polytile.machine import Machine


def block_order(program: HostProgram, _: Sequence[LoweredPlan], __: Machine) -> HostProgram:
    """Reverse the order of blocks where the kernel before has left the end of its arrays in the cache."""
    return alternate(program)


def alternate(program: HostProgram) -> HostProgram:
    """Let each kernel run backwards where the last one that used its arrays ran forwards."""
    backwards: dict[str, bool] = {}  # by array: how the last kernel so far went through it
    kernels: list[Kernel] = []
    for kernel in program.kernels:
        ranks = {s.array: len(s.extents) for s in kernel.storage if s.space is Space.GLOBAL}
        seen = {array: rank for array, rank in ranks.items() if array in backwards}
        largest = [array for array, rank in seen.items() if rank == max(seen.values())]
        turned = any(not backwards[array] for array in largest)
        kernels.append(_turned(kernel) if turned else kernel)
        backwards.update(dict.fromkeys(ranks, turned))
    return replace(program, kernels=tuple(kernels))


def runs_backwards(kernel: Kernel) -> bool:
    """Return whether the kernel's blocks run in the opposite order."""
    turned = {_opposite(n) for n in kernel.nodes if isinstance(n, BlockIndex)}
    inside = any(n in turned for n in kernel.nodes if isinstance(n, Binary))
    return inside or any(_counts_down(c) for c in kernel.coordinates)


def _turned(kernel: Kernel) -> Kernel:
    """Return the kernel with its blocks in the opposite order."""

    def change(node: Any) -> Any:
        return _opposite(node) if isinstance(node, BlockIndex) else node

    coordinates = tuple(c if _counts_down(c) else replace(c, source=change(c.source)) for c in kernel.coordinates)
    return replace(kernel, coordinates=coordinates, body=tuple(rewrite(s, change) for s in kernel.body))


def _opposite(index: BlockIndex) -> Binary:
    """Build `grid.x - 1 - block.x`."""
    last = Binary("-", GridExtent(index.axis, index.type), Literal("1", INT), index.type)
    return Binary("-", last, index, index.type)


def _counts_down(coordinate: Coordinate) -> bool:
    return any(isinstance(n, GridExtent) for n in walk(coordinate.source))
