"""Transports: ways for the bytes of messages from the memory of one rank to that of another.

before: for each exchange: allocate, pack, MPI_Isend, MPI_Irecv, MPI_Waitall, unpack, free
after:  once: buffers and persistent requests (MPI 4.1, section 3.9); for each exchange: pack, start, wait, unpack
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.runtime.ranks.host_transport import HostTransport
from polytile.runtime.ranks.mpi_transport import MpiTransport, takes_device_memory

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.runtime.ranks.place import Place

TRANSPORTS = ("auto", "host", "mpi")


@dataclass(frozen=True, slots=True)
class Route:
    """One message each way between this rank and another: sizes in bytes, 0 for none, and the tags of both."""

    neighbour: int
    sends: int
    receives: int
    send_tag: int
    receive_tag: int


class Messages(Protocol):
    """The messages of one round of an exchange, one each way for each route, exchanged any number of times.

    `sending` and `receiving` are bytes in the memory where kernels run; `sending` must be complete before `start`, and
    `receiving` is after `wait`.
    """

    @property
    def sending(self) -> Sequence[Any]: ...

    @property
    def receiving(self) -> Sequence[Any]: ...

    def start(self) -> None:
        """Begin to send and to receive."""
        ...

    def wait(self) -> None:
        """Wait until all is sent and received; raises DeviceError where a message has another length."""
        ...


class Transport(Protocol):
    """Makes messages."""

    @property
    def name(self) -> str: ...

    def messages(self, routes: Sequence[Route]) -> Messages:
        """Allocate the buffers of a round, and make its requests."""
        ...


def transport_named(name: str, comm: Intracomm, place: Place) -> Transport:
    """Return the transport of this name; `auto` passes device memory where the library of MPI says that it takes it.

    Raises UsageError for another name, or where it cannot be.
    """
    if name not in TRANSPORTS:
        raise UsageError(f"there is no transport {name!r}", hint=f"one of {', '.join(TRANSPORTS)}")
    on_device = place.on == "gpu"
    if name == "mpi" and not on_device:
        message = "the transport mpi passes memory of a GPU to MPI, and kernels run in the emulator"
        raise UsageError(message, hint="leave transport out, or take host")
    if name == "mpi" or (name == "auto" and on_device and takes_device_memory(comm)):
        return MpiTransport(comm, place)
    return HostTransport(comm, place)
