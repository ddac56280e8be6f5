"""Dependences between two statements as distances between the loops that run them.

With a reduction relaxed, its instances may run in any order among themselves. A value-based dependence on the first or
the last of them then stands for dependences on all, so those of other statements become pairs of conflicting accesses.

What a loop carries: from the distances of the dependences still active, whether each statement in it may run in any
order, as a reduction, or in order only [Shirako, Hayashi, Sarkar 2017, section 5.3].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from math import prod

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.isl_util import maps, union_of
from polytile.ir.scop import AccessKind, Scop, Statement
from polytile.machine import WARP_SIZE
from polytile.scheduling.analysis.dependences import ArrayDependences, Dependences
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

ACCESSES = (AccessKind.READ, AccessKind.WRITE, AccessKind.MAY_WRITE)
Bounds = tuple[int | None, int | None]
_Loops = tuple[int, int, int, int]


@dataclass(eq=False, slots=True)
class Edge:
    """Dependent instances of two statements, as the set `{ [source -> sink] }`; `relaxed` when their order is free
    because both accumulate into one result of a reduction."""

    source: str
    sink: str
    pairs: isl.Set
    relaxed: bool = False
    _least: dict[_Loops, int | None] = field(default_factory=dict)
    _most: dict[_Loops, int | None] = field(default_factory=dict)
    _together: dict[tuple[int, ...], Edge | None] = field(default_factory=dict)  # by loops and the shift between

    def distance(self, rows: dict[str, Row]) -> Bounds:
        """Compute the least and the greatest dependence distance in a loop with these rows; None where unbounded."""
        a, b = rows[self.source], rows[self.sink]
        least, most = self.bounds(a, b)
        shift = b.shift - a.shift
        return (None if least is None else least + shift, None if most is None else most + shift)

    def least_distance(self, rows: dict[str, Row]) -> int | None:
        """Compute the least distance alone: over many parameters and divisions each takes isl long to find."""
        a, b = rows[self.source], rows[self.sink]
        least = self._least_between(a, b)
        return None if least is None else least + b.shift - a.shift

    def bounds(self, a: Row, b: Row) -> Bounds:
        """Compute the bounds of the distance without the shifts of the rows."""
        key = (a.iterator, a.sign, b.iterator, b.sign)
        if key not in self._most:
            self._most[key] = _whole(self.pairs.max_val(self._distance(a, b)))
        return self._least_between(a, b), self._most[key]

    def _least_between(self, a: Row, b: Row) -> int | None:
        key = (a.iterator, a.sign, b.iterator, b.sign)
        if key not in self._least:
            self._least[key] = _whole(self.pairs.min_val(self._distance(a, b)))
        return self._least[key]

    def _distance(self, a: Row, b: Row) -> isl.Aff:
        space = self.pairs.get_space()
        first = space.unwrap().dim(isl.dim_type.in_)
        aff = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
        if a.iterator != CONSTANT:
            aff = aff.set_coefficient_val(isl.dim_type.in_, a.iterator, isl.Val(-a.sign))
        if b.iterator != CONSTANT:
            aff = aff.set_coefficient_val(isl.dim_type.in_, first + b.iterator, isl.Val(b.sign))
        return aff

    def together(self, rows: dict[str, Row]) -> Edge | None:
        """Return the pairs that run at the same time of a loop; None when there are none."""
        least, most = self.distance(rows)
        if (least, most) == (0, 0):
            return self
        if (least is not None and least > 0) or (most is not None and most < 0):
            return None
        a, b = rows[self.source], rows[self.sink]
        key = (a.iterator, a.sign, b.iterator, b.sign, b.shift - a.shift)
        if key not in self._together:
            equal = self._distance(a, b).set_constant_val(isl.Val(b.shift - a.shift))
            pairs = self.pairs.intersect(isl.Set.from_basic_set(equal.zero_basic_set()))
            self._together[key] = None if pairs.is_empty() else Edge(self.source, self.sink, pairs, self.relaxed)
        return self._together[key]


def _whole(value: isl.Val) -> int | None:
    return int(value.get_num_si()) if value.is_int() else None


def together(edges: Iterable[Edge], rows: Iterable[Row]) -> list[Edge]:
    """Return the dependences that a loop with these rows leaves: those within one of its iterations."""
    by_name = {row.statement: row for row in rows}
    left = (edge.together(by_name) for edge in edges)
    return [edge for edge in left if edge is not None]


def among(edges: Iterable[Edge], statements: Iterable[str]) -> list[Edge]:
    """Return the edges with both ends in these statements."""
    names = set(statements)
    return [edge for edge in edges if edge.source in names and edge.sink in names]


def edges_of(scop: Scop, dependences: Dependences, *, relax: bool) -> list[Edge]:
    """Return an edge for each two dependent statements, and one for each reduction that `relax` lets reorder."""
    sums = (s for s in scop.statements if relax and s.reduction and _only_accumulates(s) and not _adds_few(s))
    relaxed = {s.name: s.reduction.array for s in sums if s.reduction}
    kept = isl.UnionMap.empty(scop.context.get_space().params())
    free = kept
    for found in dependences.by_array:
        through = [name for name, array in relaxed.items() if array == found.array]
        for name in through:
            free = free.union(_one_result(scop, found.array, name))
        kept = kept.union(_with_all_conflicts(scop, found, through))
    return [*_edges(scop, kept, relaxed=False), *_edges(scop, free, relaxed=True)]


def _only_accumulates(statement: Statement) -> bool:
    """Return whether a reduction meets its array in the element that it accumulates into alone.

    Where it is one of several parts of a statement, no other part sees that element.
    """
    assert statement.reduction is not None
    own = [a for a in statement.accesses if a.array == statement.reduction.array]
    reads = sum(a.kind is AccessKind.READ for a in own)
    same = all(a.relation.is_equal(own[0].relation) for a in own) and own[0].relation.is_single_valued()
    return same and (reads == 1 or not statement.parts)


def _adds_few(statement: Statement) -> bool:
    """Return whether there are several results, each the sum of fewer terms than a warp has threads.

    Such are those of a window around each point: the thread of a result adds them up, in order.
    """
    assert statement.reduction is not None
    own = next(a for a in statement.accesses if a.array == statement.reduction.array)
    element = own.relation.intersect_domain(statement.domain)
    if element.range().is_singleton():
        return False
    apart = element.apply_range(element.reverse()).deltas()
    furthest = [apart.dim_max_val(k) for k in range(apart.dim(isl.dim_type.set))]
    return all(v.is_int() for v in furthest) and prod(int(v.to_python()) + 1 for v in furthest) <= WARP_SIZE


def _edges(scop: Scop, union: isl.UnionMap, *, relaxed: bool) -> list[Edge]:
    found = []
    for pairs in maps(union.intersect_params(scop.context).coalesce()):
        if not pairs.is_empty():
            source, sink = (pairs.get_tuple_name(kind) for kind in (isl.dim_type.in_, isl.dim_type.out))
            found.append(Edge(source, sink, pairs.wrap(), relaxed))
    return found


def _with_all_conflicts(scop: Scop, found: ArrayDependences, relaxed: list[str]) -> isl.UnionMap:
    """Return the dependences through an array, with all conflicts between relaxed reductions and other statements.

    Dependences that are not exact are all of the conflicts anyway.
    """
    rest = found.all
    if not found.exact and found.commuting is None:
        return union_of((isl.UnionMap.from_map(m) for m in maps(rest) if not _is_within(m, relaxed)), rest.get_space())
    for name in relaxed:
        own = _domain(scop, name)
        rest = rest.subtract_domain(own).subtract_range(own).union(_conflicts(scop, found.array, name))
    return rest


def _is_within(pairs: isl.Map, statements: list[str]) -> bool:
    """Return whether pairs are of one of these statements with itself."""
    name = pairs.get_tuple_name(isl.dim_type.in_)
    return name in statements and name == pairs.get_tuple_name(isl.dim_type.out)


def _domain(scop: Scop, statement: str) -> isl.UnionSet:
    return isl.UnionSet.from_set(scop.statement(statement).domain)


def _one_result(scop: Scop, array: str, statement: str) -> isl.UnionMap:
    """Return the pairs of different instances of a reduction that accumulate into one element."""
    own = scop.accesses(*ACCESSES, arrays=frozenset((array,))).intersect_domain(_domain(scop, statement))
    return own.apply_range(own.reverse()).subtract(own.domain().identity())


def _conflicts(scop: Scop, array: str, statement: str) -> isl.UnionMap:
    """Return the pairs of this reduction and another statement that meet in an element, in the source's order."""
    own = _domain(scop, statement)
    touching = scop.accesses(*ACCESSES, arrays=frozenset((array,)))
    mine, others = touching.intersect_domain(own), touching.subtract_domain(own)
    order = scop.schedule.intersect_domain(touching.domain()).get_map()
    first, second = order.intersect_domain(own), order.subtract_domain(own)
    meeting = mine.apply_range(others.reverse())
    before = meeting.intersect(first.lex_lt_union_map(second))
    return before.union(meeting.reverse().intersect(second.lex_lt_union_map(first)))


