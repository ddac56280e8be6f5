"""The values of a block of straight-line code as a graph [Rawat et al., "Register optimizations for stencils on GPUs",
PPoPP 2018].

before: t = A[i] + A[i + 1]; B[i] = t * c; C[i] = B[i] + A[i];
after:  0: A[i]   1: A[i + 1]   2: 0 + 1   3: c   4: 2 * 3   5: store B[i] = 4   6: 4 + 0   7: store C[i] = 6

Leaves are labels (elements of arrays and scalars that are read) and constants. Equal values are one node, across the
statements of a block; what a store puts where a later statement reads is an edge from value to use. Stores that may
reach the same element, and the loads that do, keep their order (`after`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field
from enum import Enum

from polytile.dataclass import dataclass
from polytile.diagnostics import NOWHERE, Location
from polytile.ir.expr import Expr
from polytile.machine import REGISTER_BYTES


class Kind(Enum):
    """What a node of a value graph is."""

    CONSTANT = "constant"  # of no register: a literal, a parameter, an integer
    LOAD = "load"
    OPERATION = "operation"
    STORE = "store"

    __hash__ = object.__hash__  # what enumerations have is no faster than a function


@dataclass(frozen=True, slots=True)
class ValueNode:
    """A value, or a store.

    `key` tells one kind of operation, or one place in memory, from another. `expr` is an operation whose operands stand
    for others, a leaf as it is written, or the target of a store. `width` counts the registers of the value. `after`
    are loads and stores that must come first, beside the operands.
    """

    kind: Kind
    key: Hashable
    operands: tuple[int, ...]
    expr: Expr
    width: int
    after: tuple[int, ...] = ()
    location: Location = NOWHERE


@dataclass(slots=True)
class ValueGraph:
    """Nodes in an order in which they can be computed, that of the source; equal ones are one.

    `names` are the variables of the source that first held a value.
    """

    nodes: list[ValueNode] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    _known: dict[Hashable, int] = field(default_factory=dict)
    _needs: list[tuple[int, ...]] = field(default_factory=list, compare=False)  # of the nodes that were there

    def add(self, node: ValueNode) -> int:
        """Add a value, and return its number: a new one unless it is known, and always a new one for a store."""
        key = (node.kind, node.key, node.operands)
        found = None if node.kind is Kind.STORE else self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return found

    @property
    def stores(self) -> tuple[int, ...]:
        return tuple(n for n, node in enumerate(self.nodes) if node.kind is Kind.STORE)

    @property
    def order(self) -> tuple[int, ...]:
        """Return what a sequence has: all but constants, in the order of the source."""
        return tuple(n for n, node in enumerate(self.nodes) if node.kind is not Kind.CONSTANT)

    @property
    def operations(self) -> int:
        return sum(node.kind is Kind.OPERATION for node in self.nodes)

    def needs(self, number: int) -> tuple[int, ...]:
        """Return what must come before a node."""
        return self.all_needs()[number]

    def all_needs(self) -> Sequence[tuple[int, ...]]:
        """Return what must come before each node, by its number."""
        nodes, known = self.nodes, self._needs
        for node in nodes[len(known) :]:
            known.append((*[o for o in node.operands if nodes[o].kind is not Kind.CONSTANT], *node.after))
        return known

    def uses(self) -> list[list[int]]:
        """Return, by node, the nodes that have it as an operand, each once, in the order of the source."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            for operand in dict.fromkeys(node.operands):
                found[operand].append(number)
        return found


def words(expr: Expr) -> int:
    """Return the number of registers of a value."""
    return max(1, expr.type.size // REGISTER_BYTES)


def is_order(graph: ValueGraph, sequence: Sequence[int]) -> bool:
    """Return whether a sequence has each node once, after what it needs."""
    place = {number: at for at, number in enumerate(sequence)}
    complete, needs = len(place) == len(sequence) and place.keys() == set(graph.order), graph.all_needs()
    return complete and all(place[need] < at for number, at in place.items() for need in needs[number])


def max_live(graph: ValueGraph, sequence: Sequence[int]) -> int:
    """Return MAXLIVE: the most registers that values take at a time when they are computed in this sequence.

    An operation may put its result where an operand was that is used no more.
    """
    operands = [graph.nodes[number].operands for number in sequence]
    last = {operand: at for at, own in enumerate(operands) for operand in own}
    width = [node.width for node in graph.nodes]
    live = most = 0
    for at, (number, own) in enumerate(zip(sequence, operands, strict=True)):
        for operand in own:
            if last[operand] == at:
                live -= width[operand]
                last[operand] = -1  # an operation may have it twice
        if number in last:
            live += width[number]
        if live > most:
            most = live
    return most
