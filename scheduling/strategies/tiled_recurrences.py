"""Reductions over what other elements of the same array have become, in tiles: what finished tiles give, as a product
does, and then the rest of each tile, step by step.

before: for (i = n - 1; i >= 0; i--) for (j = i + 1; j < n; j++) for (k = i + 1; k < j; k++)
            t[i][j] = max(t[i][j], t[i][k] + t[k + 1][j]);                          a wavefront j - i, one cell a thread
after:  band [floor(j/64) - floor(i/64)] / sequence {
            kernel { block [floor(i/64), floor(i/8) mod 8] { thread[8,64] [i mod 8, j mod 64] {
                k of other tiles } } }
            kernel { block [floor(i/64)] { sync { [j mod 64 - i mod 64] { thread[64] [j mod 64] {
                the other k } } } } } }

Tiles of a permutable band that lie on one diagonal are independent. Steps whose terms are of tiles on earlier diagonals
alone are early ones (early_terms.py): nothing orders the elements of a tile then, and rows are read along. There are
2n/64 launches in place of n, and a tile's own steps wait for one barrier each. This is how triangular recurrences are
blocked by hand, as in left-looking factorizations and optimal parenthesization.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

import islpy as isl

from polytile.choices import CLASSIC
from polytile.dataclass import dataclass
from polytile.ir.isl_util import CONTEXT, OverBudgetError, budget, functions, pieces_of, sets
from polytile.ir.partial_results import EarlyTerms
from polytile.ir.reads_apart import in_place
from polytile.ir.schedule import BLOCK, KERNEL, MappedSchedule, thread_mark
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.strides import strided_accesses
from polytile.scheduling.strategies.band_rewriting import Member, insert_band, members_of
from polytile.scheduling.strategies.mapping import with_barriers
from polytile.scheduling.strategies.pluto import permutable_tree
from polytile.scheduling.transform.reductions.early_terms import is_chain, results_of, updates, with_early_terms


def tiled_recurrence(problem: Problem) -> Candidate | None:
    """Return the SCoP in tiles along two loops of a permutable band.

    None where no reduction has early steps, where all of its steps are early ones, and where finding them takes too
    long.
    """
    scop = problem.scop
    if scop.prologue or scop.epilogue or scop.privatised or scop.backwards:
        return None
    if not problem.dependences.exact or not any(in_place(s) for s in scop.main):
        return None
    try:
        with budget(problem.options.array_operations):
            return _tiled(problem)
    except OverBudgetError:
        return None


def _tiled(problem: Problem) -> Candidate | None:
    scop, needed = problem.scop, problem.dependences.all.intersect_params(problem.scop.context)
    band = permutable_tree(scop, problem.dependences).get_root().child(0)
    if band.get_type() != isl.schedule_node_type.band or len(members_of(band)) < 2:
        return None
    tiles = _tiles_of(problem, band)
    for made in updates(scop, strict=problem.options.strict):
        results = results_of(scop, made.steps)
        others = needed.subtract(results.apply_range(results.reverse()))
        first = _early(scop, made, tiles, others)
        if first is None or _with_what_they_wait_for(scop, tiles, first, others) is None:
            continue  # before what takes longer: that between steps into one element comes on top of it
        if not is_chain(scop, made):
            continue
        changed = with_early_terms(scop, replace(made, first=str(first)))
        known = scop, problem.dependences
        found = analyse(changed, problem.options.array_operations, known, exact=False)  # tiles order all conflicts
        needed = found.all.intersect_params(scop.context)
        ready = _with_what_they_wait_for(scop, tiles, first, needed)
        if ready is None:
            continue
        tree = with_barriers(_tree(tiles, ready), needed)
        schedule = MappedSchedule(tree, f"{CLASSIC} (tiled recurrence)")
        return Candidate(CLASSIC, changed, found, schedule, problem.notes)
    return None


@dataclass(frozen=True, slots=True)
class _Along:
    """A member of the band, as a loop that runs upwards, and which way the band runs through it: 1 or -1."""

    value: isl.UnionPwAff
    sign: int

    def tile(self, size: int) -> isl.UnionPwAff:
        return self.value.scale_down_val(isl.Val(size)).floor()

    def point(self, size: int) -> isl.UnionPwAff:
        return self.value.sub(self.tile(size).scale_val(isl.Val(size)))


@dataclass(frozen=True, slots=True)
class _Tiles:
    """Square tiles of a permutable band along two members; threads of a row are neighbours along `x`."""

    band: isl.ScheduleNode
    y: _Along
    x: _Along
    size: int
    rows: int  # of a tile, for a block of the product

    def diagonal(self) -> isl.UnionPwAff:
        return _sum([self.x.tile(self.size), self.y.tile(self.size)], [self.x.sign, self.y.sign])

    def of_one_diagonal(self, pairs: isl.UnionMap) -> isl.UnionMap:
        return pairs.eq_at_multi_union_pw_aff(isl.MultiUnionPwAff.from_union_pw_aff(self.diagonal()))

    def of_one_point(self, pairs: isl.UnionMap) -> isl.UnionMap:
        members = (isl.MultiUnionPwAff.from_union_pw_aff(one.value) for one in (self.y, self.x))
        return pairs.eq_at_multi_union_pw_aff(next(members).flat_range_product(next(members)))

    def step(self) -> isl.UnionPwAff:
        """Return the step of a tile that its points run in: their diagonal."""
        return _sum([self.x.point(self.size), self.y.point(self.size)], [self.x.sign, self.y.sign])

    def part(self) -> isl.UnionPwAff:
        """Return which rows of its tile a point is in."""
        return self.y.tile(self.rows).sub(self.y.tile(self.size).scale_val(isl.Val(self.size // self.rows)))


def _sum(values: list[isl.UnionPwAff], signs: list[int]) -> isl.UnionPwAff:
    one, other = (value if sign > 0 else value.neg() for value, sign in zip(values, signs, strict=True))
    return one.add(other)


def _tiles_of(problem: Problem, band: isl.ScheduleNode) -> _Tiles:
    along = [_upwards(member.value) for member in members_of(band)[:2]]
    costs = strided_accesses(problem.scop, band, [0, 1])
    x = min((1, 0), key=lambda i: costs[i])
    rows, columns = problem.machine.tuning.blocks.recurrence
    size, rows = next(iter(problem.choices.tile), columns), next(iter(problem.choices.block), rows)
    return _Tiles(band, along[1 - x], along[x], size, gcd(size, rows))


def _upwards(value: isl.UnionPwAff) -> _Along:
    affs = [aff for function in functions(value) for _, aff in pieces_of(function)]
    slopes = [aff.get_coefficient_val(isl.dim_type.in_, k) for aff in affs for k in range(aff.dim(isl.dim_type.in_))]
    down = any(slope.is_neg() for slope in slopes) and not any(slope.is_pos() for slope in slopes)
    return _Along(value.neg(), -1) if down else _Along(value, 1)


def _early(scop: Scop, made: EarlyTerms, tiles: _Tiles, others: isl.UnionMap) -> isl.UnionSet | None:
    """Return the steps that wait for `others`, which are of other elements, on earlier diagonals alone, as one convex
    set of each statement.

    None where there are none, or no others.
    """
    near = tiles.of_one_diagonal(others).subtract(tiles.of_one_point(others)).range()
    total = isl.UnionSet.empty(scop.context.get_space())
    for name, group in made.steps:
        domain = scop.statement(name).domain.intersect_params(scop.context)
        late = near.extract_set(domain.get_space())
        if len(group) == domain.dim(isl.dim_type.set) or late.is_empty():
            continue
        found = _convex(domain, domain.subtract(late).coalesce())
        total = total if found is None else total.union(isl.UnionSet.from_set(found))
    return None if total.is_empty() else total


def _with_what_they_wait_for(
    scop: Scop, tiles: _Tiles, early: isl.UnionSet, needed: isl.UnionMap
) -> isl.UnionSet | None:
    """Return the early steps with the statements that start their elements, or None where they wait for more of their
    diagonal."""
    same = tiles.of_one_diagonal(needed)
    ready = early
    for domain in sets(same.intersect_range(early).domain().subtract(early)):
        ready = ready.union(isl.UnionSet.from_set(scop.statement(domain.get_tuple_name()).domain))
    ready = ready.intersect_params(scop.context)
    inside = same.intersect_range(ready)
    alone = inside.domain().is_subset(ready) and inside.is_subset(tiles.of_one_point(inside))
    return ready if alone else None


def _convex(domain: isl.Set, points: isl.Set) -> isl.Set | None:
    """Return the part of the domain that a few constraints tell apart, of a piece of `points`; None where that has no
    more than points in planes."""
    if domain.n_basic_set() != 1:
        return None
    (whole,) = domain.get_basic_sets()
    for piece in points.get_basic_sets():
        kept = piece.gist(whole).get_constraints()
        if any(constraint.is_equality() for constraint in kept):
            continue
        for constraint in list(kept):
            fewer = [one for one in kept if one is not constraint]
            if _within(domain, fewer).is_subset(points):
                kept = fewer
        return _within(domain, kept)
    return None


def _within(domain: isl.Set, constraints: list[isl.Constraint]) -> isl.Set:
    found = isl.BasicSet.universe(domain.get_space())
    for constraint in constraints:
        found = found.add_constraint(constraint)
    return domain.intersect(isl.Set.from_basic_set(found))


def _tree(tiles: _Tiles, early: isl.UnionSet) -> isl.Schedule:
    """Return the tree at the top of this file, without barriers."""
    size, rows = tiles.size, tiles.rows
    rest = members_of(tiles.band)[2:]
    node = insert_band(tiles.band.delete(), [Member(one.value, False) for one in rest])
    late = node.get_domain().subtract(early)
    node = insert_band(node, [Member(tiles.diagonal(), False)])
    filters = isl.UnionSetList.alloc(CONTEXT, 2).add(early).add(late)
    node = node.child(0).insert_sequence(filters)
    product = _threads(node.child(0).child(0), (rows, size), tiles.y.point(rows), tiles.x.point(size))
    node = _kernel(product, tiles.y.tile(size), tiles.part()).parent().parent()
    steps = _threads(node.child(1).child(0), (size,), tiles.x.point(size))
    steps = insert_band(steps, [Member(tiles.step(), False)])
    return _kernel(steps, tiles.y.tile(size)).get_schedule()


def _threads(node: isl.ScheduleNode, sizes: tuple[int, ...], *points: isl.UnionPwAff) -> isl.ScheduleNode:
    return insert_band(node, _parallel(*points)).insert_mark(isl.Id(thread_mark(sizes)))


def _kernel(node: isl.ScheduleNode, *blocks: isl.UnionPwAff) -> isl.ScheduleNode:
    return insert_band(node, _parallel(*blocks)).insert_mark(isl.Id(BLOCK)).insert_mark(isl.Id(KERNEL))


def _parallel(*values: isl.UnionPwAff) -> list[Member]:
    return [Member(value, True) for value in values]
