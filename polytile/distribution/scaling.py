"""How fast a stencil runs on many ranks, predicted from the time of its kernels, its messages, and the links.

A period of T iterations on one rank, halos wide enough for T:

    for each launch but the last: the cells of the owned box and of what later iterations read around it
    boundary | pack | messages, behind the interior | unpack

so that it takes steps + boundary + pack + max(interior, exchange) + unpack. docs/distribution.md has the assumptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.distribution.boxes import Box, Reach, boundary_and_interior, directions, grown, volume
from polytile.distribution.links import Cluster, route_seconds
from polytile.distribution.plan import HaloExchange
from polytile.distribution.process_grid import ProcessGrid, choose_grid
from polytile.distribution.transfers import ExchangeMode, Transfer, rounds


@dataclass(frozen=True, slots=True)
class KernelRate:
    """A kernel of some iterations a launch: seconds for a cell and iteration, and where the figure is from."""

    steps: int
    cell: float
    source: str


@dataclass(frozen=True, slots=True)
class StencilWork:
    """A stencil that makes one array of another: how far one iteration reads, at `corners` too (a box) or not (a star),
    the bytes of an element, and its kernels, one of a single iteration among them."""

    name: str
    reach: tuple[Reach, ...]
    corners: bool
    element: int
    kernels: tuple[KernelRate, ...]

    def kernel(self, steps: int) -> KernelRate:
        """Return the fastest kernel whose launches make up a period of so many iterations."""
        return min((k for k in self.kernels if steps % k.steps == 0), key=lambda k: k.cell)

    def halo(self, steps: int) -> tuple[Reach, ...]:
        """Return how far so many iterations read."""
        return tuple((steps * below, steps * above) for below, above in self.reach)

    def exchange(self, steps: int) -> HaloExchange:
        """Return the halos of a period: boxes of later iterations have corners, so that a star reads neighbours at
        edges and corners, too, from two iterations on."""
        every = directions(len(self.reach))
        near = every if self.corners or steps > 1 else (d for d in every if sum(map(abs, d)) == 1)
        return HaloExchange(self.name, tuple(near), self.halo(steps))


@dataclass(frozen=True, slots=True)
class Period:
    """The seconds of the parts of a period on one rank, what it sends, and how many cells it computes in all."""

    steps: float  # launches before the last one
    boundary: float
    pack: float
    exchange: float
    interior: float
    unpack: float
    overlapped: bool  # messages go on while the interior is computed
    messages: int
    bytes: int
    cells: int

    @property
    def seconds(self) -> float:
        """How long the period takes."""
        both = max(self.interior, self.exchange) if self.overlapped else self.interior + self.exchange
        return self.steps + self.boundary + self.pack + both + self.unpack


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """A prediction for some ranks: seconds an iteration on the slowest rank, and the share of the ideal speed."""

    grid: ProcessGrid
    steps: int
    seconds: float
    efficiency: float
    slowest: Period

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return self.grid.ranks


def rank_period(
    work: StencilWork,
    cluster: Cluster,
    grid: ProcessGrid,
    rank: int,
    steps: int,
    mode: ExchangeMode = ExchangeMode.OVERLAP,
) -> Period:
    """Return the parts of a period of `steps` iterations on one rank."""
    kernel, owned = work.kernel(steps), grid.owned(rank)
    exchanged = rounds(grid, rank, (work.exchange(steps),), mode)
    overlapped = mode is ExchangeMode.OVERLAP and bool(exchanged)
    sides = _inner_sides(grid, rank, work.halo(steps)) if overlapped else ((0, 0),) * len(owned)
    slabs, interior = boundary_and_interior(owned, sides)
    later = range(steps - kernel.steps, 0, -kernel.steps)
    early = [grown(owned, work.halo(after), grid.extents) for after in later]
    sent = [(len(each), _bytes(each, work.element)) for each in exchanged]
    packing = sum(_packed(cluster, messages, size) for messages, size in sent)
    return Period(
        steps=_computed(cluster, early, kernel),
        boundary=_computed(cluster, slabs, kernel),
        pack=packing,
        exchange=sum(_exchanged(cluster, rank, each, work.element) for each in exchanged),
        interior=_computed(cluster, [interior], kernel),
        unpack=packing,
        overlapped=overlapped,
        messages=sum(messages for messages, _ in sent),
        bytes=sum(size for _, size in sent),
        cells=kernel.steps * sum(map(volume, (*early, *slabs, interior))),
    )


def _inner_sides(grid: ProcessGrid, rank: int, halo: Sequence[Reach]) -> tuple[Reach, ...]:
    """Compute how thick the parts are that a rank sends from, at each side with a neighbour."""
    places = zip(grid.coordinates(rank), grid.shape, halo, strict=True)
    # what lies above a neighbour's part, at the side of the lower positions, is its halo `above`
    return tuple((above if at > 0 else 0, below if at + 1 < parts else 0) for at, parts, (below, above) in places)


def _computed(cluster: Cluster, boxes: Sequence[Box], kernel: KernelRate) -> float:
    """Compute the seconds of a launch for each box."""
    launches = sum(volume(box) > 0 for box in boxes)
    return launches * cluster.device.launch + kernel.steps * kernel.cell * sum(map(volume, boxes))


def _bytes(transfers: Sequence[Transfer], element: int) -> int:
    """Compute the bytes that go one way: those that are sent or those that are received, whichever are more."""
    sent = sum(volume(b.box) for t in transfers for b in t.sends)
    return element * max(sent, sum(volume(b.box) for t in transfers for b in t.receives))


def _packed(cluster: Cluster, messages: int, size: int) -> float:
    """Compute the seconds of a launch for each message, in which each byte is read and written."""
    return messages * cluster.device.launch + 2 * size / cluster.device.bandwidth


def _exchanged(cluster: Cluster, rank: int, transfers: Sequence[Transfer], element: int) -> float:
    """Compute the seconds of one round: messages within a host and those between hosts overlap."""
    near = [t for t in transfers if cluster.same_host(rank, t.neighbour)]
    far = [t for t in transfers if not cluster.same_host(rank, t.neighbour)]
    each = ((cluster.within, near), (cluster.between, far))
    return max(route_seconds(route, len(found), _bytes(found, element)) for route, found in each)


def predict(
    work: StencilWork,
    cluster: Cluster,
    grid: ProcessGrid,
    steps: int,
    alone: float,
    mode: ExchangeMode = ExchangeMode.OVERLAP,
) -> ScalingPoint:
    """Return the prediction for a grid; `alone` are the seconds that the ideal takes for an iteration."""
    periods = (rank_period(work, cluster, grid, rank, steps, mode) for rank in some_ranks(grid))
    slowest = max(periods, key=lambda period: period.seconds)
    seconds = slowest.seconds / steps
    return ScalingPoint(grid, steps, seconds, alone / seconds, slowest)


def some_ranks(grid: ProcessGrid) -> Iterator[int]:
    """Return ranks at corners, at sides and inside, one of each: the last part of an axis is no smaller than another,
    and one with neighbours at both sides is there for each axis that has one."""
    along = (sorted({0, parts // 2, parts - 1}) for parts in grid.shape)
    return (grid.rank(at) for at in product(*along))


def one_rank(work: StencilWork, cluster: Cluster, extents: Sequence[int], steps: int) -> float:
    """Return the seconds of an iteration on a single rank: kernels alone."""
    grid = ProcessGrid((1,) * len(extents), tuple(extents))
    return rank_period(work, cluster, grid, 0, steps).seconds / steps


def weak_scaling(
    work: StencilWork,
    cluster: Cluster,
    part: Sequence[int],
    ranks: int,
    steps: int,
    mode: ExchangeMode = ExchangeMode.OVERLAP,
) -> ScalingPoint:
    """Return the prediction for `part` positions on each rank; the ideal takes as long as one rank.

    The grid is that of a domain which grows along all axes alike. Raises UsageError where parts are thinner than halos.
    """
    names = tuple(f"axis {k}" for k in range(len(part)))
    halo = work.halo(steps)
    shape = choose_grid(ranks, [ranks * extent for extent in part], halo, names).shape
    grid = ProcessGrid(shape, tuple(parts * extent for parts, extent in zip(shape, part, strict=True)))
    grid.check(halo, names)
    return predict(work, cluster, grid, steps, one_rank(work, cluster, part, steps), mode)


def strong_scaling(
    work: StencilWork,
    cluster: Cluster,
    extents: Sequence[int],
    ranks: int,
    steps: int,
    mode: ExchangeMode = ExchangeMode.OVERLAP,
) -> ScalingPoint:
    """Return the prediction for `extents` positions in all; the ideal takes the `ranks`-th part of one rank's time.

    Raises UsageError where parts would be thinner than halos.
    """
    names = tuple(f"axis {k}" for k in range(len(extents)))
    grid = choose_grid(ranks, extents, work.halo(steps), names)
    return predict(work, cluster, grid, steps, one_rank(work, cluster, extents, steps) / ranks, mode)


RANKS = tuple(1 << k for k in range(13))


def scaling_table(
    work: StencilWork,
    cluster: Cluster,
    extents: Sequence[int],
    ranks: Sequence[int] = RANKS,
    steps: Sequence[int] = (1, 2, 4),
    mode: ExchangeMode = ExchangeMode.OVERLAP,
) -> str:
    """Return weak scaling (`extents` on each rank) and strong scaling (`extents` in all) as tables in Markdown.

    A row has, for each number of iterations between two exchanges, microseconds an iteration and the efficiency.
    """
    size = " x ".join(map(str, extents))
    kinds = ((f"Weak scaling, {size} on each rank", weak_scaling), (f"Strong scaling, {size} in all", strong_scaling))
    head = ["ranks", "grid", *(f"T = {t}, us | efficiency" for t in steps)]
    rule = ["---:"] * (2 + 2 * len(steps))
    parts = []
    for title, kind in kinds:
        rows = [_row(n, [_where_it_fits(kind, work, cluster, extents, n, t, mode) for t in steps]) for n in ranks]
        lines = [f"| {' | '.join(head)} |", f"| {' | '.join(rule)} |", *rows]
        parts.append(f"{title}: {work.name}, {cluster.name}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _where_it_fits(kind: Callable[..., ScalingPoint], *arguments: object) -> ScalingPoint | None:
    """Return the prediction, or None where parts would be thinner than halos."""
    try:
        return kind(*arguments)
    except UsageError:
        return None


def _row(ranks: int, points: Sequence[ScalingPoint | None]) -> str:
    grids = dict.fromkeys(" x ".join(map(str, p.grid.shape)) for p in points if p)
    cells = (f"{1e6 * p.seconds:.4g} | {100 * p.efficiency:.1f}%" if p else "- | -" for p in points)
    return f"| {ranks} | {', '.join(grids) or '-'} | {' | '.join(cells)} |"
