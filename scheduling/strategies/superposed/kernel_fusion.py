"""Sums that read what the kernel before them has just read: both in one kernel, whose blocks read it once from memory.

before: kernel { blocks (i): tmp[i] += A[i][j] * x[j] }     kernel { blocks (chunks of i, j): y[j] += A[i][j] * tmp[i] }
after:  kernel { blocks (i): threads (i, j+) of tmp[i] += A[i][j] * x[j];
                             threads (j) of y[j] += A[i][j] * tmp[i], each over the block's iterations of i }

The second sum loses the blocks over its own parallel loop, which is mapped to all threads of a block instead. Its
chunks are as long as a block has iterations of i: what these read is still in the caches next to the multiprocessor.
"""

from __future__ import annotations

from collections.abc import Collection

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.strategies.superposed.fusion_reuse import Locality
from polytile.scheduling.strategies.superposed.kernel_formation import FormedKernel, Host, HostLoop, HostSequence
from polytile.scheduling.strategies.superposed.loop_tree import (
    CONSTANT,
    Kind,
    Leaf,
    Loop,
    Row,
    Sequence,
    member_of,
    statements_of,
)
from polytile.scheduling.strategies.superposed.thread_mapping import Inside, Phases, ThreadNest, nests_of


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
        left = _without(second, names)
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


def _without(group: FormedKernel, names: Collection[str]) -> FormedKernel | None:
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
