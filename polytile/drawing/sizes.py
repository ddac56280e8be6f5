"""Small values for parameters, with which a few whole tiles are seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import islpy as isl

from polytile.drawing.launches import MappedKernel
from polytile.ir.isl_util import sets
from polytile.ir.scop import Scop
from polytile.runtime.parameters import check_parameters, choose_parameters, point

MAX_SIZE = 16384  # that is tried
BASE = 48  # of the other parameters, while one is looked at
OTHER = 4  # of parameters that neither blocks nor launches depend on
TILES = 3  # along each axis
BANDS, STEPS = 2, 4  # of the time loop in a picture over one axis: bands of several steps, or steps
Values = dict[str, int]
Extents = list[int]
Growing = Callable[[Values, bool], Extents]  # how many tiles there are along each axis, or (False) bands of time


def choose_sizes(
    scop: Scop, extents: Growing, given: Mapping[str, int], fits: Callable[[Values], bool], bands: int = BANDS
) -> Values:
    """Choose a value for each parameter: those given, else the least with which there are some tiles along each axis,
    fewer where they do not fit, and some bands of time."""
    check_parameters(scop.parameters, given)
    fallback = choose_parameters(scop, given)
    search = _Search(scop, extents, dict(given))
    for tiles in range(TILES, 0, -1):
        values = {name: given.get(name, search.size(name, tiles, bands)) for name in fallback}
        if search.allowed(values) and (tiles < TILES or fits(values)):
            return values
    return fallback


class _Search:
    """Looks at one parameter after another, with the others at middling values."""

    def __init__(self, scop: Scop, extents: Growing, given: Values) -> None:
        self.scop, self.extents = scop, extents
        self.base = {p.name: given.get(p.name, BASE) for p in scop.parameters}

    def allowed(self, values: Values) -> bool:
        return not self.scop.context.intersect_params(point(values)).is_empty()

    def size(self, name: str, tiles: int, bands: int) -> int:
        """Compute the value for whole tiles: the largest before another one begins."""
        blocks = self._least(name, tiles + 1, blocks=True)
        if blocks:
            return max(1, blocks - 1)
        second = self._least(name, 2, blocks=False)
        if not second:
            return OTHER
        return bands * (second - 1) if second > 2 else bands * STEPS // 2

    def _least(self, name: str, count: int, *, blocks: bool) -> int:
        """Find the least value with which there are `count` tiles along all dimensions of blocks that grow with it (or
        iterations of a host loop); 0 where none does."""
        most, half = self._extents(name, MAX_SIZE, blocks), self._extents(name, MAX_SIZE // 2, blocks)
        growing = [k for k, (n, less) in enumerate(zip(most, half, strict=True)) if n > less and n >= count]
        low, high = 0, MAX_SIZE if growing else 0
        while high - low > 1:
            middle = (low + high) // 2
            extents = self._extents(name, middle, blocks)
            enough = (all if blocks else any)(extents[k] >= count for k in growing)
            low, high = (low, middle) if enough else (middle, high)
        return high

    def _extents(self, name: str, value: int, blocks: bool) -> Extents:
        return self.extents({**self.base, name: value}, blocks)


def extents_of(kernels: tuple[MappedKernel, ...]) -> Growing:
    """Count the coordinates along each dimension of blocks, or of host loops, of each kernel."""

    def extents(values: Values, blocks: bool) -> Extents:
        at = point(values)
        found: Extents = []
        for kernel in kernels:
            coordinates = kernel.place.block.intersect_params(at).range()
            box = _box(coordinates)
            rank = _rank(kernel)
            found += (box or [0] * rank)[kernel.host :] if blocks else (box or [0] * rank)[: kernel.host]
        return found

    return extents


def _rank(kernel: MappedKernel) -> int:
    found = sets(kernel.place.block.range())
    return int(found[0].dim(isl.dim_type.set)) if found else 0


def _box(coordinates: isl.UnionSet) -> Extents:
    """Return the extents of the box around some points; empty where there are none."""
    for found in sets(coordinates):
        if not found.is_empty():
            return [extent(found, k)[1] for k in range(found.dim(isl.dim_type.set))]
    return []


def extent(points: isl.Set, k: int) -> tuple[int, int]:
    """Return the least coordinate of bounded points along a dimension, and how many reach up to the greatest."""
    low, high = points.dim_min_val(k).to_python(), points.dim_max_val(k).to_python()
    return low, high - low + 1
