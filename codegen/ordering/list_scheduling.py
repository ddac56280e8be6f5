"""List orders: what needs the fewest elements that are not loaded yet comes first [Rawat et al., "Associative
instruction reordering to alleviate register pressure", SC 2018].

before: a = A[0] + A[1]; b = B[0] * B[1]; c = A[1] * A[2]        sequence: a, b, c
after:  a, c, b                                                  A[1] is loaded, so c needs one element, b two

Among equals the one that leaves the fewest registers live is next; what it completes runs at once, unless that would
take more registers than it frees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from polytile.codegen.ordering.value_graph import Kind, ValueGraph
from polytile.dataclass import dataclass


def list_order(graph: ValueGraph) -> tuple[int, ...]:
    """Return the greedy sequence of all nodes."""
    state = _State(graph)
    waiting = [n for n in graph.order if graph.nodes[n].kind is not Kind.LOAD]
    missing = [loads.bit_count() for loads in state.loads]  # that are not loaded yet
    known: dict[int, _Choice] = {}
    while waiting:
        least = min(map(missing.__getitem__, waiting))
        nearest = [n for n in waiting if missing[n] == least]
        for n in nearest:
            if n not in known:
                known[n] = state.choice(n)
        best = known[min(nearest, key=lambda n: known[n].rank)]
        start, loaded = len(state.sequence), state.loaded
        for number in best.cone:
            state.run(number)
        state.complete([u for number in best.cone for u in state.uses[number]])
        changed = state.mask(state.sequence[start:])
        known = {n: choice for n, choice in known.items() if not choice.mask & changed}
        waiting = [n for n in waiting if not state.done[n]]
        new = state.loaded & ~loaded
        for n in waiting if new else ():
            if there := state.loads[n] & new:
                missing[n] -= there.bit_count()
    return tuple(state.sequence)


@dataclass(frozen=True, slots=True)
class _Choice:
    """A node that may come next, with what has to run for it. It stays what it is until some of these nodes run, or
    others that use what they use (`mask`, a bit for each). The one of the least `rank` is next: its growth of live
    registers, how much runs, and its number."""

    rank: tuple[int, int, int]
    cone: list[int]
    mask: int


@dataclass(slots=True)
class _State:
    """What is computed so far; sets of loads are bits of a number."""

    graph: ValueGraph
    uses: list[list[int]] = field(default_factory=list)
    left: list[int] = field(default_factory=list)  # uses that have not run
    done: list[bool] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)  # that a node needs, itself among them
    needs: list[tuple[int, ...]] = field(default_factory=list)
    own: list[int] = field(default_factory=list)  # a node and its operands, as bits
    loaded: int = 0
    sequence: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        nodes = self.graph.nodes
        self.uses = self.graph.uses()
        self.left = [len(u) for u in self.uses]
        self.done = [node.kind is Kind.CONSTANT for node in nodes]
        self.needs = [self.graph.needs(n) for n in range(len(nodes))]
        for number, node in enumerate(nodes):
            self.own.append(1 << number)
            for operand in node.operands:
                self.own[number] |= 1 << operand
            own = 1 << number if node.kind is Kind.LOAD else 0
            for need in self.needs[number]:
                own |= self.loads[need]
            self.loads.append(own)

    def choice(self, number: int) -> _Choice:
        cone = self.cone(number)
        return _Choice((self.growth(cone), len(cone), number), cone, self.mask(cone))

    def mask(self, numbers: Iterable[int]) -> int:
        """Return nodes and their operands as bits of a number."""
        found = 0
        for number in numbers:
            found |= self.own[number]
        return found

    def cone(self, number: int) -> list[int]:
        """Return what has to run for a node, in order, itself last."""
        found: dict[int, None] = {}
        waiting = [(number, False)]
        while waiting:
            at, visited = waiting.pop()
            if self.done[at] or at in found:
                continue
            if visited:
                found[at] = None
            else:
                waiting += [(at, True), *((n, False) for n in reversed(self.needs[at]))]
        return list(found)

    def growth(self, cone: Sequence[int]) -> int:
        """Return by how many registers more are live after a cone than before it."""
        used: dict[int, int] = {}
        for number in cone:
            for operand in dict.fromkeys(self.graph.nodes[number].operands):
                used[operand] = used.get(operand, 0) + 1
        inside = set(cone)
        born = sum(self.graph.nodes[n].width for n in inside if self.left[n] > used.get(n, 0))
        died = (o for o, count in used.items() if count == self.left[o] and o not in inside)
        return born - sum(self.graph.nodes[o].width for o in died)

    def run(self, number: int) -> None:
        self.done[number] = True
        self.sequence.append(number)
        if self.graph.nodes[number].kind is Kind.LOAD:
            self.loaded |= 1 << number
        for operand in dict.fromkeys(self.graph.nodes[number].operands):
            self.left[operand] -= 1

    def complete(self, candidates: Iterable[int]) -> None:
        """Run what has all it needs and takes no more registers than it frees, and what that completes."""
        waiting = list(candidates)
        at = 0
        while at < len(waiting):
            number, at = waiting[at], at + 1
            ready = not self.done[number] and all(self.done[n] for n in self.needs[number])
            if not ready or self.growth([number]) > 0:
                continue
            self.run(number)
            waiting += self.uses[number]
            for operand in self.graph.nodes[number].operands:
                if self.left[operand] == 1:
                    waiting += [u for u in self.uses[operand] if not self.done[u]]
