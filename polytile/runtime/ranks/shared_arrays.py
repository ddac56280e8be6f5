"""Arrays that not all axes cut: ranks along the others hold the same elements, which one of them writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polytile.diagnostics import InternalError
from polytile.distribution.plan import DistributionPlan
from polytile.runtime.ranks.local_grid import LocalGrid
from polytile.runtime.ranks.place import Place

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm


class SharedArrays:
    """What a run writes to arrays of which several ranks hold the same part: a receiver's, one line of a plane, a
    scalar. An element is written on the ranks that own the position where its statement runs; behind the run all that
    hold it have what any of them has changed.

    before: rank 0 has seen[0] = 3, rank 1 seen[1] = 4
    after:  both have seen[0] = 3, seen[1] = 4
    """

    def __init__(
        self, comm: Intracomm, plan: DistributionPlan, local: LocalGrid, place: Place, arrays: Mapping[str, Any]
    ) -> None:
        self.comm, self.plan, self.local, self.place, self.arrays = comm, plan, local, place, arrays
        self.names = [a.name for a in local.arrays if a.written and self._is_shared(a.name)]
        self.before = {name: self._own(name).copy() for name in self.names}

    def _is_shared(self, name: str) -> bool:
        """Return whether there are several ranks along an axis that does not cut it."""
        cut = self.plan.array(name).axes
        return any(parts > 1 and axis not in cut for axis, parts in enumerate(self.local.grid.shape))

    def _own(self, name: str) -> np.ndarray[Any, Any]:
        """Return the elements that a rank owns, in a row on the host."""
        return np.ascontiguousarray(self.place.to_host(self.arrays[name][self.local[name].own])).reshape(-1)

    def _part(self, name: str) -> tuple[int, ...]:
        """Return which part of an array the rank has: where it is along the axes that cut it."""
        return tuple(self.local.coordinates[axis] for axis in self.plan.array(name).axes if axis is not None)

    def unite(self) -> None:
        """Give all ranks what each has changed; raises InternalError where two have changed an element differently."""
        for name in self.names:
            now, found = self._own(name), self.before[name]
            changed = np.flatnonzero((_rows(now) != _rows(found)).any(axis=1))
            seen = np.zeros(now.size, bool)
            for part, indices, values in self.comm.allgather((self._part(name), changed, now[changed])):
                if part != self._part(name):
                    continue
                twice = seen[indices]
                if (_rows(found[indices][twice]) != _rows(values[twice])).any():
                    raise InternalError(f"ranks have computed different values of {name}")
                found[indices] = values
                seen[indices] = True
            own = self.local[name].own
            self.arrays[name][own] = self.local.module.asarray(found.reshape(self.arrays[name][own].shape))


def _rows(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """View the bytes of each element: NaNs are equal where their bits are."""
    return np.ascontiguousarray(data).view(np.uint8).reshape(data.size, data.dtype.itemsize)
