"""The stages before the schedule: dependences, and storage that stands in the way of parallel loops."""

from __future__ import annotations

from dataclasses import replace

from polytile.compilation import Compilation
from polytile.ir.scop import Scop
from polytile.scheduling.analysis.dependences import analyse
from polytile.scheduling.transform.array_expansion import expand
from polytile.scheduling.transform.constant_divisors import multiply_by_reciprocals
from polytile.scheduling.transform.live_range_splitting import split_live_ranges
from polytile.scheduling.transform.reciprocal_roots import multiply_by_reciprocal_roots
from polytile.scheduling.transform.reductions.combined_updates import combine_updates
from polytile.scheduling.transform.statement_fusion import fuse_locals, fuse_writers


def replace_divisions(state: Compilation) -> Compilation:
    """Replace quotients by constants and by square roots by products, where results may change as much, or do not."""
    scop = multiply_by_reciprocals(state.scop, state.options.strict)
    return replace(state, scop=scop if state.options.strict else multiply_by_reciprocal_roots(scop))


def join_locals(state: Compilation) -> Compilation:
    """Join statements that communicate through scalars of one loop body alone; join those that set elements of one
    array, too, where statements are many."""
    return replace(state, scop=fuse_writers(_fused(state.scop, state.options.strict)))


def _fused(scop: Scop, strict: bool) -> Scop:
    """Fuse local statements; updates of one element are one statement as well, where sums may be made in partial
    results."""
    return fuse_locals(scop) if strict else combine_updates(fuse_locals(scop, sums=True))


def find_dependences(state: Compilation) -> Compilation:
    """Analyse the dependences."""
    found = analyse(state.scop, state.options.array_operations, state.analysed)
    return replace(state, dependences=found, analysed=(state.scop, found))


def separate_purposes(state: Compilation) -> Compilation:
    """Split a variable that serves several purposes into one for each; the dependences are found anew."""
    assert state.dependences is not None
    scop = split_live_ranges(state.scop, state.dependences)
    return state if scop is state.scop else find_dependences(replace(state, scop=_fused(scop, state.options.strict)))


def expand_storage(state: Compilation) -> Compilation:
    """Expand what serialises loops by its reuse alone; the dependences are found anew."""
    assert state.dependences is not None
    scop, notes = expand(state.scop, state.dependences, strict=state.options.strict)
    after = replace(state, scop=scop, notes=notes, unexpanded=(state.scop, state.dependences))
    return after if scop is state.scop else find_dependences(after)
