"""Sweeps within parts of a sequence: sums that read the same elements in different orders run side by side.

before: x = A[0][0] + A[0][1] + ..; y = A[0][0] + A[1][0] + ..; z = ..    all of A is kept from x to y
after:  rows of A from the first on: parts of x and of y, as many as there are columns; then z

A sweep over the whole block would begin all of its sums at once. Parts begin and end where few values are live; what
is live there stays so, and an order of one part changes nothing in others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import field
from itertools import combinations

from polytile.codegen.ordering.label_sweeps import label_places, with_late_loads
from polytile.codegen.ordering.value_graph import Kind, ValueGraph
from polytile.dataclass import dataclass

MOST_CUTS = 12  # places at which parts begin or end
MAX_ROUNDS = 4


def with_swept_parts(graph: ValueGraph, sequence: Sequence[int]) -> tuple[int, ...]:
    """Return a sequence with parts swept where that lowers its live registers, or the same one where none does."""
    parts = _Parts(graph, [n for n in sequence if graph.nodes[n].kind is not Kind.LOAD])
    for _ in range(MAX_ROUNDS):
        if not parts.sweep():
            break
    return with_late_loads(graph, parts.computed)


@dataclass(slots=True)
class _Parts:
    graph: ValueGraph
    computed: list[int]  # operations and stores
    operands: list[tuple[int, ...]] = field(default_factory=list)
    needs: list[tuple[int, ...]] = field(default_factory=list)
    width: list[int] = field(default_factory=list)
    loads: list[bool] = field(default_factory=list)
    used: list[bool] = field(default_factory=list)
    places: list[dict[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        nodes = self.graph.nodes
        self.width = [node.width for node in nodes]
        self.loads = [node.kind is Kind.LOAD for node in nodes]
        self.used = [bool(users) for users in self.graph.uses()]
        self.needs = [self.graph.needs(n) for n in range(len(nodes))]
        for node in nodes:
            values = (o for o in dict.fromkeys(node.operands) if nodes[o].kind is not Kind.CONSTANT)
            self.operands.append(tuple(values))
        self.places = list(label_places(self.graph, (True, False)))

    def sweep(self) -> bool:
        """Apply the sweep of a part that lowers the most live registers, and return whether there is one."""
        live = self.live(self.computed, set(), set())
        best, found = (max(live, default=0), sum(n * n for n in live)), None
        for start, end in combinations(self.cuts(live), 2):
            outside = live[:start] + live[end:]
            most, squares = max(outside, default=0), sum(n * n for n in outside)
            before = {o for n in self.computed[:start] for o in (n, *self.operands[n])}
            behind = {o for n in self.computed[end:] for o in self.operands[n]}
            for order in self.orders(start, end, before):
                own = self.live(order, before, behind)
                score = max(most, max(own)), squares + sum(n * n for n in own)
                if score < best:
                    best, found = score, (start, end, order)
        if found is not None:
            start, end, order = found
            self.computed[start:end] = order
        return found is not None

    def cuts(self, live: Sequence[int]) -> list[int]:
        """Return places with few live registers, apart from one another, both ends among them."""
        apart = len(live) // (2 * MOST_CUTS)
        found = [0, len(live)]
        for at in sorted(range(1, len(live)), key=lambda at: (live[at - 1], at)):
            if len(found) == MOST_CUTS:
                break
            if all(abs(at - other) > apart for other in found):
                found.append(at)
        return sorted(found)

    def live(self, order: Sequence[int], before: Set[int], behind: Set[int]) -> list[int]:
        """Return the registers that are live at each operation of a part.

        They are of its own values, those computed or loaded `before` it, and those used `behind` it, in later parts.
        """
        width, operands = self.width, self.operands
        last = {o: at for at, n in enumerate(order) for o in operands[n]}
        there = {o for o in before if o in behind or o in last}
        total, found = sum(width[o] for o in there), list[int]()
        for at, number in enumerate(order):
            for o in operands[number]:
                if o not in there and self.loads[o]:
                    there.add(o)
                    total += width[o]
            most = total
            total -= sum(width[o] for o in operands[number] if last[o] == at and o not in behind)
            total += width[number] if self.used[number] else 0
            found.append(max(most, total))
        return found

    def orders(self, start: int, end: int, before: Set[int]) -> Iterator[list[int]]:
        """Yield the sweeps of a part; elements that are there before it count as loaded."""
        part = sorted(self.computed[start:end])
        for ranks in self.places:
            yield self._swept(part, {load: rank for load, rank in ranks.items() if load not in before})

    def _swept(self, part: Sequence[int], ranks: Mapping[int, int]) -> list[int]:
        ready: dict[int, int] = {}
        for number in part:
            ready[number] = max((ready.get(n, ranks.get(n, -1)) for n in self.needs[number]), default=-1)
        return sorted(part, key=lambda n: (ready[n], n))
