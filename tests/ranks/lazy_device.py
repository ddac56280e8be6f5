"""A device that does everything as late as it may, in the place of CuPy: what nobody waits for has not happened.

Work in a stream happens when the host waits for the stream, or when a stream that is waited for waits for an event
behind it; until then arrays keep what they had. So a wait that is missing gives wrong numbers, in each run.
"""

from __future__ import annotations

import atexit
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from types import SimpleNamespace
from typing import Any

import numpy as np
from mpi4py import MPI

from polytile.runtime.ranks.kernels import Launch

STREAMS: list[Stream] = []


class Event:
    """A moment in a stream."""

    def __init__(self) -> None:
        self.stream: Stream | None = None
        self.number = 0

    def record(self, stream: Stream) -> None:
        self.stream, self.number = stream, stream.done + len(stream.waiting)

    def synchronize(self) -> None:
        if self.stream is not None:
            self.stream.run(self.number)


class Stream:
    """Work in order, none of it done before it must be."""

    def __init__(self, *, non_blocking: bool, priority: int = 0) -> None:
        assert non_blocking
        self.waiting: deque[Callable[[], None]] = deque()
        self.done = 0
        self.ptr = len(STREAMS)
        STREAMS.append(self)

    def later(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def run(self, number: int) -> None:
        """Do all work up to a number."""
        while self.done < number:
            self.done += 1
            self.waiting.popleft()()

    def record(self) -> Event:
        event = Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        self.later(event.synchronize)

    def synchronize(self) -> None:
        self.run(self.done + len(self.waiting))


class Array(np.ndarray[Any, Any]):
    """Memory of the device, with CuPy's copies."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self, *, stream: Stream, out: np.ndarray[Any, Any], blocking: bool) -> None:
        assert not blocking
        out[:] = 255  # until it is there
        stream.later(lambda: np.copyto(out, self))

    def set(self, data: np.ndarray[Any, Any], *, stream: Stream) -> None:
        stream.later(lambda: np.copyto(self, data))


def synchronize() -> None:
    for stream in STREAMS:
        stream.synchronize()


class PeerMemory:
    """Device memory that processes share: files that all of them map; a handle is a path."""

    files = 0

    def __init__(self, cupy: Any) -> None: ...

    def allocate(self, size: int) -> Any:
        path = Path(gettempdir()) / f"lazy-{os.getpid()}-{PeerMemory.files}"
        PeerMemory.files += 1
        path.write_bytes(bytes(max(size, 1)))
        atexit.register(path.unlink)
        made = np.memmap(path, np.uint8, "r+", shape=(max(size, 1),))[:size].view(Array)
        made.path = path  # type: ignore[attr-defined]
        return made

    def handle(self, buffer: Any) -> bytes:
        return str(buffer.path).encode().ljust(64, b"\0")

    def open(self, handle: bytes, size: int) -> Any:
        return np.memmap(handle.rstrip(b"\0").decode(), np.uint8, "r+", shape=(size,)).view(Array)

    def copy(self, to: Any, source: Any, stream: Stream) -> None:
        stream.later(lambda: np.copyto(to, source))


class Nccl:
    """`cupy.cuda.nccl`: sends and receives of a group happen together, when their stream comes to them."""

    NCCL_UINT8 = 1
    available = True

    def __init__(self) -> None:
        self.group: list[tuple[Callable[..., Any], Any, int]] = []
        self.stream: Stream | None = None
        self.get_unique_id = object
        self.NcclCommunicator = lambda size, unique, rank: self

    def groupStart(self) -> None:
        self.group = []

    def groupEnd(self) -> None:
        assert self.stream
        self.stream.later(partial(_together, self.group))

    def send(self, pointer: int, size: int, kind: int, neighbour: int, stream: int) -> None:
        self._put(MPI.COMM_WORLD.Isend, pointer, size, neighbour, stream)

    def recv(self, pointer: int, size: int, kind: int, neighbour: int, stream: int) -> None:
        self._put(MPI.COMM_WORLD.Irecv, pointer, size, neighbour, stream)

    def _put(self, begin: Callable[..., Any], pointer: int, size: int, neighbour: int, stream: int) -> None:
        self.stream = STREAMS[stream]
        self.group.append((begin, MPI.memory.fromaddress(pointer, size), neighbour))

    def check_async_error(self) -> None: ...


def _together(group: Iterable[tuple[Callable[..., Any], Any, int]]) -> None:
    tag = 9999  # which no other messages have
    MPI.Request.Waitall([begin(data, neighbour, tag) for begin, data, neighbour in group])


def cupy() -> Any:
    """What a module `cupy` has, as far as ranks use it."""
    device = SimpleNamespace(use=lambda: None, synchronize=synchronize, pci_bus_id=str(os.getpid()))
    cuda = SimpleNamespace(
        Stream=Stream,
        Event=Event,
        Device=lambda *number: device,
        runtime=SimpleNamespace(getDeviceCount=lambda: 1),
        alloc_pinned_memory=bytearray,
        nccl=Nccl(),
        get_elapsed_time=lambda start, end: 1.0,
    )
    made: dict[str, Any] = {name: _of_device(getattr(np, name)) for name in ("zeros", "empty", "array", "asarray")}
    return SimpleNamespace(**made, ndarray=Array, cuda=cuda, asnumpy=np.array, __name__="cupy")


def _of_device(made: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **named: made(*arguments, **named).view(Array)


def launched(launch: Launch) -> Launch:
    """The launch of kernels that run when their stream comes to them."""

    def later(changing: Mapping[str, Any], where: Mapping[str, Any]) -> None:
        where["stream"].later(lambda: launch(changing, {"on": where["on"]}))

    return later