def kinds_of(rows: Iterable[Row], edges: Iterable[Edge]) -> dict[str, Kind] | None:
    """Classify a loop for each statement in it, from the edges between them that no loop around it has carried.

    FORALL: no dependence of the statement crosses iterations. REDUCTION: only between instances of its own reduction.
    SEQUENTIAL: others do, all of them forward. None: some dependence runs backward, and the loop is illegal.
    """
    by_name = {row.statement: row for row in rows}
    kinds = dict.fromkeys(by_name, Kind.FORALL)
    for edge in edges:
        least, most = edge.distance(by_name)
        if (least, most) == (0, 0):
            continue
        if not edge.relaxed:
            if least is None or least < 0:
                return None
            kinds[edge.source] = kinds[edge.sink] = Kind.SEQUENTIAL
        elif kinds[edge.source] is Kind.FORALL:
            kinds[edge.source] = Kind.REDUCTION
    return kinds


def loop_over(scop: Scop, rows: Iterable[Row], edges: Iterable[Edge], body: Tree) -> Loop | None:
    """Build a loop with these rows and their kinds; None where it is illegal."""
    rows = tuple(rows)
    kinds = kinds_of(rows, edges)
    if kinds is None:
        return None
    position = {s.name: i for i, s in enumerate(scop.statements)}
    ordered = tuple(sorted(rows, key=lambda row: position[row.statement]))
    return Loop(ordered, tuple(kinds[row.statement] for row in ordered), body)


