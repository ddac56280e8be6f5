"""Messages of an exchange: buffers and persistent requests (MPI 4.1, section 3.9) that are made once.

before: for each exchange: allocate, pack, MPI_Isend, MPI_Irecv, MPI_Waitall, unpack, free
after:  once: buffers and persistent requests; for each exchange: pack, start, wait, unpack
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from polytile.dataclass import dataclass


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
