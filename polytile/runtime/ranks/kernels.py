"""What a plan is compiled to: functions that are called by name, as a compiled SCoP is, and launches of these.

before: f(n=.., i_extent=.., i_first=0, t=0, A=a); f(n=.., i_extent=.., i_first=0, t=1, A=a)     bound and checked twice
after:  launch = bind(n=.., i_extent=..); launch(i_first=0, t=0, A=a); launch(i_first=0, t=1, A=a)            and once
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polytile.dataclass import dataclass
from polytile.distribution.plan import DistributionPlan

Launch = Callable[[Mapping[str, Any], Mapping[str, Any]], None]  # on arguments that change, and where to run


@dataclass(frozen=True, slots=True)
class Kernels:
    """Kernels that take arguments of these names; `bound` makes a launch of those that stay the same."""

    names: frozenset[str]
    bound: Callable[[Mapping[str, Any]], Launch]

    def bind(self, fixed: Mapping[str, Any]) -> Launch:
        """Return a launch for arguments that stay the same; what it does not take may be among them."""
        launch = self.bound(self._taken(fixed))
        return lambda changing, where: launch(self._taken(changing), where)

    def _taken(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if name in self.names}


def kernels_of(function: Callable[..., None], names: frozenset[str]) -> Kernels:
    """Return a function as kernels, which is called with all arguments each time."""
    return Kernels(names, lambda fixed: lambda changing, where: function(**fixed, **changing, **where))


@dataclass(frozen=True, slots=True)
class CompiledCopy:
    """Packing and unpacking of one array: a box is `first` and `count`, names for each dimension, "" where none is cut.

    The kernels call the array `array`, whichever of those that lie alike it is. `plane` is the name of the index in the
    dimension of which single planes are exchanged, "" where there is none, `buffer` that of the packed elements, all in
    one row.
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
    """A plan, and what its phases and copies, by array, are compiled to; `lead` runs several steps at once, in time
    tiles, where that is worth it. `combinations` are those of its global reductions, with what finds the largest
    magnitude behind them where they need it."""

    plan: DistributionPlan
    phases: tuple[Kernels, ...]
    copies: Mapping[str, CompiledCopy]
    lead: Kernels | None = None
    combinations: tuple[tuple[Kernels, ...], ...] = ()
