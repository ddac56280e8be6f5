"""Messages that ranks of one host read from each other's device memory; streams wait for each other, not the host.

before: pack, wait, copy to the host, MPI, wait, copy to the device, unpack
after:  pack, an event says so; copy from the sender's memory behind its event, an event says so; unpack; pack again
        behind the events of those who copied. A byte by MPI says that an event has been recorded.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from polytile.dataclass import dataclass
from polytile.diagnostics import DeviceError
from polytile.runtime.ranks.messages import Route
from polytile.runtime.ranks.mpi import require_mpi
from polytile.runtime.ranks.peer_memory import ALIGNED, HANDLE, PeerMemory, SharedBytes
from polytile.runtime.ranks.persistent_requests import PersistentRequests

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.runtime.ranks.place import Place

_TAKEN = 1000  # added to the tags of messages
_PROBED = 4  # bytes
_HEADER = struct.Struct(f"{HANDLE}sqqq{HANDLE}s{HANDLE}s")  # a block and its size, start and size of a part, two events


@dataclass(frozen=True, slots=True)
class IpcTransport:
    """Hands packed messages from the memory of one process to another's on the same host."""

    comm: Intracomm
    place: Place
    memory: PeerMemory
    name: str = "ipc"

    def messages(self, routes: Sequence[Route]) -> IpcMessages:
        """Allocate the buffers of a round, and open those of its neighbours."""
        return IpcMessages(self, routes)


@dataclass(frozen=True, slots=True)
class _Peer:
    """What a neighbour has: the message to this rank, when it is packed, and when this rank's message is taken."""

    source: Any
    packed: Any
    taken: Any


class IpcMessages:
    """The messages of one round; see Messages. All is complete for what comes later in the side queue."""

    def __init__(self, transport: IpcTransport, routes: Sequence[Route]) -> None:
        self.place, self.memory, self.comm = transport.place, transport.memory, transport.comm
        starts = [0]
        for route in routes:
            starts.append(starts[-1] + route.sends + -route.sends % ALIGNED)
        buffer = self.memory.allocate(starts[-1])
        finalize(self, self.memory.free.append, buffer)
        self.sending = [buffer.data[at : at + route.sends] for at, route in zip(starts, routes, strict=False)]
        self.receiving = [self.place.arrays.zeros(route.receives, np.uint8) for route in routes]
        self.packed, self.taken = self.memory.event(), self.memory.event()
        self.peers = self._peers(routes, buffer, starts)
        self.place.settle()
        packed = [Route(r.neighbour, r.sends and 1, r.receives and 1, r.send_tag, r.receive_tag) for r in routes]
        taken = [
            Route(r.neighbour, r.receives and 1, r.sends and 1, r.receive_tag + _TAKEN, r.send_tag + _TAKEN)
            for r in routes
        ]
        self.packed_signals, self.taken_signals = self._signals(packed), self._signals(taken)

    def start(self) -> None:
        """Tell neighbours when all is packed."""
        self.packed.record(self._stream)
        self.packed_signals.start()

    def wait(self) -> None:
        """Let the side queue copy what neighbours pack, and go on behind their copies of what this rank has packed."""
        self.packed_signals.wait()
        for buffer, peer in zip(self.receiving, self.peers, strict=True):
            if buffer.size:
                self.memory.wait(self._stream, peer.packed)
                self.memory.copy(buffer, peer.source, self._stream)
        self.taken.record(self._stream)
        self.taken_signals.start()
        self.taken_signals.wait()
        for buffer, peer in zip(self.sending, self.peers, strict=True):
            if buffer.size:
                self.memory.wait(self._stream, peer.taken)

    @property
    def _stream(self) -> Any:
        return self.place.queue(side=True)["stream"]

    def _peers(self, routes: Sequence[Route], buffer: SharedBytes, starts: Sequence[int]) -> list[_Peer]:
        """Exchange memory and event handles with neighbours, and open theirs.

        Raises DeviceError where a message has another length than agreed.
        """
        byte, events = require_mpi().BYTE, [self.memory.event_handle(e) for e in (self.packed, self.taken)]
        requests, headers = [], [bytearray(_HEADER.size) for _ in routes]
        for route, at, header in zip(routes, starts, headers, strict=False):
            own = _HEADER.pack(buffer.handle, buffer.block, buffer.start + at, route.sends, *events)
            requests.append(self.comm.Irecv([header, byte], route.neighbour, route.receive_tag))
            requests.append(self.comm.Isend([own, byte], route.neighbour, route.send_tag))
        require_mpi().Request.Waitall(requests)
        return [self._peer(route, *_HEADER.unpack(header)) for route, header in zip(routes, headers, strict=True)]

    def _peer(
        self, route: Route, handle: bytes, block: int, start: int, sent: int, packed: bytes, taken: bytes
    ) -> _Peer:
        if sent != route.receives:
            raise DeviceError(f"a message of rank {route.neighbour} has {sent} bytes in place of {route.receives}")
        source = self.memory.open(handle, block)[start : start + sent] if sent else None
        return _Peer(source, self.memory.open_event(packed), self.memory.open_event(taken))

    def _signals(self, routes: Sequence[Route]) -> PersistentRequests:
        sent, received = ([np.zeros(1, np.uint8) for _ in routes] for _ in range(2))
        return PersistentRequests(self.comm, routes, sent, received)


def why_not_shared(comm: Intracomm, place: Place, memory: PeerMemory) -> str | None:
    """Return why ranks cannot read each other's device memory, or None where they can: the same on all, who try it."""
    mpi = require_mpi()
    here = comm.Split_type(mpi.COMM_TYPE_SHARED)
    one_host = here.size == comm.size
    here.Free()
    if not one_host:
        return "ranks are on several hosts"
    found: tuple[bytes, int, int, bytes] | None = None
    why: str | None = None
    try:
        part = memory.allocate(_PROBED)
        part.data[:] = comm.rank % 251
        place.settle()
        found = part.handle, part.block, part.start, memory.event_handle(memory.event())
    except Exception as error:  # what CUDA says
        why = str(error)
    for rank, other in enumerate(comm.allgather(found)):
        if why is None and rank != comm.rank and other is not None:
            why = _why_not_read(place, memory, other, rank)
    reasons = comm.allgather(why)
    if found:
        memory.free.append(part)
    return next((reason for reason in reasons if reason), None)


def _why_not_read(place: Place, memory: PeerMemory, other: tuple[bytes, int, int, bytes], rank: int) -> str | None:
    handle, block, start, event = other
    try:
        own = place.arrays.zeros(_PROBED, np.uint8)
        place.settle()
        stream = place.queue(side=True)["stream"]
        memory.wait(stream, memory.open_event(event))
        memory.copy(own, memory.open(handle, block)[start : start + _PROBED], stream)
        place.ended(side=True)
        same = bool((place.to_host(own) == rank % 251).all())
    except Exception as error:  # what CUDA says
        return str(error)
    return None if same else f"memory of rank {rank} has other values here"
