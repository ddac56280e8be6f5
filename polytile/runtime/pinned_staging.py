"""Copies between pageable memory of the host and a device, in pieces through pinned memory: while one piece is on its
way, threads copy others.

    to the device:  array -(threads)-> slot k -(DMA)-> block
    to the host:    block -(DMA)-> slot k -(threads)-> array

CUDA's own copies of pageable memory do the same with one thread and one piece after the other. Slots are used in turns
and make a ring; a ring is kept for the next call, one for each call that runs at once.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from polytile.dataclass import dataclass

Bytes: TypeAlias = np.ndarray[Any, Any]
PIECE = 2 << 20  # bytes: a thread of the host copies them in 200 microseconds, what a piece costs besides is a tenth
SLOTS = 16
AHEAD = 8  # pieces that threads copy, or that are on their way, at once
LEAST = 2 * PIECE  # bytes from which on pieces are faster
MOST_COPIERS = 4
MOST_IDLE = 8


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of device memory: its first byte and its size, and what takes it when it has arrived in host memory."""

    start: int
    size: int
    take: Callable[[Bytes], object]


class Slot:
    """Pinned memory for a piece, and what uses it now: a thread of the host, or the device."""

    def __init__(self, cupy: Any, address: int, size: int) -> None:
        self.runtime, self.address = cupy.cuda.runtime, address
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
        self.event = cupy.cuda.Event(disable_timing=True)
        self.on_its_way = False
        self.copying: Future[object] | None = None

    def copy(self, action: Callable[..., object], *what: Any) -> None:
        """Let a thread copy from it or to it."""
        try:
            self.copying = _threads(os.getpid()).submit(action, *what)
        except RuntimeError:  # no thread starts while the interpreter ends
            action(*what)

    def copied(self) -> None:
        """Wait for that."""
        if (copying := self.copying) is not None:
            self.copying = None
            copying.result()

    def move(self, to: int, source: int, size: int, kind: int, stream: int) -> None:
        """Let the device copy from it or to it, behind what is in the stream."""
        self.runtime.memcpyAsync(to, source, size, kind, stream)
        self.runtime.eventRecord(self.event.ptr, stream)
        self.on_its_way = True

    def moved(self) -> None:
        """Wait for that."""
        if self.on_its_way:
            self.runtime.eventSynchronize(self.event.ptr)
            self.on_its_way = False


class Ring:
    """The slots of one call. Raises CUDARuntimeError of CuPy where there is no pinned memory for them."""

    def __init__(self, cupy: Any) -> None:
        self.runtime = cupy.cuda.runtime
        self.address = self.runtime.hostAlloc(SLOTS * PIECE, self.runtime.hostAllocPortable)
        self.slots = [Slot(cupy, self.address + k * PIECE, PIECE) for k in range(SLOTS)]

    def to_device(self, target: int, source: Bytes, stream: int, kept: Bytes | None = None) -> None:
        """Copy bytes of the host to an address of the device, in a stream; they may be changed behind it. What goes
        there is left in `kept` as well."""
        filling: deque[tuple[Slot, int, int]] = deque()

        def send() -> None:
            slot, start, size = filling.popleft()
            slot.copied()
            slot.move(target + start, slot.address, size, self.runtime.memcpyHostToDevice, stream)

        for k, start in enumerate(range(0, source.size, PIECE)):
            slot, part = self.slots[k % SLOTS], source[start : start + PIECE]
            slot.moved()
            slot.copy(_copied, part, *(() if kept is None else (kept[start : start + PIECE],)), slot.bytes[: part.size])
            filling.append((slot, start, part.size))
            if len(filling) == AHEAD:
                send()
        while filling:
            send()

    def to_host(self, pieces: Iterable[Piece], source: int, stream: int) -> None:
        """Copy pieces of at most PIECE bytes from an address of the device, behind what is in the stream; all of them
        have been taken behind it, each by one thread."""
        coming: deque[tuple[Slot, Piece]] = deque()

        def receive() -> None:
            slot, piece = coming.popleft()
            slot.moved()
            slot.copy(piece.take, slot.bytes[: piece.size])

        for k, piece in enumerate(pieces):
            slot = self.slots[k % SLOTS]
            slot.copied()
            slot.moved()
            slot.move(slot.address, source + piece.start, piece.size, self.runtime.memcpyDeviceToHost, stream)
            coming.append((slot, piece))
            if len(coming) == AHEAD:
                receive()
        while coming:
            receive()
        for slot in self.slots:
            slot.copied()

    def end(self) -> None:
        """Wait for all that uses it, whatever became of it."""
        for slot in self.slots:
            if slot.copying is not None:
                slot.copying.exception()
                slot.copying = None

    def free(self) -> None:
        """Give its memory back, once nothing of the host uses it; CUDA waits for the device."""
        with suppress(self.runtime.CUDARuntimeError):  # the device has failed, or ends
            self.runtime.freeHost(self.address)


def _copied(source: Bytes, *targets: Bytes) -> None:
    """Copy to the first, and from there to the next: the source may change meanwhile."""
    for target in targets:
        np.copyto(target, source)
        source = target


_IDLE: dict[int, list[Ring]] = {}  # by device


@contextmanager
def ring(cupy: Any) -> Iterator[Ring | None]:
    """Yield a ring for the current device, or None where there is no pinned memory."""
    idle = _IDLE.setdefault(cupy.cuda.runtime.getDevice(), [])
    found = _taken(idle) or _new(cupy)
    if found is None:
        yield None
        return
    try:
        yield found
    except BaseException:
        found.end()
        found.free()
        raise
    idle.append(found)
    if len(idle) > MOST_IDLE:
        _free(idle)


def _new(cupy: Any) -> Ring | None:
    for _ in range(2):
        try:
            return Ring(cupy)
        except cupy.cuda.runtime.CUDARuntimeError:
            give_back()
    return None


def give_back() -> None:
    """Give back the pinned memory that no call uses."""
    for idle in _IDLE.values():
        _free(idle)


def _taken(idle: list[Ring]) -> Ring | None:
    try:
        return idle.pop()
    except IndexError:
        return None


def _free(idle: list[Ring]) -> None:
    while (found := _taken(idle)) is not None:
        found.free()


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """Return the threads that copy; a process that was forked has none of its parent's."""
    processors = len(os.sched_getaffinity(0))
    return ThreadPoolExecutor(max(1, min(MOST_COPIERS, processors // 2)), thread_name_prefix="polytile-copies")


def pieces_of(start: int, size: int, take: Callable[[int, int], Callable[[Bytes], object]]) -> Iterator[Piece]:
    """Cut bytes of the device into pieces; `take` gives what takes those from one byte to another."""
    for first in range(start, start + size, PIECE):
        last = min(first + PIECE, start + size)
        yield Piece(first, last - first, take(first, last))


atexit.register(give_back)
