"""What ranks are joined by: links, GPUs and clusters, as data with published rates and where these are from.

Rates are the vendors' figures, of one direction, without what protocols take. Latencies are of no vendor: they are
what one message between two GPUs is assumed to take from its start to its arrival, MPI included.
"""

from __future__ import annotations

from collections.abc import Sequence

from polytile.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """A way between two ranks: bytes a second of one direction that one GPU has, and the seconds of a message before
    its first byte. As many as `at_once` messages wait for these together; the bytes of all share the rate."""

    name: str
    rate: float
    latency: float
    at_once: int
    source: str

    def seconds(self, messages: int, sent: int) -> float:
        """Return how long some messages of `sent` bytes in all take."""
        return -(-messages // self.at_once) * self.latency + sent / self.rate


@dataclass(frozen=True, slots=True)
class Device:
    """What a GPU takes besides the cells: bytes a second through its memory (a copy reads and writes each), and seconds
    for each launch."""

    name: str
    bandwidth: float
    launch: float
    source: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """Hosts with `per_host` GPUs each, a rank on each GPU, consecutive ranks on one host. A message goes through the
    links of its route, `within` a host or `between` two, one link after another."""

    name: str
    device: Device
    per_host: int
    within: tuple[Link, ...]
    between: tuple[Link, ...]

    def same_host(self, a: int, b: int) -> bool:
        """Return whether two ranks are on one host."""
        return a // self.per_host == b // self.per_host


def route_seconds(route: Sequence[Link], messages: int, sent: int) -> float:
    """Return how long messages of `sent` bytes in all take through all links of a route, each stored in between."""
    return sum(link.seconds(messages, sent) for link in route) if messages else 0.0


GB = 1e9

NVLINK_4 = Link(
    "NVLink 4", 450 * GB, 5e-6, 18, "NVIDIA H200 data sheet: 900 GB/s both ways, 18 links of 25 GB/s each way"
)
PCIE_5 = Link("PCI Express 5 x16", 64 * GB, 5e-6, 8, "NVIDIA H200 data sheet: 128 GB/s both ways")
PCIE_2 = Link("PCI Express 2 x16", 8 * GB, 10e-6, 1, "PCI-SIG, PCI Express 2.0: 5 GT/s a lane, 8 bits in 10")
INFINIBAND_NDR = Link(
    "InfiniBand NDR 400", 50 * GB, 4e-6, 8, "NVIDIA ConnectX-7 user manual: 400 Gb/s a port; a port for each GPU"
)
INFINIBAND_HDR = Link(
    "InfiniBand HDR 200", 25 * GB, 4e-6, 8, "NVIDIA ConnectX-6 user manual: 200 Gb/s a port; a port for each GPU"
)
INFINIBAND_QDR = Link(
    "InfiniBand QDR", 4 * GB, 5e-6, 4, "InfiniBand Trade Association: 4 lanes of 10 Gb/s, 8 bits in 10"
)
LINKS = (NVLINK_4, PCIE_5, PCIE_2, INFINIBAND_NDR, INFINIBAND_HDR, INFINIBAND_QDR)

H200 = Device("NVIDIA H200", 4220 * GB, 4.3e-6, "measured: a copy through device memory, a launch from CuPy")
H200_GRAPHS = Device("NVIDIA H200", H200.bandwidth, 0.8e-6, "measured: a launch from a CUDA graph")
M2050 = Device("NVIDIA Tesla M2050", 148 * GB, 7e-6, "NVIDIA Tesla M2050 data sheet; launches assumed")

H200_NDR = Cluster("8 H200 a host, NVLink 4, InfiniBand NDR", H200, 8, (NVLINK_4,), (INFINIBAND_NDR,))
H200_NDR_GRAPHS = Cluster(
    "8 H200 a host, NVLink 4, InfiniBand NDR, CUDA graphs", H200_GRAPHS, 8, (NVLINK_4,), (INFINIBAND_NDR,)
)
H200_HDR = Cluster("8 H200 a host, NVLink 4, InfiniBand HDR", H200, 8, (NVLINK_4,), (INFINIBAND_HDR,))
H200_STAGED = Cluster(
    "8 H200 a host, all through host memory, InfiniBand NDR",
    H200, 8, (PCIE_5, PCIE_5), (PCIE_5, INFINIBAND_NDR, PCIE_5),
)  # fmt: skip
M2050_QDR = Cluster(
    "an M2050 a host, through host memory, InfiniBand QDR",
    M2050, 1, (PCIE_2, PCIE_2), (PCIE_2, INFINIBAND_QDR, PCIE_2),
)  # fmt: skip
CLUSTERS = (H200_NDR, H200_NDR_GRAPHS, H200_HDR, H200_STAGED, M2050_QDR)
