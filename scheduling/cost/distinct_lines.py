"""Distinct lines: how many lines of memory a tile of a loop nest touches, as a function of the tile's sizes.

A group of references A[a*i + b*j + c] ... touches, in each dimension, as many subscripts as its values range over; the
footprint is their product, with the contiguous dimension counted in lines. Dimensions that share loops (A[i][i],
A[i + j][i]) depend on one another: together they have no more values than those loops have iterations.

Ferrante, Sarkar and Thrash, On Estimating and Enhancing Cache Effectiveness (LCPC 1991), sections 3 and 4; Shirako,
Hayashi and Sarkar, Optimized Two-Level Parallelization for GPU Accelerators using the Polyhedral Model (CC 2017),
section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from polytile.dataclass import dataclass
from polytile.ir.identity_key import remembered
from polytile.ir.scop import Scop
from polytile.machine import CACHE_LINE_BYTES
from polytile.scheduling.analysis.affine_references import magnitude
from polytile.scheduling.analysis.reference_groups import Dimension, Loops, ReferenceGroup, groups, own_loops
from polytile.scheduling.cost.array_layout import last_pitch
from polytile.scheduling.cost.dual_numbers import Dual, constant, count, least, product, total, values


@dataclass(frozen=True, slots=True)
class Footprint:
    """The lines of one reference group, as a function of tile sizes, one for each loop, with their derivatives where
    the sizes have some."""

    group: ReferenceGroup
    line: int

    def lines(self, tiles: Sequence[Dual], rounded: bool) -> Dual:
        """Count the lines; `rounded`, with tiles at the start of a line, else the mean over all alignments."""
        if not self.group.known:
            return product(tiles, count(tiles)).scaled(self.group.references)
        parts = (self._together(part, tiles, rounded) for part in _components(self.group.dimensions))
        return product(parts, count(tiles))

    def _together(self, dimensions: list[int], tiles: Sequence[Dual], rounded: bool) -> Dual:
        """Count the lines of some dimensions that share loops.

        It is the product of their extents, and at most one line for each reference in each iteration of those loops.
        """
        last = len(self.group.dimensions) - 1
        extents = [self._extent(d, tiles, rounded, d == last) for d in dimensions]
        if len(dimensions) == 1:
            return extents[0]
        involved = [i for i in range(len(tiles)) if any(self.group.dimensions[d].slopes[i] != 0 for d in dimensions)]
        iterations = product((tiles[i] for i in involved), count(tiles)).scaled(self.group.references)
        return least(product(extents, count(tiles)), iterations)

    def _extent(self, number: int, tiles: Sequence[Dual], rounded: bool, contiguous: bool) -> Dual:
        dimension = self.group.dimensions[number]
        spanned = _range(dimension, tiles)
        most = least(spanned, _values(dimension, tiles))
        if not contiguous:
            return most
        return least(most, self._in_lines(spanned, rounded)) if spanned.value > 1 else constant(1.0, count(tiles))

    def _in_lines(self, spanned: Dual, rounded: bool) -> Dual:
        """Count the lines of neighbouring elements."""
        per_line = self.line / last_pitch(self.group.members[0])
        if rounded:
            return constant(float(ceil(spanned.value / per_line)), len(spanned.slopes))
        return spanned.scaled(1 / per_line, 1 - 1 / per_line)

    def text(self, names: Sequence[str]) -> str:
        """Format the footprint as a formula over the names of the loops' tile sizes."""
        if not self.group.known:
            return "*".join(names) or "1"
        return "*".join(self._text_together(part, names) for part in _components(self.group.dimensions)) or "1"

    def _text_together(self, dimensions: list[int], names: Sequence[str]) -> str:
        last = len(self.group.dimensions) - 1
        extents = [self._text_extent(d, names, d == last) for d in dimensions]
        if len(dimensions) == 1:
            return extents[0]
        used = [n for i, n in enumerate(names) if any(self.group.dimensions[d].slopes[i] != 0 for d in dimensions)]
        many = [str(self.group.references)] if self.group.references > 1 else []
        return f"min({'*'.join(extents)}, {'*'.join(many + used)})"

    def _text_extent(self, number: int, names: Sequence[str], contiguous: bool) -> str:
        dimension = self.group.dimensions[number]
        factors = zip(map(magnitude, dimension.slopes), names, strict=True)
        terms = [n if factor == 1 else f"{factor}*{n}" for factor, n in factors if factor != 0]
        if not terms:
            spanned = str(dimension.spread + 1)
        else:
            rest = dimension.spread + 1 - sum(magnitude(c) for c in dimension.slopes)
            sign = "+" if rest >= 0 else "-"
            spanned = " + ".join(terms) + (f" {sign} {magnitude(rest)}" if rest != 0 else "")
        spanned = spanned if " " not in spanned else f"({spanned})"
        if not contiguous or spanned == "1":
            return spanned
        return f"ceil({spanned}/{self.line // last_pitch(self.group.members[0])})"


