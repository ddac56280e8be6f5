"""Messages that NCCL sends between GPUs, in the order of a stream: the host waits for none of them.

before: pack, wait for it, MPI, wait, unpack
after:  pack, send and receive in one group, unpack, all put in streams without waiting
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.runtime.ranks.messages import Route

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.runtime.ranks.place import Place


@dataclass(frozen=True, slots=True)
class NcclTransport:
    """Sends and receives through a communicator of NCCL."""

    nccl: Any  # the module cupy.cuda.nccl
    communicator: Any
    place: Place
    name: str = "nccl"

    def messages(self, routes: Sequence[Route]) -> NcclMessages:
        """Allocate the buffers of a round."""
        return NcclMessages(self, routes)


class NcclMessages:
    """The messages of one round; see Messages. `receiving` is complete for what comes later in the side queue."""

    def __init__(self, transport: NcclTransport, routes: Sequence[Route]) -> None:
        self.nccl, self.communicator, self.place = transport.nccl, transport.communicator, transport.place
        self.routes = routes
        self.sending = [self.place.arrays.zeros(route.sends, np.uint8) for route in routes]
        self.receiving = [self.place.arrays.zeros(route.receives, np.uint8) for route in routes]
        self.place.settle()

    def start(self) -> None:
        """Put all sends and receives in the side queue, as one group: neighbours need no common order of them."""
        stream, kind = self.place.queue(side=True)["stream"].ptr, self.nccl.NCCL_UINT8
        self.nccl.groupStart()
        for route, sent, received in zip(self.routes, self.sending, self.receiving, strict=True):
            if route.sends:
                self.communicator.send(sent.data.ptr, route.sends, kind, route.neighbour, stream)
            if route.receives:
                self.communicator.recv(received.data.ptr, route.receives, kind, route.neighbour, stream)
        self.nccl.groupEnd()

    def wait(self) -> None:
        """Raise CuPy's NcclError where the communicator has failed; streams wait for the messages themselves."""
        self.communicator.check_async_error()


def nccl_transport(comm: Intracomm, place: Place) -> NcclTransport:
    """Return messages by NCCL; raises UsageError without the library, or where ranks share a GPU, which it refuses."""
    try:
        nccl = import_module("cupy.cuda.nccl")  # which CuPy does not import itself
        found = nccl.available
    except ImportError:
        found = False
    if not found:
        raise UsageError("CuPy finds no NCCL", hint="pip install nvidia-nccl-cu13 (or -cu12), or take transport='host'")
    gpus = comm.allgather(place.gpu)
    if len(set(gpus)) < len(gpus):
        rank = next(r for r, gpu in enumerate(gpus) if gpu in gpus[:r])
        message = f"ranks {gpus.index(gpus[rank])} and {rank} share a GPU, and NCCL takes one GPU a rank"
        raise UsageError(message, hint="run as many ranks as there are GPUs, or take transport='ipc' or 'host'")
    unique = comm.bcast(nccl.get_unique_id() if comm.rank == 0 else None)
    return NcclTransport(nccl, nccl.NcclCommunicator(comm.size, unique, comm.rank), place)
