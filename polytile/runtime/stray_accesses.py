"""Whether the user's own C leaves its arrays for some inputs: its result then depends on what lies around them.

before: double y[64]; k = (int)p[i]; p[i] += y[k];    with p[3] = 80.0
after:  two runs with other bytes around y differ, or change these
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polytile.runtime.compare import leaves

_FILLS = (0x11, 0x3F)  # of the bytes around arrays: numbers of either kind that differ, and do not vanish in sums
_LEAST = 1 << 16  # bytes on either side

Data = np.ndarray[Any, Any]


def strays(run: Callable[[Mapping[str, Data]], None], inputs: Callable[[], Mapping[str, Data]]) -> bool:
    """Return whether `run` reads or writes beyond its arrays, as far as near places tell. `inputs` makes fresh ones."""
    results = []
    for fill in _FILLS:
        around = {name: _Surrounded(data, fill) for name, data in inputs().items()}
        run({name: one.data for name, one in around.items()})
        if any(one.changed for one in around.values()):
            return True
        results.append({name: [part.tobytes() for *_, part in leaves(name, one.data)] for name, one in around.items()})
    return results[0] != results[1]


class _Surrounded:
    """A copy of an array between others of its type: integers there are `fill`, small enough for subscripts and bounds
    of loops, and bytes of floating-point numbers."""

    def __init__(self, data: Data, fill: int) -> None:
        self.pad = -(-max(_LEAST, data.nbytes) // 64) * 64
        self.raw = np.full(data.nbytes + 2 * self.pad, fill, np.uint8)
        self.end = self.pad + data.nbytes
        beside = self.pad // max(data.dtype.itemsize, 1) * data.dtype.itemsize
        for first in (self.pad - beside, self.end):
            _set_integers(self.raw[first : first + beside].view(data.dtype), fill)
        self.data = self.raw[self.pad : self.end].view(data.dtype).reshape(data.shape)
        self.data[...] = data
        self.before = self._sides()

    @property
    def changed(self) -> bool:
        return self._sides() != self.before

    def _sides(self) -> tuple[bytes, bytes]:
        return self.raw[: self.pad].tobytes(), self.raw[self.end :].tobytes()


def _set_integers(elements: Data, value: int) -> None:
    """Set the integers in elements, also inside of structs."""
    if elements.dtype.kind in "iu":
        elements[...] = value
    for name in elements.dtype.names or ():
        _set_integers(elements[name], value)
