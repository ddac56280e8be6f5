"""A schedule that was given as text, instead of a strategy's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import islpy as isl

from polytile.diagnostics import UserError
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.plan import KernelPlan, time_tile
from polytile.ir.plan_text import GridVersions, split_plans, split_small_grids
from polytile.ir.schedule import MappedSchedule, is_mapped
from polytile.ir.scop import Scop
from polytile.scheduling.candidate import Candidate, Problem, SmallGrids
from polytile.scheduling.proof.legality import prove, require_mapped
from polytile.scheduling.strategies.classic import inexact, mapped
from polytile.scheduling.strategies.expansion import further_expansion, of_expanded, with_snapshots, without_copy_back
from polytile.scheduling.strategies.pluto import BandTree
from polytile.scheduling.transform.fused_sums import begin_with_addends
from polytile.scheduling.transform.reductions.text import rounds_otherwise, with_reductions_of


def propose(problem: Problem) -> Iterator[Candidate]:
    """Yield the schedule of the options, over storage that is expanded further where it is not legal without.

    Raises UserError where the text is no schedule of the Scop.
    """
    found = split_small_grids(problem.options.load_schedule or "")
    if found is not None:
        own, small = (_with_text(problem, text) for text in (found.large, found.small))
        yield from (_beside(problem.scop, one, found, next(propose(small))) for one in propose(own))
        return
    problem = _without_copies_back(_with_its_copies(problem))
    plain = _loaded(problem)
    expanded = further_expansion(problem)
    if expanded is None or _is_legal(problem, plain):
        yield plain
    else:
        yield _loaded(of_expanded(problem, expanded))


def _with_text(problem: Problem, text: str) -> Problem:
    return replace(problem, options=replace(problem.options, load_schedule=text))


def _beside(scop: Scop, candidate: Candidate, versions: GridVersions, small: Candidate) -> Candidate:
    """Return the candidate with another one for small grids.

    Raises UserError where these two are not overlapped and split tiles.
    """
    if candidate.overlapped is None or small.split is None:
        raise UserError(
            f"the schedules of {scop.name} for small and large grids are not split and overlapped tiles",
            location=scop.location,
            hint="start from a file that --save-schedule wrote",
        )
    tiles = candidate.overlapped
    asked = SmallGrids(small, versions.cells, versions.least, versions.iterations, tiles.least_cells)
    return replace(candidate, small_grids=asked).with_time_tile(replace(tiles, least_cells=versions.cells))


def _with_its_copies(problem: Problem) -> Problem:
    """Copy inputs first where the schedule's text runs the statements that do this; else return the problem."""
    text = problem.options.load_schedule or ""
    for at_any_cost in (False, True):
        copied = with_snapshots(problem, at_any_cost=at_any_cost)
        if copied is not None and any(re.search(rf"\b{name}\[", text) for name in copied.scop.prologue):
            return copied
    return problem


def _without_copies_back(problem: Problem) -> Problem:
    """Give arrays two versions in turns where the schedule's text leaves out the copies between them."""
    found = without_copy_back(problem)
    if found is None:
        return problem
    text = problem.options.load_schedule or ""
    ours, theirs = ({s.name for s in one.scop.main} for one in (problem, found))
    return problem if any(re.search(rf"\b{name}\[", text) for name in ours - theirs) else found


def _loaded(problem: Problem) -> Candidate:
    assert problem.options.load_schedule is not None
    text, plans = _plans(problem)
    given = plans or ()
    tile = time_tile(given)
    overlapped = tile if isinstance(tile, OverlappedTiles) else None
    retimed = overlapped is not None and any(step.retimed for step in overlapped.steps)
    if problem.options.strict and (retimed or rounds_otherwise(problem.scop, text)):
        raise UserError(
            f"the schedule of {problem.scop.name} adds up the terms of sums in another order",
            location=problem.scop.location,
            hint="leave out --fp strict, or save a schedule that was made with it",
        )
    plain = begin_with_addends(problem.scop) if overlapped is not None and not problem.options.strict else problem.scop
    scop, dependences, text = with_reductions_of(plain, problem.dependences, text)
    problem = replace(problem, scop=scop, dependences=dependences)
    tree = read_schedule(scop, text)
    if not is_mapped(tree):
        found = mapped("loaded", problem, [BandTree("loaded", tree)])
        return replace(found, given=given, all_given=plans is not None)
    require_mapped(scop, tree)
    notes = (*problem.notes, *inexact(problem))
    schedule = MappedSchedule(tree, "loaded")
    return Candidate("loaded", scop, dependences, schedule, notes, given=given, all_given=plans is not None)


def _plans(problem: Problem) -> tuple[str, tuple[KernelPlan, ...] | None]:
    """Split the schedule's text into the text of the tree alone and the plans in it; raises UserError."""
    try:
        return split_plans(problem.options.load_schedule or "")
    except UserError as error:
        message = f"the schedule of {problem.scop.name}: {error.message}"
        raise UserError(message, location=problem.scop.location, hint=error.hint) from None


def _is_legal(problem: Problem, candidate: Candidate) -> bool:
    if candidate.schedule is None:
        return True
    operations = problem.options.enough_operations
    try:
        return prove(candidate.scop, candidate.dependences, candidate.schedule, operations).proven
    except UserError:
        return False


def read_schedule(scop: Scop, text: str) -> isl.Schedule:
    """Parse a schedule tree from a file's text; raises UserError. Its claims of coincidence stand until the proof."""
    try:
        return isl.Schedule(text)
    except isl.Error:
        raise UserError(
            f"the schedule of {scop.name} is not a schedule tree that isl can read",
            location=scop.location,
            hint="start from a file that --save-schedule wrote",
        ) from None
