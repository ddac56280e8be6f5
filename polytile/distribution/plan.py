"""What distribution decides about a SCoP, for any number of ranks and any sizes.

The rank that owns a position of the index space runs the instances there, and holds the elements there. Some iterations
of the time loop, a period, run between two exchanges: each rank computes, besides what it owns, what its later steps of
the period read, so that step s of T computes a box that shrinks with s (overlapped tiling over ranks).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.distribution.boxes import Box, Direction, Reach
from polytile.distribution.copies import HaloCopy
from polytile.distribution.rank_combinations import RankCombination
from polytile.ir.expr import CType, Expr
from polytile.ir.scop import AccessRelation, Origin, Scop


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of the index space that ranks cut: positions 0 to `extent` - 1, counted by loops over `name`.

    `end` is the same as `extent`, as a function of the parameters.
    """

    name: str
    extent: Expr
    end: isl.PwAff = field(compare=False)


@dataclass(frozen=True, slots=True)
class TimeLoop:
    """The serial loop around everything: steps `first` to `end` - 1, in terms of the parameters."""

    name: str
    first: Expr
    end: Expr


@dataclass(frozen=True, slots=True)
class DistributedArray:
    """An array, and which of its dimensions are cut.

    `axes` has, for each dimension of the array, the number of the axis that cuts it, or None where every rank has all
    of it; `extents` are those of the whole array, over the parameters, None where C does not say. `halo` is how far,
    along each axis of the plan, a rank's elements reach beyond those that it owns. An array without cut dimensions is
    whole on each rank: scalars, tables, what a source adds or a receiver writes. `position` says for each axis that
    cuts none of its dimensions where the statements run that write it; None where none does, or each rank the same.
    """

    name: str
    element: CType
    axes: tuple[int | None, ...]
    extents: tuple[Expr | None, ...]
    halo: tuple[Reach, ...]
    written: bool = False
    position: tuple[Expr | None, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether ranks own parts of it."""
        return any(axis is not None for axis in self.axes)


@dataclass(frozen=True, slots=True)
class HaloExchange:
    """The elements of one array that come from neighbours at once.

    `directions` are the neighbours whose elements are read, over the axes of the plan; `reach` how far beyond a part.
    `plane` is a dimension of the array that is whole and of which only some indices are exchanged, those of
    `planes[t % len(planes)]` in front of step t (`A[t % 2][i][j]`); None where all of it is.
    """

    array: str
    directions: tuple[Direction, ...]
    reach: tuple[Reach, ...]
    plane: int | None = None
    planes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Phase:
    """Statements of one step that can run on any boxes of positions, in any order of these.

    `growth[k]` is how far beyond the owned box it computes when k further steps of the period follow, along each axis.
    """

    statements: tuple[str, ...]
    growth: tuple[tuple[Reach, ...], ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the instances of a statement run.

    `positions` has the position along each axis, `{ S[t, i, j] -> [i] }`, None where every rank runs them; `shift` says
    which of the source a rank's instances are, `{ S[t, i, j] -> S[t, i + i_offset, j + j_offset] }`.
    """

    statement: str
    positions: tuple[isl.Map | None, ...] = field(compare=False)
    shift: isl.MultiAff = field(compare=False)


@dataclass(frozen=True, slots=True)
class GlobalReduction:
    """A sum, minimum or maximum over the positions of all ranks, once in each step that has one.

    In place of a `statement` of the source another one writes its `terms`, an element for each; each rank combines
    those of the positions that it owns, and `reach` beyond them, which is nothing; what all ranks have found together
    is `result`, a scalar, in front of the statement `combining`, which brings it into the element of `target`.
    """

    statement: str
    op: str  # "+", "min" or "max"
    target: str
    terms: str
    result: str
    combining: str
    reach: tuple[Reach, ...] = ()


@dataclass(frozen=True, slots=True)
class BoxParameters:
    """The names of the parameters that the SCoP of a phase has for an axis.

    The box that it computes is `first` to `end` - 1, in positions of the rank's arrays; `offset` is which of all
    positions is their first, `extent` how many they have.
    """

    first: str
    end: str
    offset: str
    extent: str


@dataclass(frozen=True, slots=True)
class DistributionPlan:
    """How a SCoP runs on ranks: `steps` iterations of its time loop between two exchanges.

    A period of `steps` iterations is: for each step s and phase, in order, the phase on its box; behind the last one
    the exchanges `between`. In the last step the `split_phase` runs at the sides of the owned box first (`boundary` is
    how thick these are), and the exchange goes on while it computes the interior. `before` is exchanged once, in front
    of the first step: arrays that are only read, and elements that no step writes, too.
    `placements` say where statements run; `local` are the SCoPs of the phases, on a rank's own arrays; `boxes` their
    parameters, an entry for each axis, and `step` the name of the one that is the iteration of the time loop. `copies`
    pack and unpack halos. `reductions` are over the positions of all ranks, `combinations` what a rank runs for each.
    `proof` says what was shown of all this (proof.py).

    `lead` is the SCoP of many steps at once, as time tiles want it: all phases, `count` iterations from `step` on, in a
    box that does not shrink. It may run all steps of a period but the last, or all of them, in the rank's arrays but
    for `margin` at sides where these do not end with the index space; what it computes beyond the boxes of the phases
    is not right, and nothing that is right reads it. None where a period is one step.
    """

    scop: Scop
    axes: tuple[Axis, ...]
    time: TimeLoop
    steps: int
    arrays: tuple[DistributedArray, ...]
    phases: tuple[Phase, ...]
    before: tuple[HaloExchange, ...]
    between: tuple[HaloExchange, ...]
    boundary: tuple[Reach, ...]
    boxes: tuple[BoxParameters, ...]
    step: str
    placements: tuple[Placement, ...]
    local: tuple[Scop, ...] = field(compare=False)
    copies: tuple[HaloCopy, ...] = field(compare=False)
    reductions: tuple[GlobalReduction, ...] = ()
    combinations: tuple[RankCombination, ...] = field(default=(), compare=False)
    lead: Scop | None = field(default=None, compare=False)
    count: str = ""
    margin: tuple[Reach, ...] = ()
    proof: str = ""

    def array(self, name: str) -> DistributedArray:
        """Return what is decided about the array of this name."""
        return next(a for a in self.arrays if a.name == name)

    @property
    def scratch(self) -> tuple[str, ...]:
        """The arrays of the SCoP's own that hold values between phases: each rank has memory for them."""
        own = {a.name for a in self.scop.arrays if a.origin is not Origin.EXTERNAL}
        own -= {r.result for r in self.reductions}
        return tuple(dict.fromkeys(a.name for s in self.local for a in s.external_arrays if a.name in own))

    @property
    def split_phase(self) -> int:
        """The phase that runs at the sides first in the last step of a period, then in the interior: the last one that
        writes what is exchanged, or else that runs at positions. Those behind it run behind the interior."""
        exchanged = {e.array for e in self.between}
        cut = [k for k, phase in enumerate(self.phases) if self.is_cut(phase)]
        written = [k for k in cut if any(a.writes and a.array in exchanged for a in self._accesses(self.phases[k]))]
        return max(written or cut)

    def is_cut(self, phase: Phase) -> bool:
        """Return whether statements of a phase run at positions; all ranks run the others, those without any too."""
        return any(position is not None for s in phase.statements for position in self.placement(s).positions)

    def _accesses(self, phase: Phase) -> Iterator[AccessRelation]:
        return (access for s in phase.statements for access in self.scop.statement(s).accesses)

    def placement(self, statement: str) -> Placement:
        """Return where the instances of a statement run."""
        return next(p for p in self.placements if p.statement == statement)

    @property
    def halo(self) -> tuple[Reach, ...]:
        """How far a rank's arrays reach beyond its part along each axis: the most that any of them needs, for all."""
        each = [a.halo for a in self.arrays if a.is_cut]
        return tuple(
            (max(halo[axis][0] for halo in each), max(halo[axis][1] for halo in each)) for axis in range(len(self.axes))
        )

    def lead_box(self, stored: Box, extents: Sequence[int]) -> Box:
        """Return the positions that `lead` computes, of those that a rank stores and `extents` of the index space."""
        return tuple(
            (first + below if first > 0 else 0, end - above if end < extent else end)
            for (first, end), (below, above), extent in zip(stored, self.margin, extents, strict=True)
        )
