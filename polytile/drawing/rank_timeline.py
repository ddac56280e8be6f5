"""What ranks do in a period as a picture: a row for each rank, kernels above, messages below, time to the right.

    rank 0 |boundary|pack|    interior      |unpack|
                         | exchange |

Times are measured ones or predicted ones. Where the boundary runs beside the interior it is below, with messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polytile.distribution.timeline import Interval, IntervalKind, TimelineRow
from polytile.drawing.colours import INK, SOFT, mixed
from polytile.drawing.page_layout import CAPTION, GAP, MARGIN, page
from polytile.drawing.panel import TICK_SPACE
from polytile.drawing.svg import Svg, width_of

COLOURS = {
    IntervalKind.STEPS: "#8fb3d9",
    IntervalKind.BOUNDARY: "#f0a830",
    IntervalKind.PACK: "#f2e66b",
    IntervalKind.INTERIOR: "#56b4e9",
    IntervalKind.UNPACK: "#4dbf99",
    IntervalKind.EXCHANGE: "#dd9ac0",
    IntervalKind.WAIT: "#c4c4c4",
}
MEANINGS = {
    IntervalKind.STEPS: "iterations before the last launch of the period",
    IntervalKind.BOUNDARY: "the sides of the owned box, from which neighbours read",
    IntervalKind.PACK: "copies into messages",
    IntervalKind.INTERIOR: "the rest of the owned box",
    IntervalKind.UNPACK: "copies out of messages",
    IntervalKind.EXCHANGE: "messages on their way",
    IntervalKind.WAIT: "nothing runs but messages",
}
BELOW = (IntervalKind.EXCHANGE, IntervalKind.WAIT)
BEFORE_MESSAGES = (IntervalKind.BOUNDARY, IntervalKind.PACK)
WIDTH = 760  # of the time that is drawn
KERNELS, MESSAGES = 22, 15  # pixels of a row's lanes
ROW = KERNELS + MESSAGES + 12
LABEL = 10
LINE = 17
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def duration(seconds: float) -> str:
    """Return seconds with three digits and a unit: 5.63 ms."""
    scale, unit = next((u for u in UNITS if seconds >= u[0]), UNITS[-1])
    digits = f"{seconds / scale:.3g}"
    return f"{float(digits):g} {unit}" if seconds else "0 s"


def to_svg(title: str, facts: Iterable[str], rows: Sequence[TimelineRow]) -> Svg:
    """Return the timeline of some ranks, in the order of `rows`; time begins with the first interval of all."""
    svg = page(title, facts)
    left = MARGIN + max((width_of(_name(row), 11) for row in rows), default=0.0) + 10
    every = [interval for row in rows for interval in row.intervals]
    first = min((i.start for i in every), default=0.0)
    last = max((i.end for i in every), default=0.0)
    scale = WIDTH / (last - first) if last > first else 0.0
    top = float(CAPTION + 12)
    bottom = top + ROW * len(rows)
    _grid_lines(svg, left, top, bottom, last - first)
    for number, row in enumerate(rows):
        y = top + number * ROW
        svg.label(left - 10, y + KERNELS - 6, _name(row), text_anchor="end", font_weight="bold", fill=INK)
        svg.label(left + WIDTH + 10, y + KERNELS - 6, summary(row), fill=SOFT)
        below = lower_kinds(row)
        for interval in row.intervals:
            x, width = left + (interval.start - first) * scale, (interval.end - interval.start) * scale
            _bar(svg, x, y, width, interval, interval.kind in below)
            seen = (_seen_until(row, interval) - interval.start) * scale
            _words(svg, x, y, seen, interval, interval.kind in below)
    end = _legend(svg, bottom + 46, rows)
    svg.height = end
    beside = left + WIDTH + 10 + max((width_of(summary(row)) for row in rows), default=0.0)
    svg.width = max(beside, width_of(title, 15) + MARGIN) + MARGIN
    return svg


def _name(row: TimelineRow) -> str:
    return f"rank {row.rank}"


def summary(row: TimelineRow) -> str:
    """Return how long a rank took, and how much of the time of its messages it used."""
    took = max((i.end for i in row.intervals), default=0.0) - min((i.start for i in row.intervals), default=0.0)
    share = row.hidden()
    hidden = "" if share is None else f", {100 * share:.0f}% of messages hidden"
    return duration(took) + hidden


def lower_kinds(row: TimelineRow) -> tuple[IntervalKind, ...]:
    """Return what is drawn below in a row: messages, and what leads to them where it ran beside other kernels."""
    early = [i for i in row.intervals if i.kind in BEFORE_MESSAGES]
    others = [i for i in row.intervals if i.kind in (IntervalKind.STEPS, IntervalKind.INTERIOR)]
    beside = any(a.start < b.end and b.start < a.end for a in early for b in others)
    return (*BELOW, *BEFORE_MESSAGES) if beside else BELOW


def _seen_until(row: TimelineRow, interval: Interval) -> float:
    """Return where a wait covers the rest of an exchange, else its end."""
    waits = (i.start for i in row.intervals if i.kind is IntervalKind.WAIT and interval.kind is IntervalKind.EXCHANGE)
    return min((start for start in waits if interval.start <= start < interval.end), default=interval.end)


def _lane(y: float, below: bool) -> tuple[float, int]:
    """Return where the bars of kernels, or of messages below, begin in a row, and how high they are."""
    return (y + KERNELS + 1, MESSAGES) if below else (y, KERNELS)


def _bar(svg: Svg, x: float, y: float, width: float, interval: Interval, below: bool) -> None:
    """Draw a bar, whose name and duration a browser shows where a mouse is over it."""
    top, high = _lane(y, below)
    colour = COLOURS[interval.kind]
    svg.begin("g")
    svg.tip(f"{interval.kind}: {duration(interval.end - interval.start)}")
    line = mixed(colour, INK, 0.55)
    svg.add("rect", x=x, y=top, width=max(width, 0.6), height=high, fill=colour, stroke=line, stroke_width=0.6)
    svg.end("g")


def _words(svg: Svg, x: float, y: float, width: float, interval: Interval, below: bool) -> None:
    """Write the name and the duration of a bar as far as there is room."""
    top, high = _lane(y, below)
    took = duration(interval.end - interval.start)
    texts = (f"{interval.kind} {took}", took, str(interval.kind))
    text = next((t for t in texts if width_of(t, LABEL) + 6 < width), "")
    if text:
        middle = top + high / 2 + 0.36 * LABEL
        svg.label(x + width / 2, middle, text, font_size=LABEL, text_anchor="middle", fill=INK)


def _grid_lines(svg: Svg, left: float, top: float, bottom: float, seconds: float) -> None:
    """Draw lines at round times behind the rows, with their numbers below."""
    if not seconds:
        return
    scale, unit = next((u for u in UNITS if seconds >= u[0]), UNITS[-1])
    step = _round_step(seconds / scale)
    for k in range(int(seconds / scale / step + 1e-9) + 1):
        x = left + k * step * scale / seconds * WIDTH
        svg.add("line", x1=x, y1=top - 4, x2=x, y2=bottom, stroke=SOFT, stroke_opacity=0.25)
        svg.label(x, bottom + 12, f"{k * step:g}", font_size=LABEL, text_anchor="middle", fill=SOFT)
    svg.label(left + WIDTH / 2, bottom + 26, f"time in {unit}", font_style="italic", text_anchor="middle", fill=INK)


def _round_step(total: float) -> float:
    """Choose the least round number whose multiples are so far apart that they can be read."""
    steps = (base * 10.0**power for power in range(-6, 7) for base in (1, 2, 5))
    return next(s for s in steps if s / total * WIDTH >= 2 * TICK_SPACE)


def _legend(svg: Svg, y: float, rows: Sequence[TimelineRow]) -> float:
    """List the kinds that are there, with how long they take on average over the ranks; return where the list ends."""
    for kind, colour in COLOURS.items():
        found = [i.end - i.start for row in rows for i in row.intervals if i.kind is kind]
        if found:
            svg.add("rect", x=MARGIN, y=y - 9, width=16, height=11, fill=colour, stroke=INK, stroke_width=0.8)
            svg.label(MARGIN + GAP, y, f"{kind}: {MEANINGS[kind]}; {duration(sum(found) / len(rows))} a rank", fill=INK)
            y += LINE
    return y

