"""Rectangles in several colours: diagonal stripes, which line up over all rectangles of a picture."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor

WIDTH = 5.0  # pixels of a stripe, measured along either axis
Corner = tuple[float, float]
Area = tuple[float, float, float, float]  # left, top, right, bottom


def stripe(area: Area, position: int, count: int) -> str:
    """Return stripes number `position`, `position + count` and so on of a rectangle, as a path."""
    return "".join(_closed(polygon) for polygon in _stripes(area, position, count))


def edges(area: Area) -> str:
    """Return the lines between stripes, as a path."""
    left, top, right, bottom = area
    parts = []
    for k in range(ceil((left + top) / WIDTH), floor((right + bottom) / WIDTH) + 1):
        x, to_x = max(left, k * WIDTH - bottom), min(right, k * WIDTH - top)
        if x < to_x:
            parts.append(f"M{_short(x)} {_short(k * WIDTH - x)}L{_short(to_x)} {_short(k * WIDTH - to_x)}")
    return "".join(parts)


def _stripes(area: Area, position: int, count: int) -> Iterator[list[Corner]]:
    left, top, right, bottom = area
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    first = floor((left + top) / WIDTH)
    for k in range(first + (position - first) % count, ceil((right + bottom) / WIDTH), count):
        polygon = _above(_above(corners, k * WIDTH, 1), (k + 1) * WIDTH, -1)
        if len(polygon) > 2:
            yield polygon


def _above(polygon: list[Corner], limit: float, sign: int) -> list[Corner]:
    """Clip a polygon to the part in which x + y is at least the limit (at most: -1)."""
    found: list[Corner] = []
    for (x, y), (to_x, to_y) in zip(polygon, [*polygon[1:], *polygon[:1]], strict=True):
        here, there = sign * (x + y - limit), sign * (to_x + to_y - limit)
        if here >= 0:
            found.append((x, y))
        if (here > 0 > there) or (here < 0 < there):
            part = here / (here - there)
            found.append((x + part * (to_x - x), y + part * (to_y - y)))
    return found


def _closed(polygon: list[Corner]) -> str:
    return "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in polygon) + "z"


def _short(value: float) -> str:
    """Print a number with one decimal, which is enough for stripes."""
    return f"{round(value, 1):.1f}".removesuffix(".0")
