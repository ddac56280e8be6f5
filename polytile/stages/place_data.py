"""The stages behind the schedule: threads that combine partial results, where arrays live, and the proof of it all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import is_

from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.diagnostics import PolytileError, UserError
from polytile.ir.memory import Storage
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.placed_storage import tile_plans
from polytile.ir.plan import PLAIN_LAUNCH, KernelPlan, with_time_tile
from polytile.ir.schedule import MappedSchedule, loop_label, nodes
from polytile.ir.split_tiles import SplitTiles
from polytile.machine import Machine
from polytile.scheduling.analysis.data_transfers import transfers
from polytile.scheduling.analysis.executions import Executions, each_once
from polytile.scheduling.candidate import Candidate, Plans
from polytile.scheduling.promotion.array_contraction import contract
from polytile.scheduling.promotion.placements import kernel_plans, merged, require_placements
from polytile.scheduling.promotion.shared_forwarding import choose_forwarded
from polytile.scheduling.promotion.tile_barriers import with_tile_barriers
from polytile.scheduling.proof.prove import Claim, WrongStorageError, prove_all
from polytile.scheduling.proof.wrong_plans import WrongTimeTileError

Given = tuple[KernelPlan, ...] | None
Known = Mapping[str, Storage | None]  # homes of arrays that were looked at before


@dataclass(frozen=True, slots=True)
class _Placed:
    """What runs, where its data live, and why, in lines of --explain."""

    run: Executions
    plans: Plans
    lines: tuple[str, ...] = ()

    def with_time_tile(self, tile: OverlappedTiles | SplitTiles | None) -> _Placed:
        """Return the same with a time tile in the plans."""
        kernels = with_time_tile(self.plans.kernels, tile) if tile else self.plans.kernels
        return replace(self, plans=replace(self.plans, kernels=kernels))


def realised(candidate: Candidate, shared_memory: int, machine: Machine) -> tuple[Candidate, Executions, Plans]:
    """Return a candidate with what would run of it, which later stages then leave alone."""
    assert candidate.schedule is not None
    known, found = _realisation(candidate, shared_memory, machine)
    found = found.with_time_tile(candidate.time_tile)
    schedule = _with_barriers(candidate.schedule, found)
    reasons = (*candidate.reasons, *found.lines)
    ready = replace(candidate, schedule=schedule, run=found.run, known_homes=known, plans=found.plans, reasons=reasons)
    return ready, found.run, found.plans


def _realisation(candidate: Candidate, shared_memory: int, machine: Machine) -> tuple[Known, _Placed]:
    """Compute what runs of a candidate, once for estimates with different sizes."""
    assert candidate.schedule is not None
    given = candidate.given if candidate.all_given else None
    asked = (candidate.scop, candidate.dependences, given, candidate.split, machine)
    before = candidate.schedule.remembered.get("realisation")
    if before is not None and before[1] == shared_memory and all(map(is_, before[0], asked)):
        return before[2], before[3]
    run, known = _combined(each_once(candidate.scop, candidate.dependences, candidate.schedule))
    found = _placed(run, candidate.schedule, shared_memory, machine, known, given, candidate.split)
    candidate.schedule.remembered["realisation"] = asked, shared_memory, known, found
    return known, found


def _with_barriers(schedule: MappedSchedule, found: _Placed) -> MappedSchedule:
    """Return the schedule of instances with the barriers of tiles, as the one of executions has them."""
    tree = with_tile_barriers(schedule.tree, tile_plans(found.plans.kernels))
    return schedule if tree is schedule.tree else replace(schedule, tree=tree)


def combine_lanes(state: Compilation) -> Compilation:
    """Combine the partial results that threads hold."""
    if state.schedule is None or state.plans is not None:
        return state
    run, known = _combined(state.run)
    return replace(state, executions=run, known_homes=known)


def choose_storage(state: Compilation) -> Compilation:
    """Choose which arrays live inside kernels, and which are copied between host and device."""
    if state.schedule is None or state.plans is not None:
        return state
    known, given = state.known_homes, state.given if state.all_given else None
    found = _placed(state.run, state.schedule, state.shared_memory, state.machine, known, given, state.split)
    found = found.with_time_tile(state.time_tile)
    schedule = _with_barriers(state.schedule, found)
    reasons = (*state.reasons, *found.lines)
    return replace(state, schedule=schedule, executions=found.run, plans=found.plans, reasons=reasons)


def _combined(run: Executions) -> tuple[Executions, Known]:
    if not run.scop.privatised:  # nor what spreads partial results over threads is needed
        return run, {}
    from polytile.scheduling.promotion.cooperative_reductions.cooperate import cooperate

    found = cooperate(run)
    return (found.run, found.private) if found else (run, {})


def _with_given_barriers(run: Executions, schedule: MappedSchedule, given: tuple[KernelPlan, ...]) -> Executions:
    """Return what runs with the barriers of tiles that the schedule has: no dependence of the SCoP needs them, so that
    they are lost where threads combine partial results."""
    tiles = tile_plans(given)
    if not tiles or with_tile_barriers(schedule.tree, tiles) is not schedule.tree:
        return run
    return replace(run, schedule=replace(run.schedule, tree=with_tile_barriers(run.schedule.tree, tiles)))


def _placed(
    run: Executions,
    schedule: MappedSchedule,
    shared_memory: int,
    machine: Machine,
    known: Known,
    given: Given,
    split: SplitTiles | None,
) -> _Placed:
    """Return plans that were given, or what is found to be good."""
    copied = transfers(run.scop, run.dependences)
    if split is not None:  # tiles of which kernels have all values
        return _Placed(run, Plans((), copied))
    if given is not None:
        require_placements(run, given, shared_memory)
        return _Placed(_with_given_barriers(run, schedule, given), Plans(given, copied))
    homes = contract(run, shared_memory, known=known)
    forwarded = choose_forwarded(run, homes, shared_memory)
    plans = kernel_plans(run, homes, forwarded)
    if not any(loop_label(node) for node in nodes(run.schedule.tree)):
        return _Placed(run, Plans(plans, copied))
    from polytile.scheduling.promotion.choose_placements import promote  # only tiled schedules pay for it

    kept = {name for found in (homes, forwarded) for own in found.values() for name in own}
    tiles = promote(run.scop, run.dependences, run.schedule.tree, machine, shared_memory, kept)
    tree = with_tile_barriers(run.schedule.tree, tiles.plans)
    run = replace(run, schedule=replace(run.schedule, tree=tree))
    return _Placed(run, Plans(merged(plans, tiles.plans), copied), tiles.lines)


def without_kernel_tiles(state: Compilation) -> Compilation:
    """Return the state with its arrays in memory, in place of tiles that blocks keep for whole kernels: the order is
    proven for that. The same state where plans were given, or have no such tiles."""
    if state.all_given or state.plans is None or state.proof is None:
        return state
    left, lines = [], []
    for plan in state.plans.kernels:
        gone = [p for p in plan.placements if p.updated]
        kept = tuple(p for p in plan.placements if p not in gone)
        lines += [f"{p.name} of kernel {plan.kernel}: " for p in gone]
        plan = replace(plan, placements=kept, launch=PLAIN_LAUNCH if gone else plan.launch)
        left += [plan] if kept else []
    if not lines:
        return state
    facts = tuple(fact for fact in state.proof.facts if not fact.startswith(tuple(lines)))
    proof, plans = replace(state.proof, facts=facts), replace(state.plans, kernels=tuple(left))
    name = state.scop.name
    note = f"{name}: arrays stay in device memory, as finding the loops of kernels with tiles of them takes too long"
    return replace(state, proof=proof, plans=plans).with_remark(note)


def prove_legality(state: Compilation) -> Compilation:
    """Prove legality. Raises IllegalSchedule, and UserError when the budget does not suffice for it."""
    if state.schedule is None:
        return state
    assert state.dependences is not None
    operations = state.options.enough_operations
    claim = Claim(
        state.source,
        state.scop,
        state.dependences,
        state.run,
        state.kernel_plans,
        state.transfers,
    )
    try:
        proof = prove_all(claim, operations)
    except (WrongStorageError, WrongTimeTileError) as error:
        raise _of_given_plans(state, error) from error
    if not proof.proven:
        raise UserError(
            f"the schedule of {state.scop.name} is not proven within the budget of {operations} operations",
            location=state.scop.location,
            hint="a larger budget: --max-operations",
        )
    return replace(state, proof=proof)


def _of_given_plans(state: Compilation, error: WrongStorageError | WrongTimeTileError) -> PolytileError:
    """Return a UserError where the plans that are wrong were given; else the error itself."""
    if not state.all_given:
        return error
    if isinstance(error, WrongTimeTileError):
        hint = "change its line `# time_tile`, or take it out: iterations are then as the schedule has them"
    else:
        hint = "change its placement in the plan, or take it out: the array then stays in device memory"
    return UserError(f"the plans given: {error.message}", location=state.scop.location, hint=hint)
