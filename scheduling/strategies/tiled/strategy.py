"""The tiled strategy: trees of parallel and serial loops, with tiles of both where reads are made anew by many threads.

The trees are those of the superposed strategy's blocks, without relaxed reductions, and those of isl's scheduler. No
sum changes its order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule
from polytile.options import CODE_OPERATIONS
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.strides import narrow_statements
from polytile.scheduling.proof.legality import unordered
from polytile.scheduling.strategies.expansion import further_expansion, of_expanded
from polytile.scheduling.strategies.loop_nest import skewed_members
from polytile.scheduling.strategies.mapping import with_barriers
from polytile.scheduling.strategies.pluto import BandTree, distinct
from polytile.scheduling.strategies.superposed.loop_tree import NoLoopTreeError, to_schedule
from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees
from polytile.scheduling.strategies.tiled.loop_reuse import may_share_reads
from polytile.scheduling.strategies.tiled.tiled_kernels import TiledKernels, TiledTree
from polytile.scheduling.strategies.unmapped_trees import trees_of


def propose(problem: Problem) -> Iterator[Candidate]:
    """Yield mapped trees that keep the order.

    There are none where no kernel gains by tiles, or where a tree without tiles has more parallelism. First come the
    trees of loops with the fewest statements on few threads, of each those with the preferred sizes.
    """
    found = _tiled_trees(problem) if may_share_reads(problem.scop) else []
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


def _tiled_trees(problem: Problem) -> list[_Tiled]:
    """Return the trees up to a good one.

    Those are loop trees, also over storage that is expanded further, and where these have tiles or there are none,
    isl's.
    """
    problems, found = [problem], _up_to_a_good_one(problem, _loop_tree(problem))
    if _good(found):
        return found
    expanded = further_expansion(problem)
    if expanded is not None:
        problems.append(of_expanded(problem, expanded))
        found += _up_to_a_good_one(problems[-1], _loop_tree(problems[-1]))
    if found and not any(one.first.sizes for one in found):
        return found
    for one in problems:
        found += [] if _good(found) else _up_to_a_good_one(one, distinct(list(trees_of(one))))
    return found


def _good(found: Sequence[_Tiled]) -> bool:
    return any(one.is_good for one in found)


def _up_to_a_good_one(problem: Problem, trees: Iterable[BandTree]) -> list[_Tiled]:
    made: list[_Tiled] = []
    for bands in trees:
        found = _tiled(problem, bands.tree, 0)
        if found is not None:
            narrow, skewed = narrow_statements(found.tree), skewed_members(bands.tree)
            made.append(_Tiled(problem, bands, found, narrow, skewed))
            if made[-1].is_good:
                break
    return made


def _all_sizes(found: _Tiled) -> Iterator[Candidate]:
    one, rank = found.first, 0
    yield _candidate(found.problem, found.bands, one)
    while one.more:
        rank += 1 if rank or one.further else 2  # the first sizes are there twice
        next_sizes = _tiled(found.problem, found.bands.tree, rank)
        if next_sizes is None:
            return
        one = next_sizes
        yield _candidate(found.problem, found.bands, one)


def _loop_tree(problem: Problem) -> list[BandTree]:
    """Return the tree of the superposed strategy's blocks, if there is one."""
    try:
        tree = loop_trees(problem.scop, problem.dependences, relax=False).block
    except (OverBudgetError, NoLoopTreeError):
        return []
    return [BandTree("loop tree", to_schedule(problem.scop, tree))]


def _tiled(problem: Problem, tree: isl.Schedule, rank: int) -> TiledTree | None:
    """Map the tree to tiled kernels; None if that takes too long or breaks the order."""
    needed = problem.dependences.all.intersect_params(problem.scop.context)
    try:
        with budget(CODE_OPERATIONS):
            found = TiledKernels(problem, rank).map(tree)
            tree = with_barriers(found.tree, needed)
            kept = not unordered(tree, needed)
    except OverBudgetError:
        return None
    return TiledTree(tree, found.sizes, found.more, found.further, found.repeats) if kept else None


def _candidate(problem: Problem, bands: BandTree, found: TiledTree) -> Candidate:
    strategy = f"tiled ({bands.fusion})"
    reasons = tuple(f"{strategy}: kernel {number}: {sizes}" for number, sizes in found.sizes.items())
    schedule = MappedSchedule(found.tree, strategy)
    notes = (*problem.notes, *bands.notes)
    made = Candidate("tiled", problem.scop, problem.dependences, schedule, notes, reasons)
    return replace(made, repeats=found.repeats, further_sizes=found.further)
