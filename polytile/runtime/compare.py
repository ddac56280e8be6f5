"""Comparing what two programs left in memory, element by element, with a tolerance that rounding explains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polytile.dataclass import dataclass

Data = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first element that differs: where it is, what the sequential C gives and what was computed."""

    element: str  # `A[3][4]`, `p[2].x`
    expected: str
    actual: str
    count: int  # how many elements differ


@dataclass(frozen=True, slots=True)
class Comparison:
    """One array compared: `error` and `tolerance` are absolute, `scale` the largest magnitude expected."""

    array: str
    elements: int
    error: float
    tolerance: float
    scale: float
    mismatch: Mismatch | None = None

    @property
    def relative(self) -> float:
        return self.error / self.scale if self.scale > 0 else self.error


def leaves(array: str, data: Data) -> Iterator[tuple[str, str, Data]]:
    """Yield (array, suffix, values) of each scalar field, or of the array itself."""
    if data.dtype.names is None:
        yield array, "", data
    else:
        for name in data.dtype.names:
            yield array, f".{name}", data[name]


def compare(array: str, expected: Data, actual: Data, *, tolerance: float, ignore: Data | None = None) -> Comparison:
    """Compare two arrays of one scalar type or struct; a tolerance of 0 asks for equal bits (any NaN equals any NaN).

    Elements where `ignore` is true are left out; integers must always be equal.
    """
    parts = [
        _compare_leaf(name + suffix, name, suffix, values, other, tolerance, ignore)
        for (name, suffix, values), (_, _, other) in zip(leaves(array, expected), leaves(array, actual), strict=True)
    ]
    failed = next((p for p in parts if p.mismatch), None)
    worst = failed or max(parts, key=lambda p: p.relative)
    return Comparison(array, expected.size, worst.error, worst.tolerance, worst.scale, worst.mismatch)


def _compare_leaf(
    label: str, name: str, suffix: str, expected: Data, actual: Data, tolerance: float, ignore: Data | None
) -> Comparison:
    scale = magnitude(expected)
    bad = different_bits(expected, actual)
    if not bad.any():
        return Comparison(label, expected.size, 0.0, tolerance, scale)
    error = differences(expected, actual)
    if tolerance > 0 and expected.dtype.kind == "f":
        bad &= ~(error <= tolerance)
    if ignore is not None:
        bad &= ~ignore
        error = np.where(ignore, 0.0, error)
    largest = float(np.max(error, initial=0.0))
    if not bad.any():
        return Comparison(label, expected.size, largest, tolerance, scale)
    index = np.unravel_index(int(np.argmax(bad)), bad.shape)
    where = name + "".join(f"[{int(i)}]" for i in index) + suffix
    mismatch = Mismatch(where, _shown(expected[index]), _shown(actual[index]), int(bad.sum()))
    return Comparison(label, expected.size, largest, tolerance, scale, mismatch)


def _shown(value: Any) -> str:
    return f"{value:.17g}" if np.dtype(type(value)).kind == "f" else str(value)


def differences(expected: Data, actual: Data) -> Data:
    """Compute |expected - actual| in the wider type, infinite where only one is finite.

    Most elements of large arrays are equal: only the others are widened.
    """
    double = max(expected.dtype.itemsize, actual.dtype.itemsize) > 4
    wide = np.longdouble if expected.dtype.kind == "f" and double else np.float64
    error: Data = np.zeros(expected.shape, wide)
    unequal = np.asarray(expected != actual)
    if unequal.any():
        error[unequal] = _distances(np.asarray(expected[unequal], wide), np.asarray(actual[unequal], wide))
    return error


def _distances(left: Data, right: Data) -> Data:
    with np.errstate(invalid="ignore", over="ignore"):
        error: Data = np.abs(np.subtract(left, right))
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    return np.where(same, 0, np.where(np.isnan(error), np.inf, error))


def magnitude(data: Data) -> float:
    """Return the largest finite magnitude in an array."""
    if not data.size:
        return 0.0
    largest = max(abs(float(np.max(data))), abs(float(np.min(data))))
    if np.isfinite(largest):  # no element is infinite or NaN
        return largest
    return float(np.max(np.abs(data), initial=0.0, where=np.isfinite(data)))


def raw_bits(data: Data) -> Data:
    """View the bits of each element of a scalar type as something that compares by bits."""
    size = data.dtype.itemsize
    raw = np.ascontiguousarray(data).reshape(-1)
    return raw.view(f"u{size}" if size <= 8 else np.dtype((np.void, size))).reshape(data.shape)


def different_bits(expected: Data, actual: Data) -> Data:
    """Return where two arrays of one scalar type differ in any bit; NaNs count as equal."""
    unequal = np.asarray(raw_bits(expected) != raw_bits(actual))
    if expected.dtype.kind == "f" and unequal.any():
        unequal = unequal & ~(np.isnan(expected) & np.isnan(actual))
    return np.asarray(unequal)


def finite(data: Data) -> bool:
    """Return whether no floating value in `data` is infinite or NaN."""
    return all(values.dtype.kind != "f" or bool(np.isfinite(values).all()) for _, _, values in leaves("", data))
