"""A shape for each statement of a panel, as many as there are points in one place at most."""

from __future__ import annotations

from math import cos, pi, sin

from polytile.drawing.svg import Svg, number

Corners = tuple[tuple[float, float], ...]


def _regular(corners: int, turn: float = 0.0, size: float = 1.0) -> Corners:
    """Return corners on a circle, the first one upwards."""
    angles = (2 * pi * k / corners + turn for k in range(corners))
    return tuple((size * sin(angle), -size * cos(angle)) for angle in angles)


def _plus() -> Corners:
    arm, half = 1.1, 0.4
    quarter = ((-half, -arm), (half, -arm), (half, -half))
    turns = ((1, 0, 0, 1), (0, -1, 1, 0), (-1, 0, 0, -1), (0, 1, -1, 0))
    return tuple((a * x + b * y, c * x + d * y) for a, b, c, d in turns for x, y in quarter)


SHAPES: tuple[Corners, ...] = (
    (),  # a circle
    _regular(4, pi / 4, 1.2),
    _regular(4, size=1.3),
    _regular(3, size=1.3),
    _regular(3, pi, 1.3),
    _plus(),
    _regular(3, pi / 2, 1.3),
    _regular(3, -pi / 2, 1.3),
    _regular(6, size=1.1),
)


def mark(svg: Svg, position: int, x: float, y: float, radius: float, **attributes: object) -> None:
    """Draw the shape of the statement with this position in its panel."""
    corners = SHAPES[position % len(SHAPES)]
    if not corners:
        svg.add("circle", cx=x, cy=y, r=radius, **attributes)
        return
    places = (f"{number(x + radius * right)} {number(y + radius * down)}" for right, down in corners)
    svg.path(f"M{'L'.join(places)}z", **attributes)
