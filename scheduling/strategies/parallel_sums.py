"""Sums that one thread of a schedule makes, split among blocks and threads as the superposed strategy splits them.

before: sequence { kernel of S0 by some strategy; kernel of one thread { i [S1: s += x[i]] } }
after:  sequence { the same kernel of S0; kernel { blocks and threads of S1's partial results }; kernel { their sum } }

Where a total stands beside other work, the schedule that is best for that work may leave the total for one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polytile.choices import SUPERPOSED
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.schedule import MappedSchedule
from polytile.scheduling.candidate import Candidate, Problem
from polytile.scheduling.cost.mapped_loops import is_one_thread, kernels, statements
from polytile.scheduling.strategies.mapping import with_barriers
from polytile.scheduling.strategies.mix_strategies import Part, Statements, pieces, put_together
from polytile.scheduling.strategies.superposed.kernel_formation import superpose_levels
from polytile.scheduling.strategies.superposed.kernel_plans import Planner
from polytile.scheduling.strategies.superposed.loop_tree import NoLoopTreeError, restrict
from polytile.scheduling.strategies.superposed.superpose import Superposed, superpose
from polytile.scheduling.strategies.superposed.thread_mapping import Steps
from polytile.scheduling.strategies.superposed.two_level_trees import loop_trees
from polytile.scheduling.strategies.tile_sizes import SizeChooser, parse_sizes
from polytile.scheduling.transform.reductions.exact import with_exact_reductions


def with_parallel_sums(problem: Problem, candidate: Candidate) -> Candidate | None:
    """Split the sums that kernels of one thread compute, and return the candidate with them.

    None where it has none, where splitting them takes too long, and where the order would be broken.
    """
    alone = list(_alone(candidate))
    if not alone:
        return None
    try:
        with budget(problem.options.max_operations):
            return _with_split(problem, candidate, alone)
    except (OverBudgetError, NoLoopTreeError):
        return None


def _alone(candidate: Candidate) -> Iterator[Statements]:
    """Yield the statements of each kernel of one thread that the host launches once and that sums something up."""
    if candidate.schedule is None or candidate.time_tile is not None:
        return
    tree = candidate.schedule.tree
    made = {name for p in candidate.scop.privatised for name in (p.update, *p.added)}
    launched = set(pieces(tree))
    for kernel in kernels(tree):
        mapped = statements(kernel)
        names = frozenset(one.name for one in mapped)
        sums = [s for s in map(candidate.scop.statement, names) if s.reduction is not None and s.iterators]
        if sums and names in launched and names.isdisjoint(made) and is_one_thread(mapped):
            yield names


def _with_split(problem: Problem, candidate: Candidate, alone: list[Statements]) -> Candidate | None:
    assert candidate.schedule is not None
    scop, dependences = candidate.scop, candidate.dependences
    scop = with_exact_reductions(scop) if problem.options.strict else scop
    trees = loop_trees(scop, dependences)
    sizes = SizeChooser(problem.choices, parse_sizes(problem.options.sizes), problem.machine)
    found = Superposed(scop, dependences, candidate.schedule.tree)
    parts: list[Part] = []
    for piece in pieces(candidate.schedule.tree):
        if piece not in alone:
            parts.append((candidate.schedule.tree, piece))
            continue
        steps = Steps(found.scop, problem.options.parameters, problem.machine.tuning.sharing)
        block, thread = (restrict(tree, piece) for tree in (trees.block, trees.thread))
        host = superpose_levels(steps, block, thread, reductions=True)
        planner = Planner(steps, sizes)
        planner.visit(host)
        split = superpose(found.scop, found.dependences, host, planner) if planner.plans else None
        if split is None:
            return None
        found = split
        needed = found.dependences.all.intersect_params(found.scop.context)
        parts.append((with_barriers(found.tree, needed), frozenset(_names(found, piece))))
    if found.scop is scop:
        return None
    one = MappedSchedule(candidate.schedule.tree, SUPERPOSED)
    split_one = replace(candidate, scop=found.scop, dependences=found.dependences, schedule=one)
    return put_together(candidate.schedule.strategy, split_one, parts)


def _names(found: Superposed, piece: Statements) -> Iterator[str]:
    """Yield the names of what the statements of a kernel have become."""
    made = {p.statement: (p.update, *p.added) for p in found.scop.privatised}
    for name in piece:
        yield from made.get(name, (name,))
