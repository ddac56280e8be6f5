"""What ranks did, or are predicted to do, at which time: plain records, for pictures and reports."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from polytile.dataclass import dataclass
from polytile.distribution.links import Cluster
from polytile.distribution.process_grid import ProcessGrid
from polytile.distribution.scaling import Period, StencilWork, rank_period
from polytile.distribution.transfers import ExchangeMode


class IntervalKind(StrEnum):
    """What a rank does in a part of a period. `EXCHANGE` is from the start of its messages to the end of the last one,
    and may go on beside kernels; `WAIT` is the time in which nothing else goes on."""

    STEPS = "steps"  # launches before the last one of a period
    BOUNDARY = "boundary"
    PACK = "pack"
    EXCHANGE = "exchange"
    INTERIOR = "interior"
    WAIT = "wait"
    UNPACK = "unpack"


@dataclass(frozen=True, slots=True)
class Interval:
    """A part of a period, in seconds since some moment that all ranks share."""

    kind: IntervalKind
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """What one rank did."""

    rank: int
    intervals: tuple[Interval, ...]

    def hidden(self) -> float | None:
        """Return the share of the time of messages in which steps or the interior ran, which do not wait for them; None
        where there were no messages."""
        messages = [i for i in self.intervals if i.kind is IntervalKind.EXCHANGE]
        kernels = [i for i in self.intervals if i.kind in (IntervalKind.STEPS, IntervalKind.INTERIOR)]
        total = sum(m.end - m.start for m in messages)
        beside = sum(max(0.0, min(m.end, k.end) - max(m.start, k.start)) for m in messages for k in kernels)
        return beside / total if total else None


def measured_row(rank: int, spans: Iterable[tuple[str, float, float]]) -> TimelineRow:
    """Return what a rank noted while it ran: names of kinds with seconds, in order.

    Nobody notes when the last message has come; it is there at the end of the wait behind it. So an exchange is drawn
    from the end of its packing to the end of that wait, at most as long as it may have taken.
    """
    intervals: list[Interval] = []
    packed: float | None = None
    for name, start, end in spans:
        kind = IntervalKind(name)
        if kind is IntervalKind.PACK:
            packed = end
        if kind is IntervalKind.WAIT and packed is not None:
            intervals.append(Interval(IntervalKind.EXCHANGE, packed, max(packed, end)))
            packed = None
        intervals.append(Interval(kind, start, end))
    return TimelineRow(rank, tuple(intervals))


def predicted_rows(
    work: StencilWork,
    cluster: Cluster,
    grid: ProcessGrid,
    ranks: Iterable[int],
    steps: int,
    mode: ExchangeMode = ExchangeMode.OVERLAP,
) -> tuple[TimelineRow, ...]:
    """Return one period of some ranks as it is predicted, each rank by itself: it waits for nobody's messages."""
    return tuple(TimelineRow(r, intervals_of(rank_period(work, cluster, grid, r, steps, mode))) for r in ranks)


def intervals_of(period: Period) -> tuple[Interval, ...]:
    """Return the parts of a predicted period one after another, messages behind the interior or after it; the rounds of
    a basic exchange as one."""
    found: list[Interval] = []
    now = 0.0
    for kind, seconds in (
        (IntervalKind.STEPS, period.steps),
        (IntervalKind.BOUNDARY, period.boundary),
        *([] if period.overlapped else [(IntervalKind.INTERIOR, period.interior)]),
        (IntervalKind.PACK, period.pack),
    ):
        found.append(Interval(kind, now, now + seconds))
        now += seconds
    found.append(Interval(IntervalKind.EXCHANGE, now, now + period.exchange))
    if period.overlapped:
        found.append(Interval(IntervalKind.INTERIOR, now, now + period.interior))
    now = max(interval.end for interval in found)
    found.append(Interval(IntervalKind.UNPACK, now, now + period.unpack))
    return tuple(interval for interval in found if interval.start < interval.end)
