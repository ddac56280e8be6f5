"""Predictions of scaling: no better than ideal, one rank is the kernels alone, and what makes links faster helps."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytile.distribution.boxes import grown, volume
from polytile.distribution.links import CLUSTERS, H200_NDR, LINKS, Cluster, Device, Link, route_seconds
from polytile.distribution.planner import distribute
from polytile.distribution.process_grid import ProcessGrid
from polytile.distribution.scaling import (
    KernelRate,
    StencilWork,
    one_rank,
    rank_period,
    scaling_table,
    some_ranks,
    strong_scaling,
    weak_scaling,
)
from polytile.distribution.scaling_figures import BOX_27, PUBLISHED, STAR_7, STAR_13_M2050
from polytile.distribution.transfers import ExchangeMode, rounds
from tests.reading import BENCHMARKS, read_once

MODES = pytest.mark.parametrize("mode", ExchangeMode)
seconds = st.floats(1e-12, 1e-3)
rates = st.floats(1e6, 1e13)


@st.composite
def works(draw: st.DrawFn) -> StencilWork:
    axes = draw(st.integers(1, 3))
    reach = draw(st.tuples(*[st.tuples(st.integers(0, 2), st.integers(0, 2))] * axes))
    kernels = (KernelRate(1, draw(seconds), ""), KernelRate(2, draw(seconds), ""))
    return StencilWork("any", reach, draw(st.booleans()), draw(st.sampled_from((4, 8))), kernels)


links = st.builds(Link, st.just("any"), rates, seconds, st.integers(1, 8), st.just(""))
clusters = st.builds(
    Cluster,
    st.just("any"),
    st.builds(Device, st.just("any"), rates, st.floats(0, 1e-3), st.just("")),
    st.integers(1, 8),
    st.lists(links, min_size=1, max_size=2).map(tuple),
    st.lists(links, min_size=1, max_size=3).map(tuple),
)
modes = st.sampled_from(ExchangeMode)
some = settings(max_examples=60, deadline=None)


@some
@given(works(), clusters, st.sampled_from((1, 2, 3, 5, 6, 8, 12)), st.integers(1, 4), modes)
def test_no_efficiency_is_above_one(
    work: StencilWork, cluster: Cluster, ranks: int, steps: int, mode: ExchangeMode
) -> None:
    extents = tuple(97 + k for k in range(len(work.reach)))
    for kind in (weak_scaling, strong_scaling):
        point = kind(work, cluster, extents, ranks, steps, mode)
        assert 0 < point.efficiency <= 1 + 1e-9
        assert point.ranks == ranks and point.steps == steps
        assert point.seconds == point.slowest.seconds / steps


@some
@given(works(), clusters, st.integers(1, 4), modes)
def test_one_rank_takes_the_time_of_its_kernels(
    work: StencilWork, cluster: Cluster, steps: int, mode: ExchangeMode
) -> None:
    extents = tuple(40 + k for k in range(len(work.reach)))
    kernel, cells = work.kernel(steps), volume(tuple((0, extent) for extent in extents))
    launches = steps // kernel.steps
    expected = (launches * cluster.device.launch + steps * cells * kernel.cell) / steps
    assert one_rank(work, cluster, extents, steps) == pytest.approx(expected, rel=1e-9)
    for kind in (weak_scaling, strong_scaling):
        point = kind(work, cluster, extents, 1, steps, mode)
        assert point.seconds == pytest.approx(expected) and point.efficiency == pytest.approx(1)
        assert (point.slowest.messages, point.slowest.bytes, point.slowest.cells) == (0, 0, steps * cells)


@some
@given(works(), clusters, st.sampled_from((2, 6, 8)), st.integers(1, 3), modes, st.floats(1, 100))
def test_more_bandwidth_is_never_slower(
    work: StencilWork, cluster: Cluster, ranks: int, steps: int, mode: ExchangeMode, factor: float
) -> None:
    def faster(route: tuple[Link, ...]) -> tuple[Link, ...]:
        return tuple(replace(link, rate=factor * link.rate) for link in route)

    device = replace(cluster.device, bandwidth=factor * cluster.device.bandwidth)
    quick = replace(cluster, device=device, within=faster(cluster.within), between=faster(cluster.between))
    extents = tuple(64 + k for k in range(len(work.reach)))
    for kind in (weak_scaling, strong_scaling):
        slow, fast = (kind(work, each, extents, ranks, steps, mode).seconds for each in (cluster, quick))
        assert fast <= slow * (1 + 1e-12)


@MODES
def test_iterations_between_exchanges_share_the_latency(mode: ExchangeMode) -> None:
    """Where bytes cost nothing an exchange takes the same for any number of iterations, and messages fall as 1 / T."""
    link = Link("no bytes", inf, 1e-5, 2, "")
    cluster = Cluster("latency", Device("any", inf, 0.0, ""), 1, (link,), (link,))
    grid = ProcessGrid((3, 3, 3), (60, 60, 60))
    found = [rank_period(replace(BOX_27, kernels=BOX_27.kernels[:1]), cluster, grid, 13, t, mode) for t in (1, 2, 3, 5)]
    assert len({period.exchange for period in found}) == len({period.messages for period in found}) == 1
    assert found[0].messages == (6 if mode is ExchangeMode.BASIC else 26)
    assert [p.exchange / t for p, t in zip(found, (1, 2, 3, 5), strict=True)] == sorted(
        (p.exchange / t for p, t in zip(found, (1, 2, 3, 5), strict=True)), reverse=True
    )


@some
@given(works(), st.integers(1, 4), modes)
def test_a_period_counts_what_a_rank_sends_and_computes(work: StencilWork, steps: int, mode: ExchangeMode) -> None:
    axes = len(work.reach)
    grid = ProcessGrid((2, 3, 2)[:axes], (29, 31, 37)[:axes])
    for rank in range(grid.ranks):
        period = rank_period(work, H200_NDR, grid, rank, steps, mode)
        messages = [t for each in rounds(grid, rank, (work.exchange(steps),), mode) for t in each]
        sent = sum(volume(b.box) for t in messages for b in t.sends)
        assert period.messages == len(messages) and period.bytes >= work.element * sent
        one = work.kernel(steps)
        later = (steps - k for k in range(one.steps, steps + 1, one.steps))
        boxes = (grown(grid.owned(rank), work.halo(after), grid.extents) for after in later)
        assert period.cells == one.steps * sum(map(volume, boxes))
        assert period.overlapped == (mode is ExchangeMode.OVERLAP and bool(messages))
        both = max(period.interior, period.exchange) if period.overlapped else period.interior + period.exchange
        assert period.seconds == period.steps + period.boundary + period.pack + both + period.unpack


@pytest.mark.slow(but=("7pt-2", "27pt-1"))
@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "work"), [("7pt", STAR_7), ("13pt", STAR_13_M2050), ("27pt", BOX_27)], ids=["7pt", "13pt", "27pt"]
)
def test_halos_and_neighbours_are_those_of_plans(name: str, work: StencilWork, steps: int) -> None:
    (scop,) = read_once(str(BENCHMARKS / "cluster" / f"stencil-{name}.c")).scops
    plan = distribute(scop, steps)
    (exchange,) = plan.between
    assert exchange.reach == plan.halo == plan.boundary == work.halo(steps)
    assert {*exchange.directions} == {*work.exchange(steps).directions}
    grown = [[tuple(later * reach for reach in side) for side in work.reach] for later in range(steps)]
    assert [list(growth) for phase in plan.phases for growth in phase.growth] == grown


def test_the_fastest_kernel_whose_launches_make_up_a_period() -> None:
    assert [STAR_7.kernel(t).steps for t in (1, 2, 3, 4, 6, 8)] == [1, 1, 1, 4, 1, 4]


def test_some_ranks_are_the_last_and_one_with_all_neighbours() -> None:
    grid = ProcessGrid((4, 1, 3), (10, 10, 10))
    found = list(some_ranks(grid))
    assert len(found) == len(set(found)) == 9 and grid.ranks - 1 in found
    assert max(map(grid.neighbours, found)) == max(map(grid.neighbours, range(grid.ranks)))


def test_messages_wait_together_and_share_the_rate() -> None:
    link = Link("any", 1e9, 1e-6, 4, "")
    assert link.seconds(4, 0) == 1e-6 and link.seconds(5, 0) == 2e-6
    assert link.seconds(1, 1000) == pytest.approx(2e-6)
    assert route_seconds((link, link), 1, 1000) == pytest.approx(4e-6)
    assert route_seconds((link,), 0, 0) == 0


def test_within_a_host_messages_take_its_links() -> None:
    fast, slow = Link("fast", 1e12, 1e-6, 1, ""), Link("slow", 1e9, 1e-5, 1, "")
    cluster = Cluster("two a host", Device("any", 1e12, 0.0, ""), 2, (fast,), (slow,))
    grid = ProcessGrid((4,), (400,))
    work = StencilWork("any", ((1, 1),), False, 8, (KernelRate(1, 1e-9, ""),))
    assert rank_period(work, cluster, grid, 0, 1).exchange == fast.seconds(1, 8)
    assert rank_period(work, cluster, grid, 1, 1).exchange == slow.seconds(1, 8)


def test_figures_have_sources() -> None:
    assert all(link.source and link.rate > 1e9 and 0 < link.latency < 1e-4 for link in LINKS)
    assert all(c.device.source and {*c.within, *c.between} <= set(LINKS) for c in CLUSTERS)
    assert all(kernel.source for work in (STAR_7, BOX_27) for kernel in work.kernels)
    assert all(0 < p.low <= p.high < 1 and "CGO 2012" in p.source for p in PUBLISHED)


def test_a_table_has_a_row_for_each_number_of_ranks_and_says_where_parts_are_too_thin() -> None:
    text = scaling_table(STAR_7, H200_NDR, (64, 64, 64), ranks=(1, 8, 4096), steps=(1, 4))
    weak, strong = text.split("\n\nStrong")[0].splitlines(), text.splitlines()[-3:]
    assert weak[0] == "Weak scaling, 64 x 64 x 64 on each rank: 7 points, 8 H200 a host, NVLink 4, InfiniBand NDR"
    assert [line.split(" | ")[0] for line in strong] == ["| 1", "| 8", "| 4096"]
    assert strong[0].count("100.0%") == 2 and strong[2].startswith("| 4096 | 16 x 16 x 16 |")
    assert scaling_table(STAR_7, H200_NDR, (64, 64, 64), (4096,), (8,)).endswith("| 4096 | - | - | - |\n")
