"""Orders of expression trees with few live registers, where leaves share labels [Rawat et al., PPoPP 2018].

before: (a * b) + (c * (a + d))     after a * b in order: a, b, then c, a, d: three live
after:  (c * (a + d)) + (a * b)     where a is used again behind it, the order with the smaller su'

su'(n, in, out) is the most registers live while the subtree n is evaluated, one child after another: `in` are the
labels that are in registers before, `out` those that stay afterwards. It is the minimum over the orders of the children
of each node; what other subtrees hold is the same for all of them. Labels that only pass through count, but decide
nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from itertools import permutations
from math import factorial

from polytile.codegen.ordering.label_sweeps import with_late_loads
from polytile.codegen.ordering.value_graph import Kind, ValueGraph
from polytile.dataclass import dataclass

MAX_PERMUTED = 5040  # orders of the children of a node that are tried
MAX_EVALUATIONS = 20_000  # of nodes, each with what is live around it; the rest keep the order of the source
Labels = frozenset[Hashable]
NONE: Labels = frozenset()


@dataclass(frozen=True, slots=True)
class Tree:
    """An operation on `children`, evaluated from the first to the last and combined as they come; or a leaf, whose
    value is that of its `label`. `number` names the operation."""

    label: Hashable = None
    children: tuple[Tree, ...] = ()
    number: int = -1
    labels: Labels = field(default=NONE, compare=False)

    def __post_init__(self) -> None:
        own = NONE.union(*(c.labels for c in self.children)) if self.children else frozenset((self.label,))
        object.__setattr__(self, "labels", own)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a tree is evaluated: the most live registers, and the order of the children."""

    registers: int
    order: tuple[Tree, ...]


