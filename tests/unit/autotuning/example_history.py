"""A made-up search of two strategies: nothing of it was measured.

The time of a streaming kernel has its least value where a tile of 64 x 6 cells has 64 x 3 threads; a jitter that
depends on the point alone stands for what no formula explains. Large points have no time, as they take too many
registers, and a few others fail in each of the ways in which points fail. `example.tune.jsonl` is a part of it as a
record; `python -m tests.unit.autotuning.example_history` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from math import log2
from pathlib import Path

from polytile.autotuning.conditions import Conditions
from polytile.autotuning.outcome import Outcome, Status
from polytile.autotuning.record_lines import Entry, Finals, to_line
from polytile.autotuning.report import History
from polytile.autotuning.space import Point

DEFAULT = Outcome((), Status.MEASURED, milliseconds=(1.62, 1.61, 1.63), key="default", estimate=1.4, registers=(64,))
FAILURES = {
    7: (Status.REFUSED, "the schedule is not proven"),
    23: (Status.HUNG, "no answer within 60 s"),
    61: (Status.CRASHED, "the process ended with SIGSEGV"),
    90: (Status.WRONG, "A: error 0.5 <at> n=17"),
}
RECORD = Path(__file__).with_name("example.tune.jsonl")
SOURCE, DATE = sha256(b"made up").hexdigest(), "2026-11-30T00:00:00+00:00"
LIKE_DEFAULT = 31  # the number of a point with the kernels of the default


def example_history(every: int = 1) -> History:
    """The search, of each so many points."""
    outcomes = [DEFAULT, *(_outcome(n, point) for n, point in enumerate(list(_points())[::every]))]
    ranked = sorted((one for one in outcomes if one.milliseconds), key=lambda one: one.median)
    finals = {one.point: tuple(one.median * (1 + 0.002 * k) for k in range(7)) for one in (*ranked[:5], DEFAULT)}
    return History(
        scop="wave_scop0",
        file="wave.c",
        sizes={"n": 512, "steps": 100},
        gpu="a GPU that was made up",
        outcomes=tuple(outcomes),
        winner=ranked[0].point,
        options="--schedule overlapped --planes shared --tile {tile_y},{tile_x} --block {block_y},{block_x}".format(
            **dict(ranked[0].point)
        ),
        finals=finals,
        points=sum(1 for _ in _points()),
        search=f"random: {sum(1 for _ in _points())} points in random order (seed 1)",
    )


def example_record(every: int = 6) -> bytes:
    """A part of it, as a record."""
    history = example_history(every)
    conditions = Conditions(history.sizes, history.gpu, "made up", "made up")
    entries = [to_line(Entry(SOURCE, one, conditions, DATE)) for one in history.outcomes]
    return b"".join([*entries, to_line(Finals(SOURCE, history.finals))])


def _points() -> Iterator[Point]:
    found = [
        (
            ("schedule", "streaming"),
            ("tile_x", x),
            ("tile_y", y),
            ("block_x", x // across),
            ("block_y", y // along),
            ("read_only", read_only),
        )
        for x, y, across, along, read_only in product((16, 32, 48, 64), range(2, 17), (1, 2), (1, 2, 4), (False, True))
        if y % along == 0 and x % across == 0
    ]
    others = [
        (("schedule", "overlapped"), ("time_tile", steps), ("rows", rows), ("warps", warps))
        for steps, rows, warps in product((2, 4, 8), (1, 2, 4), (4, 8, 16))
    ]
    yield from sorted((*found, *others), key=lambda point: sha256(repr(point).encode()).hexdigest())


def _outcome(number: int, point: Point) -> Outcome:
    if number in FAILURES:
        status, reason = FAILURES[number]
        return Outcome(point, status, reason)
    at = dict(point)
    time = _streaming(point) if at["schedule"] == "streaming" else _overlapped(point)
    if time == 0.0:
        return Outcome(point, Status.RESOURCES, "291 registers of 255")
    if number == LIKE_DEFAULT:
        return Outcome(point, Status.MEASURED, milliseconds=DEFAULT.milliseconds, key=DEFAULT.key, reused=True)
    return Outcome(
        point,
        Status.MEASURED,
        milliseconds=tuple(round(time * run, 4) for run in (1.01, 1.0, 1.002)),
        key=sha256(repr(point).encode()).hexdigest(),
        estimate=round(0.9 * time, 4),
        registers=(56,),
        spilled_bytes=(0,),
        shared_bytes=(9216,),
        reused=number % 12 == 5,
    )


def _streaming(point: Point) -> float:
    at = {name: int(value) for name, value in point[1:]}
    x, y, across, along = at["tile_x"], at["tile_y"], at["block_x"], at["block_y"]
    if (x // across) * (y // along) >= 8 and x == 16:
        return 0.0
    few = 0.4 * (across * along < 64)
    shape = 0.1 * log2(x / 64) ** 2 + 0.1 * log2(y / 6) ** 2 + 0.06 * log2(y / along / 2) ** 2 + 0.1 * (x != across)
    return _jittered(1.1 + few + shape + 0.03 * (not at["read_only"]), point)


def _overlapped(point: Point) -> float:
    at = {name: int(value) for name, value in point[1:]}
    return _jittered(1.3 + 0.2 * abs(log2(at["time_tile"] / 4)) + 0.3 * abs(log2(at["warps"] / 8)), point)


def _jittered(time: float, point: Point) -> float:
    return time * (1 + 0.06 * int(sha256(repr(point).encode()).hexdigest()[:6], 16) / 0xFFFFFF)


if __name__ == "__main__":
    RECORD.write_bytes(example_record())
