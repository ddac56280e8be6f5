"""Which loops of a group are mapped to the threads of a block [Shirako, Hayashi and Sarkar 2017, sections 4 and 5.4].

Threads take the parallel loops down to the one that coalesces best; a serial loop above that one stays around it, with
barriers, and the parallel loops further out are moved into it.

before: i* [ t [ j* [S]; j* [T] ] ]
after:  t repeated { threads (i, j) of S; threads (i, j) of T }

How well threads along a loop coalesce, by the cost model, and how many iterations it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from math import inf

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.cost import coalescing
from polytile.scheduling.strategies.superposed.loop_tree import (
    CONSTANT,
    Kind,
    Leaf,
    Loop,
    Row,
    Sequence,
    Tree,
    statements_of,
)
from polytile.tuning import SharingTuning


@dataclass(frozen=True, slots=True)
class ThreadNest:
    """Loops that are mapped to threads, outermost first, around what one thread runs alone. `along_x` is the position
    of the loop of thread.x; no loops: one thread runs the body."""

    loops: tuple[Loop, ...]
    along_x: int
    body: Tree


@dataclass(frozen=True, slots=True)
class Repeated:
    """A serial loop that all threads of a block run together."""

    loop: Loop
    body: Inside


@dataclass(frozen=True, slots=True)
class Phases:
    """Parts that all threads of a block run one after the other."""

    children: tuple[Inside, ...]


Inside = ThreadNest | Repeated | Phases


def nests_of(inside: Inside) -> Iterator[ThreadNest]:
    """Yield all nests, in their order."""
    match inside:
        case ThreadNest():
            yield inside
        case Repeated(body=body):
            yield from nests_of(body)
        case Phases(children):
            for child in children:
                yield from nests_of(child)


def can_be_shared(loop: Loop, *, reductions: bool) -> bool:
    """Return whether blocks or threads can share a loop: it is parallel, or carries reductions that can be split."""
    pairs = zip(loop.rows, loop.kinds, strict=True)
    plain = all(r.is_plain for r, k in pairs if k is Kind.REDUCTION)
    return loop.parallel or (reductions and plain and Kind.SEQUENTIAL not in loop.kinds)


def share_out(steps: Steps, tree: Tree, *, reductions: bool) -> Inside:
    """Decide for one group's loops; `reductions` allows loops that carry a reduction alone."""
    return _Sharing(steps, reductions).visit(tree, ())


@dataclass(frozen=True, slots=True)
class _Sharing:
    steps: Steps
    reductions: bool

    def visit(self, tree: Tree, taken: tuple[Loop, ...]) -> Inside:
        if self._enough(tree, taken):
            return self._nest(taken, tree)
        match tree:
            case Loop() if self._useful(tree, taken):
                return self.visit(tree.body, (*taken, tree))
            case Loop() if any(self._useful(loop, taken) for loop in _loops(tree.body)):
                return Repeated(tree, self.visit(tree.body, taken))
            case Sequence(children) if any(self._useful(loop, taken) for loop in _loops(tree)):
                return Phases(tuple(self.visit(child, taken) for child in children))
        return self._nest(taken, tree)

    def _useful(self, loop: Loop, taken: tuple[Loop, ...]) -> bool:
        """Return whether threads should take a loop.

        They should where it is parallel, or a reduction without which they would not coalesce, or be few.
        """
        if loop.parallel or not can_be_shared(loop, reductions=self.reductions):
            return loop.parallel
        return not self._fill(taken) or self._coalesces_better(loop, taken)

    def _fill(self, taken: tuple[Loop, ...]) -> bool:
        """Return whether these loops fill a GPU, as a guess; where they do not, threads take reductions too."""
        return sum(t.parallel for t in taken) >= self.steps.tuning.enough_parallel_loops

    def _coalesces_better(self, loop: Loop, taken: tuple[Loop, ...]) -> bool:
        least = min(self._sectors(t, loop.body) for t in taken)
        return self._sectors(loop, loop.body) < self.steps.tuning.clear_gain * least

    def _enough(self, tree: Tree, taken: tuple[Loop, ...]) -> bool:
        """Return whether no loop below would make better requests, and the loops taken are parallel enough."""
        below = [loop for loop in _loops(tree) if self._useful(loop, taken)]
        if not taken or not below:
            return bool(taken)
        return self._fill(taken) and not any(self._coalesces_better(loop, taken) for loop in below)

    def _sectors(self, loop: Loop, tree: Tree) -> float:
        """Estimate the sectors for a request of each access of the deepest statements, with threads along `loop`."""
        return self.steps.sectors(loop, self.steps.deepest(statements_of(tree)))

    def _nest(self, taken: tuple[Loop, ...], body: Tree) -> ThreadNest:
        if not taken:
            return ThreadNest((), 0, body)
        costs = [self._sectors(loop, body) for loop in taken]
        x = min(range(len(taken)), key=lambda i: (costs[i], -i))
        others = [i for i in range(len(taken)) if i != x][-(MAX_DIMENSIONS - 1) :]
        kept = sorted((*others, x))
        dropped = [taken[i] for i in range(len(taken)) if i not in kept]
        for loop in reversed(dropped):
            body = _around(loop, body)
        return ThreadNest(tuple(taken[i] for i in kept), kept.index(x), body)


