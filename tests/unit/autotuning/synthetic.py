"""Synthetic records: a made-up GPU on which parameters interact and local optima exist, and a cost model that is off.

Nothing here was measured. A stencil's time is the traffic of its tiles with halos, divided by what of the bandwidth
resident warps reach, and rounded up to whole waves of blocks. Occupancy and waves are steps, so that the time has local
optima; points of a thread pay only where threads are few, so that parameters interact; a jitter that depends on the
point alone stands for what no model explains. The cost model knows neither waves nor jitter, and is off by a factor
that is log-normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import product
from math import ceil, exp
from random import Random

from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.search.search import Estimates
from polytile.autotuning.space import Constraint, Parameter, Point, Space, Subspace, Value
from polytile.choices import Choices

EXTENT = 512
MULTIPROCESSORS = 132
_PER_MULTIPROCESSOR = 2048, 65536  # threads, registers


def synthetic_space() -> Space:
    """Two strategies, of 1148 points in all."""
    streaming = Subspace(
        "streaming",
        (
            Parameter("threads_x", (16, 32, 48, 64)),
            Parameter("threads_y", (2, 4, 6, 8, 12, 16)),
            Parameter("points_x", (1, 2, 4)),
            Parameter("points_y", (1, 2, 4)),
            Parameter("planes", (16, 64, 256)),
            Parameter("read_only", (False, True)),
        ),
        lambda _: Choices(),
        (
            Constraint(("threads_x", "threads_y"), lambda x, y: 64 <= x * y <= 1024, "threads"),
            Constraint(("points_x", "points_y"), lambda x, y: x * y <= 8, "registers"),
        ),
    )
    overlapped = Subspace(
        "overlapped",
        (Parameter("time_tile", (2, 3, 4, 6)), Parameter("rows", (1, 2, 4)), Parameter("warps", (4, 8, 16, 32))),
        lambda _: Choices(),
        (Constraint(("time_tile", "rows"), lambda steps, rows: steps * rows <= 16, "registers"),),
    )
    return Space((streaming, overlapped))


def milliseconds(point: Point, *, waves: bool = True) -> float:
    """What the made-up GPU takes; without `waves` what a cost model may know of it."""
    at: dict[str, Value] = dict(point)
    if at["schedule"] == "streaming":
        names = ("threads_x", "threads_y", "points_x", "points_y", "planes")
        tx, ty, px, py, planes = (int(at[name]) for name in names)
        threads, steps, registers = tx * ty, 1, 28 + 9 * px * py + (0 if at["read_only"] else 4)
        width, height = tx * px, ty * py
        sectors = 1.0 if width % 32 == 0 else 1.12
        halo = 1 if at["read_only"] and threads >= 256 else 2  # what the read-only path fetches once, where it is warm
    else:
        steps, rows, warps = (int(at[name]) for name in ("time_tile", "rows", "warps"))
        threads, registers, planes = 32 * warps, 26 + 11 * steps * rows, 64
        width, height, sectors, halo = 32, rows * warps, 1.0, 2 * steps
        if height <= halo or width <= halo:
            return 50.0
        px, py = 1, rows
    resident = min(_PER_MULTIPROCESSOR[0] // threads, _PER_MULTIPROCESSOR[1] // (registers * threads), 32)
    if not resident:
        return 60.0
    useful_width, useful_height = (width - halo, height - halo) if steps > 1 else (width, height)
    traffic = (width + halo) * (height + halo) / (useful_width * useful_height) / steps * (1 + 2 / planes) + 1 / steps
    hidden = min(1.0, resident * threads * (1 + 0.35 * (px * py - 1)) / 2600)
    blocks = ceil(EXTENT / useful_width) * ceil(EXTENT / useful_height) * EXTENT / planes
    wave = blocks / (resident * MULTIPROCESSORS)
    rounded = ceil(wave) / wave if waves else 1.0
    return sectors * traffic / hidden * rounded * (_jitter(point) if waves else 1.0) + 0.02 * steps


def _jitter(point: Point) -> float:
    """Between 1 and 1.12, by the point alone."""
    return 1 + 0.12 * int(sha256(repr(point).encode()).hexdigest()[:8], 16) / 0xFFFFFFFF


def estimates(seed: int, spread: float = 0.25) -> Estimates:
    """A cost model that is off by a factor of exp(spread), root mean square."""

    def estimated(points: Sequence[Point]) -> Sequence[float | None]:
        return [
            milliseconds(point, waves=False) * exp(Random(f"{seed} {point}").gauss(0, spread)) for point in points
        ]

    return estimated


def synthetic_record(space: Space) -> list[Outcome]:
    """An outcome for each point of a synthetic space, and the default's."""
    return [Outcome(point, Status.MEASURED, milliseconds=(milliseconds(point),)) for point in space.points]


def local_optima(space: Space) -> list[Point]:
    """Points none of whose neighbours, one step away in one parameter, is faster."""
    times = {point: milliseconds(point) for point in space.points}
    return [p for p in times if all(times[p] <= times[q] for q in neighbours(space, p) if q in times)]


def neighbours(space: Space, point: Point) -> list[Point]:
    """Points with the next smaller or larger value of one parameter, whether they hold the constraints or not."""
    part = space.part(point)
    found = []
    for (index, parameter), step in product(enumerate(part.parameters, 1), (-1, 1)):
        place = parameter.values.index(point[index][1]) + step
        if 0 <= place < len(parameter.values):
            found.append((*point[:index], (parameter.name, parameter.values[place]), *point[index + 1 :]))
    return found
