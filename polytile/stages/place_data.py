"""The stages behind the schedule: threads that combine partial results, where arrays live, and the proof of it all."""

from __future__ import annotations

from dataclasses import replace

from polytile.compilation import Compilation
from polytile.diagnostics import UserError
from polytile.options import MAX_OPERATIONS
from polytile.scheduling.analysis.data_transfers import transfers
from polytile.scheduling.analysis.executions import each_once
from polytile.scheduling.promotion.array_contraction import contract
from polytile.scheduling.promotion.cooperative_reductions.cooperate import cooperate
from polytile.scheduling.promotion.shared_forwarding import handovers
from polytile.scheduling.proof.prove import Claim, prove_all


def combine_lanes(state: Compilation) -> Compilation:
    """Threads that hold partial results combine them."""
    if state.schedule is None:
        return state
    assert state.dependences is not None
    if known := _known(state):
        return replace(state, executions=known.executions, known_homes=known.known_homes)
    run = each_once(state.scop, state.dependences, state.schedule)
    found = cooperate(run)
    return replace(state, executions=found.run, known_homes=found.private) if found else replace(state, executions=run)


def _known(state: Compilation) -> Compilation | None:
    """What was looked at, if it is of this very schedule."""
    ready = state.looked_at
    same = ready is not None and (ready.scop, ready.dependences, ready.schedule)
    now = (state.scop, state.dependences, state.schedule)
    return ready if same and all(a is b for a, b in zip(same, now, strict=True)) else None


def choose_storage(state: Compilation) -> Compilation:
    """Which arrays live inside kernels, and which are copied between host and device."""
    if state.schedule is None:
        return state
    known = _known(state)
    if known and known.executions is state.executions:
        return replace(state, homes=known.homes, handovers=known.handovers, transfers=known.transfers)
    run = state.run
    homes = contract(run, state.shared_memory, known=state.known_homes)
    handed = handovers(run, homes, state.shared_memory)
    return replace(state, homes=homes, handovers=handed, transfers=transfers(run.scop, run.dependences))


def proven(state: Compilation) -> Compilation:
    """The proof of legality. Raises IllegalSchedule, and UserError when the budget does not suffice for it."""
    if state.schedule is None:
        return state
    assert state.dependences is not None
    # A small budget makes scheduling fall back to something simpler; there is nothing simpler than a proof.
    operations = max(state.options.max_operations, MAX_OPERATIONS)
    claim = Claim(
        state.source,
        state.scop,
        state.dependences,
        state.run,
        state.homes,
        state.transfers,
        state.handovers,
    )
    proof = prove_all(claim, operations)
    if not proof.proven:
        raise UserError(
            f"the schedule of {state.scop.name} is not proven within the budget of {operations} operations",
            location=state.scop.location,
            hint="a larger budget: --max-operations",
        )
    return replace(state, proof=proof)
