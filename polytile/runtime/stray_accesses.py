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
    """Whether `run` reads or writes beyond its arrays, as far as near places tell. `inputs` makes fresh ones."""
    results = []
    for fill in _FILLS:
        around = {name: _Surrounded(data, fill) for name, data in inputs().items()}
        run({name: one.data for name, one in around.items()})
        if any(one.changed for one in around.values()):
            return True
        results.append({name: [part.tobytes() for *_, part in leaves(name, one.data)] for name, one in around.items()})
    return results[0] != results[1]


class _Surrounded:
    """A copy of an array between bytes that hold `fill`."""

    def __init__(self, data: Data, fill: int) -> None:
        self.pad = -(-max(_LEAST, data.nbytes) // 64) * 64
        self.fill = fill
        self.raw = np.full(data.nbytes + 2 * self.pad, fill, np.uint8)
        self.data = self.raw[self.pad : self.pad + data.nbytes].view(data.dtype).reshape(data.shape)
        self.data[...] = data

    @property
    def changed(self) -> bool:
        sides = self.raw[: self.pad], self.raw[self.pad + self.data.nbytes :]
        return any(bool((side != self.fill).any()) for side in sides)
