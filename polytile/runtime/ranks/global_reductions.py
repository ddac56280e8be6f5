"""Sums, minima and maxima over the positions of all ranks: each combines the terms that it owns, then all together.

The result is the same on all ranks, and for all grids of them: integers, minima and maxima do not depend on an order,
and floating-point sums are of parts of terms that add up without rounding (distribution/rank_combinations.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from polytile.dataclass import dataclass
from polytile.distribution.boxes import grown
from polytile.distribution.plan import DistributionPlan, GlobalReduction
from polytile.distribution.rank_combinations import PARTS, RankCombination, bounds_of
from polytile.ir.reductions import identity_value
from polytile.runtime.layout import element_dtype
from polytile.runtime.ranks.kernels import CompiledPlan, Launch
from polytile.runtime.ranks.local_grid import LocalGrid
from polytile.runtime.ranks.mpi import require_mpi
from polytile.runtime.ranks.place import Place
from polytile.runtime.ranks.records import Traffic

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm


@dataclass(frozen=True, slots=True)
class _Launches:
    """The launches that combine one array of terms; `box` says which of the rank's, as the kernels name it."""

    reduction: GlobalReduction
    made: RankCombination
    combine: Launch
    largest: Launch | None
    box: Mapping[str, int]
    dtype: np.dtype[Any]  # of the result


class GlobalReductions:
    """The global reductions of a plan on one rank, in the arrays of which they are called for."""

    def __init__(self, compiled: CompiledPlan, fixed: Mapping[str, int], local: LocalGrid, place: Place) -> None:
        plan = compiled.plan
        self.plan, self.local, self.place = plan, local, place
        self.launches = []
        for reduction, made, kernels in zip(plan.reductions, plan.combinations, compiled.combinations, strict=True):
            combine = kernels[0].bind(fixed)
            largest = kernels[1].bind(fixed) if made.largest else None
            dtype = element_dtype(plan.scop.array(reduction.result))
            box = _box(plan, reduction, made, local)
            self.launches.append(_Launches(reduction, made, combine, largest, box, dtype))

    def begin(self, scratch: Mapping[str, Any]) -> None:
        """Let positions without a term have a neutral one."""
        for one in self.launches:
            terms = scratch[one.reduction.terms]
            terms.fill(self._neutral(one, one.reduction.terms)[0])

    def _neutral(self, one: _Launches, name: str) -> np.ndarray[Any, Any]:
        """Return one number, as an array of the terms or of the result holds it, that changes nothing."""
        array = self.plan.scop.array(name)
        return np.full(1, identity_value(one.reduction.op, array.element), element_dtype(array))

    def results(self, phase: int, arrays: Mapping[str, Any], comm: Intracomm) -> tuple[dict[str, Any], Traffic]:
        """Return the results that a phase brings into elements, and what was sent for them."""
        found, sent = {}, Traffic()
        for one in self.launches:
            if one.reduction.combining in self.plan.phases[phase].statements:
                value, more = self._result(one, arrays, comm)
                found[one.reduction.result] = np.asarray(value).astype(one.dtype)
                sent += more
        return found, sent

    def _result(self, one: _Launches, arrays: Mapping[str, Any], comm: Intracomm) -> tuple[Any, Traffic]:
        op = one.reduction.op
        if one.largest is None:
            found = self._together(one, one.combine, {}, op, self._neutral(one, one.reduction.result), arrays, comm)
            return found[0], Traffic(1, found.nbytes)
        largest = self._together(one, one.largest, {}, "max", np.zeros(1), arrays, comm)
        many = prod(max(1, b) for b in self._whole_shape(one))
        bounds = bounds_of(float(largest[0]), many)
        given = {name: np.asarray(m) for name, m in zip(one.made.bounds, bounds, strict=True)}
        parts = self._together(one, one.combine, given, "+", np.zeros(PARTS), arrays, comm)
        # an infinite term leaves a rest that is no number
        value = (parts[0] + parts[1]) + parts[2] if any(bounds) else parts[0]
        return value, Traffic(2, largest.nbytes + parts.nbytes)

    def _whole_shape(self, one: _Launches) -> list[int]:
        """Return the extents of the terms of all ranks."""
        array = self.plan.array(one.reduction.terms)
        shape = self.local[one.reduction.terms].shape
        return [n if axis is None else self.local.grid.extents[axis] for axis, n in zip(array.axes, shape, strict=True)]

    def _together(
        self,
        one: _Launches,
        launch: Launch,
        given: Mapping[str, Any],
        op: str,
        begin: np.ndarray[Any, Any],
        arrays: Mapping[str, Any],
        comm: Intracomm,
    ) -> np.ndarray[Any, Any]:
        """Combine the rank's terms, then what all ranks have."""
        partial = self.local.module.asarray(begin)
        self.place.settle()
        if all(n > 0 for name, n in one.box.items() if name in one.made.count):
            terms = {one.made.terms: arrays[one.reduction.terms]}
            found = {name: partial[k : k + 1] for k, name in enumerate(one.made.partials[: partial.size])}
            launch({**one.box, **given, **terms, **found}, self.place.queue(side=False))
            self.place.ended(side=False)
        values = np.array(self.place.to_host(partial))
        mpi = require_mpi()
        comm.Allreduce(mpi.IN_PLACE, values, {"+": mpi.SUM, "min": mpi.MIN, "max": mpi.MAX}[op])
        return values


def _box(plan: DistributionPlan, reduction: GlobalReduction, made: RankCombination, local: LocalGrid) -> dict[str, int]:
    """Return the terms of the positions that a rank owns, as arguments of kernels."""
    box = local.positions(grown(local.owned, reduction.reach, local.grid.extents))
    shape, named = local[reduction.terms].shape, dict[str, int]()
    for d, axis in enumerate(plan.array(reduction.terms).axes):
        first, end = (0, shape[d]) if axis is None else box[axis]
        named |= {made.count[d]: end - first} | ({made.first[d]: first} if made.first[d] else {})
    return named
