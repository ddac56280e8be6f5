"""What statements read of cut arrays: how far from where they run, and how many steps ago it was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polytile.dataclass import dataclass
from polytile.distribution.axes import CutAxis, bounds
from polytile.distribution.boxes import Reach
from polytile.distribution.time_loop import step_distances
from polytile.ir.isl_util import maps
from polytile.ir.scop import AccessKind, AccessRelation, Scop, Statement

_IN = isl.dim_type.in_


@dataclass(frozen=True, slots=True)
class Source:
    """A statement whose values a read sees, written `steps` iterations of the time loop before: the fewest, and the
    most, None for any number."""

    statement: str
    steps: tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class Read:
    """One access of one statement to an array that is cut.

    `offsets` are, for each axis, the least and greatest distance from the position of an instance to what it reads;
    None where the axis does not cut the array. `unset` says whether values from before the SCoP may be read.
    """

    statement: str
    access: AccessRelation
    offsets: tuple[tuple[int, int] | None, ...]
    sources: tuple[Source, ...]
    unset: bool

    def reach(self, growth: Sequence[Reach]) -> tuple[Reach, ...]:
        """Return how far beyond a box this reads when its statement runs on the box and `growth` around it."""
        return tuple(
            (0, 0) if offset is None else (max(0, below - offset[0]), max(0, above + offset[1]))
            for (below, above), offset in zip(growth, self.offsets, strict=True)
        )

    @property
    def from_earlier_steps(self) -> bool:
        """Whether it may see what an earlier iteration of the time loop has written."""
        return any(most is None or most > 0 for _, most in (s.steps for s in self.sources))


Flow = Mapping[str, tuple[isl.UnionMap, isl.UnionMap]]  # by array: pairs of writers and readers, and reads without one


def find_reads(scop: Scop, axes: Sequence[CutAxis], flow: Flow, *, timed: bool) -> tuple[Read, ...]:
    """Return the reads of arrays that some axis cuts, those of equal distances and sources joined."""
    found: dict[object, Read] = {}
    for statement in scop.statements:
        for access in statement.relations(AccessKind.READ):
            if any(access.array in axis.dimensions for axis in axes):
                read = _read(scop, statement, access, axes, flow[access.array], timed=timed)
                key = (read.statement, access.array, read.offsets, read.sources, read.unset, str(access.relation))
                found.setdefault(key, read)
    return tuple(found.values())


def _read(
    scop: Scop,
    statement: Statement,
    access: AccessRelation,
    axes: Sequence[CutAxis],
    flow: tuple[isl.UnionMap, isl.UnionMap],
    *,
    timed: bool,
) -> Read:
    own = access.relation.intersect_domain(statement.domain)
    each = [axis.offsets(statement, access) for axis in axes]
    pairs, unset = flow
    sources = []
    for relation in maps(pairs):
        if relation.get_tuple_name(isl.dim_type.out) != statement.name:
            continue
        writer = scop.statement(relation.get_tuple_name(_IN))
        for write in writer.accesses:
            if write.writes and write.array == access.array:
                seen = relation.intersect(write.relation.apply_range(own.reverse()))
                if not seen.is_empty():
                    sources.append(Source(writer.name, _steps(seen) if timed else (0, 0)))
    return Read(
        statement.name,
        access,
        tuple(None if offsets is None else bounds(offsets) or (0, 0) for offsets in each),
        tuple(dict.fromkeys(sources)),
        not unset.intersect(isl.UnionMap.from_map(own)).is_empty(),
    )


def _steps(pairs: isl.Map) -> tuple[int, int | None]:
    """Return how many iterations of the time loop lie between a write and its read."""
    distances = step_distances(pairs)
    low, high = distances.dim_min_val(0), distances.dim_max_val(0)
    return (low.to_python() if low.is_int() else 0, high.to_python() if high.is_int() else None)
