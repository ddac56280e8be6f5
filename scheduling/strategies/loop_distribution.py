"""Loop distribution and fusion that keep parallel loops parallel [Allen, Kennedy 1987; Kennedy, McKinley 1993].

before: for (k) for (i) { S0; S1; }, with S0 of one k and S1 of the next in a cycle
after:  for (k) { parallel for (i) S0; parallel for (i) S1; }

It works on pieces of statements. Pieces in a cycle of dependences share a serial loop and are distributed below it;
every other piece runs its remaining loops in parallel. Pieces whose parallel loops can be the same are fused again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.digraph import condensed, generations, graph_of
from polytile.ir.isl_util import affine_rank, band_members
from polytile.ir.schedule import node_at
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.source_loops import SourceNest
from polytile.scheduling.strategies.band_rewriting import Member, insert_band


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of one statement's domain."""

    statement: str
    domain: isl.Set

    @property
    def instances(self) -> isl.UnionSet:
        return isl.UnionSet.from_set(self.domain)


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Pieces that share a loop nest. `loops` are the parallel loops of each piece, outermost first, equally many for
    all; None where the next loop of all pieces is serial."""

    pieces: tuple[Piece, ...]
    loops: tuple[tuple[int, ...], ...] | None

    @property
    def instances(self) -> isl.UnionSet:
        return _instances(self.pieces)


def distribute(scop: Scop, nest: SourceNest, pieces: Sequence[Piece], pairs: isl.UnionMap) -> isl.Schedule | None:
    """Build a tree of serial and coincident bands over the pieces that keeps the dependent `pairs`.

    None when the source's loops are not the statements' iterators.
    """
    if any(len(nest.around[p.statement]) < len(scop.statement(p.statement).iterators) for p in pieces):
        return None
    statements = [scop.statement(name) for name in dict.fromkeys(p.statement for p in pieces)]
    whole = _instances([Piece(s.name, s.domain.intersect_params(scop.context)) for s in statements])
    root = isl.Schedule.from_domain(whole).get_root()
    return _Distributor(scop, nest).visit(root.child(0), pieces, pairs, 0).get_schedule()


@dataclass(frozen=True, slots=True)
class _Distributor:
    scop: Scop
    nest: SourceNest

    def visit(
        self, node: isl.ScheduleNode, pieces: Sequence[Piece], pairs: isl.UnionMap, level: int
    ) -> isl.ScheduleNode:
        """Order the pieces below their `level` outermost loops, which they share, and return the node."""
        pairs = _among(pairs, _instances(pieces))
        groups = self._fused(_components(pieces, pairs, level), pairs, level)
        if len(groups) == 1:
            return self._group(node, groups[0], pairs, level)
        node = _sequence(node, [g.instances for g in groups])
        for i, group in enumerate(groups):
            node = self._group(node.child(i).child(0), group, pairs, level).parent().parent()
        return node

    def _group(self, node: isl.ScheduleNode, group: _Group, pairs: isl.UnionMap, level: int) -> isl.ScheduleNode:
        pairs = _among(pairs, group.instances)
        if group.loops is None:
            loop = self._value(group.pieces, [level] * len(group.pieces))
            same = pairs.eq_at_multi_union_pw_aff(isl.MultiUnionPwAff.from_union_pw_aff(loop))
            node = insert_band(node, [Member(loop, bool(pairs.is_subset(same)))])
            return self.visit(node.child(0), group.pieces, same, level + 1).parent()
        stages = _stages(group.pieces, pairs)
        if len(stages) > 1:
            node = _sequence(node, stages)
        return insert_band(node, [Member(value, True) for value in self._members(group)])

    def _members(self, group: _Group) -> list[isl.UnionPwAff]:
        return [self._value(group.pieces, column) for column in zip(*group.loops or (), strict=True)]

    def _value(self, pieces: Sequence[Piece], loops: Sequence[int]) -> isl.UnionPwAff:
        """Build one band member: for each piece, the value of the given one of its loops."""
        total: isl.UnionPwAff | None = None
        for name in dict.fromkeys(p.statement for p in pieces):
            own = [(piece, loop) for piece, loop in zip(pieces, loops, strict=True) if piece.statement == name]
            alone = len({loop for _, loop in own}) == 1
            for piece, loop in own[: 1 if alone else len(own)]:
                value = self._loop(name, loop)
                value = value if alone else value.intersect_domain(piece.instances)
                total = value if total is None else total.union_add(value)
        assert total is not None, "a group has pieces"
        return total.coalesce()

    def _loop(self, statement: str, loop: int) -> isl.UnionPwAff:
        path, position = self.nest.around[statement][loop]
        domain = isl.UnionSet.from_set(self.scop.statement(statement).domain)
        return band_members(node_at(self.scop.schedule, path))[position].intersect_domain(domain).gist(domain)

    def _fused(self, groups: Sequence[_Group], pairs: isl.UnionMap, level: int) -> list[_Group]:
        """Fuse each group with the last earlier one that it fits, unless it depends on one in between."""
        fused: list[_Group] = []
        for group in groups:
            for i in reversed(range(len(fused))):
                joined = self._join(fused[i], group, pairs, level)
                if joined is not None:
                    fused[i] = joined
                    break
                if not _between(pairs, fused[i].instances, group.instances).is_empty():
                    fused.append(group)
                    break
            else:
                fused.append(group)
        return fused

    def _join(self, group: _Group, single: _Group, pairs: isl.UnionMap, level: int) -> _Group | None:
        """Fuse two groups where all loops stay parallel and few points of the common nest are empty; else None."""
        pairs = _among(pairs, group.instances.union(single.instances))
        for joined in _alignments(group, single):
            members = self._members(joined)
            if all(_equal(pairs, value) for value in members) and self._is_dense(joined, members, level):
                return joined
        return None

    def _is_dense(self, group: _Group, members: list[isl.UnionPwAff], level: int) -> bool:
        """Return whether the box around all pieces has hardly more points than the boxes around each.

        A grid counts as a box.
        """
        if not members:
            return True
        outer = [self._value(group.pieces, [loop] * len(group.pieces)) for loop in range(level)]
        boxes = []
        for piece in group.pieces:
            boxes.append(_box(_image(piece.instances, [*outer, *members]), level))
        whole = boxes[0]
        for box in boxes[1:]:
            whole = whole.union(box)
        around = _box(whole, level)
        return all(affine_rank(extra) < affine_rank(around) for extra in around.subtract(whole).get_basic_sets())


def _instances(pieces: Sequence[Piece]) -> isl.UnionSet:
    total = pieces[0].instances
    for piece in pieces[1:]:
        total = total.union(piece.instances)
    return total.coalesce()


def _among(pairs: isl.UnionMap, instances: isl.UnionSet) -> isl.UnionMap:
    return _between(pairs, instances, instances)


def _between(pairs: isl.UnionMap, sources: isl.UnionSet, sinks: isl.UnionSet) -> isl.UnionMap:
    return pairs.intersect_domain(sources).intersect_range(sinks)


def _equal(pairs: isl.UnionMap, value: isl.UnionPwAff) -> bool:
    return bool(pairs.is_subset(pairs.eq_at_multi_union_pw_aff(isl.MultiUnionPwAff.from_union_pw_aff(value))))


def _sequence(node: isl.ScheduleNode, filters: Sequence[isl.UnionSet]) -> isl.ScheduleNode:
    listed = isl.UnionSetList.alloc(filters[0].get_ctx(), len(filters))
    for own in filters:
        listed = listed.add(own)
    return node.insert_sequence(listed)


def _components(pieces: Sequence[Piece], pairs: isl.UnionMap, level: int) -> list[_Group]:
    """Return the strongly connected components of the dependences, sources first, else in the given order."""
    edges: list[tuple[int, int]] = []
    for i, source in enumerate(pieces):
        leaving = pairs.intersect_domain(source.instances)
        sinks = (j for j, sink in enumerate(pieces) if not leaving.intersect_range(sink.instances).is_empty())
        edges += ((i, j) for j in sinks)
    cycles, order = condensed(graph_of(range(len(pieces)), edges))
    found: list[_Group] = []
    for generation in generations(order):
        for members in sorted(sorted(cycles[node]) for node in generation):
            cyclic = len(members) > 1 or (members[0], members[0]) in edges
            found.append(_component([pieces[i] for i in members], cyclic, level))
    return found


def _component(pieces: list[Piece], cyclic: bool, level: int) -> _Group:
    return _Group(tuple(pieces), None if cyclic else (_free_loops(pieces[0].domain, level),))


def _free_loops(domain: isl.Set, level: int) -> tuple[int, ...]:
    """Return the iterators from `level` on that those outside them do not determine."""
    rank = domain.dim(isl.dim_type.set)
    free = []
    for loop in range(level, rank):
        known = domain.project_out(isl.dim_type.set, loop + 1, rank - loop - 1)
        outer = isl.Map.from_range(known.reset_tuple_id()).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, loop)
        if not outer.is_single_valued():
            free.append(loop)
    return tuple(free)


def _alignments(group: _Group, single: _Group) -> Iterator[_Group]:
    """Yield ways to run both groups in one parallel nest."""
    if group.loops is None or single.loops is None:
        return
    pieces, own, (piece,) = (*group.pieces, *single.pieces), single.loops[0], single.pieces
    if len(own) == len(group.loops[0]):
        yield _Group(pieces, (*group.loops, own))
    same = [loops for p, loops in zip(group.pieces, group.loops, strict=True) if p.statement == piece.statement]
    if len(own) < len(group.loops[0]) and same:
        yield _Group(pieces, (*group.loops, same[0]))
    if len(own) > len(group.loops[0]) and len(same) == len(group.pieces):
        yield _Group(pieces, (own,) * len(pieces))


def _stages(pieces: Sequence[Piece], pairs: isl.UnionMap) -> list[isl.UnionSet]:
    """Return the stages that one thread runs in sequence: dependent pieces in order, and statements separately."""
    placed: list[tuple[int, Piece]] = []
    for piece in pieces:
        before = [n for n, p in placed if not _between(pairs, p.instances, piece.instances).is_empty()]
        placed.append((max(before, default=-1) + 1, piece))
    keys = list(dict.fromkeys((n, p.statement) for n, p in placed))
    return [_instances([p for n, p in placed if (n, p.statement) == key]) for key in sorted(keys)]


def _image(instances: isl.UnionSet, values: Sequence[isl.UnionPwAff]) -> isl.Set:
    """Compute the points of a nest whose loops have these values."""
    partial = isl.MultiUnionPwAff.from_union_pw_aff(values[0])
    for value in values[1:]:
        partial = partial.flat_range_product(isl.MultiUnionPwAff.from_union_pw_aff(value))
    return isl.Set.from_union_set(instances.apply(isl.UnionMap.from_multi_union_pw_aff(partial)))


def _box(points: isl.Set, outer: int) -> isl.Set:
    """Compute the smallest box around the points, for each iteration of the `outer` leading dimensions."""
    rank = points.dim(isl.dim_type.set)
    box = isl.Set.universe(points.get_space())
    for i in range(outer, rank):
        side = points.project_out(isl.dim_type.set, i + 1, rank - i - 1).project_out(isl.dim_type.set, outer, i - outer)
        bounds = isl.Set.from_basic_set(side.coalesce().simple_hull())
        bounds = bounds.insert_dims(isl.dim_type.set, outer, i - outer)
        box = box.intersect(bounds.insert_dims(isl.dim_type.set, i + 1, rank - i - 1))
    return box
