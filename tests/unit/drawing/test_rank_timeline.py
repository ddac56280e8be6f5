"""Timelines of ranks have a bar for each interval, as long as it took, kernels above messages."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytile.distribution.links import H200_NDR
from polytile.distribution.process_grid import ProcessGrid
from polytile.distribution.scaling import rank_period
from polytile.distribution.scaling_figures import STAR_7
from polytile.distribution.timeline import (
    Interval,
    IntervalKind,
    TimelineRow,
    intervals_of,
    measured_row,
    predicted_rows,
)
from polytile.distribution.transfers import ExchangeMode
from polytile.drawing.rank_timeline import BELOW, COLOURS, WIDTH, duration, lower_kinds, summary, to_svg
from polytile.drawing.svg import document

SVG = "{http://www.w3.org/2000/svg}"
K = IntervalKind
MEASURED = (
    TimelineRow(
        0, (Interval(K.STEPS, 5.0, 5.4), Interval(K.BOUNDARY, 5.4, 5.5), Interval(K.PACK, 5.5, 5.6),
            Interval(K.EXCHANGE, 5.6, 6.4), Interval(K.INTERIOR, 5.6, 6.2), Interval(K.WAIT, 6.2, 6.4),
            Interval(K.UNPACK, 6.4, 6.5)),
    ),
    TimelineRow(3, (Interval(K.INTERIOR, 5.2, 7.0),)),
)  # fmt: skip
starts = st.floats(0, 1e3)
intervals = st.builds(lambda kind, start, took: Interval(kind, start, start + took), st.sampled_from(K), starts, starts)
rows = st.lists(st.builds(TimelineRow, st.integers(0, 99), st.lists(intervals, max_size=6).map(tuple)), max_size=4)


def root(made: tuple[TimelineRow, ...] | list[TimelineRow]) -> ElementTree.Element:
    return ElementTree.fromstring(document([to_svg("ranks", ["facts"], made)]))


def bars(svg: ElementTree.Element) -> list[tuple[str, dict[str, str]]]:
    """The tip of each bar, and its rectangle."""
    groups = svg.findall(f"{SVG}g")
    return [(group.findtext(f"{SVG}title", ""), group.find(f"{SVG}rect").attrib) for group in groups]  # type: ignore[union-attr]


def test_a_bar_for_each_interval_as_long_as_it_took() -> None:
    found = bars(root(MEASURED))
    every = [i for row in MEASURED for i in row.intervals]
    assert [tip for tip, _ in found] == [f"{i.kind}: {duration(i.end - i.start)}" for i in every]
    for (_, bar), interval in zip(found, every, strict=True):
        assert float(bar["width"]) == pytest.approx((interval.end - interval.start) / 2 * WIDTH, abs=0.01)
        assert bar["fill"] == COLOURS[interval.kind]
    left = min(float(bar["x"]) for _, bar in found)
    assert [float(bar["x"]) for _, bar in found] == pytest.approx(
        [left + (i.start - 5) / 2 * WIDTH for i in every], abs=0.01
    )


def test_messages_are_below_kernels_and_rows_below_each_other() -> None:
    found = [bar for _, bar in bars(root(MEASURED))]
    first, second = MEASURED[0].intervals, found[len(MEASURED[0].intervals)]
    kernels = [bar for bar, i in zip(found, first, strict=False) if i.kind not in BELOW]
    messages = [bar for bar, i in zip(found, first, strict=False) if i.kind in BELOW]
    assert len({bar["y"] for bar in kernels}) == len({bar["y"] for bar in messages}) == 1
    below = float(messages[0]["y"])
    assert float(kernels[0]["y"]) + float(kernels[0]["height"]) <= below
    assert below + float(messages[0]["height"]) <= float(second["y"])


def test_a_boundary_beside_the_interior_is_below_with_its_messages() -> None:
    spans = [("steps", 0, 2), ("boundary", 2, 3), ("pack", 3, 4), ("interior", 2, 8), ("wait", 8, 9), ("unpack", 9, 10)]
    row = measured_row(2, spans)
    assert lower_kinds(row) == (K.EXCHANGE, K.WAIT, K.BOUNDARY, K.PACK) and lower_kinds(MEASURED[0]) == BELOW
    assert [i for i in row.intervals if i.kind is K.EXCHANGE] == [Interval(K.EXCHANGE, 4, 9)]
    assert row.hidden() == pytest.approx(4 / 5)
    tops = {tip.partition(":")[0]: float(bar["y"]) for tip, bar in bars(root([row]))}
    assert tops["steps"] == tops["interior"] == tops["unpack"] < tops["boundary"] == tops["pack"] == tops["exchange"]


def test_measured_exchanges_end_with_the_wait_behind_their_packing() -> None:
    spans = [(k, t + 10 * p, t + 10 * p + 1) for p in range(2) for t, k in enumerate(("pack", "wait", "unpack"))]
    exchanges = [i for i in measured_row(0, spans).intervals if i.kind is K.EXCHANGE]
    assert exchanges == [Interval(K.EXCHANGE, 1, 2), Interval(K.EXCHANGE, 11, 12)]
    assert not any(i.kind is K.EXCHANGE for i in measured_row(0, [("interior", 0, 1), ("wait", 1, 2)]).intervals)


def test_words_name_ranks_times_and_what_is_hidden() -> None:
    words = [element.text for element in root(MEASURED).iter(f"{SVG}text")]
    assert {"rank 0", "rank 3", "time in s", "interior 600 ms", "1.5 s, 75% of messages hidden", "1.8 s"} <= {*words}
    assert "interior: the rest of the owned box; 1.2 s a rank" in words
    assert not any(word and word.startswith("unpack: ") and "boundary" in word for word in words)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_any_rows_make_a_picture(made: list[TimelineRow]) -> None:
    svg = root(made)
    wide, high = float(svg.attrib["width"]), float(svg.attrib["height"])
    assert len(bars(svg)) == sum(len(row.intervals) for row in made)
    for _, bar in bars(svg):
        assert 0 <= float(bar["x"]) <= float(bar["x"]) + float(bar["width"]) <= wide
        assert 0 <= float(bar["y"]) <= float(bar["y"]) + float(bar["height"]) <= high


def test_durations_have_three_digits() -> None:
    said = [duration(s) for s in (0, 2.5e-9, 4.3e-6, 0.0056312, 0.999, 1, 61.28)]
    assert said == ["0 s", "2.5 ns", "4.3 µs", "5.63 ms", "999 ms", "1 s", "61.3 s"]


@pytest.mark.parametrize("mode", ExchangeMode)
def test_predicted_rows_take_as_long_as_the_prediction(mode: ExchangeMode) -> None:
    grid = ProcessGrid((2, 2, 2), (200, 200, 200))
    for row in predicted_rows(STAR_7, H200_NDR, grid, (0, 5), 3, mode):
        period = rank_period(STAR_7, H200_NDR, grid, row.rank, 3, mode)
        assert row.intervals == intervals_of(period)
        assert max(i.end for i in row.intervals) == pytest.approx(period.seconds)
        alone = [i for i in row.intervals if i.kind is not IntervalKind.EXCHANGE]
        assert all(a.end <= b.start + 1e-12 for a, b in pairwise(alone))
        share = min(1.0, period.interior / period.exchange) if period.overlapped else 0.0
        assert row.hidden() == pytest.approx(share)


def test_a_rank_without_messages_hides_none() -> None:
    (row,) = predicted_rows(STAR_7, H200_NDR, ProcessGrid((1, 1, 1), (50, 50, 50)), (0,), 2)
    assert {i.kind for i in row.intervals} == {IntervalKind.STEPS, IntervalKind.INTERIOR}
    assert row.hidden() is None and "hidden" not in summary(row)
