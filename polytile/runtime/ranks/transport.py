"""Transports: ways for the bytes of messages from the memory of one rank to that of another."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from polytile.diagnostics import UsageError
from polytile.runtime.ranks.agreement import from_root
from polytile.runtime.ranks.device_echo import child_on, why_no_echo
from polytile.runtime.ranks.failure import agreed
from polytile.runtime.ranks.host_transport import HostTransport
from polytile.runtime.ranks.ipc_transport import IpcTransport, why_not_shared
from polytile.runtime.ranks.messages import Transport
from polytile.runtime.ranks.mpi_transport import MpiTransport, takes_device_memory
from polytile.runtime.ranks.nccl_transport import nccl_transport
from polytile.runtime.ranks.peer_memory import peer_memory

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.runtime.ranks.place import Place

FORCED = "POLYTILE_MPI"  # `device`: try a library that does not say that it takes memory of a GPU
TRANSPORTS = ("auto", "host", "mpi", "ipc", "nccl")


def transport_named(name: str, comm: Intracomm, place: Place) -> Transport:
    """Return the transport of this name; all ranks ask for the same one.

    `auto` passes device memory to MPI where the library says that it takes it, is `ipc` where ranks can open each
    other's memory, and `host` otherwise. `ipc` becomes `host`, with a remark, where they cannot. `mpi`, and `auto` with
    POLYTILE_MPI=device, also pass it to libraries that say nothing, where a child process gets its message back; else
    `auto` is what it is without, with a remark. Raises UsageError for another name, or where it cannot be.
    """
    if name not in TRANSPORTS:
        raise UsageError(f"there is no transport {name!r}", hint=f"one of {', '.join(TRANSPORTS)}")
    if place.on != "gpu":
        if name not in ("auto", "host"):
            message = f"the transport {name} passes memory of a GPU, and kernels run in the emulator"
            raise UsageError(message, hint="leave transport out, or take host")
        return HostTransport(comm, place)
    return _OF_A_GPU.get(name, HostTransport)(comm, place)


def _auto(comm: Intracomm, place: Place) -> Transport:
    if takes_device_memory(comm):
        return MpiTransport(comm, place)
    if os.environ.get(FORCED) == "device":
        if (why := from_root(comm, lambda: _why_no_echo(place))) is None:
            return MpiTransport(comm, place)
        if comm.rank == 0:
            message = f"polytile: the MPI library takes no memory of a GPU ({why}): messages go another way"
            warnings.warn(message, RuntimeWarning, stacklevel=5)
    return _ipc_or_host(comm, place, remark=False)


def _mpi(comm: Intracomm, place: Place) -> Transport:
    why = None if takes_device_memory(comm) else from_root(comm, lambda: _why_no_echo(place))
    if why is not None:
        message = f"the transport mpi: the MPI library takes no memory of a GPU: {why}"
        raise agreed(comm, UsageError(message, hint="leave transport out, or take a library that is built with CUDA"))
    return MpiTransport(comm, place)


def _why_no_echo(place: Place) -> str | None:
    return why_no_echo(child_on(place.gpu.rpartition(" ")[2]))


def _ipc_or_host(comm: Intracomm, place: Place, *, remark: bool = True) -> Transport:
    memory = peer_memory()
    if (why := why_not_shared(comm, place, memory)) is None:
        return IpcTransport(comm, place, memory)
    if remark and comm.rank == 0:
        message = f"polytile: ranks cannot read each other's device memory ({why}): messages go through the host"
        warnings.warn(message, RuntimeWarning, stacklevel=5)
    return HostTransport(comm, place)


_OF_A_GPU: dict[str, Callable[[Intracomm, Place], Transport]] = {
    "auto": _auto,
    "mpi": _mpi,
    "ipc": _ipc_or_host,
    "nccl": nccl_transport,
}