def _range(dimension: Dimension, tiles: Sequence[Dual]) -> Dual:
    """Compute the range from the least to the largest subscript: sum |c|*(t - 1) + spread + 1."""
    factors = (abs(float(c)) for c in dimension.slopes)
    moved = (t.scaled(factor, -factor) for factor, t in zip(factors, tiles, strict=True) if factor)
    return total(moved, count(tiles)).scaled(1.0, float(dimension.spread) + 1)


def _values(dimension: Dimension, tiles: Sequence[Dual]) -> Dual:
    """Bound the values of a subscript: one for each constant in each iteration of the loops that move it."""
    used = (t for c, t in zip(dimension.slopes, tiles, strict=True) if c)
    return product(used, count(tiles)).scaled(len(dimension.constants))


@remembered
def _components(dimensions: Sequence[Dimension]) -> list[list[int]]:
    """Split the dimensions, by number, into sets that share no loop."""
    parts: list[tuple[set[int], list[int]]] = []
    for number, dimension in enumerate(dimensions):
        used = {i for i, c in enumerate(dimension.slopes) if c}
        joined = [part for part in parts if part[0] & used]
        parts = [part for part in parts if not part[0] & used]
        numbers = sorted([n for part in joined for n in part[1]] + [number])
        parts.append((used.union(*(part[0] for part in joined)), numbers))
    return [numbers for _, numbers in sorted(parts, key=lambda part: part[1])]


@dataclass(frozen=True, slots=True)
class DistinctLines:
    """DL(t1..td) of a nest: the lines that one tile of its loops touches."""

    footprints: tuple[Footprint, ...]
    loops: int

    def evaluate(self, tiles: Sequence[int]) -> float:
        """Compute the lines of a tile of these sizes, one for each loop, that begins at the start of a line."""
        return total((f.lines(values(tiles), True) for f in self.footprints), 0).value

    def mean(self, tiles: Sequence[Dual]) -> Dual:
        """Compute the mean over all alignments, which is smooth, with its derivatives."""
        return total((f.lines(tiles, False) for f in self.footprints), self.loops)

    def text(self, names: Sequence[str]) -> str:
        """Format the sum of the footprints as a formula over the names of the loops."""
        return " + ".join(footprint.text([f"t_{n}" for n in names]) for footprint in self.footprints) or "0"


def distinct_lines(
    scop: Scop, statements: Sequence[str], loops: Loops | None = None, line: int = CACHE_LINE_BYTES
) -> DistinctLines:
    """Compute the distinct lines (DL) of statements that run under the same loops, with lines of `line` bytes.

    Without `loops`, they are those of the one statement's iterators.
    """
    around = own_loops(scop, statements[0]) if loops is None else loops
    found = groups(scop, around, statements)
    return DistinctLines(tuple(Footprint(g, line) for g in found), len(around))
