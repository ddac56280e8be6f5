"""What a strategy is given, and what it proposes: schedules with what was decided for them, each still to be proven."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from math import inf
from typing import Any, Protocol

from polytile.choices import Choices
from polytile.dataclass import dataclass
from polytile.ir.host import Transfer
from polytile.ir.memory import Storage
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.plan import KernelPlan, TimeTiled, time_tile, with_time_tile
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.ir.split_tiles import SplitTiles
from polytile.machine import Machine
from polytile.options import Options
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.cost.estimate import Estimate

Analysed = tuple[Scop, Dependences]
Reason = str | Callable[[], Iterable[str]]  # a line of --explain, or lines that are found when somebody reads them


def lines_of(reasons: Iterable[Reason]) -> tuple[str, ...]:
    """Return the lines of reasons."""
    found = ((reason,) if isinstance(reason, str) else reason() for reason in reasons)
    return tuple(line for lines in found for line in lines)


def each_line_once(reasons: Iterable[Reason]) -> Reason:
    """Join reasons to one that has no line twice: candidates that begin as another one does have its lines, too."""
    kept = tuple(reasons)
    return lambda: dict.fromkeys(lines_of(kept))


@dataclass(frozen=True, slots=True)
class Problem:
    """What a strategy schedules, under which options, and what it is asked for.

    `notes` say how storage was expanded; from `unexpanded`, the Scop before that, a strategy may expand more of it.
    `remembered` is what strategies found out about the problem, by what it is. `assumed` names parameters whose values
    in `options` nobody gave: estimates are with these.
    """

    scop: Scop
    dependences: Dependences
    options: Options
    machine: Machine
    choices: Choices = field(default_factory=Choices)
    notes: tuple[str, ...] = ()
    unexpanded: Analysed | None = None
    assumed: frozenset[str] = frozenset()
    remembered: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def conflicts(self) -> int:
        """Return how many pairs of statements depend where some conflicts only count as dependences, and as many for
        each size that is not known, over which isl takes longer; 0 where all dependences are exact."""
        return 0 if self.dependences.exact else self.dependences.pairs * (1 + len(self.scop.parameters))

    @property
    def has_unknown_sizes(self) -> bool:
        """Return whether a size is not given."""
        return any(p.name not in self.options.parameters for p in self.scop.parameters)


@dataclass(frozen=True, slots=True)
class Plans:
    """What the trees of kernels do not say (a kernel without a plan has nothing of that), and `transfers` between host
    and device."""

    kernels: tuple[KernelPlan, ...] = ()
    transfers: tuple[Transfer, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate(TimeTiled):
    """A schedule that a strategy proposes, of a Scop that the strategy may have changed.

    `schedule` is None where the SCoP stays on the host. `notes` are for the user if it is taken, `reasons` lines of
    --explain. `given` are plans that are decided: a strategy's time tile, or, `all_given`, all plans, of a file; others
    are found. Once somebody asked, `run` is what kernels are made of, `known_homes` are homes that were looked at for
    this, `plans` where data live then, and `estimate` is the time of that. It `repeats` where blocks run parallel loops
    one iteration after another: how many blocks there are depends on sizes then. The next candidate may be the same
    with `further_sizes` of its tiles. `small_grids` is another candidate that is faster for these, where sizes are not
    known. It is the `unstaged` one with tiles of what threads do not read along rows, if any.
    """

    strategy: str
    scop: Scop
    dependences: Dependences
    schedule: MappedSchedule | None
    notes: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    run: Executions | None = None
    known_homes: Mapping[str, Storage | None] = field(default_factory=dict)
    given: tuple[KernelPlan, ...] = ()
    all_given: bool = False
    plans: Plans | None = None
    estimate: Estimate | None = None
    repeats: bool = False
    further_sizes: bool = False
    small_grids: SmallGrids | None = None
    unstaged: Candidate | None = None

    @property
    def time_tile(self) -> OverlappedTiles | SplitTiles | None:
        """Return the time tile of the kernels, if any."""
        return time_tile(self.given)

    def with_time_tile(self, tile: OverlappedTiles | SplitTiles | None) -> Candidate:
        """Return the candidate with another time tile, or without one."""
        plans = self.plans and replace(self.plans, kernels=with_time_tile(self.plans.kernels, tile))
        return replace(self, given=with_time_tile(self.given, tile), plans=plans)

    def without_small_grids(self) -> Candidate:
        """Return the candidate whose overlapped tiles run what another one does not."""
        plan, small = self.overlapped, self.small_grids
        if plan is None or small is None:
            return self
        return replace(self, small_grids=None).with_time_tile(replace(plan, least_cells=small.otherwise))

    @property
    def microseconds(self) -> float:
        """Return the estimated time; infinite where nobody asked, or it stays on the host."""
        return self.estimate.microseconds if self.estimate else inf


@dataclass(frozen=True, slots=True)
class SmallGrids:
    """Another candidate, which runs grids of `least` to fewer than `cells` cells in place of overlapped tiles, and what
    these leave of larger ones, if that is so many `iterations`. Where it is refused, tiles run grids of `otherwise`
    cells or more."""

    candidate: Candidate
    cells: int
    least: int = 0
    iterations: int = 1
    otherwise: int = 0


class Strategy(Protocol):
    """Candidates, the best first, each made when it is asked for. None of them is proven."""

    def __call__(self, problem: Problem) -> Iterator[Candidate]: ...
