"""The picture of predicted scaling: weak and strong scaling of some stencils, and what a paper published beside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from polytile.diagnostics import UsageError
from polytile.distribution.links import M2050_QDR, Cluster
from polytile.distribution.scaling import RANKS, ScalingPoint, StencilWork, strong_scaling, weak_scaling
from polytile.distribution.scaling_figures import BOX_27_M2050, PUBLISHED, STAR_7_M2050, STAR_13_M2050
from polytile.drawing.scaling.model import Beside, Curve, ScalingPicture

PAPER_PART = (256, 256, 256)  # of each rank: the sizes of the paper's example
PAPER_RANKS = 27


def picture_of(
    runs: Sequence[tuple[StencilWork, int]],
    cluster: Cluster,
    extents: Sequence[int],
    small: Sequence[int],
    ranks: Sequence[int] = RANKS,
) -> ScalingPicture:
    """Return the curves of `runs`, stencils with iterations between two exchanges.

    Weak scaling has `extents` (lines) and `small` (dashes) on each rank, strong scaling `extents` in all.
    """
    weak = []
    for part, dashed in ((extents, False), (small, True)):
        for k, (work, steps) in enumerate(runs):
            points = _points(weak_scaling, work, cluster, part, ranks, steps)
            weak.append(Curve(f"{_name(work, steps)}, {_size(part)} a rank", points, k, dashed))
    strong = []
    for k, (work, steps) in enumerate(runs):
        points = _points(strong_scaling, work, cluster, extents, ranks, steps)
        strong.append(Curve(_name(work, steps), tuple((count, count * share) for count, share in points), k))
    return ScalingPicture(
        title=f"Predicted scaling: {cluster.name}",
        facts=(f"beside one rank with the same T; strong scaling of {_size(extents)} in all",),
        weak=tuple(weak),
        strong=tuple(strong),
        beside=tuple(published_beside()),
        published="published by Zhang and Mueller (2012): weak scaling on M2050s",
        predicted=f"predicted for {PAPER_RANKS} of them, {_size(PAPER_PART)} a rank",
    )


def published_beside() -> Iterable[Beside]:
    """Return the efficiencies that the paper published for its stencils, and what is predicted for its cluster."""
    works = (STAR_7_M2050, STAR_13_M2050, BOX_27_M2050)
    for found, work in zip(PUBLISHED, works, strict=True):
        predicted = weak_scaling(work, M2050_QDR, PAPER_PART, PAPER_RANKS, 1).efficiency
        yield Beside(found.name, found.low, found.high, predicted)


def _name(work: StencilWork, steps: int) -> str:
    return f"{work.name}, T = {steps}"


def _size(extents: Sequence[int]) -> str:
    if len(set(extents)) == 1:
        return f"{extents[0]}^{len(extents)}"
    return " x ".join(map(str, extents))


def _points(
    kind: Callable[..., ScalingPoint],
    work: StencilWork,
    cluster: Cluster,
    extents: Sequence[int],
    ranks: Iterable[int],
    steps: int,
) -> tuple[tuple[int, float], ...]:
    """Predict the efficiency for each number of ranks whose parts are as thick as halos."""
    found = []
    for count in ranks:
        try:
            point = kind(work, cluster, extents, count, steps)
        except UsageError:
            continue
        found.append((count, point.efficiency))
    return tuple(found)
