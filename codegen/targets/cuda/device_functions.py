"""The functions that kernels call for what CUDA C++ itself cannot say: which of them a program carries.

Their text is templates/device.cu.j2. On the emulator its own headers have those of memory and tensor cores.
"""

from __future__ import annotations

from collections.abc import Iterable

from polytile.diagnostics import UsageError
from polytile.ir.expr import Access, Binary, Literal, Name, Node
from polytile.ir.gpu_ops import (
    BARRIER_TYPE,
    Aligned,
    Arrive,
    AsyncCopy,
    Atomic,
    Await,
    AwaitLaunches,
    CommitCopies,
    InitBarrier,
    MultiplyAccumulate,
    Offset,
    Prefetch,
    WaitCopies,
    WarpReduce,
)
from polytile.ir.kernel import Kernel
from polytile.machine import SPLIT_BARRIERS, WARP_SIZE, Machine

REDUCTION_NAMES = {
    "+": "sum",
    "*": "product",
    "min": "min",
    "max": "max",
    "fmin": "fmin",
    "fmax": "fmax",
    "&": "and",
    "|": "or",
    "^": "xor",
}
ATOMIC_NAMES = {"+": "add", "min": "min", "max": "max", "&": "and", "|": "or", "^": "xor"}
_ATOMICS = tuple(f"atomic_{name}" for name in ATOMIC_NAMES.values())
_REDUCTIONS = tuple(f"{kind}_{name}" for kind in ("warp", "segment", "each") for name in REDUCTION_NAMES.values())
_OTHERS = ("copies", "barriers", "m16n8k8", "m16n8k4", "launches", "aligned", "prefetch", "offset")
_ORDER = (*_OTHERS, *_REDUCTIONS, *_ATOMICS)
_NEEDS = {"copies": 80, "barriers": SPLIT_BARRIERS, "m16n8k8": 90, "m16n8k4": 90}
_WHAT = {
    "copies": "copies to shared memory asynchronously",
    "barriers": "splits a barrier",
    "m16n8k8": "multiplies matrices of doubles on tensor cores (m16n8k8)",
    "m16n8k4": "multiplies matrices of doubles on tensor cores (m16n8k4)",
}


def features(kernel: Kernel) -> frozenset[str]:
    """Return what a kernel uses of the device beyond plain CUDA C++."""
    found = {f for node in kernel.nodes if type(node) not in _PLAIN and (f := _feature(node)) is not None}
    if any(s.element == BARRIER_TYPE for s in kernel.storage):
        found.add("barriers")
    return frozenset(found)


_PLAIN = frozenset((Access, Binary, Literal, Name))  # most nodes


def _feature(node: Node) -> str | None:
    match node:
        case AsyncCopy() | CommitCopies() | WaitCopies():
            return "copies"
        case InitBarrier() | Arrive() | Await():
            return "barriers"
        case MultiplyAccumulate(shape=shape):
            return shape
        case AwaitLaunches():
            return "launches"
        case Atomic(op=op, aggregated=True):
            return f"atomic_{ATOMIC_NAMES[op]}"
        case WarpReduce():
            return reduction_name(node)
        case Aligned():
            return "aligned"
        case Prefetch():
            return "prefetch"
        case Offset():
            return "offset"
    return None


def reduction_name(reduce: WarpReduce) -> str:
    """Return a reduction's name after `polytile_`: `warp_sum`, of several values `each_sum`."""
    kind = "each" if reduce.more else "warp" if reduce.width == WARP_SIZE else "segment"
    return f"{kind}_{REDUCTION_NAMES[reduce.op]}"


def functions(kernels: Iterable[Kernel]) -> list[str]:
    """Return the parts of the template that these kernels call, in the template's order."""
    used: frozenset[str] = frozenset().union(*(features(k) for k in kernels))
    return [name for name in _ORDER if name in used]


def require_machine(kernel: Kernel, machine: Machine) -> None:
    """Raise UsageError when `kernel` uses what comes with a later architecture than `machine`'s."""
    have = int(machine.arch.removeprefix("sm_"))
    for feature in sorted(features(kernel)):
        least = _NEEDS.get(feature, 0)
        if have < least:
            raise UsageError(
                f"kernel {kernel.name} {_WHAT[feature]}, which {machine.arch} cannot",
                hint=f"--arch sm_{least} or later",
            )
