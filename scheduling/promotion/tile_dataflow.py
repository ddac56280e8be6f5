"""What the accesses to an array find in a tile that a block keeps for its whole kernel, and what they leave there.

before: B[i] = f(A[i - 1], A[i + 1]) and A[i] = f(B[i - 1], B[i + 1]), for steps of a tile that shrinks
after:  filled { [h, b] -> A[e] } with a halo, drained { [h, b] -> A[e] } and { [h, b] -> B[e] }; of B nothing is filled
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import reduce

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import maps
from polytile.ir.scop import AccessKind
from polytile.scheduling.analysis.dependences import ArrayDependences
from polytile.scheduling.promotion.reference_tiles import Reference

WRITES = (AccessKind.WRITE, AccessKind.MAY_WRITE)


def united_maps(parts: Sequence[isl.Map]) -> isl.Map:
    return reduce(lambda total, part: total.union(part), parts).coalesce()


@dataclass(frozen=True, slots=True)
class PlacedReference:
    """What a reference uses at each place: `executions`, `{ [place] -> S[i] }`, and `full_executions`, those of tiles
    that the bounds of the domain do not cut."""

    reference: Reference
    executions: isl.Map = field(compare=False)
    full_executions: isl.Map = field(compare=False)
    unbounded: bool = False

    @property
    def relation(self) -> isl.Map:
        access = self.reference.access.relation
        return access.gist_domain(access.domain()) if self.unbounded else access

    @property
    def kind(self) -> AccessKind:
        return self.reference.access.kind

    @property
    def elements(self) -> isl.Map:
        return self.executions.apply_range(self.relation)

    @property
    def full(self) -> isl.Map:
        return replace(self, executions=self.full_executions, unbounded=True).elements

    @property
    def by_execution(self) -> isl.Map:
        """Return `{ [place] -> [S[i] -> A[e]] }`."""
        return self.executions.apply_range(self.relation.domain_map().reverse())


@dataclass(frozen=True, slots=True)
class TileDataflow:
    """What the accesses of a tile find in it, and what they leave there."""

    accesses: tuple[PlacedReference, ...]
    dependences: ArrayDependences
    hosts: int

    @property
    def full(self) -> TileDataflow:
        """Return the dataflow of tiles that the bounds of domains do not cut."""
        full = tuple(replace(a, executions=a.full_executions, unbounded=True) for a in self.accesses)
        return replace(self, accesses=full)

    def written(self, *kinds: AccessKind) -> isl.Map:
        none = isl.Map.empty(self.accesses[0].elements.get_space())
        return united_maps([none, *(a.elements for a in self.accesses if a.kind in kinds)])

    @property
    def filled(self) -> isl.Map:
        """Return what is read, or may be drained, but was not written in the tile before."""
        missing = [self._read_from_outside(a) for a in self.accesses if a.kind is AccessKind.READ]
        unsure = self.written(AccessKind.MAY_WRITE).subtract(self.written(AccessKind.WRITE))
        return united_maps([unsure, *missing])

    def _read_from_outside(self, access: PlacedReference) -> isl.Map:
        left = isl.UnionMap.from_map(access.by_execution).subtract(self.covered(access))
        return united_maps([isl.Map.empty(access.elements.get_space()), *(m.range_factor_range() for m in maps(left))])

    def covered(self, access: PlacedReference) -> isl.UnionMap:
        """Return `{ [place] -> [S[i] -> A[e]] }`: the reads that find what the tile wrote itself."""
        total = isl.UnionMap("{ }")
        if access.kind is not AccessKind.READ or not self.dependences.exact:
            return total
        element = isl.UnionSet.identity(isl.UnionSet.from_set(access.elements.range()))
        reads = isl.UnionMap.from_map(access.by_execution)
        flow = self.dependences.flow.intersect_range(isl.UnionSet.from_set(access.executions.range()))
        for writer in (a for a in self.accesses if a.kind is AccessKind.WRITE):
            written = isl.UnionMap.from_map(writer.by_execution)
            total = total.union(written.apply_range(flow.product(element)))
        return total.intersect(reads)
