"""Search spaces: parameters with their values, and constraints that leave out what cannot run.

    block.y: 4, 8, 16    rows: 1, 2, 4    where block.y * 32 <= 1024 threads    ->  9 points

A space has one part for each strategy; a point says which by its parameter `schedule`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from polytile.choices import Choices
from polytile.dataclass import dataclass

Value = int | str | bool
Point = tuple[tuple[str, Value], ...]  # names and values in the order of the part's parameters
SCHEDULE = "schedule"  # the parameter that names the strategy


@dataclass(frozen=True, slots=True)
class Parameter:
    """A name and the values it takes, smallest first."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Constraint:
    """What points must hold: `holds` is asked with the values of `names`; `reason` says what is exceeded otherwise."""

    names: tuple[str, ...]
    holds: Callable[..., bool]
    reason: str


@dataclass(frozen=True, slots=True)
class Subspace:
    """The points of one strategy: all combinations of values that hold the constraints. `choices` is what the compiler
    is asked for at a point."""

    schedule: str
    parameters: tuple[Parameter, ...]
    choices: Callable[[Mapping[str, Value]], Choices]
    constraints: tuple[Constraint, ...] = ()

    def points(self) -> Iterator[Point]:
        """Yield the points that hold all constraints, each asked as soon as its names have values."""
        yield from self._from(0, ((SCHEDULE, self.schedule),))

    def _from(self, index: int, begun: Point) -> Iterator[Point]:
        if index == len(self.parameters):
            yield begun
            return
        parameter = self.parameters[index]
        for value in self.parameters[index].values:
            longer = (*begun, (parameter.name, value))
            if all(_holds(one, dict(longer)) for one in self.constraints if parameter.name in one.names):
                yield from self._from(index + 1, longer)


def _holds(constraint: Constraint, known: Mapping[str, Value]) -> bool:
    """Return whether a constraint holds; it does as long as some of its names have no value."""
    if any(name not in known for name in constraint.names):
        return True
    return constraint.holds(*(known[name] for name in constraint.names))


@dataclass(frozen=True)
class Space:
    """All that may be asked of a SCoP at given sizes: points of several strategies. The compiler's own choice, the
    default, is the empty point `()`, which is in every space."""

    parts: tuple[Subspace, ...]

    @cached_property
    def points(self) -> Sequence[Point]:
        """Return all points, without the default, in an order that depends on the space alone."""
        return tuple(chain.from_iterable(part.points() for part in self.parts))

    def part(self, point: Point) -> Subspace:
        """Return the part that a point is of; raises KeyError for one of no part."""
        asked = dict(point).get(SCHEDULE)
        for part in self.parts:
            if part.schedule == asked:
                return part
        raise KeyError(asked)

    def choices(self, point: Point) -> Choices:
        """Return what the compiler is asked for at a point."""
        return self.part(point).choices(dict(point)) if point else Choices()
