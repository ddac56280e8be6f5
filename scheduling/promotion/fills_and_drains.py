"""What is copied to and from a tile of an array that a kernel updates: boxes, where more than needed does no harm.

before: fill { A[e] : a staircase without the array's corners }, drain { A[e] : an octagon, by e mod 2 }
after:  fill, drain { A[e] : 66 b <= e <= 66 b + 47 and 0 <= e < n }

More may be filled where no other block of the launch writes, and memory has something. What is filled may be drained
as it was where no other block of the launch fills or drains it. Boxes have short guards, which full tiles do without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.bounding_box import bounding_box
from polytile.ir.scop import AccessKind, Scop
from polytile.scheduling.promotion.footprint_boxes import IN, OUT, Box, box_around, box_elements
from polytile.scheduling.promotion.reference_tiles import USES
from polytile.scheduling.promotion.tile_dataflow import WRITES, TileDataflow, united_maps

MOST_PIECES = 6  # of what is filled: each is a condition of every element


@dataclass(frozen=True, slots=True)
class Copied:
    """What is filled and drained, `{ [place] -> A[..] }`."""

    filled: isl.Map = field(compare=False)
    drained: isl.Map = field(compare=False)


def copied_elements(kept: TileDataflow, box: Box, there: isl.Set, scop: Scop, initialised: bool) -> Copied:
    """Choose what to copy for a tile with this box at the places where blocks run anything (`there`).

    Of an array that is not `initialised` before the kernels only elements that have to be filled are.
    """
    exact = Copied(kept.filled, kept.written(*WRITES))
    there = isl.Set.from_basic_set(there.remove_divs().simple_hull())
    choice = _Choice(kept, box, there, scop, exact)
    if initialised:
        for drained in choice.drains():
            for filled in choice.fills():
                found = Copied(filled, drained)
                if choice.keeps_values(found):
                    return found
    return Copied(*(choice.there_alone(elements) for elements in (exact.filled, exact.drained)))


@dataclass(frozen=True, slots=True)
class _Choice:
    kept: TileDataflow
    box: Box
    there: isl.Set = field(compare=False)
    scop: Scop
    exact: Copied

    def drains(self) -> Iterator[isl.Map]:
        """Yield what may be drained, simplest first."""
        written, full = self.exact.drained, self.kept.full.written(*WRITES)
        if not _is_box(written):
            yield from self._inside(box_around(full))
            yield from self._inside(self.box)
        yield self.there_alone(written)

    def fills(self) -> Iterator[isl.Map]:
        """Yield what may be filled, simplest first.

        Where that is borders alone, which nothing writes, other tiles fill nothing.
        """
        exact = self.exact.filled
        if _is_box(exact) or exact.is_empty():
            yield self.there_alone(exact)
        elif exact.intersect_range(self._elements(*WRITES)).is_empty():
            places = exact.domain().gist(self.there).coalesce()
            yield from (elements.intersect_domain(places) for elements in self._inside(self.box))
        yield from self._inside(self.box)
        constant = self._constant()
        if _has_few_pieces(constant):
            yield self.there_alone(constant)
        yield self.there_alone(exact)

    def _inside(self, box: Box | None) -> Iterator[isl.Map]:
        """Yield the elements of a box that exist."""
        known = self._known()
        if box is not None and known is not None:
            yield self.there_alone(box_elements(box).intersect_range(known))

    def there_alone(self, elements: isl.Map) -> isl.Map:
        """Return the elements at the places, in few conditions of these: nothing is known of other blocks that may run.
        """
        return elements.gist_domain(self.there).intersect_domain(self.there)

    def _known(self) -> isl.Set | None:
        """Return the box around all that the program uses, in few conditions, or None where it needs many."""
        bounds = bounding_box(self._elements(*USES))
        where = self.there.params()
        simple = isl.Set.from_basic_set(bounds.gist_params(where).remove_divs().simple_hull())
        if simple.intersect_params(where).is_subset(bounds):
            return simple
        return bounds.gist_params(where) if _has_few_pieces(isl.Map.from_range(bounds)) else None

    def _constant(self) -> isl.Map:
        """Return what tiles fill that no domain cuts, with what nothing ever writes in the box."""
        known, changed = self._elements(*USES), self._elements(*WRITES)
        inside = box_elements(self.box)
        found = self.kept.full.filled.union(inside.intersect_range(known.subtract(changed)))
        return found.intersect(inside).intersect_range(known).coalesce()

    def _elements(self, *kinds: AccessKind) -> isl.Set:
        """Return the elements of the array that the program uses."""
        array = frozenset((self.kept.accesses[0].reference.access.array,))
        used = self.scop.accesses(*kinds, arrays=array).intersect_params(self.scop.context).range()
        return used.extract_set(self.exact.filled.range().get_space()).coalesce()

    def keeps_values(self, copied: Copied) -> bool:
        """Return whether enough is copied, and no other block of a launch fills or drains what is drained."""
        filled, drained = copied.filled, copied.drained
        sure = self.kept.written(AccessKind.WRITE)
        enough = self.exact.filled.is_subset(filled) and self.exact.drained.is_subset(drained)
        return bool(
            enough
            and drained.subtract(sure).is_subset(filled)
            and _are_apart(united_maps([filled, drained]), drained, self.kept.hosts)
        )


def _has_few_pieces(elements: isl.Map) -> bool:
    parts = elements.get_basic_maps()
    return len(parts) <= MOST_PIECES and all(part.dim(isl.dim_type.div) == 0 for part in parts)


def _is_box(elements: isl.Map) -> bool:
    """Return whether each condition is of one subscript at most."""
    parts = elements.get_basic_maps()
    if len(parts) != 1 or parts[0].dim(isl.dim_type.div):
        return False
    rank = elements.dim(OUT)
    conditions = parts[0].get_constraints()
    return all(sum(c.involves_dims(OUT, k, 1) for k in range(rank)) <= 1 for c in conditions)


def _are_apart(used: isl.Map, written: isl.Map, hosts: int) -> bool:
    """Return whether no block uses what another one of the same launch writes."""
    both = used.apply_range(written.reverse())
    for k in range(hosts):
        both = both.equate(IN, k, OUT, k)
    return bool(both.is_subset(isl.Map.identity(both.get_space())))
