"""More expansion of storage than where reuse alone serialises loops, for strategies to which it is worth it."""

from __future__ import annotations

from dataclasses import replace

from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.candidate import Problem
from polytile.scheduling.transform.array_expansion import expand

Expanded = tuple[Scop, tuple[str, ...]]  # with what is said of it


def further_expansion(problem: Problem) -> Expanded | None:
    """The Scop with its own arrays expanded over loops that other values keep serial, too; None where that is the
    same."""
    if problem.unexpanded is None:
        return None
    scop, notes = expand(*problem.unexpanded, serial_loops=True)
    return None if notes == problem.notes else (scop, notes)


def of_expanded(problem: Problem, expanded: Expanded) -> Problem:
    """The problem of that Scop; the dependences are found anew."""
    scop, notes = expanded
    found = analyse(scop, problem.options.array_operations, problem.unexpanded)
    return replace(problem, scop=scop, dependences=found, notes=notes, unexpanded=None)
