"""The second stage of reductions, and isl schedule trees that are built from the leaves up.

The kernel that sums up the partial results of a group's blocks, and what else it can do in passing.

before: kernel { y = 0 }  kernel { partial results of y }  kernel { y += partial results }  kernel { y += z }
after:  kernel { partial results of y }  kernel { y = 0; y += partial results; y += z }

Where lanes add up the chunks, the loop over these comes first, and a barrier after it.

Statements are fused that stand alone in their kernels, run once for each result, and touch of the results only
their own; those from before the partial results also have to mind nothing that is read or written meanwhile. A single
result is fused with what one thread runs, of any arrays:

before: kernel { s = 0 }  kernel { partial results of s }  kernel { s += partial results }  kernel { o[0] = s / n }
after:  kernel { partial results of s }  kernel { s = 0; s += partial results; o[0] = s / n }

Its tree:

One thread adds up the chunks of a result where there are many results:

    kernel { block [floor(i/8), floor(j/32)] { thread[8,32] [i mod 8, j mod 32] { y = 0; [c] F } } }

and several lanes do where there are few results, whose threads would mostly wait for memory:

    kernel { block [floor(i/32)] { sequence {
        thread[8,32] [l, i mod 32] { B; [floor(c/8)] F }                                  l is c mod 8 for F
        thread[8,32] [0, i mod 32] { y = 0; T } } } }

Sums that have nothing to do with one another are made by blocks of their own: block [0, ...] and block [1, ...].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.digraph import connected
from polytile.ir.schedule import BLOCK, KERNEL, thread_mark
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.machine import MAX_DIMENSIONS
from polytile.scheduling.strategies.superposed.kernel_formation import FormedKernel, Host, Serial
from polytile.scheduling.strategies.superposed.loop_tree import CONSTANT, Loop, Row, Tree, statements_of, time_of
from polytile.scheduling.strategies.superposed.loop_tree import Sequence as InTurn
from polytile.scheduling.strategies.superposed.reduction_statements import Part, Parts, modulo, quotient
from polytile.scheduling.strategies.superposed.thread_mapping import nests_of
from polytile.tuning import BlockTuning

Times = Mapping[str, Sequence[isl.PwAff]]  # statement -> one value for each member of a band


def leaf(scop: Scop, statement: str) -> isl.Schedule:
    """Return the instances of one statement, unordered."""
    domain = scop.statement(statement).domain.intersect_params(scop.context)
    return isl.Schedule.from_domain(isl.UnionSet.from_set(domain))


def in_order(parts: Sequence[isl.Schedule]) -> isl.Schedule:
    """Join the parts into a sequence."""
    return reduce(lambda before, after: before.sequence(after), parts)


def under_band(
    schedule: isl.Schedule, times: Times, *, parallel: bool = False, unrolled: bool = False
) -> isl.Schedule:
    """Insert a band around a schedule; without members it stays as it is."""
    members = [list(values) for values in zip(*times.values(), strict=True)]
    if not members:
        return schedule
    partial = isl.MultiUnionPwAff.from_union_pw_aff(_union(members[0]))
    for values in members[1:]:
        partial = partial.flat_range_product(isl.MultiUnionPwAff.from_union_pw_aff(_union(values)))
    node = schedule.insert_partial_schedule(partial).get_root().child(0)
    if parallel:
        node = node.band_set_permutable(1)
        for i in range(len(members)):
            node = node.band_member_set_coincident(i, 1)
    if unrolled:
        for i in range(len(members)):
            node = node.band_member_set_ast_loop_type(i, isl.ast_loop_type.unroll)
    return node.get_schedule()


def _union(values: Sequence[isl.PwAff]) -> isl.UnionPwAff:
    first, *others = (isl.UnionPwAff.from_pw_aff(v) for v in values)
    for other in others:
        first = first.union_add(other)
    return first


def marked(schedule: isl.Schedule, name: str) -> isl.Schedule:
    """Insert a mark above all nodes of a schedule."""
    return schedule.get_root().child(0).insert_mark(isl.Id(name)).get_schedule()


READS = (AccessKind.READ,)
WRITES = (AccessKind.WRITE, AccessKind.MAY_WRITE)


@dataclass(frozen=True, slots=True)
class SecondStage:
    """Statements of one kernel after a group, in order, which all run through the same iterators first."""

    parts: tuple[Part, ...]
    rank: int


@dataclass(frozen=True, slots=True)
class Staged:
    """A group with the kernels after it."""

    group: FormedKernel
    stages: tuple[SecondStage, ...]


Found = list[Host | Staged | None]  # None: fused with another one


def with_second_stages(parts: Parts, children: Sequence[Host]) -> list[Host | Staged]:
    """Add the second stages of their sums to the kernels of a sequence.

    What second stages do besides is left out of the sequence.
    """
    found: Found = [staged(parts, child) if isinstance(child, FormedKernel) else child for child in children]
    for i in range(len(found)):
        host = found[i]
        if isinstance(host, Staged) and host.stages:
            found[i] = _behind(parts, _before(parts, host, found, i), found, i)
    return [host for host in found if host is not None]


def staged(parts: Parts, group: FormedKernel) -> Staged:
    """Return a group with a second-stage kernel for the sums of each rank."""
    sums = [part for name in group.statements for part in parts.sums(name)]
    ranks = sorted({_rank(part) for part in sums})
    return Staged(group, tuple(SecondStage(tuple(p for p in sums if _rank(p) == rank), rank) for rank in ranks))


def apart(stage: SecondStage) -> list[list[Part]]:
    """Split a second stage into groups that share no array which is written: blocks can run them side by side."""
    parts = {part.statement: part for part in stage.parts}
    meets = [(a, b) for a in parts for b in parts if a < b and _conflict([parts[a]], [parts[b]])]
    return [[part for name, part in parts.items() if name in group] for group in connected(parts, meets)]


def _rank(part: Part) -> int:
    """Count the iterators that index results."""
    return len(part.made.group if part.made else part.scop.statement(part.statement).iterators)


def _before(parts: Parts, host: Staged, found: Found, i: int) -> Staged:
    """Add the starts that can wait to the host's second stage; they are taken out of `found`."""
    meanwhile = [part for name in host.group.statements for part in parts.inside(name)]
    for j in reversed(range(i)):
        other = found[j]
        if other is None:
            continue
        alone = _alone(parts, other)
        if alone and not _conflict(alone, meanwhile):
            grown = _joined(host, alone, first=True)
            if grown is not None:
                host, found[j] = grown, None
                continue
        if not isinstance(other, Staged):
            if not alone:
                break
            meanwhile += alone
            continue
        meanwhile += [part for name in other.group.statements for part in parts.inside(name)]
        meanwhile += [part for stage in other.stages for part in stage.parts]
    return host


