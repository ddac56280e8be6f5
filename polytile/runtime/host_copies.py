"""Copies of the host's arrays in device memory: what of them goes there before a run, and what comes back behind it.

    all of it:           x[0 .. n) = block
    rows of it:          A[i][1 .. m - 1) = block[i][1 .. m - 1), for 1 <= i < n - 1
    what has changed:    h[k] = block[k] where that is not what h[k] was before

Threads may change the rest of an array meanwhile. Large arrays go through pinned memory (pinned_staging.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import numpy as np

from polytile.dataclass import dataclass
from polytile.ir.evaluate import evaluate
from polytile.ir.host import Buffer
from polytile.machine import MAX_PITCH
from polytile.runtime.layout import element_dtype
from polytile.runtime.pinned_staging import LEAST, PIECE, Piece, Ring, pieces_of, ring

Bytes: TypeAlias = np.ndarray[Any, Any]
DENSEST_GAPS = 8  # rows of which less than one in so many bytes is the array's are copied one by one


@dataclass(frozen=True, slots=True)
class Box:
    """What comes back of an array, in bytes: rows that begin at `first` of its copy, in as many dimensions as `counts`
    has, and are `width` long."""

    first: int
    counts: tuple[int, ...]
    pitches: tuple[int, ...]
    width: int

    @property
    def span(self) -> int:
        """Return how many bytes there are from its first to its last."""
        return sum((n - 1) * pitch for n, pitch in zip(self.counts, self.pitches, strict=True)) + self.width

    @property
    def has_wide_gaps(self) -> bool:
        """Whether most of what there is from its first to its last byte is not its own."""
        own = int(np.prod(self.counts, dtype=object)) * self.width
        return own * DENSEST_GAPS < self.span and self.pitches[-1] <= MAX_PITCH

    def rows(self, memory: Bytes) -> Bytes:
        """Return the bytes of its rows, where `memory` begins with its first: a view."""
        shape, strides = (*self.counts, self.width), (*self.pitches, 1)
        return np.lib.stride_tricks.as_strided(memory, shape, strides)

    def parts(self, most: int) -> Iterator[Box]:
        """Cut it into boxes that span at most so many bytes, or are a single row."""
        if self.span <= most or not self.counts:
            yield self
            return
        (count, *counts), (pitch, *pitches) = self.counts, self.pitches
        inner = Box(self.first, tuple(counts), tuple(pitches), self.width)
        together = max(1, (most - inner.span) // pitch + 1) if inner.span <= most else 1
        for k in range(0, count, together):
            first, here = self.first + k * pitch, min(together, count - k)
            if here > 1:
                yield Box(first, (here, *counts), self.pitches, self.width)
            else:
                yield from Box(first, tuple(counts), tuple(pitches), self.width).parts(most)


def box_back(buffer: Buffer, first: int, values: Mapping[str, int]) -> Box | None:
    """Return what comes back of a buffer as it is, for these values of parameters, where that begins behind `first`
    bytes of the array; None for what has changed alone, or for nothing."""
    back, size = buffer.back, element_dtype(buffer.array).itemsize
    if back is None or (back.condition is not None and not evaluate(back.condition, values)):
        return None
    start, width = evaluate(back.first, values) * size - first, evaluate(back.width, values) * size
    rows = [(evaluate(r.count, values), evaluate(r.pitch, values) * size) for r in back.rows]
    if width <= 0 or any(count <= 0 for count, _ in rows):
        return None
    while rows and width >= rows[-1][1]:  # without a gap
        count, pitch = rows.pop()
        width += (count - 1) * pitch
    return Box(start, tuple(count for count, _ in rows), tuple(pitch for _, pitch in rows), width)


class HostCopies:
    """Copies for one run, in a stream; ended by `with`. Raises CUDARuntimeError of CuPy."""

    def __init__(self, cupy: Any, stream: int) -> None:
        self.cupy, self.runtime, self.stream = cupy, cupy.cuda.runtime, stream
        self.rings: AbstractContextManager[Ring | None] | None = None
        self.ring: Ring | None = None

    def __enter__(self) -> HostCopies:
        return self

    def __exit__(self, *error: Any) -> None:
        if self.rings is not None:
            self.rings.__exit__(*error)

    def to_device(self, target: int, source: Bytes, kept: Bytes | None = None) -> None:
        """Copy an array to an address of the device; it may be changed behind it. What goes there is left in `kept` as
        well."""
        if (slots := self._ring_for(source, direct=kept is None)) is not None:
            return slots.to_device(target, source, self.stream, kept)
        if kept is not None:
            np.copyto(kept, source)
            source = kept
        if source.size:
            kind = self.runtime.memcpyHostToDevice
            self.runtime.memcpyAsync(target, source.ctypes.data, source.size, kind, self.stream)

    def back(self, target: Bytes, source: int, box: Box) -> None:
        """Copy a box of an array from its copy at an address of the device, when the stream comes to it."""
        if not box.counts:
            return self._whole(target[box.first : box.first + box.width], source + box.first)
        if box.has_wide_gaps:
            return self._row_by_row(target, source, box)

        def taking(part: Box) -> Callable[[Bytes], object]:
            there = part.rows(target[part.first :])
            return lambda arrived: np.copyto(there, part.rows(arrived))

        def cut() -> Iterator[Piece]:
            for part in box.parts(PIECE):
                if part.counts:
                    yield Piece(part.first, part.span, taking(part))
                else:
                    yield from pieces_of(part.first, part.width, partly(target))

        self._arriving(target[box.first : box.first + box.span], source, cut())

    def changes_back(self, target: Bytes, source: int, before: Bytes, unit: int) -> None:
        """Copy what differs from what was there before, in units of so many bytes."""

        def taking(start: int, stop: int) -> Callable[[Bytes], object]:
            here, was = (data[start:stop].view(f"u{unit}") for data in (target, before))

            def take(arrived: Bytes) -> None:
                now = arrived.view(f"u{unit}")
                np.copyto(here, now, where=now != was)

            return take

        self._arriving(target, source, pieces_of(0, target.size, taking))

    def _whole(self, target: Bytes, source: int) -> None:
        if (slots := self._ring_for(target)) is not None:
            slots.to_host(pieces_of(0, target.size, partly(target)), source, self.stream)
        elif target.size:
            kind = self.runtime.memcpyDeviceToHost
            self.runtime.memcpyAsync(target.ctypes.data, source, target.size, kind, self.stream)

    def _row_by_row(self, target: Bytes, source: int, box: Box) -> None:
        *outer, count = box.counts
        *steps, pitch = box.pitches
        kind, start = self.runtime.memcpyDeviceToHost, target.ctypes.data
        for index in np.ndindex(*outer):
            at = box.first + sum(i * step for i, step in zip(index, steps, strict=True))
            self.runtime.memcpy2DAsync(start + at, pitch, source + at, pitch, box.width, count, kind, self.stream)

    def _arriving(self, array: Bytes, source: int, pieces: Iterator[Piece]) -> None:
        if (slots := self._ring_for(array, direct=False)) is not None:
            return slots.to_host(pieces, source, self.stream)
        for piece in pieces:
            arrived = np.empty(piece.size, np.uint8)
            kind = self.runtime.memcpyDeviceToHost
            self.runtime.memcpyAsync(arrived.ctypes.data, source + piece.start, piece.size, kind, self.stream)
            self.runtime.streamSynchronize(self.stream)
            piece.take(arrived)

    def _ring_for(self, array: Bytes, *, direct: bool = True) -> Ring | None:
        """Return slots for large arrays; not where the device can copy them as fast itself, from pinned memory."""
        if array.size < LEAST or (direct and not self._is_pageable(array)):
            return None
        if self.rings is None:
            self.rings = ring(self.cupy)
            self.ring = self.rings.__enter__()
        return self.ring

    def _is_pageable(self, array: Bytes) -> bool:
        return bool(self.runtime.pointerGetAttributes(array.ctypes.data).type == self.runtime.memoryTypeUnregistered)


def partly(target: Bytes) -> Callable[[int, int], Callable[[Bytes], object]]:
    """Return what takes bytes of a copy to the same place in an array."""

    def taking(start: int, stop: int) -> Callable[[Bytes], object]:
        return lambda arrived: np.copyto(target[start:stop], arrived)

    return taking
