"""Device memory that other processes of the host can read (CUDA C++ Programming Guide, interprocess communication).

Only memory of cudaMalloc has handles that others can open: that of pools, as CuPy's and cudaMallocAsync's, has not.
"""

from __future__ import annotations

from typing import Any


class PeerMemory:
    """Allocates buffers for others, and opens theirs; each of them is opened once, and stays so as long as this."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy
        self.cuda = cupy.cuda
        self.opened: dict[bytes, Any] = {}

    def allocate(self, size: int) -> Any:
        """Return bytes in an allocation of their own."""
        return self._bytes_at(self.cuda.Memory(max(size, 1)), size)

    def handle(self, buffer: Any) -> bytes:
        """Return what another process opens a buffer with."""
        return bytes(self.cuda.runtime.ipcGetMemHandle(buffer.data.ptr))

    def open(self, handle: bytes, size: int) -> Any:
        """Return the bytes behind a handle of another process. Raises CuPy's CUDARuntimeError where that cannot be."""
        if handle not in self.opened:
            lazily_enabled_peer_access = 1
            pointer = self.cuda.runtime.ipcOpenMemHandle(handle, lazily_enabled_peer_access)
            self.opened[handle] = self._bytes_at(self.cuda.UnownedMemory(pointer, size, self), size)
        return self.opened[handle]

    def copy(self, to: Any, source: Any, stream: Any) -> None:
        """Copy bytes within a stream."""
        to.data.copy_from_device_async(source.data, to.nbytes, stream)

    def _bytes_at(self, memory: Any, size: int) -> Any:
        return self.cupy.ndarray((size,), "uint8", self.cuda.MemoryPointer(memory, 0))
