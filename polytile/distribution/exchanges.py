"""Which elements are exchanged: of each array the halos that are read, of planes that take turns only those.

for (t) for (i) A[(t + 1) % 2][i] = A[t % 2][i - 1] + A[t % 2][i + 1];
    in front of step t one element at each side of plane t % 2
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import islpy as isl

from polytile.distribution.axes import CutAxis, along
from polytile.distribution.boxes import Direction, Reach, directions
from polytile.distribution.growth import Growth, widest
from polytile.distribution.plan import HaloExchange
from polytile.distribution.reads import Read
from polytile.ir.evaluate import evaluate
from polytile.ir.expr import Literal
from polytile.ir.scop import Scop

_OUT = isl.dim_type.out
MANY_PLANES = 16  # more are exchanged as a whole


def exchanges(
    scop: Scop, axes: Sequence[CutAxis], reads: Sequence[Read], growth: dict[str, Growth], steps: int, *, first: bool
) -> tuple[HaloExchange, ...]:
    """Return what is exchanged in front of each period of `steps` iterations; with `first`, of all arrays, what is read
    before it is written, too."""
    found = []
    for array in scop.arrays:
        own = [r for r in reads if r.access.array == array.name and (r.from_earlier_steps or (first and r.unset))]
        far = [(r, reach) for r in own if any(map(any, reach := r.reach(growth[r.statement][steps - 1])))]
        if not far:
            continue
        total = far[0][1]
        for _, reach in far[1:]:
            total = widest(total, reach)
        plane = None if first else plane_dimension(scop, axes, [r for r, _ in far])
        residues = () if plane is None else _planes(scop, [r for r, _ in far], plane, steps)
        found.append(HaloExchange(array.name, _directions(reach for _, reach in far), total, plane, residues))
    return tuple(found)


def _directions(reaches: Iterable[Sequence[Reach]]) -> tuple[Direction, ...]:
    """Return the neighbours from which something is read: no corners where each read goes along one axis alone."""
    found = {
        d
        for reach in reaches
        for d in directions(len(reach))
        if all(side == 0 or along[side > 0] for side, along in zip(d, reach, strict=True))
    }
    return tuple(sorted(found))


def plane_dimension(scop: Scop, axes: Sequence[CutAxis], reads: Sequence[Read]) -> int | None:
    """Return the dimension of an array that no axis cuts, with few indices, of which each step reads one that is known
    to be there: 0 for `A[t % 2][i][j]`."""
    array = scop.array(reads[0].access.array)
    for dimension, extent in enumerate(array.extents):
        cut = any(axis.dimensions.get(array.name) == dimension for axis in axes)
        if cut or not isinstance(extent, Literal) or evaluate(extent, {}) > MANY_PLANES:
            continue
        there = isl.Set(f"{{ [p] : 0 <= p < {evaluate(extent, {})} }}")  # `-1 % 2` is -1: a first step may be negative
        found = [_by_step(scop, read, dimension) for read in reads]
        if all(by_step.is_single_valued() and by_step.range().is_subset(there) for by_step in found):
            return dimension
    return None


def _by_step(scop: Scop, read: Read, dimension: int) -> isl.Map:
    """Return which plane a step reads: `{ [t] -> [t mod 2] }`."""
    statement = scop.statement(read.statement)
    planes = along(read.access.relation.intersect_domain(statement.domain), dimension)
    return planes.project_out(isl.dim_type.in_, 1, planes.dim(isl.dim_type.in_) - 1).reset_tuple_id(isl.dim_type.in_)


def _planes(scop: Scop, reads: Sequence[Read], dimension: int, steps: int) -> tuple[tuple[int, ...], ...]:
    """Return the planes of which a period reads what was written before it.

    They are listed by the first step of the period modulo the number of planes.
    """
    extent = scop.array(reads[0].access.array).extents[dimension]
    assert extent is not None
    modulus = evaluate(extent, {})
    found: list[set[int]] = [set() for _ in range(modulus)]
    for read in reads:
        most = max((steps if s.steps[1] is None else s.steps[1] for s in read.sources), default=steps)
        by_step = _by_step(scop, read, dimension)
        for later in range(min(steps, max(most, 1))):
            for residue in range(modulus):
                start = isl.Map(f"{{ [s] -> [t] : t = s + {later} and (s - {residue}) mod {modulus} = 0 }}")
                found[residue] |= _values(start.apply_range(by_step).range())
    # Messages are made once: where periods read different numbers of planes, each gets those that any of them reads.
    same = {len(planes) for planes in found} == {len(found[0])}
    return tuple(tuple(sorted(planes if same else set[int]().union(*found))) for planes in found)


def _values(points: isl.Set) -> set[int]:
    """Enumerate the integers in a bounded set, whatever the parameters."""
    every = points.project_out(isl.dim_type.param, 0, points.dim(isl.dim_type.param))
    found: set[int] = set()
    every.foreach_point(lambda p: found.add(p.get_coordinate_val(isl.dim_type.set, 0).to_python()))
    return found
