"""Kernels from the two loop trees: the block level says what runs in one kernel and which loops its blocks take, the
thread level what happens inside [Shirako, Hayashi and Sarkar 2017, section 4].

block level:  (r, q) { S; T; U }        thread level:  r [ q [ p [S; s [T]]; p [U] ] ]
group:        blocks (r, q), inside: threads (r, q, p) of S and T, then of U

Sums that read what the kernel before them has just read: both in one kernel, whose blocks read it once from memory.

before: kernel { blocks (i): tmp[i] += A[i][j] * x[j] }     kernel { blocks (chunks of i, j): y[j] += A[i][j] * tmp[i] }
after:  kernel { blocks (i): threads (i, j+) of tmp[i] += A[i][j] * x[j];
                             threads (j) of y[j] += A[i][j] * tmp[i], each over the block's iterations of i }

The second sum loses the blocks over its own parallel loop, which is mapped to all threads of a block instead. Its
chunks are as long as a block has iterations of i: what these read is still in the caches next to the multiprocessor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.scop import AccessKind, Scop
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.strategies.superposed.fusion_reuse import Locality
from polytile.scheduling.strategies.superposed.loop_tree import (
    CONSTANT,
    Kind,
    Leaf,
    Loop,
    Row,
    Sequence,
    Tree,
    in_sequence,
    member_of,
    restrict,
    statements_of,
)
from polytile.scheduling.strategies.superposed.thread_mapping import (
    Inside,
    Phases,
    Steps,
    ThreadNest,
    can_be_shared,
    nests_of,
    share_out,
)
from polytile.scheduling.strategies.superposed.two_level_trees import block_loops


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


def read_once(scop: Scop, dependences: Dependences, host: Host) -> Host:
    """Move sums into the kernels before them, where these read the same elements."""
    match host:
        case HostLoop(loop, body):
            return HostLoop(loop, read_once(scop, dependences, body))
        case HostSequence(children):
            joining = _Joining(scop, dependences, Locality(scop))
            found: list[Host] = []
            for child in children:
                joined = joining.joined(found[-1], child) if found else None
                found[-1:] = [*found[-1:], child] if joined is None else joined
            return found[0] if len(found) == 1 else HostSequence(tuple(found))
    return host


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum whose chunks are blocks: the loop that it sums over, the one that its results are indexed by."""

    statement: str
    over: Row
    along: Loop