class TreeOrder:
    """su' of trees, remembered."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Labels, Labels], Evaluation] = {}
        self._trees: list[Tree] = []  # that stay, so that their identities do

    def __call__(self, tree: Tree, live: Labels, needed: Labels) -> Evaluation:
        """Return the best order, where `live` labels are in registers before and `needed` ones are used afterwards."""
        if not tree.children:
            return Evaluation(len(live | tree.labels), ())
        inside = live & tree.labels
        key = (id(tree), inside, needed & tree.labels)
        if key not in self._known:
            self._trees.append(tree)
            self._known[key] = min(self._evaluations(tree, *key[1:]), key=lambda e: e.registers)
        found = self._known[key]
        return Evaluation(found.registers + len(live - inside), found.order)

    def _evaluations(self, tree: Tree, live: Labels, needed: Labels) -> Iterator[Evaluation]:
        for order in self._orders(tree, live, needed):
            yield Evaluation(self._registers(order, live, needed), order)

    def _orders(self, tree: Tree, live: Labels, needed: Labels) -> Iterator[tuple[Tree, ...]]:
        """Yield all orders of the children, or of more than a few those whose largest children come first."""
        if len(self._known) > MAX_EVALUATIONS:
            yield tree.children
            return
        if factorial(min(len(tree.children), 8)) <= MAX_PERMUTED and len(tree.children) < 8:
            yield from permutations(tree.children)
            return
        sizes = [(self(c, live, needed).registers, k) for k, c in enumerate(tree.children)]
        yield tuple(tree.children[k] for _, k in sorted(sizes, reverse=True))
        yield tree.children

    def _registers(self, order: Sequence[Tree], live: Labels, needed: Labels) -> int:
        """Return the most live registers of an order."""
        most, held, pending = 0, 0, NONE  # registers and labels of what the children before have given
        for at, child in enumerate(order):
            later = needed.union(*(c.labels for c in order[at + 1 :]))
            most = max(most, held + self(child, live, later | pending).registers)
            own = NONE if child.children else child.labels
            live = (live | child.labels) & (later | pending | own)
            if at == 0:
                held, pending = int(bool(child.children)), own
            else:
                live, held, pending = live & later, 1, NONE
                most = max(most, len(live) + held)
        return most


def sequence_of(tree: Tree, live: Labels, needed: Labels, order: TreeOrder) -> Iterator[int]:
    """Yield the numbers of the operations of a tree in its best order."""
    pending = NONE
    for at, child in enumerate(chosen := order(tree, live, needed).order):
        later = needed.union(*(c.labels for c in chosen[at + 1 :]))
        yield from sequence_of(child, live, later | pending, order)
        own = NONE if child.children else child.labels
        live = (live | child.labels) & (later | pending | own)
        pending = own if at == 0 else NONE
    if tree.number >= 0:  # an operation, be it on constants alone
        yield tree.number


# Forests ------------------------------------------------------------------------------------------
def depth_first(graph: ValueGraph) -> tuple[int, ...]:
    """Order all trees of a graph, each in its best order.

    Values that are used several times are labels of their own; of the trees whose labels are there, the one that shares
    most with those live is next.
    """
    forest = _Forest(graph)
    computed: list[int] = []
    live: Labels = NONE
    while forest.waiting:
        root = max((r for r in forest.waiting if forest.ready(r)), key=lambda r: (forest.priority(r, live), -r))
        tree = forest.waiting.pop(root)
        needed = forest.labels_of(tuple(forest.waiting.values()))
        computed += sequence_of(tree, live, needed, forest.order)
        live = (live | tree.labels | {root}) & needed
    return with_late_loads(graph, computed)


@dataclass(slots=True)
class _Forest:
    graph: ValueGraph
    waiting: dict[int, Tree] = field(default_factory=dict)
    order: TreeOrder = field(default_factory=TreeOrder)
    before: dict[int, tuple[int, ...]] = field(default_factory=dict)  # other roots that a tree needs
    counts: dict[Hashable, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        uses = self.graph.uses()
        nodes = self.graph.nodes
        computed = [n for n in self.graph.order if nodes[n].kind is not Kind.LOAD]
        roots = {n for n in computed if nodes[n].kind is Kind.STORE or len(uses[n]) != 1}
        for number in computed:
            if number in roots:
                self._add(number, roots)

    def _add(self, root: int, roots: set[int]) -> None:
        nodes, before = self.graph.nodes, set[int]()

        def grown(number: int) -> Tree:
            before.update(self._stores(number))
            parts: list[Tree] = []
            for operand in nodes[number].operands:
                kind = nodes[operand].kind
                if kind is Kind.LOAD or operand in roots:
                    parts.append(Tree(operand))
                    before.update(self._stores(operand) if kind is Kind.LOAD else (operand,))
                elif kind is Kind.OPERATION:
                    parts.append(grown(operand))
            return Tree(None, tuple(parts), number) if parts else Tree(("constant", number), (), number)

        self.waiting[root] = _rooted(grown(root), root)
        self.before[root] = tuple(before & roots - {root})
        for label in self.waiting[root].labels:
            self.counts[label] = self.counts.get(label, 0) + 1

    def _stores(self, number: int) -> Iterator[int]:
        """Yield the stores that must come before a node, through loads that must."""
        for need in self.graph.nodes[number].after:
            if self.graph.nodes[need].kind is Kind.LOAD:
                yield from self.graph.nodes[need].after
            else:
                yield need

    def ready(self, root: int) -> bool:
        return not any(r in self.waiting for r in self.before[root])

    def priority(self, root: int, live: Labels) -> tuple[int, int]:
        """Return the priority of a tree: stores first, else by what it loads less what it has in registers."""
        tree = self.waiting[root]
        store = self.graph.nodes[root].kind is Kind.STORE
        return int(store and not tree.labels - live), len(tree.labels & live) - len(tree.labels - live)

    def labels_of(self, trees: Sequence[Tree]) -> Labels:
        return NONE.union(*(t.labels for t in trees))


def _rooted(tree: Tree, root: int) -> Tree:
    """Return a tree whose root is an operation, or a store of one label."""
    return tree if tree.children else Tree(None, (tree,), root)

