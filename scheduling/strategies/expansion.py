"""More storage than where reuse alone serialises loops, for where it is worth it: expansion, copies of inputs, two
versions of an array in turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polytile.ir.external_functions import addressed_arrays
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.ir.partial_results import Reversed
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import Dependences, analyse
from polytile.scheduling.candidate import Problem
from polytile.scheduling.transform.array_expansion import expand
from polytile.scheduling.transform.carried_scalars import expand_carried
from polytile.scheduling.transform.copy_back_elimination import eliminate_copy_back
from polytile.scheduling.transform.input_snapshot import awaits_expansion, snapshot_inputs
from polytile.scheduling.transform.reductions.term_order import in_order_of_terms

Expanded = tuple[Scop, tuple[str, ...]]  # with what is said of it


def further_expansion(problem: Problem, *, backwards: bool = False) -> Expanded | None:
    """Expand the Scop's own arrays also over loops that other values keep serial; None where that changes nothing.

    A scalar gets a cell for each value that it carries to the next iteration. `backwards`: with reductions in the order
    in which their terms are made; None where all are already.
    """
    if problem.unexpanded is None:
        return None
    known, operations = problem.unexpanded, problem.options.array_operations
    carried, said = expand_carried(*known)
    if said:
        known = carried, analyse(carried, operations, known)
    if backwards:
        turned = in_order_of_terms(*known, strict=problem.options.strict)
        if turned is None:
            return None
        known, said = (turned, analyse(turned, operations, known)), (*said, *_turned_round(turned))
    scop, notes = expand(*known, serial_loops=True, strict=problem.options.strict)
    notes = (*said, *notes)
    return None if notes == problem.notes else (scop, notes)


def _turned_round(scop: Scop) -> Iterator[str]:
    """Yield a note for each reduction that runs backwards."""
    for made in (one for one in scop.backwards if isinstance(one, Reversed)):
        statement = scop.statement(made.update)
        loops = ", ".join(statement.iterators[k] for k in made.loops)
        array = next(a.array for a in statement.accesses if a.writes)
        yield f"the reduction into {array} runs through {loops} backwards, as its terms are made"


def of_expanded(problem: Problem, expanded: Expanded) -> Problem:
    """Return the problem of an expanded Scop; the dependences are found anew."""
    scop, notes = expanded
    found = analyse(scop, problem.options.array_operations, problem.unexpanded)
    return replace(problem, scop=scop, dependences=found, notes=notes, unexpanded=None)


def _of_changed(problem: Problem, scop: Scop, dependences: Dependences, notes: tuple[str, ...]) -> Problem:
    """Return the problem of a transformed Scop, with notes on the transformation."""
    return replace(problem, scop=scop, dependences=dependences, notes=(*problem.notes, *notes), unexpanded=None)


def with_snapshots(problem: Problem, *, at_any_cost: bool = False) -> Problem | None:
    """Return the problem of the Scop that reads copies of its inputs where overwriting them keeps loops in order.

    Its own arrays are expanded further where only both free a loop. None where there is nothing to copy, or finding it
    takes too long. `at_any_cost`: also copies that are as much work as the loops are, and those that break cycles of
    dependences, for what is not parallel without.
    """
    operations = problem.options.array_operations
    if addressed_arrays(problem.scop.statements):
        return None
    try:
        with budget(operations):
            found = snapshot_inputs(problem.scop, problem.dependences, operations, at_any_cost=at_any_cost)
            waits = found is None and awaits_expansion(problem.scop, problem.dependences)
        expanded = further_expansion(problem) if waits else None
        if expanded is not None:
            problem = of_expanded(problem, expanded)
            with budget(operations):
                found = snapshot_inputs(problem.scop, problem.dependences, operations, at_any_cost=at_any_cost)
        if found is None and at_any_cost:
            from polytile.scheduling.transform.node_splitting import split_nodes  # the last resort

            with budget(operations):
                found = split_nodes(problem.scop, problem.dependences, operations)
    except OverBudgetError:
        return None
    return None if found is None else _of_changed(problem, found.scop, found.dependences, found.notes)


def without_copy_back(problem: Problem) -> Problem | None:
    """Return the problem with two versions of arrays in turns where steps of a time loop end in a copy.

    None where no step does, or finding it takes too long.
    """
    operations = problem.options.array_operations
    if addressed_arrays(problem.scop.statements):
        return None
    try:
        with budget(operations):
            found = eliminate_copy_back(problem.scop, problem.dependences, operations)
    except OverBudgetError:
        return None
    return None if found is None else _of_changed(problem, found.scop, found.dependences, found.notes)
