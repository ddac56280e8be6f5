"""Reference groups: references that run over memory in step, so that one's lines are mostly the other's.

Ferrante, Sarkar and Thrash, On Estimating and Enhancing Cache Effectiveness (LCPC 1991), sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from polytile.ir.scop import Array, Scop
from polytile.scheduling.cost.references import Form, Number, Reference, references


class Row(Protocol):
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


Loops = Sequence[Sequence[Row]]  # outermost first, each with one row for each statement that it runs


@dataclass(frozen=True, slots=True)
class Dimension:
    """One subscript of a group: its coefficients by loop, and the different constants that its references add."""

    slopes: tuple[Number, ...]
    constants: tuple[Number, ...]  # sorted

    @property
    def spread(self) -> Number:
        return self.constants[-1] - self.constants[0]


@dataclass(frozen=True, slots=True)
class Group:
    """References of one array with the same linear part. `dimensions` are outermost first; none, with `known` False,
    where the subscripts are not known."""

    array: Array
    dimensions: tuple[Dimension, ...]
    references: int
    known: bool = True


def own_loops(scop: Scop, statement: str) -> tuple[tuple[Step, ...], ...]:
    """One loop for each iterator of a statement."""
    rank = len(scop.statement(statement).iterators)
    return tuple((Step(statement, i),) for i in range(rank))


def groups(scop: Scop, loops: Loops, statements: Sequence[str]) -> tuple[Group, ...]:
    """The reference groups of statements that run under the same loops, in order of their first references."""
    found: dict[_Key, list[tuple[Number, ...]]] = {}
    unknown: list[Group] = []
    arrays: dict[str, Array] = {}
    for name in statements:
        rows = _rows(loops, name)
        for reference in references(scop, scop.statement(name)):
            arrays[reference.array.name] = reference.array
            if not reference.exact:
                unknown.append(Group(reference.array, (), 1, known=False))
                continue
            linear, constants = _parts(reference, rows)
            found.setdefault((reference.array.name, linear), []).append(constants)
    return (*(_group(arrays[key[0]], key, constants) for key, constants in found.items()), *unknown)


_Linear = tuple[tuple[Number, ...], tuple[tuple[str, Number], ...]]  # by loop; by parameter
_Key = tuple[str, tuple[_Linear, ...]]


def _rows(loops: Loops, statement: str) -> list[Row | None]:
    return [next((r for r in loop if r.statement == statement and r.iterator >= 0), None) for loop in loops]


def _parts(reference: Reference, rows: Sequence[Row | None]) -> tuple[tuple[_Linear, ...], tuple[Number, ...]]:
    linear: list[_Linear] = []
    constants: list[Number] = []
    for form in reference.subscripts:
        if form is not None:
            slopes, constant = _in_time(form, rows)
            linear.append((slopes, form.parameters))
            constants.append(constant)
    return tuple(linear), tuple(constants)


def _in_time(form: Form, rows: Sequence[Row | None]) -> tuple[tuple[Number, ...], Number]:
    """A subscript as a function of the loops: iterator = sign * (time - shift)."""
    slopes, constant = form.slopes, form.constant
    found: list[Number] = []
    for row in rows:
        slope: Number = 0 if row is None else row.sign * slopes[row.iterator]
        found.append(slope)
        if row is not None:
            constant -= slope * row.shift
    return tuple(found), constant


def _group(array: Array, key: _Key, constants: Sequence[tuple[Number, ...]]) -> Group:
    columns = [tuple(sorted(set(column))) for column in zip(*constants, strict=True)]
    dimensions = tuple(Dimension(linear[0], column) for linear, column in zip(key[1], columns, strict=True))
    return Group(array, dimensions, len(set(constants)))

