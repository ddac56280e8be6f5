"""Which libraries of MPI are given memory of a GPU, and what ranks of one host read of each other's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from polytile.diagnostics import UsageError
from polytile.runtime.ranks import mpi_transport, peer_memory, transport
from tests.ranks import lazy_device
from tests.ranks.mpirun import REPOSITORY, launcher


class Said:
    """A communicator that says which kinds of memory it takes."""

    def __init__(self, kinds: str | None) -> None:
        self.kinds = kinds

    def Get_info(self) -> Said:
        return self

    def Get(self, key: str) -> str | None:
        return self.kinds if key == "mpi_memory_alloc_kinds" else None


@pytest.mark.parametrize(
    ("version", "kinds", "takes"),
    [
        ((5, 0), "mpi,system", False),
        ((4, 1), "system,mpi,cuda:device", True),
        ((4, 1), "cuda", True),
        ((5, 0), None, False),
        ((3, 1), "system,mpi,cuda:device", False),  # given back as it was asked for
    ],
)
def test_device_memory_goes_to_libraries_that_take_it(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], kinds: str | None, takes: bool
) -> None:
    class Library:
        @staticmethod
        def Get_version() -> tuple[int, int]:
            return version

    monkeypatch.setattr(mpi_transport, "require_mpi", lambda: Library)
    comm: Any = Said(kinds)
    assert mpi_transport.takes_device_memory(comm) == takes


def test_blocks_are_cut_and_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = lazy_device.PeerMemory(lazy_device.cupy())
    first, second = memory.allocate(1000), memory.allocate(1)
    assert (first.handle, first.start, first.data.size) == (second.handle, 0, 1000)
    assert (first.block, second.start, second.data.size) == (peer_memory.BLOCK, 1024, 1)
    large = memory.allocate(peer_memory.BLOCK)
    assert (large.handle != first.handle, large.start, large.block) == (True, 0, peer_memory.BLOCK)
    memory.free.append(first)
    assert memory.allocate(1024).handle == first.handle
    assert memory.allocate(0).data.size == 0


class Place:
    """A GPU of its own for each process, or one that all have."""

    def __init__(self, gpu: str) -> None:
        self.on, self.gpu, self.arrays = "gpu", gpu, lazy_device.cupy()
        self.streams = [self.arrays.cuda.Stream(non_blocking=True) for _ in range(2)]

    def settle(self) -> None: ...

    def queue(self, *, side: bool) -> Any:
        return {"stream": self.streams[side]}

    def ended(self, *, side: bool) -> None:
        self.streams[side].synchronize()

    def to_host(self, data: Any) -> Any:
        return data


class Refusing(lazy_device.PeerMemory):
    """Memory that nobody opens."""

    def open(self, handle: bytes, block: int) -> Any:
        raise RuntimeError("cudaErrorMapBufferObjectFailed")


class Changed(lazy_device.PeerMemory):
    """Memory that is another one when it is opened."""

    def open(self, handle: bytes, block: int) -> Any:
        return super().open(handle, block) + np.uint8(1)


def ipc_on_two_ranks(kind: str) -> None:
    """`mpirun -n 2 python -c ..`: writes the name of what ipc has become, in one piece."""
    from mpi4py import MPI

    memory = getattr(sys.modules[__name__], kind)(lazy_device.cupy())
    transport.peer_memory = lambda: memory  # type: ignore[assignment]
    place: Any = Place(str(MPI.COMM_WORLD.rank))
    os.write(1, f"{transport.transport_named('ipc', MPI.COMM_WORLD, place).name}\n".encode())


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        ("Refusing", "host", "cudaErrorMapBufferObjectFailed"),
        ("Changed", "host", "memory of rank [01] has other values here"),
    ],
)
def test_ipc_is_host_where_memory_is_not_shared(kind: str, name: str, why: str) -> None:
    command = f"from tests.ranks.test_transport import ipc_on_two_ranks; ipc_on_two_ranks({kind!r})"
    words = [str(launcher()), "-n", "2", sys.executable, "-c", command]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == [name] * 2, done.stderr
    wanted = rf"polytile: ranks cannot read each other's device memory \({why}\): messages go through the host"
    assert len(re.findall(wanted, done.stderr)) == 1, done.stderr


def test_nccl_takes_one_gpu_a_rank() -> None:
    class Comm:
        size, rank = 2, 0

        def allgather(self, one: str) -> list[str]:
            return [one, one]

    comm: Any = Comm()
    with pytest.raises(UsageError, match="ranks 0 and 1 share a GPU, and NCCL takes one GPU a rank"):
        transport.transport_named("nccl", comm, Place("host 0"))
