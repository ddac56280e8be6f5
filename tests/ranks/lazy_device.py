"""A device that does everything as late as it may, in the place of CuPy: what nobody waits for has not happened.

Work in a stream happens when the host waits for the stream, or when a stream that is waited for waits for an event
behind it; until then arrays keep what they had. So a wait that is missing gives wrong numbers, in each run.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from time import sleep
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
from mpi4py import MPI

from polytile.runtime.ranks import peer_memory
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


class SharedEvent:
    """An event that processes share: how often it has been recorded, and how often what is before it has been done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts = np.memmap(path, np.int64, "r+", shape=(2,))

    def record(self, stream: Stream) -> None:
        self.counts[0] += 1
        number = int(self.counts[0])
        stream.later(lambda: self.counts.__setitem__(1, number))

    def pass_by(self, number: int) -> None:
        while self.counts[1] < number:
            sleep(1e-5)


class PeerMemory(peer_memory.PeerMemory):
    """Device memory that processes share: files that all of them map; a handle is a path."""

    files = 0

    def open(self, handle: bytes, block: int) -> Any:
        return np.memmap(_path(handle), np.uint8, "r+", shape=(block,)).view(Array)

    def copy(self, to: Any, source: Any, stream: Stream) -> None:
        stream.later(lambda: np.copyto(to, source))

    def event(self) -> SharedEvent:
        return SharedEvent(self._file(bytes(16)))

    def event_handle(self, event: SharedEvent) -> bytes:
        return _handle(event.path)

    def open_event(self, handle: bytes) -> SharedEvent:
        return SharedEvent(_path(handle))

    def wait(self, stream: Stream, event: SharedEvent) -> None:
        stream.later(partial(event.pass_by, int(event.counts[0])))

    def new_block(self, size: int) -> peer_memory.SharedBytes:
        path = self._file(bytes(size))
        return peer_memory.SharedBytes(self.open(_handle(path), size), _handle(path), size, 0)

    def _file(self, data: bytes) -> Path:
        path = Path(gettempdir()) / f"lazy-{os.getpid()}-{PeerMemory.files}"
        PeerMemory.files += 1
        path.write_bytes(data)
        atexit.register(path.unlink)
        return path


def _handle(path: Path) -> bytes:
    return str(path).encode().ljust(peer_memory.HANDLE, b"\0")


def _path(handle: bytes) -> Path:
    return Path(handle.rstrip(b"\0").decode())


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
    sys.modules["cupy.cuda.nccl"] = cast(ModuleType, Nccl())
    device = SimpleNamespace(use=lambda: None, synchronize=synchronize, pci_bus_id=str(os.getpid()))
    cuda = SimpleNamespace(
        Stream=Stream,
        Event=Event,
        Device=lambda *number: device,
        runtime=SimpleNamespace(getDeviceCount=lambda: 1),
        alloc_pinned_memory=bytearray,
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
