"""What a plan is compiled to: functions that are called by name, as a compiled SCoP is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polytile.dataclass import dataclass
from polytile.distribution.plan import DistributionPlan


@dataclass(frozen=True, slots=True)
class Kernels:
    """A function that runs kernels, and the names of the arguments that it takes."""

    function: Callable[..., None]
    names: frozenset[str]

    def taking(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of `given` that it takes."""
        return {name: value for name, value in given.items() if name in self.names}


@dataclass(frozen=True, slots=True)
class CompiledCopy:
    """Packing and unpacking of one array: a box is `first` and `count`, names for each dimension, "" where none is cut.

    The kernels call the array `array`, whichever of those that lie alike it is.
    `plane` is the name of the index in the dimension of which single planes are exchanged, "" where there is none,
    `buffer` that of the packed elements, all in one row.
    """

    pack: Kernels
    unpack: Kernels
    array: str
    first: tuple[str, ...]
    count: tuple[str, ...]
    plane: str
    buffer: str


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A plan, and what its phases and copies, by array, are compiled to."""

    plan: DistributionPlan
    phases: tuple[Kernels, ...]
    copies: Mapping[str, CompiledCopy]