def _behind(parts: Parts, host: Staged, found: Found, i: int) -> Staged:
    """Add the kernels directly after the host to its second stage where that can run them as well."""
    for j in range(i + 1, len(found)):
        alone = _alone(parts, found[j])
        grown = _joined(host, alone, first=False) if alone else None
        if grown is None:
            break
        host, found[j] = grown, None
    return host


def _alone(parts: Parts, host: Host | Staged | None) -> list[Part]:
    """Return the statements of a kernel that run once for each result, or once; none where a kernel has other ones."""
    names: tuple[str, ...] = ()
    if isinstance(host, Staged) and not host.stages and _elementwise(host.group):
        names = host.group.statements
    elif isinstance(host, Serial) and not _loops(host.tree):
        names = statements_of(host.tree)
    return [Part(parts.scop, name) for name in names]


def _elementwise(group: FormedKernel) -> bool:
    """Return whether every statement runs in parallel over all its iterators."""
    nests = list(nests_of(group.inside))
    return bool(group.blocks) and all(all(n.parallel for n in nest.loops) and not _loops(nest.body) for nest in nests)


def _loops(tree: Tree) -> bool:
    return isinstance(tree, Loop) or (isinstance(tree, InTurn) and any(_loops(child) for child in tree.children))


def _joined(host: Staged, alone: list[Part], *, first: bool) -> Staged | None:
    """Add statements to the second stage of their rank, where one iteration touches all that both touch; else None."""
    for k, stage in enumerate(host.stages):
        together = [*stage.parts, *alone]
        if all(_rank(part) == stage.rank for part in alone) and _on_their_own(together, stage.rank):
            parts = (*alone, *stage.parts) if first else (*stage.parts, *alone)
            others = [p for n, t in enumerate(host.stages) if n != k for p in t.parts]
            made = SecondStage(parts, stage.rank)
            if any(_conflict([part], others) for part in alone) or (not stage.rank and len(apart(made)) > 1):
                return None  # lanes of several blocks add up single results: none of them may wait for a thread
            return Staged(host.group, (*host.stages[:k], made, *host.stages[k + 1 :]))
    return None


