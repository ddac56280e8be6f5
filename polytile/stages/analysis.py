"""The stages before the schedule: dependences, and storage that stands in the way of parallel loops."""

from __future__ import annotations

from dataclasses import replace

from polytile.compilation import Compilation
from polytile.options import MAX_OPERATIONS
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.proof.prove import ARRAY_SHARE
from polytile.scheduling.transform.array_expansion import expand
from polytile.scheduling.transform.live_range_splitting import split_live_ranges
from polytile.scheduling.transform.statement_fusion import fuse_locals


def join_locals(state: Compilation) -> Compilation:
    """Statements that communicate through scalars of one loop body alone become one."""
    return replace(state, scop=fuse_locals(state.scop))


def find_dependences(state: Compilation) -> Compilation:
    """Dependence analysis. Relations that take long to find take much longer to schedule and to prove, so each array
    gets a small part of the budget."""
    operations = max(state.options.max_operations, MAX_OPERATIONS) // ARRAY_SHARE
    found = analyse(state.scop, operations, state.analysed)
    return replace(state, dependences=found, analysed=(state.scop, found))


def separate_purposes(state: Compilation) -> Compilation:
    """A variable for each purpose that one serves; the dependences are found anew."""
    assert state.dependences is not None
    scop = split_live_ranges(state.scop, state.dependences)
    return state if scop is state.scop else find_dependences(replace(state, scop=fuse_locals(scop)))


def expand_storage(state: Compilation) -> Compilation:
    """Expansion of what serialises loops by its reuse alone, and as an alternative of more; the dependences are found
    anew."""
    plain, roomy = _expanded(state, roomy=False), _expanded(state, roomy=True)
    alternative = None if roomy.remarks == plain.remarks else roomy
    plain = state if plain.scop is state.scop else find_dependences(plain)
    return replace(plain, roomy=alternative)


def _expanded(state: Compilation, *, roomy: bool) -> Compilation:
    assert state.dependences is not None
    scop, notes = expand(state.scop, state.dependences, roomy=roomy)
    state = replace(state, scop=scop)
    for note in notes:
        state = state.with_remark(note)
    return state
