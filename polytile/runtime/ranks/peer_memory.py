"""Device memory and events that other processes open (CUDA C++ Programming Guide, interprocess communication).

Only memory of cudaMalloc has handles: that of pools, as CuPy's and cudaMallocAsync's, has none. Small allocations share
a block of 2 MiB, and a process that has opened one of a block is refused the others (cudaErrorAlreadyMapped, CUDA
13.0): so messages are parts of blocks of their own, each of which is opened once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from polytile.dataclass import dataclass
from polytile.runtime.cupy_engine import require_cupy

BLOCK = 2 << 20  # bytes, of which cudaMalloc makes several small allocations
ALIGNED = 256  # bytes, as cudaMalloc aligns
HANDLE = 64  # bytes of a handle


@dataclass(frozen=True, slots=True)
class SharedBytes:
    """A part of a block that others can open; `handle` and `block`, its bytes, are those of the whole block."""

    data: Any
    handle: bytes
    block: int
    start: int


class PeerMemory:
    """The memory of this process that others read, and theirs that it has opened; all of it stays to the end."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.cuda = cupy.cuda
        self.free: list[SharedBytes] = []
        self.opened: dict[bytes, Any] = {}

    def allocate(self, size: int) -> SharedBytes:
        """Return bytes of a block, to be given back to `free`, as a block must not be freed before others close it."""
        needed = size + -size % ALIGNED
        for number, part in enumerate(self.free):
            if part.data.nbytes >= needed:
                del self.free[number]
                return self._cut(part, size, needed)
        return self._cut(self.new_block(needed + -needed % BLOCK or BLOCK), size, needed)

    def new_block(self, size: int) -> SharedBytes:
        """Return an allocation of its own."""
        memory = self.cupy.ndarray((size,), "uint8", self.cuda.MemoryPointer(self.cuda.Memory(size), 0))
        return SharedBytes(memory, bytes(self.cuda.runtime.ipcGetMemHandle(memory.data.ptr)), size, 0)

    def open(self, handle: bytes, block: int) -> Any:
        """Return the bytes of another process's block. Raises CuPy's CUDARuntimeError where that cannot be."""
        if handle not in self.opened:
            lazily_enabled_peer_access = 1
            pointer = self.cuda.runtime.ipcOpenMemHandle(handle, lazily_enabled_peer_access)
            memory = self.cuda.UnownedMemory(pointer, block, self)
            self.opened[handle] = self.cupy.ndarray((block,), "uint8", self.cuda.MemoryPointer(memory, 0))
        return self.opened[handle]

    def copy(self, to: Any, source: Any, stream: Any) -> None:
        """Copy bytes within a stream."""
        to.data.copy_from_device_async(source.data, to.nbytes, stream)

    def event(self) -> Any:
        """Return an event that other processes can wait for."""
        return self.cuda.Event(disable_timing=True, interprocess=True)

    def event_handle(self, event: Any) -> bytes:
        """Return what another process opens an event with."""
        return bytes(self.cuda.runtime.ipcGetEventHandle(event.ptr))

    def open_event(self, handle: bytes) -> Any:
        """Return the event of another process."""
        return self.cuda.runtime.ipcOpenEventHandle(handle)

    def wait(self, stream: Any, event: Any) -> None:
        """Let a stream go on behind what another process has recorded last."""
        self.cuda.runtime.streamWaitEvent(stream.ptr, event)

    def _cut(self, part: SharedBytes, size: int, needed: int) -> SharedBytes:
        """Return the first bytes of a part, and keep the others."""
        if part.data.nbytes > needed:
            rest = part.data[needed:]
            self.free.append(SharedBytes(rest, part.handle, part.block, part.start + needed))
        return SharedBytes(part.data[:size], part.handle, part.block, part.start)


@cache
def peer_memory() -> PeerMemory:
    """Return the memory that this process shares."""
    return PeerMemory(require_cupy())
