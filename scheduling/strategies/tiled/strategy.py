"""The tiled strategy: trees of parallel and serial loops, with tiles of both where reads are made anew by many threads.

The trees are those of the superposed strategy's blocks, without relaxed reductions, and those of isl's scheduler. No
sum changes its order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import islpy as isl

from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.strides import narrow_statements
from polytile.scheduling.proof.legality import unordered
from polytile.scheduling.strategies.expansion import further_expansion, of_expanded
from polytile.scheduling.strategies.mapping import with_barriers
from polytile.scheduling.strategies.pluto import BandTree, band_trees, distinct
from polytile.scheduling.strategies.superposed.loop_tree import to_schedule
from polytile.scheduling.strategies.superposed.source_order import NoLoopTreeError
from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees
from polytile.scheduling.strategies.tiled.loop_nest import skewed_members
from polytile.scheduling.strategies.tiled.tiled_kernels import TiledKernels, TiledTree


def propose(problem: Problem) -> Iterator[Candidate]:
    """Mapped trees that keep the order; none where no kernel gains by tiles, or where a tree without tiles has more
    parallelism. First the trees of loops with the fewest statements on few threads, of each those with the preferred
    sizes."""
    found = list(_first_sizes(problem, _band_trees(problem)))
    if not any(one.is_good for one in found):
        expanded = further_expansion(problem)
        if expanded is not None:
            again = of_expanded(problem, expanded)
            found += _first_sizes(again, _band_trees(again))
    least = min((one.narrow for one in found if not one.first.sizes), default=None)
    for one in sorted(found, key=lambda one: (one.narrow, one.skewed)):
        if one.first.sizes and (least is None or one.narrow <= least):
            yield from _all_sizes(one)


@dataclass(frozen=True, slots=True)
class _Tiled:
    """A tree of loops with tiles of the preferred sizes, if any; `narrow` statements of it run on few threads, `skewed`
    members of its bands through several iterators, so that tiles are no boxes."""

    problem: Problem
    bands: BandTree
    first: TiledTree
    narrow: int
    skewed: int

    @property
    def is_good(self) -> bool:
        return bool(self.first.sizes) and not self.narrow and not self.skewed


def _first_sizes(problem: Problem, trees: Iterable[BandTree]) -> Iterator[_Tiled]:
    """The trees, up to a good one."""
    for bands in trees:
        found = _tiled(problem, bands.tree, 0)
        if found is not None:
            tiled = _Tiled(problem, bands, found, narrow_statements(found.tree), skewed_members(bands.tree))
            yield tiled
            if tiled.is_good:
                return


def _all_sizes(found: _Tiled) -> Iterator[Candidate]:
    one, rank = found.first, 0
    yield _candidate(found.problem, found.bands, one)
    while one.more:
        rank += 1
        next_sizes = _tiled(found.problem, found.bands.tree, rank)
        if next_sizes is None:
            return
        one = next_sizes
        yield _candidate(found.problem, found.bands, one)


def _band_trees(problem: Problem) -> Iterator[BandTree]:
    """Trees that are not mapped yet, each made when it is asked for."""
    found: list[BandTree] = []
    try:
        tree = to_schedule(problem.scop, loop_trees(problem.scop, problem.dependences, relax=False).block)
        found.append(BandTree("loop tree", tree))
        yield found[0]
    except (OverBudgetError, NoLoopTreeError):
        pass
    others = band_trees(problem.scop, problem.dependences, problem.options.max_operations)
    yield from distinct([*found, *others])[len(found) :]


def _tiled(problem: Problem, tree: isl.Schedule, rank: int) -> TiledTree | None:
    """The tree with kernels, if that does not take too long and keeps the order."""
    needed = problem.dependences.all.intersect_params(problem.scop.context)
    try:
        with budget(CODE_OPERATIONS):
            found = TiledKernels(problem, rank).map(tree)
            tree = with_barriers(found.tree, needed)
            kept = not unordered(tree, needed)
    except OverBudgetError:
        return None
    return TiledTree(tree, found.sizes, found.notes, found.more) if kept else None


def _candidate(problem: Problem, bands: BandTree, found: TiledTree) -> Candidate:
    strategy = f"tiled ({bands.fusion})"
    reasons = tuple(f"{strategy}: kernel {number}: {sizes}" for number, sizes in found.sizes.items())
    schedule = MappedSchedule(found.tree, strategy)
    notes = (*problem.notes, *bands.notes, *found.notes)
    return Candidate("tiled", problem.choices, problem.scop, problem.dependences, schedule, notes, reasons)
