"""What is proven of one compilation, as a whole: values, order, storage and copies.

A proof of what most compilations have not, such as tiles of time, is imported by what asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import islpy as isl

from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError
from polytile.ir.host import Transfer
from polytile.ir.isl_util import OverBudgetError, budget, sample
from polytile.ir.memory import Space
from polytile.ir.placed_storage import forwarded, homes, is_home, is_tile, tile_plans
from polytile.ir.plan import KernelPlan, time_tile
from polytile.ir.scop import Origin, Scop
from polytile.scheduling.analysis.dependences import Dependences, array_values, collected, same_accesses
from polytile.scheduling.analysis.executions import Executions
from polytile.scheduling.analysis.renamed_statements import renaming
from polytile.scheduling.proof.legality import Proof, prove
from polytile.scheduling.proof.reductions import regroupings, wrong_regroupings
from polytile.scheduling.proof.storage import wrong_forwarding, wrong_homes
from polytile.scheduling.proof.transfers import wrong_transfers

TILES_SHARE = 4  # of the operations: proofs of tiles that need more take gigabytes, and the schedule can do without
_SPACES = {Space.PRIVATE: "registers", Space.SHARED: "shared memory"}


@dataclass(frozen=True, slots=True)
class Claim:
    """Everything that must hold of one SCoP: `scop` computes what `source` does, `run` does what the instances of
    `scop` do, and the placements of `plans` and `transfers` realise it; the kernels of time tiles in `plans` do what
    iterations of `scop` do."""

    source: Scop
    scop: Scop
    dependences: Dependences
    run: Executions
    plans: tuple[KernelPlan, ...] = ()
    transfers: tuple[Transfer, ...] = ()


class WrongStorageError(InternalError):
    """Where data live inside kernels is wrong."""


def prove_all(claim: Claim, max_operations: int = 0) -> Proof:
    """Prove a claim, with `max_operations` isl operations for the order and as many for the rest (0: any number).

    Raises UserError and IllegalSchedule for the schedule (see legality.prove), InternalError when values or storage,
    which are polytile's own choices, are wrong. The Proof is not proven when the operations did not suffice.
    """
    run = claim.run
    order = prove(run.scop, run.dependences, run.schedule, max_operations)
    if not order.proven:
        return order
    try:
        with budget(max_operations):
            _check_values(claim, max_operations)
            _check_executions(claim)
            _check_storage(claim, max_operations // TILES_SHARE)
            facts = tuple(_time_tile_facts(claim))
    except OverBudgetError:
        return Proof(False, 0)
    return replace(order, facts=(*order.facts, *_facts(claim), *facts))


def _check_values(claim: Claim, max_operations: int) -> None:
    if claim.scop is claim.source:
        return
    from polytile.scheduling.proof.dataflow import changed_values

    exact = _known_exactly(claim)
    before, after = _values(claim, exact, max_operations), claim.dependences.values
    for result, why in wrong_regroupings(claim.source, before, claim.scop, after):
        raise InternalError(f"{claim.scop.name}: {result}, and {why}")
    for change in changed_values(claim.source, before, claim.scop, after):
        if not exact.get(change.array, True):  # conflicts of an array and of its parts are not the same
            raise OverBudgetError(f"the values of {change.array}")
        raise _broken(claim, f"it {change.what} of {change.array} that the source does not", change.pairs)


def _known_exactly(claim: Claim) -> dict[str, bool]:
    """Return whether the program's values are known exactly, by arrays of the source."""
    known = {a.root: True for a in claim.scop.arrays}
    for array in claim.scop.arrays:
        known[array.root] &= claim.dependences.of(array.name).exact
    return known


def _values(claim: Claim, known: Mapping[str, bool], max_operations: int) -> Dependences:
    """Compute the flow of the source's values, exact for each array that is `known` so in the program.

    Raises OverBudgetError where `max_operations` do not suffice for one array.
    """
    found = []
    for name in (array.name for array in claim.source.arrays):
        if same_accesses(claim.scop, claim.source, name):
            found.append(claim.dependences.of(name).values)
            continue
        names = renaming(claim.source, claim.scop, name)
        if names is not None:
            found.append(claim.dependences.of(name).values.renamed(names.reverse()))
            continue
        exact = known.get(name, True)
        found.append(array_values(claim.source, name, max_operations, exact=exact))
        if exact and not found[-1].exact:
            raise OverBudgetError(f"the values of {name}")
    return collected(claim.source, tuple(found))


def _check_executions(claim: Claim) -> None:
    if not claim.run.is_each_once(claim.scop, claim.dependences):
        from polytile.scheduling.proof.warp_reductions import wrong_executions

        for line in wrong_executions(claim.scop, claim.dependences, claim.run):
            raise InternalError(f"{claim.scop.name}: {line}")


def _check_storage(claim: Claim, max_operations: int) -> None:
    """Check where data are stored inside kernels.

    `max_operations` are for tiles, which the schedule can do without.
    """
    plans, scop = claim.plans, claim.run.scop
    failures = [*wrong_homes(claim.run, homes(plans, scop)), *wrong_forwarding(claim.run, forwarded(plans, scop))]
    if tiles := tile_plans(plans):
        from polytile.scheduling.proof.placements import wrong_placements

        with budget(max_operations):
            failures += wrong_placements(scop, claim.run.schedule.tree, tiles)
    for failure in failures:
        message = _broken(claim, f"the storage of {failure.array} is wrong: {failure.why}", failure.pairs).message
        raise WrongStorageError(message)
    for line in wrong_transfers(claim.run.scop, claim.run.dependences, claim.transfers):
        raise InternalError(f"{claim.scop.name}: {line}")


def _time_tile_facts(claim: Claim) -> Iterator[str]:
    """Yield what was shown of the kernels of time tiles."""
    tile = time_tile(claim.plans)
    if tile is not None:
        from polytile.scheduling.proof.time_tiles.prove import prove_time_tile

        yield from prove_time_tile(claim.source, claim.scop, claim.dependences, tile)


def _broken(claim: Claim, message: str, pairs: isl.UnionMap) -> InternalError:
    found = sample(pairs)
    example = f", for example {found[0]}{list(found[1])} -> {found[2]}{list(found[3])} with {found[4]}" if found else ""
    return InternalError(f"{claim.scop.name}: {message}{example}")


def _facts(claim: Claim) -> Iterator[str]:
    for array in claim.scop.arrays:
        if array.holds:
            yield f"{array.name} holds values of {array.holds}: each read sees the write that it saw in the source"
    yield from (str(result) for result in regroupings(claim.source, claim.scop))
    yield from (str(reduction) for reduction in claim.run.warp_reductions if reduction.width > 1)
    plans = sorted(claim.plans, key=lambda plan: plan.kernel)
    placed = [(plan.kernel, one) for plan in plans for one in plan.placements]
    for kernel, one in placed:
        if is_home(one):
            yield f"{one.array} in {_SPACES[one.memory]} of kernel {kernel}: each read sees the write that it saw"
    for kernel, one in placed:
        if one.through and not is_tile(one):
            line = f"{one.array} forwarded through shared memory of kernel {kernel}"
            yield f"{line}: each read sees the write that it saw"
    for kernel, one in placed:
        if is_tile(one):
            yield f"{one.name} of kernel {kernel}: each read of {one.array} sees the write that it saw"
    external = [t for t in claim.transfers if t.array.origin is Origin.EXTERNAL]
    into = [t.array.name for t in external if t.copy_in]
    back = [t.array.name for t in external if t.copy_out]
    yield f"copied in: {', '.join(into) or 'nothing'}; copied out: {', '.join(back) or 'nothing'}"
