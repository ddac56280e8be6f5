"""Where a rank's arrays are and its kernels run: the host's memory and the emulator, or a GPU with two streams."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polytile.runtime.cupy_engine import require_cupy

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm


class Place(Protocol):
    """Memory, order and times of one place. Work is put in one of two queues: the `side` one has what neighbours wait
    for, and may run beside the main one."""

    on: str
    arrays: Any  # the module: numpy or cupy
    gpu: str  # which one, of all hosts; "" in the emulator

    def queue(self, *, side: bool) -> dict[str, Any]:
        """Return arguments with which a compiled SCoP is called to run in a queue."""
        ...

    def after(self, *, side: bool) -> None:
        """Let the queue go on behind all that is in the other one now."""
        ...

    def ended(self, *, side: bool) -> None:
        """Wait until all that is in a queue has ended."""
        ...

    def settle(self) -> None:
        """Wait until all that anybody has asked of the place has ended."""
        ...

    def mark(self, *, side: bool) -> Any:
        """Return a moment: when what is in a queue now has ended."""
        ...

    def seconds(self, start: Any, end: Any) -> float:
        """Return the time from one moment to another, which have passed."""
        ...

    def host_buffer(self, size: int) -> np.ndarray[Any, Any]:
        """Return bytes of the host's memory that messages are sent from."""
        ...

    def copy(self, buffers: Sequence[Any], host: Sequence[Any], *, to_host: bool) -> None:
        """Copy bytes between buffers where kernels run and those of the host, in the side queue; nothing where these
        are the same memory."""
        ...

    def to_host(self, data: Any) -> np.ndarray[Any, Any]:
        """Return the values of an array in the host's memory: the array itself, or a copy."""
        ...


class HostPlace:
    """The emulator: NumPy arrays, and one thing after another."""

    on = "emulator"
    arrays: Any = np
    gpu = ""

    def queue(self, *, side: bool) -> dict[str, Any]:
        return {"on": self.on}

    def after(self, *, side: bool) -> None: ...

    def ended(self, *, side: bool) -> None: ...

    def settle(self) -> None: ...

    def mark(self, *, side: bool) -> float:
        return perf_counter()

    def seconds(self, start: float, end: float) -> float:
        return end - start

    def host_buffer(self, size: int) -> np.ndarray[Any, Any]:
        return np.zeros(size, np.uint8)

    def copy(self, buffers: Sequence[Any], host: Sequence[Any], *, to_host: bool) -> None: ...

    def to_host(self, data: Any) -> np.ndarray[Any, Any]:
        return np.asarray(data)


class DevicePlace:
    """A GPU: that of the rank's number on its host, modulo GPUs, so that ranks may share one."""

    on = "gpu"

    def __init__(self, comm: Intracomm) -> None:
        from mpi4py import MPI

        self.arrays = require_cupy()
        cuda = self.arrays.cuda
        here = comm.Split_type(MPI.COMM_TYPE_SHARED)
        cuda.Device(here.rank % cuda.runtime.getDeviceCount()).use()
        here.Free()
        self.gpu = f"{MPI.Get_processor_name()} {cuda.Device().pci_bus_id}"
        self.streams = cuda.Stream(non_blocking=True), _urgent_stream(cuda)

    def queue(self, *, side: bool) -> dict[str, Any]:
        return {"on": self.on, "stream": self.streams[side]}

    def after(self, *, side: bool) -> None:
        self.streams[side].wait_event(self.streams[not side].record())

    def ended(self, *, side: bool) -> None:
        self.streams[side].synchronize()

    def settle(self) -> None:
        self.arrays.cuda.Device().synchronize()

    def mark(self, *, side: bool) -> Any:
        event = self.arrays.cuda.Event()
        event.record(self.streams[side])
        return event

    def seconds(self, start: Any, end: Any) -> float:
        end.synchronize()
        return float(self.arrays.cuda.get_elapsed_time(start, end)) / 1000

    def host_buffer(self, size: int) -> np.ndarray[Any, Any]:
        memory = self.arrays.cuda.alloc_pinned_memory(max(size, 1))
        return np.frombuffer(memory, np.uint8, size)

    def copy(self, buffers: Sequence[Any], host: Sequence[Any], *, to_host: bool) -> None:
        stream = self.streams[True]
        for buffer, other in zip(buffers, host, strict=True):
            if to_host and buffer.size:
                buffer.get(stream=stream, out=other, blocking=False)
            elif buffer.size:
                buffer.set(other, stream=stream)

    def to_host(self, data: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = self.arrays.asnumpy(data)
        return found


def _urgent_stream(cuda: Any) -> Any:
    """Create a stream of high priority, whose blocks are scheduled first, where CuPy has such."""
    try:
        return cuda.Stream(non_blocking=True, priority=-1)
    except TypeError:  # an older CuPy
        return cuda.Stream(non_blocking=True)
