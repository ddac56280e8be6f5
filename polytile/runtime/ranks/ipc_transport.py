"""Messages that ranks of one host read from each other's device memory.

before: pack, copy to the host, MPI, copy to the device, unpack
after:  pack, a byte tells that it is done; copy from the sender's memory, a byte tells that it is taken; unpack
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from polytile.diagnostics import DeviceError
from polytile.runtime.ranks.messages import Route
from polytile.runtime.ranks.mpi import require_mpi
from polytile.runtime.ranks.peer_memory import PeerMemory
from polytile.runtime.ranks.persistent_requests import PersistentRequests

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.runtime.ranks.place import Place

_ALIGNED = 256  # bytes, as cudaMalloc aligns
_TAKEN = 1 << 10  # added to the tags of messages
_HEADER = struct.Struct("64sqqq")  # a handle, the size of its buffer, where the message begins in it, and its size


class IpcTransport:
    """Hands packed messages from the memory of one process to another's on the same host.

    Buffers are kept for later messages: one that others have opened must not be freed.
    """

    name = "ipc"

    def __init__(self, comm: Intracomm, place: Place, memory: PeerMemory) -> None:
        self.comm, self.place, self.memory = comm, place, memory
        self.free: list[Any] = []

    def messages(self, routes: Sequence[Route]) -> IpcMessages:
        """Allocate the buffers of a round, and open those of its neighbours."""
        return IpcMessages(self, routes)

    def allocate(self, size: int) -> Any:
        """Return a buffer, perhaps of earlier messages."""
        for number, buffer in enumerate(self.free):
            if size <= buffer.nbytes <= 2 * size:
                return self.free.pop(number)
        return self.memory.allocate(size)


class IpcMessages:
    """The messages of one round; see Messages."""

    def __init__(self, transport: IpcTransport, routes: Sequence[Route]) -> None:
        self.place, self.memory = transport.place, transport.memory
        starts = [0]
        for route in routes:
            starts.append(starts[-1] + route.sends + -route.sends % _ALIGNED)
        buffer = transport.allocate(starts[-1])
        finalize(self, transport.free.append, buffer)
        self.sending = [buffer[at : at + route.sends] for at, route in zip(starts, routes, strict=False)]
        self.receiving = [self.place.arrays.zeros(route.receives, np.uint8) for route in routes]
        self.sources = self._sources(transport.comm, routes, buffer, starts)
        self.place.settle()
        packed = [Route(r.neighbour, r.sends and 1, r.receives and 1, r.send_tag, r.receive_tag) for r in routes]
        taken = [
            Route(r.neighbour, r.receives and 1, r.sends and 1, r.receive_tag + _TAKEN, r.send_tag + _TAKEN)
            for r in routes
        ]
        self.packed, self.taken = (self._signals(transport.comm, signals) for signals in (packed, taken))

    def start(self) -> None:
        """Tell neighbours that all is packed, when it is."""
        self.place.ended(side=True)
        self.packed.start()

    def wait(self) -> None:
        """Copy what neighbours have packed, and wait until they have copied, too: then the buffers are free."""
        self.packed.wait()
        for buffer, source in zip(self.receiving, self.sources, strict=True):
            if source is not None:
                self.memory.copy(buffer, source, self.place.queue(side=True)["stream"])
        self.place.ended(side=True)
        self.taken.start()
        self.taken.wait()

    def _sources(self, comm: Intracomm, routes: Sequence[Route], buffer: Any, starts: Sequence[int]) -> list[Any]:
        """The messages of neighbours, in their memory; raises DeviceError where one has another length than agreed."""
        handle = self.memory.handle(buffer) if buffer.nbytes else b""
        requests, headers = [], [bytearray(_HEADER.size) for _ in routes]
        for route, at, header in zip(routes, starts, headers, strict=False):
            if route.receives:
                requests.append(comm.Irecv([header, require_mpi().BYTE], route.neighbour, route.receive_tag))
            if route.sends:
                own = _HEADER.pack(handle, buffer.nbytes, at, route.sends)
                requests.append(comm.Isend([own, require_mpi().BYTE], route.neighbour, route.send_tag))
        require_mpi().Request.Waitall(requests)
        return [self._opened(route, header) for route, header in zip(routes, headers, strict=True)]

    def _opened(self, route: Route, header: bytearray) -> Any:
        if not route.receives:
            return None
        handle, size, start, sent = _HEADER.unpack(header)
        if sent != route.receives:
            raise DeviceError(f"a message of rank {route.neighbour} has {sent} bytes in place of {route.receives}")
        return self.memory.open(handle, size)[start : start + sent]

    @staticmethod
    def _signals(comm: Intracomm, routes: Sequence[Route]) -> PersistentRequests:
        sent, received = ([np.zeros(1, np.uint8) for _ in routes] for _ in range(2))
        return PersistentRequests(comm, routes, sent, received)


def why_not_shared(comm: Intracomm, place: Place, memory: PeerMemory) -> str | None:
    """Return why ranks cannot read each other's device memory, or None where they can: the same on all, who try it."""
    mpi = require_mpi()
    here = comm.Split_type(mpi.COMM_TYPE_SHARED)
    one_host = here.size == comm.size
    here.Free()
    if not one_host:
        return "ranks are on several hosts"
    size = 4
    try:
        buffer = memory.allocate(size)
        buffer[:] = comm.rank % 251
        place.settle()
        handle, why = memory.handle(buffer), None
    except Exception as error:  # what CUDA says
        handle, why = b"", str(error)
    for rank, other in enumerate(comm.allgather(handle)):
        if why is None and rank != comm.rank:
            why = _why_not_read(place, memory, other, size, rank)
    return next((reason for reason in comm.allgather(why) if reason), None)


def _why_not_read(place: Place, memory: PeerMemory, handle: bytes, size: int, rank: int) -> str | None:
    try:
        own = place.arrays.zeros(size, np.uint8)
        place.settle()
        memory.copy(own, memory.open(handle, size), place.queue(side=True)["stream"])
        place.ended(side=True)
        same = bool((place.to_host(own) == rank % 251).all())
    except Exception as error:  # what CUDA says
        return str(error)
    return None if same else f"memory of rank {rank} has other values here"
