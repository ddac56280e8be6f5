"""Figures that predictions of scaling start from and are held against: measured kernels, published efficiencies."""

from __future__ import annotations

from polytile.dataclass import dataclass
from polytile.distribution.scaling import KernelRate, StencilWork

ONE = ((1, 1),) * 3

_H200 = "polybench/results/stencils-without-sizes-h200-2026-11-30.md, 514^3, double"

STAR_7 = StencilWork(
    "7 points", ONE, corners=False, element=8,
    kernels=(
        KernelRate(1, 1 / 191e9, f"{_H200}: stencil-7pt, one iteration a kernel, 191 GCells/s"),
        KernelRate(4, 1 / 372e9, f"{_H200}: stencil-7pt, tiles of 4 iterations (no option), 372 GCells/s"),
    ),
)  # fmt: skip
BOX_27 = StencilWork(
    "27 points", ONE, corners=True, element=8,
    kernels=(
        KernelRate(1, 1 / 153e9, f"{_H200}: stencil-27pt, one iteration a kernel, 153 GCells/s"),
        KernelRate(2, 1 / 180e9, f"{_H200}: stencil-27pt, tiles of 2 iterations (--specialize), 180 GCells/s"),
    ),
)  # fmt: skip

# No rate of the M2050's kernels is at hand: elements move once each way at three quarters of its 148 GB/s, which 27
# points (30 operations) take too: 515 GFLOP/s at three quarters are 12.9 GCells/s.
_M2050 = 16 / (0.75 * 148e9)
STAR_7_M2050 = StencilWork("7 points", ONE, corners=False, element=8, kernels=(KernelRate(1, _M2050, "assumed"),))
STAR_13_M2050 = StencilWork(
    "13 points", ((2, 2),) * 3, corners=False, element=8, kernels=(KernelRate(1, _M2050, "assumed"),)
)
BOX_27_M2050 = StencilWork("27 points", ONE, corners=True, element=8, kernels=(KernelRate(1, _M2050, "assumed"),))


@dataclass(frozen=True, slots=True)
class PublishedEfficiency:
    """What a paper says of weak scaling: from `low` to `high` of one rank's speed."""

    name: str
    low: float
    high: float
    source: str


_PAPER = "Zhang and Mueller, CGO 2012: one M2050 a host, InfiniBand QDR"
PUBLISHED = (
    PublishedEfficiency("order 1", 0.77, 0.80, _PAPER),
    PublishedEfficiency("order 2", 0.50, 0.50, _PAPER),
    PublishedEfficiency("27 points", 0.90, 0.90, _PAPER),
)
