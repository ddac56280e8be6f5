"""Slice and interleave: operations move to where fewer values are live.

before: a = A[0] * A[1]; b = B[0] * B[1]; c = b + 1; d = a + c        a waits for three operations
after:  b = B[0] * B[1]; c = b + 1; a = A[0] * A[1]; d = a + c

An operation that takes more registers than it frees moves down to its first use, one that frees more moves up to what
it needs last. Loads stand right before their first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from polytile.codegen.ordering.label_sweeps import with_late_loads
from polytile.codegen.ordering.value_graph import Kind, ValueGraph, max_live
from polytile.dataclass import dataclass

MAX_ROUNDS = 3


def interleave(graph: ValueGraph, sequence: Sequence[int]) -> tuple[int, ...]:
    """Move operations in a sequence to lower its number of live registers, or return it as it is."""
    best, least = tuple(sequence), max_live(graph, sequence)
    motion = _Motion(graph, [n for n in sequence if graph.nodes[n].kind is not Kind.LOAD])
    for _ in range(MAX_ROUNDS):
        changed = [motion.down(number) for number in reversed(motion.computed)]
        changed += [motion.up(number) for number in tuple(motion.computed)]
        found = with_late_loads(graph, motion.computed)
        if (live := max_live(graph, found)) < least:
            best, least = found, live
        if not any(changed):
            break
    return best


@dataclass(slots=True)
class _Motion:
    graph: ValueGraph
    computed: list[int]  # operations and stores
    place: dict[int, int] = field(default_factory=dict)
    uses: list[list[int]] = field(default_factory=list)
    before: list[list[int]] = field(default_factory=list)  # what is no load and must come before a node
    after: list[list[int]] = field(default_factory=list)  # what must come after it

    def __post_init__(self) -> None:
        self.uses = self.graph.uses()
        self.before = [self._behind_loads(n) for n in range(len(self.graph.nodes))]
        self.after = [[] for _ in self.graph.nodes]
        for number in self.computed:
            for need in self.before[number]:
                self.after[need].append(number)
        self._number(0, len(self.computed))

    def _behind_loads(self, number: int) -> list[int]:
        """Return what must come before a node, and before the loads that it takes along."""
        found: list[int] = []
        for need in self.graph.needs(number):
            load = self.graph.nodes[need].kind is Kind.LOAD
            found += self.graph.nodes[need].after if load else [need]
        return [n for n in dict.fromkeys(found) if n != number]

    def _number(self, start: int, end: int) -> None:
        for at in range(start, end):
            self.place[self.computed[at]] = at

    def _balance(self, number: int) -> int:
        """Return the registers that are live after a node, less those before it."""
        node, at = self.graph.nodes[number], self.place[number]
        total = node.width if self.uses[number] else 0
        for operand in dict.fromkeys(node.operands):
            width, places = self.graph.nodes[operand].width, [self.place[u] for u in self.uses[operand]]
            total -= width if max(places) <= at else 0
            total += width if self.graph.nodes[operand].kind is Kind.LOAD and min(places) >= at else 0
        return total

    def down(self, number: int) -> bool:
        """Move a node that takes registers to its first use."""
        at = self.place[number]
        to = min((self.place[n] for n in self.after[number]), default=len(self.computed)) - 1
        return to > at and self._balance(number) > 0 and self._move(at, to)

    def up(self, number: int) -> bool:
        """Move a node that frees registers to behind what it needs last, elements that others load among that."""
        at = self.place[number]
        to = max((self.place[n] for n in self.before[number]), default=-1)
        for operand in self.graph.nodes[number].operands:
            if self.graph.nodes[operand].kind is Kind.LOAD:
                others = [self.place[u] for u in self.uses[operand] if u != number]
                to = max(to, min(others) if others else at - 1)
        return to + 1 < at and self._balance(number) < 0 and self._move(at, to + 1)

    def _move(self, at: int, to: int) -> bool:
        self.computed.insert(to, self.computed.pop(at))
        self._number(min(at, to), max(at, to) + 1)
        return True
