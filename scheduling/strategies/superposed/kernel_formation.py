"""Kernels from the two loop trees: the block level says what runs in one kernel and which loops its blocks take, the
thread level what happens inside [Shirako, Hayashi and Sarkar 2017, section 4].

block level:  (r, q) { S; T; U }        thread level:  r [ q [ p [S; s [T]]; p [U] ] ]
group:        blocks (r, q), inside: threads (r, q, p) of S and T, then of U
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from polytile.dataclass import dataclass
from polytile.ir.scop import AccessKind, Scop
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.strategies.superposed.block_level import block_loops
from polytile.scheduling.strategies.superposed.loop_coalescing import Steps
from polytile.scheduling.strategies.superposed.loop_tree import (
    CONSTANT,
    Kind,
    Leaf,
    Loop,
    Row,
    Sequence,
    Tree,
    in_sequence,
    restrict,
    statements_of,
)
from polytile.scheduling.strategies.superposed.thread_mapping import Inside, can_be_shared, nests_of, share_out


@dataclass(frozen=True, slots=True)
class FormedKernel:
    """One kernel: the loops of its blocks, outermost first, and what the threads of a block do."""

    blocks: tuple[Loop, ...]
    inside: Inside
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Serial:
    """A part without parallel loops: one thread runs it."""

    tree: Tree


@dataclass(frozen=True, slots=True)
class HostLoop:
    """A serial loop around kernels."""

    loop: Loop
    body: Host


@dataclass(frozen=True, slots=True)
class HostSequence:
    """Kernels one after the other."""

    children: tuple[Host, ...]


Host = FormedKernel | Serial | HostLoop | HostSequence
Fixed = Mapping[str, frozenset[int]]  # the iterators of each statement that the host's loops run through


def superpose_levels(steps: Steps, block: Tree, thread: Tree, *, reductions: bool) -> Host:
    """Form the kernels of a SCoP.

    `reductions` allows to map loops that carry a reduction alone to blocks and threads.
    """
    everything = {s: frozenset[int]() for s in statements_of(block)}
    return _Groups(steps, thread, reductions).host(block, everything)


@dataclass(frozen=True, slots=True)
class _Groups:
    steps: Steps
    thread: Tree
    reductions: bool

    def host(self, tree: Tree, fixed: Fixed) -> Host:
        match tree:
            case Loop() if can_be_shared(tree, reductions=self.reductions):
                return self._groups(tree, fixed)
            case Loop() if _any_parallel(tree.body):
                inner = {s: fixed[s] | {tree.row(s).iterator} for s in statements_of(tree)}
                return HostLoop(tree, self.host(tree.body, {**fixed, **inner}))
            case Sequence(children):
                return _merged([self.host(child, fixed) for child in children])
        return self._without_blocks(tree, fixed)

    def _groups(self, tree: Loop, fixed: Fixed) -> Host:
        """Form one kernel for a nest, or several where chunks of a reduction can then go to blocks."""
        parts = _between_sums(self.steps, tree) if self.reductions else []
        found = [self._group(part, fixed) for part in parts]
        formed = (group for group in found if isinstance(group, FormedKernel))
        chunks = any(Kind.REDUCTION in b.kinds for group in formed for b in group.blocks)
        return _merged(found) if chunks else self._group(tree, fixed)

    def _group(self, tree: Tree, fixed: Fixed) -> Host:
        if not isinstance(tree, Loop):
            return self.host(tree, fixed)
        tuning = self.steps.tuning
        leading = block_loops(self.steps.scop, tree, tuning.enough_parallel_loops)
        shared = (loop for loop in leading if can_be_shared(loop, reductions=self.reductions))
        blocks = tuple(loop for loop in shared if Kind.FORALL in loop.kinds)
        inside, names = self._inside(tree, fixed), statements_of(tree)
        few = prod(map(self.steps.extent, blocks)) <= tuning.few_results if blocks else False
        if len(blocks) < (MAX_DIMENSIONS if few else tuning.enough_parallel_loops):
            chunks = _chunks(self.steps, names, blocks, inside, few=few)
            blocks = (chunks, *blocks) if chunks else blocks
        return FormedKernel(blocks, inside, names)

    def _without_blocks(self, tree: Tree, fixed: Fixed) -> Host:
        """Return a part that no block loop is found for, to run in one thread."""
        return Serial(_without(restrict(self.thread, statements_of(tree)), fixed))

    def _inside(self, tree: Tree, fixed: Fixed) -> Inside:
        own = _without(restrict(self.thread, statements_of(tree)), fixed)
        return share_out(self.steps, own, reductions=self.reductions)


def _between_sums(steps: Steps, tree: Loop) -> list[Tree]:
    """Split a nest with few parallel loops, so that no kernel makes a sum and also what it reads, or its readers.

    Then chunks of the sum can go to blocks. Iterations of a parallel loop do not meet, so it can be distributed.

    before: j* { S0; i+ [S1]; S2 }, where S2 reads what S1 sums up
    after:  j* { S0; i+ [S1] } and j* S2; empty where there is nothing to part
    """
    inner: Tree = tree
    loops = 0
    while isinstance(inner, Loop) and inner.parallel:
        inner, loops = inner.body, loops + 1
    if not isinstance(inner, Sequence) or loops >= steps.tuning.enough_parallel_loops:
        return []
    parts: list[list[str]] = [[]]
    for child in inner.children:
        names = statements_of(child)
        if any(_meets_sum(steps.scop, made, name) for made in parts[-1] for name in names):
            parts.append([])
        parts[-1] += names
    return [restrict(tree, names) for names in parts] if len(parts) > 1 else []


def _meets_sum(scop: Scop, before: str, after: str) -> bool:
    """Return whether a statement reads what another sums up, or sums up what the other has made.

    Blocks with one chunk each cannot wait for one another.
    """
    one, two = scop.statement(before), scop.statement(after)
    read = {a.array for a in two.relations(AccessKind.READ)}
    if one.reduction is not None:
        return one.reduction.array in read
    made = {a.array for a in one.accesses if a.writes}
    return two.reduction is not None and bool(made & read - {two.reduction.array})


def _chunks(
    steps: Steps, names: tuple[str, ...], blocks: tuple[Loop, ...], inside: Inside, *, few: bool
) -> Loop | None:
    """Make one more loop for blocks of the chunks of reduction loops; None where there are none.

    These loops are mapped to threads and do not coalesce along, or have nothing or little else to run. Statements
    without one run in its first block.

    before: blocks (j); inside: threads (i+, j*) of y[j] += A[i][j]
    after:  blocks (chunks of i, j)
    """
    rows = {name: Row(name, CONSTANT) for name in names}
    most = steps.tuning.long_sum_iterations
    for nest in nests_of(inside):
        x = nest.loops[nest.along_x] if nest.loops else None
        alone = not any(loop.parallel for loop in nest.loops)
        for loop in sorted(nest.loops, key=lambda one: one is not x):  # x last of all that is taken: others replace it
            if loop.parallel or (loop is x and not alone and not (few and steps.extent(loop) > most)):
                continue
            for name in statements_of(nest.body):
                if loop.kind(name) is Kind.REDUCTION and not _read_by_others(steps.scop, name, names):
                    rows[name] = loop.row(name)
    taken = {row for block in blocks for row in block.rows}
    if all(row.iterator == CONSTANT or row in taken for row in rows.values()):
        return None
    kinds = tuple(Kind.FORALL if r.iterator == CONSTANT else Kind.REDUCTION for r in rows.values())
    return Loop(tuple(rows.values()), kinds, Sequence(tuple(Leaf(name) for name in names)))


def _read_by_others(scop: Scop, statement: str, names: tuple[str, ...]) -> bool:
    """Return whether another statement of the group reads what this one accumulates, and would wait for all blocks."""
    reduction = scop.statement(statement).reduction
    others = (scop.statement(name) for name in names if name != statement)
    return any(a.array == reduction.array for o in others for a in o.relations(AccessKind.READ)) if reduction else True


def _any_parallel(tree: Tree) -> bool:
    match tree:
        case Loop():
            return all(k is not Kind.SEQUENTIAL for k in tree.kinds) or _any_parallel(tree.body)
        case Sequence(children):
            return any(_any_parallel(child) for child in children)
        case Leaf():
            return False


def _without(tree: Tree, fixed: Fixed) -> Tree:
    """Remove the loops that the host runs from a tree."""
    match tree:
        case Leaf():
            return tree
        case Sequence(children):
            return in_sequence([_without(child, fixed) for child in children])
        case Loop():
            body = _without(tree.body, fixed)
            if all(r.iterator == CONSTANT or r.iterator in fixed[r.statement] for r in tree.rows):
                return body
            return Loop(tree.rows, tree.kinds, body)


def _merged(parts: list[Host]) -> Host:
    """Merge neighbours that one thread runs into a kernel."""
    found: list[Host] = []
    for part in parts:
        for one in part.children if isinstance(part, HostSequence) else (part,):
            last = found[-1] if found else None
            if isinstance(one, Serial) and isinstance(last, Serial):
                found[-1] = Serial(in_sequence([last.tree, one.tree]))
            else:
                found.append(one)
    return found[0] if len(found) == 1 else HostSequence(tuple(found))
