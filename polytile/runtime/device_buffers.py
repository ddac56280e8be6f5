"""Where the arrays of a run lie in device memory, in bytes: decided once for the sizes and layouts of a call.

before: Buffer(y, first=m, elements=(n - 1) * m) at n = 3, m = 4
after:  DeviceBuffer("y", lead=0, first=32, size=64): bytes 32 to 95 from the element that C calls y[0]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.ir.evaluate import evaluate
from polytile.ir.host import Buffer, HostProgram
from polytile.runtime.host_copies import Box, box_back
from polytile.runtime.layout import Layout, element_dtype


@dataclass(frozen=True, slots=True)
class DeviceBuffer:
    """One buffer at given sizes. `lead` is what the caller's array has in front of element 0, `first` where the buffer
    begins behind that element. `back` is what comes back as it is, by rows of the buffer, to an array of the host."""

    buffer: Buffer
    name: str
    temporary: bool
    lead: int
    first: int
    size: int
    back: Box | None = None
    changes: bool = False  # what the kernels have changed alone comes back

    @property
    def unit(self) -> int:
        """Return in how many bytes at once it is looked for changes: no element has others beside its own."""
        size = element_dtype(self.buffer.array).itemsize
        return size if size in (2, 4, 8) and not self.buffer.array.fields else 1

    def part(self, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the bytes of a host array that it holds; a view."""
        start = self.lead + self.first
        flat: np.ndarray[Any, Any] = data.reshape(-1).view(np.uint8)
        return flat if flat.size == self.size else flat[start : start + self.size]


def device_buffers(
    program: HostProgram, layouts: Mapping[str, Layout], values: Mapping[str, int]
) -> tuple[DeviceBuffer, ...]:
    """Place the buffers of a program for these values of its parameters."""
    return tuple(_device_buffer(buffer, layouts, values) for buffer in program.buffers)


def _device_buffer(buffer: Buffer, layouts: Mapping[str, Layout], values: Mapping[str, int]) -> DeviceBuffer:
    name, size = buffer.array.name, element_dtype(buffer.array).itemsize
    first, elements = evaluate(buffer.first, values), max(0, evaluate(buffer.elements, values))
    lead = 0 if buffer.temporary else layouts[name].lead
    first, elements = first * size, elements * size
    back = _back(buffer, first, elements, values)
    changes = buffer.copy_in and buffer.copy_out and not buffer.temporary and buffer.back is None
    return DeviceBuffer(buffer, name, buffer.temporary, lead * size, first, elements, back, changes)


def _back(buffer: Buffer, first: int, size: int, values: Mapping[str, int]) -> Box | None:
    if buffer.temporary or not buffer.copy_out:
        return None
    if buffer.back is None:
        return None if buffer.copy_in else Box(0, (), (), size)
    return box_back(buffer, first, values)