def _around(loop: Loop, body: Tree) -> Loop:
    """Put a loop around a part of its statements."""
    inside = set(statements_of(body))
    kept = [(r, k) for r, k in zip(loop.rows, loop.kinds, strict=True) if r.statement in inside]
    return Loop(tuple(r for r, _ in kept), tuple(k for _, k in kept), body)


def _loops(tree: Tree) -> Iterator[Loop]:
    match tree:
        case Loop():
            yield tree
            yield from _loops(tree.body)
        case Sequence(children):
            for child in children:
                yield from _loops(child)
        case Leaf():
            return


@dataclass(frozen=True, slots=True)
class Steps:
    """Answers for one Scop, each computed once. `parameters` are the sizes that choices are made for: what is made is
    right for all others, too; `tuning` is the machine's."""

    scop: Scop
    parameters: Mapping[str, int] = field(default_factory=dict)
    tuning: SharingTuning = field(default_factory=SharingTuning)
    _known: dict[Row, float] = field(default_factory=dict)

    def sectors(self, loop: Loop, statements: Iterable[str]) -> float:
        """Estimate the sectors for one request of each access of these statements, with threads along `loop`."""
        return sum(self._of(loop.row(s)) for s in statements)

    def deepest(self, statements: Iterable[str]) -> list[str]:
        """Return the statements with the most iterators: they run most often."""
        found = list(statements)
        ranks = {s: len(self.scop.statement(s).iterators) for s in found}
        return [s for s in found if ranks[s] == max(ranks.values())]

    def _of(self, row: Row) -> float:
        if row not in self._known:
            statement = self.scop.statement(row.statement)
            moves = row.iterator != CONSTANT
            self._known[row] = (
                coalescing(self.scop, row.statement, row.iterator, row.sign) if moves else len(statement.accesses)
            )
        return self._known[row]

    def extent(self, loop: Loop) -> float:
        """Return how many iterations a loop has at most, as far as that is a number: infinity otherwise."""
        most = 1.0
        for row in (r for r in loop.rows if r.iterator != CONSTANT):
            values = self._sized(self.scop.statement(row.statement).domain.intersect_params(self.scop.context))
            low, high = values.dim_min_val(row.iterator), values.dim_max_val(row.iterator)
            known = low.is_int() and high.is_int()
            most = max(most, high.to_python() - low.to_python() + 1 if known else inf)
        return most

    def _sized(self, domain: isl.Set) -> isl.Set:
        """Fix a domain to the sizes that choices are made for; unchanged where it is empty then."""
        sized = domain
        for name, value in self.parameters.items():
            place = sized.find_dim_by_name(isl.dim_type.param, name)
            if place >= 0:
                sized = sized.fix_val(isl.dim_type.param, place, isl.Val(value))
        return domain if sized.is_empty() else sized
