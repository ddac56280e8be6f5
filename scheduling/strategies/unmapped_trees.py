"""The trees of bands of a problem, made once for all strategies."""

from __future__ import annotations

from collections.abc import Sequence

from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.pluto import BandTree, band_trees

_KEY = "band trees"


def trees_of(problem: Problem) -> Sequence[BandTree]:
    """Return the trees of isl's scheduler, and what stands beside or in for them (pluto.py)."""
    if _KEY not in problem.remembered:
        found = band_trees(problem.scop, problem.dependences, problem.options.max_operations)
        problem.remembered[_KEY] = tuple(found)
    known: Sequence[BandTree] = problem.remembered[_KEY]
    return known
