"""What sizes decide about one rank: its box, and how much of each array it holds."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.distribution.boxes import Box, Range
from polytile.distribution.plan import DistributedArray, DistributionPlan
from polytile.distribution.process_grid import ProcessGrid
from polytile.ir.evaluate import evaluate
from polytile.ir.scop import Array
from polytile.runtime.layout import Layout, element_dtype, layouts


@dataclass(frozen=True, slots=True)
class LocalArray:
    """One array on one rank: `shape` is what the rank holds, `bounds` which indices of the whole array that are, and
    `owned` which of these it owns; a dimension that is not cut has all of them."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    bounds: tuple[Range, ...]
    owned: tuple[Range, ...]
    is_cut: bool
    written: bool

    @property
    def own(self) -> tuple[slice, ...]:
        """Where in the rank's array the elements are that it owns."""
        return tuple(slice(a - low, b - low) for (a, b), (low, _) in zip(self.owned, self.bounds, strict=True))

    @property
    def of_whole(self) -> tuple[slice, ...]:
        """Where in the whole array the elements are that the rank owns."""
        return tuple(slice(a, b) for a, b in self.owned)

    @property
    def nbytes(self) -> int:
        """The bytes that the rank holds, halos included."""
        return prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class LocalGrid:
    """One rank's part of a program of certain sizes: arrays to compute with in place, through `DistributedScop.run`.

    `owned` are the positions that the rank owns, `stored` those of its arrays, halos included, `sizes` the parameters
    of the program. `scratch` are arrays that the program declares itself, which users do not see. `module` makes
    arrays: NumPy, or CuPy where kernels run on a GPU.

    Example: local = d.local(n=1000); a = local.zeros("A"); a[local["A"].own] = 1.0
    """

    rank: int
    grid: ProcessGrid
    owned: Box
    stored: Box
    sizes: Mapping[str, int]
    arrays: tuple[LocalArray, ...]
    scratch: tuple[LocalArray, ...]
    module: Any

    def __getitem__(self, name: str) -> LocalArray:
        found = next((a for a in (*self.arrays, *self.scratch) if a.name == name), None)
        if found is None:
            raise UsageError(f"there is no array {name!r}", hint=f"arrays: {', '.join(a.name for a in self.arrays)}")
        return found

    @property
    def coordinates(self) -> tuple[int, ...]:
        """Where the rank is in the grid of ranks."""
        return self.grid.coordinates(self.rank)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays of the rank."""
        return sum(array.nbytes for array in (*self.arrays, *self.scratch))

    def zeros(self, name: str) -> Any:
        """Return an array of zeros for what the rank holds of an array."""
        return self.module.zeros(self[name].shape, self[name].dtype)

    def unset(self, name: str) -> Any:
        """Return memory for what the rank holds of an array: NaN where elements are floating point numbers, so that an
        element of a halo that no rank sends cannot pass for a value."""
        found = self.module.empty(self[name].shape, self[name].dtype)
        if found.dtype.kind == "f":
            found.fill(np.nan)
        return found

    def positions(self, box: Box) -> Box:
        """Return a box of positions as the rank's arrays count them."""
        return tuple((first - low, end - low) for (first, end), (low, _) in zip(box, self.stored, strict=True))

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise UsageError for a local array that is missing, is none, or is not as the rank's kernels take it."""
        known = [array.name for array in self.arrays]
        for name in given:
            if name not in known:
                raise UsageError(f"there is no argument {name!r}", hint=f"arrays: {', '.join(known)}")
        for array in self.arrays:
            if array.name not in given:
                raise UsageError(f"missing: {array.name}", hint="give all arrays by name")
            data = given[array.name]
            if array.shape == () and not array.written:
                if not np.isscalar(data) and not isinstance(data, self.module.ndarray | np.ndarray):
                    raise UsageError(f"{array.name} is {type(data).__name__}, not a number", hint="give a number")
                if isinstance(data, str | bytes):
                    raise UsageError(f"{array.name} is {data!r}, not a number", hint="give a number")
                continue
            if not isinstance(data, self.module.ndarray):
                kind = f"{self.module.__name__}.ndarray"
                raise UsageError(f"{array.name} is {type(data).__name__}, not {kind}", hint="LocalGrid.zeros makes one")
            if array.written and isinstance(data, np.ndarray) and not data.flags.writeable:
                raise UsageError(f"{array.name} is read-only, and is written", hint="give an array that can be changed")
            if data.shape != array.shape or data.dtype != array.dtype or not data.flags.c_contiguous:
                order = "" if data.flags.c_contiguous else ", not contiguous"
                raise UsageError(
                    f"{array.name} has shape {data.shape} of {data.dtype}{order}, and this rank holds {array.shape} of "
                    f"{array.dtype}",
                    hint=f'LocalGrid.zeros("{array.name}") makes one that fits',
                )


def extents_of(plan: DistributionPlan, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return how many positions each axis has."""
    return tuple(max(0, evaluate(axis.extent, sizes)) for axis in plan.axes)


def local_grid(
    plan: DistributionPlan, grid: ProcessGrid, rank: int, sizes: Mapping[str, int], module: Any = np
) -> LocalGrid:
    """Return the part of a rank for these sizes, which are all parameters of the program."""
    owned, stored = grid.owned(rank), grid.stored(rank, plan.halo)
    placed = layouts(plan.scop, sizes)
    arrays = tuple(_local(plan.array(name), layout, owned, stored) for name, layout in placed.items())
    inner = [plan.scop.array(name) for name in plan.scratch]
    scratch = tuple(_local(plan.array(a.name), _layout(a, sizes), owned, stored) for a in inner)
    return LocalGrid(rank, grid, owned, stored, dict(sizes), arrays, scratch, module)


def _layout(array: Array, sizes: Mapping[str, int]) -> Layout:
    """Compute the layout of an array that the program declares, with all of its extents."""
    shape = tuple(evaluate(extent, sizes) for extent in array.extents if extent is not None)
    return Layout(array, element_dtype(array), shape)


def _local(array: DistributedArray, layout: Layout, owned: Box, stored: Box) -> LocalArray:
    """Place an array of a rank.

    All arrays hold the same positions, those beyond the extent of a smaller one too: positions are indices.
    """
    if layout.lead:
        raise UsageError(f"{array.name} is indexed below 0, which is not distributed", hint="begin at index 0")
    dims = list(zip(array.axes, layout.shape, strict=True))
    bounds = tuple((0, extent) if axis is None else stored[axis] for axis, extent in dims)
    own = tuple((0, extent) if axis is None else _within(owned[axis], extent) for axis, extent in dims)
    shape = tuple(end - first for first, end in bounds)
    return LocalArray(array.name, layout.dtype, shape, bounds, own, array.is_cut, array.written)


def _within(positions: Range, extent: int) -> Range:
    first, end = positions
    return min(first, extent), min(end, extent)
