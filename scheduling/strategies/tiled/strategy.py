"""The tiled strategy: trees of parallel and serial loops, with tiles of both where reads are made anew by many threads.

The trees are those of the superposed strategy's blocks, without relaxed reductions, and those of isl's scheduler. No
sum changes its order.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.proof.legality import unordered
from polytile.scheduling.strategies.mapping import with_barriers
from polytile.scheduling.strategies.pluto import BandTree, band_trees, distinct
from polytile.scheduling.strategies.superposed.loop_tree import to_schedule
from polytile.scheduling.strategies.superposed.source_order import NoLoopTreeError
from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees
from polytile.scheduling.strategies.tiled.tiled_kernels import TiledKernels, TiledTree


def propose(problem: Problem) -> Iterator[Candidate]:
    """Mapped trees that keep the order, of each tree of loops those with the preferred sizes first; none where no
    kernel gains by tiles."""
    for bands in _band_trees(problem):
        rank, more = 0, True
        while more:
            found = _tiled(problem, bands.tree, rank)
            if found is None or not found.sizes:
                break
            yield _candidate(problem, bands, found)
            rank, more = rank + 1, found.more


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
