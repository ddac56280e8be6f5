"""Arrows on paper: lines between points, bent where they would go through others."""

from __future__ import annotations

from math import hypot

from polytile.dataclass import dataclass
from polytile.drawing.svg import number

At = tuple[float, float]
STRAIGHT = 2.4  # pitches: of arrows that meet no other point
BEND = 0.7  # pitches, at most


@dataclass(frozen=True, slots=True)
class ArrowPath:
    """The line, and its head as an area."""

    line: str
    head: str


def arrow(source: At, sink: At, radius: float, pitch: float, length: float) -> ArrowPath:
    """Return the arrow from the edge of a point to that of another; `length` is that of the head."""
    dx, dy = sink[0] - source[0], sink[1] - source[1]
    distance = hypot(dx, dy) or 1.0
    bend = min(0.15 * distance, BEND * pitch) if distance > STRAIGHT * pitch else 0.0
    control = (source[0] + sink[0]) / 2 - 2 * bend * dy / distance, (source[1] + sink[1]) / 2 + 2 * bend * dx / distance
    start = _towards(source, control, radius)
    tip = _towards(sink, control, radius + 0.5)
    long = min(length, 0.6 * hypot(tip[0] - start[0], tip[1] - start[1]))
    neck = _towards(tip, control, long)
    across = (tip[1] - neck[1]) * 0.42, (neck[0] - tip[0]) * 0.42
    line = f"M{_at(start)}Q{_at(control)} {_at(neck)}" if bend else f"M{_at(start)}L{_at(neck)}"
    left, right = (neck[0] + across[0], neck[1] + across[1]), (neck[0] - across[0], neck[1] - across[1])
    return ArrowPath(line, f"M{_at(tip)}L{_at(left)}L{_at(right)}z")


def _towards(place: At, to: At, distance: float) -> At:
    dx, dy = to[0] - place[0], to[1] - place[1]
    whole = hypot(dx, dy) or 1.0
    return place[0] + dx * distance / whole, place[1] + dy * distance / whole


def _at(place: At) -> str:
    return f"{number(place[0])} {number(place[1])}"