def _on_their_own(parts: Sequence[Part], rank: int) -> bool:
    """Return whether different iterations touch different elements of all arrays that some of the statements write."""
    if not rank:
        return True  # one thread runs them
    statements = [part.scop.statement(part.statement) for part in parts]
    written = {a.array for s in statements for a in s.relations(*WRITES)}
    return all(
        a.relation.dim(isl.dim_type.out) == rank and _is_plain(a.relation, rank)
        for s in statements
        for a in s.relations(*READS, *WRITES)
        if a.array in written
    )


def _is_plain(relation: isl.Map, rank: int) -> bool:
    """Return whether an access has the first iterators as its subscripts, `{ S[i, c] -> x[i] }`."""
    plain = isl.Map.universe(relation.get_space())
    for i in range(rank):
        plain = plain.equate(isl.dim_type.in_, i, isl.dim_type.out, i)
    return bool(relation.is_subset(plain))


def _conflict(some: Iterable[Part], others: Iterable[Part]) -> bool:
    """Return whether one of two groups of statements writes an array that the other touches."""
    one, two = ([part.scop.statement(part.statement) for part in parts] for parts in (some, others))
    return bool(_arrays(one, *WRITES) & _arrays(two, *READS, *WRITES) or _arrays(two, *WRITES) & _arrays(one, *READS))


def _arrays(statements: Iterable[Statement], *kinds: AccessKind) -> set[str]:
    return {a.array for s in statements for a in s.relations(*kinds)}


Values = list[isl.PwAff]


def second_stage_kernel(parts: Parts, stage: SecondStage, blocks: BlockTuning) -> isl.Schedule:
    """Build the kernel of a second stage."""
    made = _SecondStageKernel(parts, stage, blocks)
    return marked(made.by_lanes() if made.gathered else made.by_threads(), KERNEL)


