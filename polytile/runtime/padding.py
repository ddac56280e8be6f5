"""Arrays with room around them, for programs that this process runs: what C does beyond an end harms nothing else.

before: x = malloc(40);    x[5] = 1.0 is the size of the heap's next block, and the process aborts some time later
after:  x lies in 40 + 2 * 4096 bytes, of which the others are nobody's
"""

from __future__ import annotations

from typing import Any

import numpy as np

PADDING = 4096  # bytes on either side; a multiple of all alignments

Data = np.ndarray[Any, Any]


def padded_copy(data: Data) -> Data:
    """Copy an array with `PADDING` bytes before and after it, of the same type and shape."""
    raw = np.zeros(data.nbytes + 2 * PADDING, np.uint8)
    copy: Data = raw[PADDING : PADDING + data.nbytes].view(data.dtype).reshape(data.shape)
    copy[...] = data
    return copy