@dataclass(frozen=True, slots=True)
class _Joining:
    scop: Scop
    dependences: Dependences
    locality: Locality

    def joined(self, first: Host, second: Host) -> list[Host] | None:
        """Move the sums of the second kernel into the first one.

        Returns what is left of the second kernel, to run before, and both sums in one; None where that cannot be, or
        gains nothing.
        """
        if not isinstance(first, FormedKernel) or not isinstance(second, FormedKernel):
            return None
        if len(first.blocks) != 1 or not first.blocks[0].parallel:
            return None
        sums = [found for nest in nests_of(second.inside) for found in _sums(second, nest)]
        names = [found.statement for found in sums]
        others = [name for name in second.statements if name not in names]
        rows = (*first.blocks[0].rows, *(found.over for found in sums))
        if not sums or not all(self._reuses(first, found) for found in sums) or not self._stays(first, names, rows):
            return None
        if not self._pairs((*first.statements, *names), others).is_empty():
            return None
        left = _without_statements(second, names)
        return None if others and left is None else [*([left] if left else []), self._together(first, sums, rows)]

    def _together(self, first: FormedKernel, sums: list[_Sum], rows: tuple[Row, ...]) -> FormedKernel:
        order = [s.name for s in self.scop.statements]
        over = {found.statement for found in sums}
        rows = tuple(sorted(rows, key=lambda row: order.index(row.statement)))
        kinds = tuple(Kind.REDUCTION if row.statement in over else Kind.FORALL for row in rows)
        names = (*first.statements, *(found.statement for found in sums))
        block = Loop(rows, kinds, Sequence(tuple(Leaf(name) for name in names)))
        nests = (ThreadNest((f.along,), 0, Loop((f.over,), (Kind.REDUCTION,), Leaf(f.statement))) for f in sums)
        return FormedKernel((block,), Phases((*_phases(first.inside), *nests)), names)

    def _reuses(self, first: FormedKernel, found: _Sum) -> bool:
        """Return whether some statement reads what the sum reads, element by element."""
        for name in first.statements:
            outer = first.blocks[0].row(name)
            for i in range(len(self.scop.statement(name).iterators)):
                along = found.along.row(found.statement)
                loops = [{name: outer, found.statement: found.over}, {name: Row(name, i), found.statement: along}]
                rank = self.locality.shared_rank((), loops, [name], [found.statement])
                if i != outer.iterator and rank == len(loops):
                    return True
        return False

    def _stays(self, first: FormedKernel, names: Collection[str], rows: tuple[Row, ...]) -> bool:
        """Return whether what the sums take from the first kernel is from their own iteration of its blocks' loop."""
        pairs = self._pairs(first.statements, names)
        time = isl.MultiUnionPwAff.from_union_pw_aff(member_of(self.scop, rows))
        return bool(pairs.is_subset(pairs.eq_at_multi_union_pw_aff(time)))

    def _pairs(self, sources: Collection[str], sinks: Collection[str]) -> isl.UnionMap:
        """Return the dependent instances of these statements."""
        domains = []
        for names in (sources, sinks):
            total = isl.UnionSet.empty(self.scop.context.get_space().params())
            for name in names:
                total = total.union(isl.UnionSet.from_set(self.scop.statement(name).domain))
            domains.append(total)
        found = self.dependences.all.intersect_params(self.scop.context)
        return found.intersect_domain(domains[0]).intersect_range(domains[1])


def _sums(group: FormedKernel, nest: ThreadNest) -> list[_Sum]:
    """Return the sum that a nest of two loops makes, if the chunks of the loop that it sums over are blocks."""
    match nest:
        case ThreadNest(loops=(_, _), body=Leaf(name)):
            along, over = nest.loops[nest.along_x], nest.loops[1 - nest.along_x]
            chunks = [b.row(name) for b in group.blocks if b.kind(name) is Kind.REDUCTION]
            if along.parallel and over.kind(name) is Kind.REDUCTION and chunks == [over.row(name)]:
                return [_Sum(name, over.row(name), along)]
    return []


def _without_statements(group: FormedKernel, names: Collection[str]) -> FormedKernel | None:
    """Return the other statements of a group, if they have blocks of their own."""
    kept = tuple(name for name in group.statements if name not in names)
    phases = [nest for nest in nests_of(group.inside) if set(statements_of(nest.body)) & set(kept)]
    blocks = tuple(part for block in group.blocks if (part := _of(block, kept)) is not None)
    apart = all(set(statements_of(nest.body)) <= set(kept) for nest in phases)
    if not blocks or not apart or not all(isinstance(part, ThreadNest) for part in _phases(group.inside)):
        return None
    return FormedKernel(blocks, Phases(tuple(phases)) if len(phases) > 1 else phases[0], kept)


def _of(block: Loop, names: Collection[str]) -> Loop | None:
    """Restrict a loop of blocks to some of its statements; None where none of these runs through it."""
    kept = [(row, kind) for row, kind in zip(block.rows, block.kinds, strict=True) if row.statement in names]
    if all(row.iterator == CONSTANT for row, _ in kept):
        return None
    leaves = Sequence(tuple(Leaf(row.statement) for row, _ in kept))
    return Loop(tuple(row for row, _ in kept), tuple(kind for _, kind in kept), leaves)


def _phases(inside: Inside) -> tuple[Inside, ...]:
    return inside.children if isinstance(inside, Phases) else (inside,)
