"""Kernels that run through their arrays in the direction opposite to the one before them.

before: k0: A[0 .. n] -> B    k1: const int b = blockIdx.x;                     B[0 .. n] -> A
after:  k0: A[0 .. n] -> B    k1: const int b = gridDim.x - 1 - blockIdx.x;     B[n .. 0] -> A

Blocks start in the order of their indices. What a kernel touched last is what the cache still has of arrays larger than
it, and the next kernel begins there. Blocks of one launch are independent, so that any order of them is right.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polytile.ir.expr import INT, Binary, Literal, Name, rewrite
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Coordinate, Kernel
from polytile.ir.memory import Space

INDEX = "blockIdx."


def alternate(program: HostProgram) -> HostProgram:
    """The program in which each kernel runs backwards where the last one that used its arrays ran forwards."""
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
    """Whether the kernel's blocks come in the opposite order."""
    turned = {_opposite(n) for n in kernel.nodes if isinstance(n, Name) and n.name.startswith(INDEX)}
    inside = any(n in turned for n in kernel.nodes if isinstance(n, Binary))
    return inside or any(c.source.startswith("gridDim.") for c in kernel.coordinates)


def _turned(kernel: Kernel) -> Kernel:
    """The kernel with its blocks in the opposite order."""

    def change(node: Any) -> Any:
        return _opposite(node) if isinstance(node, Name) and node.name.startswith(INDEX) else node

    coordinates = tuple(replace(c, source=_text(c)) for c in kernel.coordinates)
    return replace(kernel, coordinates=coordinates, body=tuple(rewrite(s, change) for s in kernel.body))


def _opposite(index: Name) -> Binary:
    """`gridDim.x - 1 - blockIdx.x`."""
    last = Binary("-", Name(index.name.replace(INDEX, "gridDim."), index.type), Literal("1", INT), index.type)
    return Binary("-", last, index, index.type)


def _text(coordinate: Coordinate) -> str:
    kind, _, axis = coordinate.source.partition(".")
    return f"gridDim.{axis} - 1 - blockIdx.{axis}" if kind == INDEX[:-1] else coordinate.source
