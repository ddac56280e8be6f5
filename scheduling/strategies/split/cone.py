"""The cone of dependences: how fast what a point depends on, or what depends on it, spreads along one dimension.

before: S0 -> S1: 0 steps, -1..1;  S1 -> S0: 1 step, -1..1      (jacobi-1d: two half steps)
after:  lower: slope 2 a step, offsets S0: 0, S1: 1; upper: the same

For every dependence over dt steps and dx places, on the lower side slope * dt + offset[sink] - offset[source] >= dx; on
the upper side the same with -dx. The slope is the greatest ratio of sum(dx) to sum(dt) of a cycle, which rounds of the
Bellman-Ford algorithm find; offsets are the longest paths then. One slope for a folded time t' = k t + l, as in section
3 of the paper, is legal too, but wider (fdtd-2d: 2 places a step instead of 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil

from polytile.dataclass import dataclass
from polytile.scheduling.analysis.stencil_form import Distance, StencilForm


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a cone: places a step, and an offset for each statement; none is negative."""

    slope: Fraction
    offsets: Mapping[str, Fraction]

    @property
    def most(self) -> Fraction:
        """Return the largest offset."""
        return max(self.offsets.values())


@dataclass(frozen=True, slots=True)
class Cone:
    """The sides of a cone along one dimension."""

    lower: Side
    upper: Side


class NoConeError(Exception):
    """There is no cone: a dependence goes any distance along a dimension, or between places within one step."""

    def __init__(self, source: str, sink: str, dimension: int, *, unbounded: bool) -> None:
        super().__init__(f"{source} -> {sink} along dimension {dimension}")
        self.source, self.sink, self.dimension, self.unbounded = source, sink, dimension, unbounded


def cones(form: StencilForm) -> tuple[Cone, ...]:
    """Compute the cone along each dimension; raises NoConeError."""
    return tuple(
        Cone(*(_side(form.names, form.distances, k, upper=upper) for upper in (False, True))) for k in range(form.dims)
    )


def whole_cones(form: StencilForm, found: Sequence[Cone]) -> tuple[Cone, ...]:
    """Round the cones' slopes up to whole numbers, with the least offsets for those.

    They are wider by less than a place a step. Offsets are whole then, too.
    """
    return tuple(Cone(*(_whole(form, k, cone, upper=upper) for upper in (False, True))) for k, cone in enumerate(found))


def _whole(form: StencilForm, dimension: int, cone: Cone, *, upper: bool) -> Side:
    side = cone.upper if upper else cone.lower
    if side.slope.denominator == 1:
        return side
    slope = Fraction(ceil(side.slope))
    offsets, cycle = _longest_paths(form.names, _edges(form.distances, dimension, upper=upper), slope)
    assert not cycle
    return Side(slope, offsets)


@dataclass(frozen=True, slots=True)
class _Edge:
    source: str
    sink: str
    steps: int
    places: int


def _edges(distances: Sequence[Distance], dimension: int, *, upper: bool) -> list[_Edge]:
    edges = []
    for d in distances:
        reach = d.low[dimension] if upper else d.high[dimension]
        if reach is None:
            raise NoConeError(d.source, d.sink, dimension, unbounded=True)
        edges.append(_Edge(d.source, d.sink, d.steps, -reach if upper else reach))
    return edges


def _side(names: Sequence[str], distances: Sequence[Distance], dimension: int, *, upper: bool) -> Side:
    edges = _edges(distances, dimension, upper=upper)
    slope = Fraction(0)
    while True:
        offsets, cycle = _longest_paths(names, edges, slope)
        if not cycle:
            return Side(slope, offsets)
        steps = sum(edge.steps for edge in cycle)
        if steps == 0:
            raise NoConeError(cycle[0].source, cycle[0].sink, dimension, unbounded=False)
        slope = Fraction(sum(edge.places for edge in cycle), steps)


def _longest_paths(
    names: Sequence[str], edges: Sequence[_Edge], slope: Fraction
) -> tuple[dict[str, Fraction], list[_Edge]]:
    """Compute the least offsets that keep all edges at a slope (Bellman-Ford), or a cycle of edges that none keep."""
    offsets = dict.fromkeys(names, Fraction(0))
    last: dict[str, _Edge] = {}
    raised: str | None = None
    for _ in range(len(offsets) + 1):
        raised = None
        for edge in edges:
            wanted = offsets[edge.source] + edge.places - slope * edge.steps
            if wanted > offsets[edge.sink]:
                offsets[edge.sink], last[edge.sink], raised = wanted, edge, edge.sink
        if raised is None:
            return offsets, []
    assert raised is not None
    for _ in names:  # from here back, one comes onto the cycle
        raised = last[raised].source
    cycle = [last[raised]]
    while cycle[-1].source != raised:
        cycle.append(last[cycle[-1].source])
    return offsets, cycle
