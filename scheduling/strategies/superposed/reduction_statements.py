"""The statements that run for a statement of the loop trees: itself, or those of its privatised reduction.

Where S[i, j] sums over j on 32 threads, its rows i and j are for the start of the partial results I[i, l] the rows
i and l, and for their combination C[i] the rows i and 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.partial_results import Privatised
from polytile.ir.scop import Scop
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Row, time_of


def modulo(value: isl.PwAff, size: int) -> isl.PwAff:
    return value.mod_val(isl.Val(size))


def quotient(value: isl.PwAff, size: int) -> isl.PwAff:
    """Compute `floor(value / size)`."""
    return value.scale_down_val(isl.Val(size)).floor() if size > 1 else value


@dataclass(frozen=True, slots=True)
class Part:
    """One statement of the Scop with partial results, in the place of `row.statement` of the loop trees."""

    scop: Scop = field(compare=False)
    statement: str
    made: Privatised | None = None  # None: it runs the instances of the loop trees' statement

    def _at(self, position: int, row: Row) -> isl.PwAff:
        return time_of(self.scop.statement(self.statement), Row(self.statement, position, row.sign, row.shift))

    def _of_group(self, row: Row) -> isl.PwAff | None:
        """Return the row's time, where it does not run through a loop that is split or summed over."""
        if self.made is None or row.iterator == CONSTANT:
            return self._at(row.iterator, row)
        if row.iterator in self.made.group:
            return self._at(self.made.group.index(row.iterator), row)
        return None

    def _split(self, row: Row, *, lanes: bool) -> isl.PwAff:
        """Return the chunk, or with `lanes` the partial result, that a row's loop is split into; 0 without one."""
        assert self.made is not None
        splits = [*(s for s in self.made.splits if not s.lanes), *(s for s in self.made.splits if s.lanes)]
        place = next((i for i, s in enumerate(splits) if (s.iterator, s.lanes) == (row.iterator, lanes)), None)
        position = CONSTANT if place is None else len(self.made.group) + place
        if position >= len(self.scop.statement(self.statement).iterators):  # a combination has no lanes
            position = CONSTANT
        return self._at(position, Row(self.statement, position))

    def runs_through(self, row: Row) -> bool:
        """Return whether it runs for each iteration of a row's loop, not once for all of a chunk or partial result."""
        return self._of_group(row) is not None

    def moves_along(self, row: Row) -> bool:
        """Return whether its instances are at different iterations of a row's loop."""
        return row.iterator != CONSTANT and self.runs_through(row)

    def serial(self, row: Row) -> isl.PwAff:
        """Return the time in a serial loop."""
        found = self._of_group(row)
        return self._at(CONSTANT, Row(self.statement, CONSTANT)) if found is None else found

    def block(self, row: Row, tile: int) -> isl.PwAff:
        """Return the block that runs an instance."""
        found = self._of_group(row)
        return self._split(row, lanes=False) if found is None else quotient(found, tile)

    def thread(self, row: Row, size: int, unit: int = 1) -> isl.PwAff:
        """Return the thread that runs an instance, where each takes `unit` neighbours."""
        found = self._of_group(row)
        return self._split(row, lanes=True) if found is None else modulo(quotient(found, unit), size)

    def turn(self, row: Row, size: int) -> isl.PwAff:
        """Return how often the threads of a dimension have come round when they run it."""
        found = self._of_group(row)
        return self._at(CONSTANT, Row(self.statement, CONSTANT)) if found is None else quotient(found, size)


@dataclass(frozen=True, slots=True)
class Parts:
    """All statements, by those of the loop trees."""

    scop: Scop
    private: Mapping[str, Privatised]
    tiled: Collection[str] = ()  # those of which one thread runs all chunks, one after the other

    def runs(self, name: str) -> Part:
        """Return the statement that runs the instances of `name`."""
        made = self.private.get(name)
        return Part(self.scop, made.update if made else name)

    def _other(self, name: str, made: Privatised, statement: str | None) -> list[Part]:
        return [] if statement is None else [Part(self.scop, statement, made)]

    def chunk(self, name: str) -> tuple[Part, Part]:
        """Return what starts a chunk that one thread runs, and what adds it to the result."""
        made = self.private[name]
        assert made.finish is not None
        return Part(self.scop, made.initial, made), Part(self.scop, made.finish, made)

    def starts(self, name: str) -> list[Part]:
        made = self.private.get(name)
        return [] if made is None or name in self.tiled else self._other(name, made, made.initial)

    def combines(self, name: str) -> list[Part]:
        made = self.private.get(name)
        return [] if made is None else self._other(name, made, made.combine)

    def finishes(self, name: str) -> list[Part]:
        """Return the statements that add up the chunks of blocks, in order."""
        made = self.private.get(name)
        if made is None or made.finish is None or name in self.tiled:
            return []
        gathering = made.gathering
        names = (gathering.initial, made.finish, gathering.total) if gathering else (made.finish,)
        return [Part(self.scop, n, made) for n in names]

    def sums(self, name: str) -> list[Part]:
        """Return what adds to the results of a statement whose chunks are added up."""
        return self.finishes(name)[-1:]

    def running(self, name: str) -> list[Part]:
        """Return what threads run between the start of their partial results and what combines these."""
        return self.inside(name) if name in self.tiled else [self.runs(name)]

    def inside(self, name: str) -> list[Part]:
        """Return everything but the sum over blocks."""
        if name in self.tiled:
            start, finish = self.chunk(name)
            return [start, self.runs(name), finish]
        return [*self.starts(name), self.runs(name), *self.combines(name)]
