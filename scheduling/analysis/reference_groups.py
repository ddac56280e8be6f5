"""Reference groups: references that run over memory in step, so that one's lines are mostly the other's.

Ferrante, Sarkar and Thrash, On Estimating and Enhancing Cache Effectiveness (LCPC 1991), sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from polytile.dataclass import dataclass
from polytile.ir.scop import Array, Scop
from polytile.scheduling.analysis.affine_references import LinearPart, Number, Reference, references


class ReferenceRow(Protocol):
    """How one statement runs through a loop: time = sign * iterator + shift; iterator -1 stands still."""

    @property
    def statement(self) -> str: ...
    @property
    def iterator(self) -> int: ...
    @property
    def sign(self) -> int: ...
    @property
    def shift(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Step:
    """A Row: what one statement does in a loop."""

    statement: str
    iterator: int
    sign: int = 1
    shift: int = 0


Loops = Sequence[Sequence[ReferenceRow]]  # outermost first, each with one row for each statement that it runs


@dataclass(frozen=True, slots=True)
class Dimension:
    """One subscript of a group: its coefficients by loop, and the different constants that its references add."""

    slopes: tuple[Number, ...]
    constants: tuple[Number, ...]  # sorted

    @property
    def spread(self) -> Number:
        return self.constants[-1] - self.constants[0]


@dataclass(frozen=True, slots=True)
class ReferenceGroup:
    """References of one array with the same linear part. `dimensions` are outermost first; none, with `known` False,
    where the subscripts are not known."""

    array: Array
    dimensions: tuple[Dimension, ...]
    members: tuple[Reference, ...]
    offsets: tuple[tuple[Number, ...], ...] = ()  # the constants of different references, each by dimension
    known: bool = True

    @property
    def references(self) -> int:
        """Return the number of different references."""
        return len(self.offsets) if self.known else 1


def own_loops(scop: Scop, statement: str) -> tuple[tuple[Step, ...], ...]:
    """Return one loop for each iterator of a statement."""
    rank = len(scop.statement(statement).iterators)
    return tuple((Step(statement, i),) for i in range(rank))


def groups(scop: Scop, loops: Loops, statements: Sequence[str]) -> tuple[ReferenceGroup, ...]:
    """Group the references of statements that run under the same loops, in order of their first references."""
    entries: list[_Entry] = []
    for name in statements:
        rows = _rows(loops, name)
        known: dict[LinearPart, tuple[tuple[_Linear, ...], tuple[Number, ...]]] = {}
        for reference in references(scop, scop.statement(name)):
            if reference.linear not in known:
                known[reference.linear] = _in_time(rows, reference.linear)
            linear, shifts = known[reference.linear]
            constants = tuple(c + shift for c, shift in zip(reference.constants, shifts, strict=True))
            entries.append((reference, linear, constants))
    return _grouped(entries)


def groups_along(found: Sequence[Reference], steps: Sequence[Sequence[int]]) -> tuple[ReferenceGroup, ...]:
    """Group one statement's references under loops that advance its iterators by these steps."""
    known: dict[LinearPart, tuple[_Linear, ...]] = {}
    for part in {reference.linear for reference in found}:
        forms = [form for form in part.forms if form is not None]
        known[part] = tuple((tuple(form.along(step) for step in steps), form.parameters) for form in forms)
    return _grouped([(reference, known[reference.linear], reference.constants) for reference in found])


_Linear = tuple[tuple[Number, ...], tuple[tuple[str, Number], ...]]  # by loop; by parameter
_Key = tuple[tuple[str, int | None], tuple[_Linear, ...]]  # with what subscripts count from
_Entry = tuple[Reference, tuple[_Linear, ...], tuple[Number, ...]]


def _rows(loops: Loops, statement: str) -> list[ReferenceRow | None]:
    return [next((r for r in loop if r.statement == statement and r.iterator >= 0), None) for loop in loops]


def _in_time(rows: Sequence[ReferenceRow | None], part: LinearPart) -> tuple[tuple[_Linear, ...], tuple[Number, ...]]:
    """Return the subscripts as functions of the loops, and what these add to their constants.

    iterator = sign * (time - shift).
    """
    linear: list[_Linear] = []
    shifts: list[Number] = []
    for form in part.forms:
        if form is not None:
            slopes = [0 if row is None else row.sign * form.slopes[row.iterator] for row in rows]
            linear.append((tuple(slopes), form.parameters))
            pairs = zip(slopes, rows, strict=True)
            shifts.append(-sum(slope * row.shift for slope, row in pairs if row is not None))
    return tuple(linear), tuple(shifts)


def _grouped(entries: Sequence[_Entry]) -> tuple[ReferenceGroup, ...]:
    found: dict[_Key, list[_Entry]] = {}
    for entry in entries:
        if entry[0].exact:
            found.setdefault((entry[0].base, entry[1]), []).append(entry)
    inexact = (entry[0] for entry in entries if not entry[0].exact)
    unknown = (ReferenceGroup(reference.array, (), (reference,), known=False) for reference in inexact)
    return (*(_group(key, members) for key, members in found.items()), *unknown)


def _group(key: _Key, entries: Sequence[_Entry]) -> ReferenceGroup:
    constants = [entry[2] for entry in entries]
    columns = [tuple(sorted(set(column))) for column in zip(*constants, strict=True)]
    dimensions = tuple(Dimension(linear[0], column) for linear, column in zip(key[1], columns, strict=True))
    members = tuple(entry[0] for entry in entries)
    return ReferenceGroup(entries[0][0].array, dimensions, members, tuple(sorted(set(constants))))
