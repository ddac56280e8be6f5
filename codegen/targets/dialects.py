"""How CUDA C++ and HIP C++ differ in kernels: spellings, in one table each, and what HIP cannot say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import prod

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.ir.kernel import Kernel

_SHUFFLES = {"up": "_up", "down": "_down", "xor": "_xor", "from": ""}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One language of kernels.

    `barriers` are by scope, `loads` and `stores` functions by cache hint (hints without one are left out), `missing`
    says of nodes and launch shapes that the dialect has no words for what they are.
    """

    name: str
    header: str  # that kernels alone include, or ""
    shuffle: str  # before the arguments, with places for the kind of a shuffle and for the mask of its lanes
    align: str  # an attribute, for an alignment in bytes
    barriers: Mapping[str, str]
    loads: Mapping[str, str] = field(default_factory=dict)
    stores: Mapping[str, str] = field(default_factory=dict)
    asynchronous: bool = True  # whether copies to shared memory can be; else they are plain copies
    missing: Mapping[str, str] = field(default_factory=dict)

    def shuffled(self, kind: str, value: str, by: str, width: int | str, mask: str = "0xffffffffu") -> str:
        """Print `__shfl_up_sync(0xffffffffu, x, 1, 32)`, among the threads of the mask."""
        return f"{self.shuffle.format(_SHUFFLES[kind], mask)}{value}, {by}, {width})"

    def require(self, kernel: Kernel, *features: str) -> None:
        """Raise UsageError where the dialect lacks one of `features`."""
        for feature in features:
            if feature in self.missing:
                raise UsageError(
                    f"kernel {kernel.name} uses {self.missing[feature]}, which {self.name} does not have",
                    hint="write CUDA",
                )

    def bounds(self, kernel: Kernel) -> str:
        """Print the launch shape, as attributes: `__launch_bounds__(256, 2)`.

        CUDA takes a cap on registers or launch bounds, not both, and what the second bound of HIP counts is not blocks.
        """
        threads = prod(kernel.block)
        cuda = self.name == "CUDA"
        if cuda and kernel.max_registers:
            return f"__maxnreg__({kernel.max_registers})"
        blocks = f", {kernel.min_blocks}" if cuda and kernel.min_blocks else ""
        return f"__launch_bounds__({threads}{blocks})"


CUDA = Dialect(
    name="CUDA",
    header="",
    shuffle="__shfl{0}_sync({1}, ",
    align="__align__({})",
    barriers={"block": "__syncthreads();", "warp": "__syncwarp();"},
    loads={"read-only": "__ldg", "streaming": "__ldcs", "l2": "__ldcg"},
    stores={"streaming": "__stcs", "l2": "__stcg"},
)

# A wavefront of 64 lanes holds two of our warps: they run in lockstep, so that a fence alone orders their memory.
HIP = Dialect(
    name="HIP",
    header="hip/hip_runtime.h",
    shuffle="__shfl{0}(",
    align="__attribute__((aligned({})))",
    barriers={
        "block": "__syncthreads();",
        "warp": '__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); __builtin_amdgcn_wave_barrier();',
    },
    asynchronous=False,
    missing={
        "barriers": "split barriers",
        "m16n8k8": "matrix products of fragments of 16 x 8 x 8 doubles",
        "m16n8k4": "matrix products of fragments of 16 x 8 x 4 doubles",
    },
)