def labelled(scop: Scop, tree: Tree, edges: list[Edge]) -> Tree:
    """Label the tree's loops with their kinds, given the edges that nothing around it has carried.

    Raises InternalError where the tree runs a dependence backward, or leaves it open.
    """
    match tree:
        case Leaf():
            if any(not edge.relaxed for edge in edges):
                raise InternalError(f"{scop.name}: a loop tree leaves the order of {tree.statement} open")
            return tree
        case Sequence(children):
            place = {name: i for i, child in enumerate(children) for name in statements_of(child)}
            if any(not edge.relaxed and place[edge.source] > place[edge.sink] for edge in edges):
                raise InternalError(f"{scop.name}: a loop tree runs {statements_of(tree)} in another order")
            return Sequence(tuple(labelled(scop, child, among(edges, statements_of(child))) for child in children))
        case Loop():
            # A sum over a is one over b, too, in `for (a) for (b) if (a == b) s += x[a];`: each block has some of both.
            sums = [edge for edge in edges if edge.relaxed]
            kept = [edge for edge in together(edges, tree.rows) if not edge.relaxed]
            body = labelled(scop, tree.body, [*kept, *sums])
            found = loop_over(scop, tree.rows, edges, body)
            if found is None:
                raise InternalError(f"{scop.name}: a loop of {statements_of(tree)} runs a dependence backward")
            return found
