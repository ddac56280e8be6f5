"""Arrays of rank 0 on their way to all ranks and back: only elements that a rank owns travel, and arrays that are whole
on each rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polytile.runtime.layout import as_bytes
from polytile.runtime.ranks.local_grid import LocalArray, LocalGrid, local_grid
from polytile.runtime.ranks.mpi import require_mpi
from polytile.runtime.ranks.place import Place

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.distribution.plan import DistributionPlan

Arrays = Mapping[str, Any]
TAG = 1 << 14


def shaped(data: Any, shape: tuple[int, ...]) -> Any:
    """Return a view of an array in the shape that C declares, of which it may have more elements."""
    total = int(np.prod(shape, dtype=object))
    return data.reshape(-1)[:total].reshape(shape)


class RootArrays:
    """The whole arrays, which rank 0 has: `whole` is empty elsewhere."""

    def __init__(self, comm: Intracomm, plan: DistributionPlan, local: LocalGrid, place: Place, whole: Arrays) -> None:
        self.comm, self.local, self.place, self.whole = comm, local, place, whole
        ranks = range(comm.size) if comm.rank == 0 else ()
        self.parts = [local_grid(plan, local.grid, rank, local.sizes) for rank in ranks]

    def scatter(self) -> dict[str, Any]:
        """Return the rank's arrays: what it owns of those that are cut, halos that are not set, and all of others."""
        return {array.name: self._scattered(array) for array in self.local.arrays}

    def gather(self, arrays: Arrays) -> None:
        """Write what ranks own of the arrays that were written into those of rank 0."""
        for array in self.local.arrays:
            if array.written and array.is_cut:
                self._gathered(array, arrays[array.name])
            elif array.written and self.comm.rank == 0:
                self._set(self.whole[array.name], ..., self.place.to_host(arrays[array.name]))

    def _scattered(self, array: LocalArray) -> Any:
        if not array.is_cut:
            data = self.place.to_host(self.whole[array.name]) if self.comm.rank == 0 else None
            data = self.comm.bcast(data)
            return data if array.shape == () and not array.written else self.local.module.array(data)
        found = self.local.unset(array.name)
        if self.comm.rank == 0:
            for rank in range(1, self.comm.size):
                part = self.place.to_host(self.whole[array.name][self.parts[rank][array.name].of_whole])
                self._send(np.ascontiguousarray(part), rank)
            found[array.own] = self.local.module.asarray(self.whole[array.name][array.of_whole])
        else:
            found[array.own] = self.local.module.asarray(self._receive(array, 0))
        return found

    def _gathered(self, array: LocalArray, data: Any) -> None:
        if self.comm.rank:
            self._send(np.ascontiguousarray(self.place.to_host(data[array.own])), 0)
            return
        whole = self.whole[array.name]
        self._set(whole, array.of_whole, self.place.to_host(data[array.own]))
        for rank in range(1, self.comm.size):
            part = self.parts[rank][array.name]
            self._set(whole, part.of_whole, self._receive(part, rank))

    def _set(self, whole: Any, where: Any, values: np.ndarray[Any, Any]) -> None:
        whole[where] = values if isinstance(whole, np.ndarray) else self.local.module.asarray(values)

    def _send(self, data: np.ndarray[Any, Any], rank: int) -> None:
        self.comm.Send([as_bytes(data), require_mpi().BYTE], rank, TAG)

    def _receive(self, part: LocalArray, rank: int) -> np.ndarray[Any, Any]:
        data = np.empty(tuple(end - first for first, end in part.owned), part.dtype)
        self.comm.Recv([as_bytes(data), require_mpi().BYTE], rank, TAG)
        return data