@dataclass(frozen=True, slots=True)
class _SecondStageKernel:
    parts: Parts
    stage: SecondStage
    sizes: BlockTuning

    @property
    def gathered(self) -> list[Part]:
        """Return the sums whose chunks are added up by several threads."""
        return [part for part in self.stage.parts if part.made is not None and part.made.gathering is not None]

    def by_threads(self) -> isl.Schedule:
        """Map the last iterators that index results to blocks and threads; each thread adds up chunks in order."""
        taken = range(max(0, self.stage.rank - MAX_DIMENSIONS), self.stage.rank)
        schedule = in_order([self._serially(part, taken) for part in self.stage.parts])
        if not taken:
            return schedule
        sizes = self.sizes.serial if len(taken) == 1 else self.sizes.of_rank(len(taken))
        whose = self._whose() if len(taken) < MAX_DIMENSIONS else {}
        names = [part.statement for part in self.stage.parts]
        threads = {name: self._threads(name, taken, sizes) for name in names}
        blocks = {name: [*self._number(name, whose.get(name)), *self._blocks(name, taken, sizes)] for name in names}
        schedule = marked(under_band(schedule, threads, parallel=True), thread_mark(sizes))
        return marked(under_band(schedule, blocks, parallel=True), BLOCK)

    def by_lanes(self) -> isl.Schedule:
        """Map the first dimension of threads to the chunks of each result, the next ones to results."""
        sizes, results, whose = self.sizes.combining[self.stage.rank], range(self.stage.rank), self._whose()
        phases = [self._loop(part, sizes) for part in self.gathered]
        plain = in_order([self._serially(part, results) for part in self.stage.parts])
        names = [part.statement for part in self.stage.parts]
        first = {name: [self._time(name), *self._threads(name, results, sizes[1:])] for name in names}
        schedule = in_order([*phases, marked(under_band(plain, first, parallel=True), thread_mark(sizes))])
        groups = {name: whose.get(part.statement) for part in self.stage.parts for name in _statements(part)}
        blocks = {n: [*self._number(n, k), *self._blocks(n, results, sizes[1:])] for n, k in groups.items()}
        return marked(under_band(schedule, blocks, parallel=True), BLOCK) if any(blocks.values()) else schedule

    def _loop(self, part: Part, sizes: tuple[int, ...]) -> isl.Schedule:
        """Start the partial results of each result, and add up chunks in turns."""
        begin, adds, _ = _statements(part)
        rank, (lanes, *side) = self.stage.rank, sizes
        made, results = part.made, range(rank)
        assert made is not None and made.gathering is not None
        chunks = range(rank, len(self.parts.scop.statement(adds).iterators))
        shared, chunk = made.gathering.shared, self._time(adds, made.gathering.shared)
        rows = [quotient(chunk, lanes) if k == shared else self._time(adds, k) for k in chunks]
        turns = under_band(leaf(self.parts.scop, adds), {adds: rows})
        threads = {
            begin: [self._time(begin, rank), *self._threads(begin, results, side)],
            adds: [modulo(chunk, lanes), *self._threads(adds, results, side)],
        }
        schedule = in_order([leaf(self.parts.scop, begin), turns])
        return marked(under_band(schedule, threads, parallel=True), thread_mark(sizes))

    def _serially(self, part: Part, taken: range) -> isl.Schedule:
        """Return the iterators that no thread or block takes, as loops of one thread."""
        rank = len(self.parts.scop.statement(part.statement).iterators)
        rows = [self._time(part.statement, i) for i in range(rank) if i not in taken]
        return under_band(leaf(self.parts.scop, part.statement), {part.statement: rows})

    # Times -----------------------------------------------------------------------------------------------------------
    def _time(self, statement: str, iterator: int = CONSTANT, shift: int = 0) -> isl.PwAff:
        return time_of(self.parts.scop.statement(statement), Row(statement, iterator, shift=shift))

    def _threads(self, statement: str, taken: range, sizes: tuple[int, ...] | list[int]) -> Values:
        return [modulo(self._time(statement, i), size) for i, size in zip(taken, sizes, strict=True)]

    def _blocks(self, statement: str, taken: range, sizes: tuple[int, ...]) -> Values:
        return [quotient(self._time(statement, i), size) for i, size in zip(taken, sizes, strict=True)]

    def _number(self, statement: str, group: int | None) -> Values:
        return [] if group is None else [self._time(statement, shift=group)]

    def _whose(self) -> dict[str, int]:
        """Return the group that each statement belongs to, where there are several that share nothing."""
        groups = apart(self.stage)
        return {p.statement: k for k, parts in enumerate(groups) for p in parts} if len(groups) > 1 else {}


def _statements(part: Part) -> tuple[str, ...]:
    """Return the statements that a part of a second stage stands for, in order."""
    gathering = part.made.gathering if part.made is not None else None
    if gathering is None or part.made is None or part.made.finish is None:
        return (part.statement,)
    return gathering.initial, part.made.finish, gathering.total
