"""Persistent requests on contiguous buffers: made once, started and waited for in each exchange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import finalize

from polytile.diagnostics import DeviceError
from polytile.runtime.ranks.mpi import require_mpi

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.runtime.ranks.messages import Route


class PersistentRequests:
    """The requests of some routes; what is received has the length of its buffer, or it is an error."""

    def __init__(self, comm: Intracomm, routes: Sequence[Route], sending: Sequence[Any], receiving: Sequence[Any]):
        self.mpi = require_mpi()
        self.sources = [(route.neighbour, route.receives) for route in routes if route.receives]
        self.neighbours = [r for r, _ in self.sources] + [route.neighbour for route in routes if route.sends]
        pairs = list(zip(routes, sending, receiving, strict=True))
        receives = [comm.Recv_init([b, self.mpi.BYTE], r.neighbour, r.receive_tag) for r, _, b in pairs if r.receives]
        sends = [comm.Send_init([b, self.mpi.BYTE], r.neighbour, r.send_tag) for r, b, _ in pairs if r.sends]
        self.requests = [*receives, *sends]
        finalize(self, _free, self.mpi, self.requests)

    def start(self) -> None:
        """Start all, receives first."""
        self.mpi.Prequest.Startall(self.requests)

    def wait(self) -> None:
        """Wait for all; raises DeviceError where a message is longer or shorter than agreed, naming the rank."""
        states = [self.mpi.Status() for _ in self.requests]
        try:
            self.mpi.Request.Waitall(self.requests, states)
        except self.mpi.Exception:
            raise self._failed(states) from None
        for (neighbour, size), state in zip(self.sources, states, strict=False):  # those of sends are behind them
            if (got := state.Get_count(self.mpi.BYTE)) != size:
                raise DeviceError(f"a message of rank {neighbour} has {got} bytes in place of {size}")

    def _failed(self, states: Sequence[Any]) -> DeviceError:
        """Return the error of the first message that failed."""
        for neighbour, state in zip(self.neighbours, states, strict=True):
            if (code := state.Get_error()) not in (self.mpi.SUCCESS, self.mpi.ERR_PENDING):
                reason = self.mpi.Get_error_string(code)
                return DeviceError(f"a message between this rank and {neighbour} failed: {reason}")
        return DeviceError("a message failed")


def _free(mpi: Any, requests: Sequence[Any]) -> None:
    """Give requests back before MPI ends, when Python does at the latest."""
    if not mpi.Is_finalized():
        for request in requests:
            request.Free()
