"""Messages from device memory, which a library of MPI that knows CUDA sends itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polytile.dataclass import dataclass
from polytile.runtime.ranks.mpi import require_mpi
from polytile.runtime.ranks.persistent_requests import PersistentRequests

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.runtime.ranks.messages import Route
    from polytile.runtime.ranks.place import Place

KINDS = "mpi_memory_alloc_kinds"  # a list such as "mpi,system,cuda:device" (MPI 4.1, section 12.4.3)


def takes_device_memory(comm: Intracomm) -> bool:
    """Return whether the library says that it takes pointers to memory of a GPU.

    Communicators say what there is, as of MPI 4.1; Open MPI 5.0 gives sessions back what they have asked for.
    """
    if require_mpi().Get_version() < (4, 1):
        return False
    found = comm.Get_info().Get(KINDS) or ""
    return any(kind in ("cuda", "cuda:device") for kind in found.split(","))


@dataclass(frozen=True, slots=True)
class MpiTransport:
    """Hands packed messages to MPI where kernels have written them."""

    comm: Intracomm
    place: Place
    name: str = "mpi"

    def messages(self, routes: Sequence[Route]) -> MpiMessages:
        """Allocate the buffers of a round, and make its requests."""
        return MpiMessages(self.comm, self.place, routes)


class MpiMessages:
    """The messages of one round; see Messages."""

    def __init__(self, comm: Intracomm, place: Place, routes: Sequence[Route]) -> None:
        self.place = place
        self.sending = [place.arrays.zeros(route.sends, np.uint8) for route in routes]
        self.receiving = [place.arrays.zeros(route.receives, np.uint8) for route in routes]
        place.settle()
        self.requests = PersistentRequests(comm, routes, self.sending, self.receiving)

    def start(self) -> None:
        """Begin to send and to receive."""
        self.place.ended(side=True)
        self.requests.start()

    def wait(self) -> None:
        """Wait until all is sent and received."""
        self.requests.wait()
