"""Comparing results on the device, where they are too large to be copied. Arrays are CuPy's; NumPy's will do."""

from __future__ import annotations

from math import inf, isfinite, nan
from typing import Any

import numpy as np

WIDE = 1000  # units of rounding, of an array's largest element, by which two orders of its sums may differ
PIECE = 1 << 26  # elements that are compared at a time: what is in between takes as much memory


def relative_difference(ours: Any, reference: Any) -> float:
    """Return the largest difference of two elements, in parts of the largest element of the reference; infinite where
    arrays that are not floating differ, and NaN where a number is not finite."""
    if ours.dtype.kind != "f":
        return 0.0 if bool((ours == reference).all()) else inf
    largest = error = 0.0
    for one, other in zip(_pieces(ours), _pieces(reference), strict=True):
        found = float(abs(other).max()), float(abs(one - other).max())
        if not all(map(isfinite, found)):
            return nan
        largest, error = max(largest, found[0]), max(error, found[1])
    return error / largest if largest else error


def allowed_difference(dtype: np.dtype[Any]) -> float:
    """Return how large a relative difference rounding may make."""
    return WIDE * float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def all_finite(data: Any) -> bool:
    """Return whether no number is infinite or NaN."""
    return data.dtype.kind != "f" or all(bool(np.isfinite(piece).all()) for piece in _pieces(data))


def _pieces(data: Any) -> list[Any]:
    flat = data.reshape(-1)
    return [flat[first : first + PIECE] for first in range(0, flat.size, PIECE)]
