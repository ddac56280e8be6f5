"""Messages from buffers in the host's memory, pinned where kernels run on a GPU: always works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.runtime.ranks.persistent_requests import PersistentRequests

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.runtime.ranks.messages import Route
    from polytile.runtime.ranks.place import Place


@dataclass(frozen=True, slots=True)
class HostTransport:
    """Copies packed messages to the host and back, where kernels do not run there."""

    comm: Intracomm
    place: Place
    name: str = "host"

    def messages(self, routes: Sequence[Route]) -> HostMessages:
        """Allocate the buffers of a round, and make its requests."""
        return HostMessages(self.comm, self.place, routes)


class HostMessages:
    """The messages of one round; see Messages."""

    def __init__(self, comm: Intracomm, place: Place, routes: Sequence[Route]) -> None:
        self.place = place
        self.sent = [place.host_buffer(route.sends) for route in routes]
        self.received = [place.host_buffer(route.receives) for route in routes]
        self.sending = [self._where_kernels_run(buffer) for buffer in self.sent]
        self.receiving = [self._where_kernels_run(buffer) for buffer in self.received]
        self.requests = PersistentRequests(comm, routes, self.sent, self.received)

    def _where_kernels_run(self, buffer: np.ndarray[Any, Any]) -> Any:
        return buffer if self.place.arrays is np else self.place.arrays.zeros(buffer.size, np.uint8)

    def start(self) -> None:
        """Begin to send and to receive."""
        self.place.copy(self.sending, self.sent, to_host=True)
        self.place.ended(side=True)
        self.requests.start()

    def wait(self) -> None:
        """Wait until all is sent and received."""
        self.requests.wait()
        self.place.copy(self.receiving, self.received, to_host=False)
