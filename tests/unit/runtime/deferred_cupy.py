"""A module that plays CuPy with a device that is late: what is in a stream happens when somebody waits for it.

Device memory is memory of the host. CUDA takes what it copies from pageable memory before a call returns, and what it
copies there has arrived by then; from and to pinned memory it may do that at any later time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np


class Failure(Exception):
    pass


class Block:
    """Device memory, of bytes or of numbers."""

    def __init__(self, data: np.ndarray[Any, Any]) -> None:
        self.host = data
        self.dtype, self.shape, self.strides, self.nbytes = data.dtype, data.shape, data.strides, data.nbytes
        self.flags = SimpleNamespace(c_contiguous=data.flags.c_contiguous)
        self.ptr = data.ctypes.data
        self.data = SimpleNamespace(ptr=self.ptr)
        self.__cuda_array_interface__: dict[str, Any] = {}

    def set(self, data: np.ndarray[Any, Any]) -> None:
        self.host[...] = data

    def get(self, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
        if out is None:
            return self.host.copy()
        out[...] = self.host
        return out


class Device:
    """What is pending in the streams, the pinned memory that is taken, and how often there was what."""

    def __init__(self, *, late: bool = True) -> None:
        self.late, self.lock = late, Lock()
        self.pending: list[Callable[[], object]] = []
        self.done = 0
        self.pinned: dict[int, Any] = {}
        self.most_pinned = 1 << 40
        self.copies: list[tuple[int, int]] = []  # kind and size
        self.waits = 0
        self.events: dict[int, int] = {}
        self.fails_behind: int | None = None

    def queue(self, action: Callable[[], object]) -> None:
        with self.lock:
            self.pending.append(action)
        if not self.late:
            self.wait()

    def finish(self, number: int) -> None:
        """Let the first so many actions happen."""
        with self.lock:
            for action in self.pending[self.done : number]:
                action()
            self.done = max(self.done, number)

    def wait(self, _: int = 0) -> None:
        self.waits += 1
        self.finish(len(self.pending))

    def is_pinned(self, address: int) -> bool:
        return any(start <= address < start + len(memory) for start, memory in self.pinned.items())

    def copy(self, to: int, source: int, size: int, kind: int, stream: int) -> None:
        if self.fails_behind is not None and len(self.copies) >= self.fails_behind:
            raise Failure("an illegal memory access was encountered")
        self.copies.append((kind, size))
        host = source if kind == 1 else to
        if self.is_pinned(host):
            return self.queue(lambda: ctypes.memmove(to, source, size))
        if kind == 1:
            taken = ctypes.string_at(source, size)
            return self.queue(lambda: ctypes.memmove(to, taken, size))
        self.wait()
        ctypes.memmove(to, source, size)

    def copy_rows(
        self, to: int, pitch: int, source: int, other: int, width: int, rows: int, kind: int, stream: int
    ) -> None:
        for k in range(rows):
            self.copy(to + k * pitch, source + k * other, width, kind, stream)

    def take_pinned(self, size: int, flags: int) -> int:
        assert flags == 1
        if size + sum(map(len, self.pinned.values())) > self.most_pinned:
            raise Failure("out of memory")
        memory = (ctypes.c_uint8 * size)()
        address = ctypes.addressof(memory)
        self.pinned[address] = memory
        return address

    def free_pinned(self, address: int) -> None:
        self.wait()  # as CUDA does
        del self.pinned[address]

    def record(self, event: int, stream: int) -> None:
        self.events[event] = len(self.pending)

    def fill(self, address: int, value: int, size: int, stream: int) -> None:
        self.queue(lambda: ctypes.memset(address, value, size))


def playing(device: Device) -> Any:
    """Return the module."""
    runtime = SimpleNamespace(
        CUDARuntimeError=Failure,
        CUDADriverError=Failure,
        OutOfMemoryError=Failure,
        getDevice=lambda: 0,
        memcpyHostToDevice=1,
        memcpyDeviceToHost=2,
        memoryTypeUnregistered=0,
        hostAllocPortable=1,
        memcpyAsync=device.copy,
        memcpy2DAsync=device.copy_rows,
        memsetAsync=device.fill,
        hostAlloc=device.take_pinned,
        freeHost=device.free_pinned,
        eventRecord=device.record,
        eventSynchronize=lambda event: device.finish(device.events[event]),
        streamSynchronize=device.wait,
        pointerGetAttributes=lambda address: SimpleNamespace(type=int(device.is_pinned(address))),
    )
    cuda = SimpleNamespace(
        runtime=runtime,
        driver=runtime,
        memory=runtime,
        compiler=SimpleNamespace(CompileException=Failure),
        Device=lambda: SimpleNamespace(synchronize=device.wait, id=0),
        Event=lambda *, disable_timing: Event(),
        get_current_stream=lambda: SimpleNamespace(ptr=0),
        alloc=lambda size: Block(np.empty(size, np.uint8)),
    )
    return SimpleNamespace(
        ndarray=Block,
        full=lambda size, byte, dtype: Block(np.full(size, byte, dtype)),
        empty=lambda size, dtype: Block(np.empty(size, dtype)),
        asarray=lambda block: block,
        cuda=cuda,
    )


class Event:
    """A place in the order of things, by a number of its own."""

    made = 0

    def __init__(self) -> None:
        Event.made += 1
        self.ptr = Event.made
