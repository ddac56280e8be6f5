"""The theorem of placements and the proofs of homes and copies say the same of the placements that kernels have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import polytile
from polytile.compilation import Compilation
from polytile.ir.placed_storage import forwarded, homes
from polytile.ir.plan import KernelPlan, Placement
from polytile.scheduling.proof.placements import wrong_placements
from polytile.scheduling.proof.storage import wrong_forwarding, wrong_homes

SUITE = Path(__file__).parents[3] / "polybench" / "polybench"
PROGRAMS = [("atax", "superposed"), ("mvt", "superposed"), ("durbin", "auto"), ("symm", "classic")]


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda case: case[0])
def state(request: pytest.FixtureRequest) -> Compilation:
    program, schedule = request.param
    (scop,) = polytile.compile(SUITE / f"{program}.c", schedule=schedule).scops
    return scop.compilation


def by_theorem(state: Compilation, plans: tuple[KernelPlan, ...]) -> bool:
    return not wrong_placements(state.run.scop, state.run.schedule.tree, plans)


def by_cases(state: Compilation, plans: tuple[KernelPlan, ...]) -> bool:
    scop = state.run.scop
    return not wrong_homes(state.run, homes(plans, scop)) and not wrong_forwarding(state.run, forwarded(plans, scop))


def variants(placement: Placement) -> Iterator[Placement]:
    """Fewer and more cells."""
    head, _, cell = placement.cell.rstrip(" }").rpartition(" -> ")
    for new, sizes in _cells(cell.strip("[]"), placement):
        yield replace(placement, cell=f"{head} -> [{new}] }}", extents=sizes)


def _cells(cell: str, placement: Placement) -> Iterator[tuple[str, tuple[int, ...]]]:
    parts = [part.strip() for part in cell.split(",")] if cell else []
    if placement.through:
        for divisor in (2, 4):
            sizes = tuple(max(1, extent // divisor) for extent in placement.extents)
            yield ", ".join(f"{p.split(' mod ')[0]} mod {s}" for p, s in zip(parts, sizes, strict=True)), sizes
        sizes = tuple(2 * extent for extent in placement.extents)
        yield ", ".join(f"{p.split(' mod ')[0]} mod {s}" for p, s in zip(parts, sizes, strict=True)), sizes
        return
    for k in range(len(parts)):  # without a dimension
        yield ", ".join(parts[:k] + parts[k + 1 :]), placement.extents[:k] + placement.extents[k + 1 :]


@pytest.mark.slow(but="symm")
def test_what_is_chosen_is_proven_by_both(state: Compilation) -> None:
    assert any(plan.placements for plan in state.kernel_plans)
    assert by_theorem(state, state.kernel_plans) and by_cases(state, state.kernel_plans)


@pytest.mark.slow(but="symm")
def test_each_says_of_variants_what_the_other_says(state: Compilation) -> None:
    found = set()
    for plan in state.kernel_plans:
        for placement in plan.placements:
            for variant in variants(placement):
                plans = (KernelPlan(plan.kernel, (variant,)),)
                verdicts = by_theorem(state, plans), by_cases(state, plans)
                assert verdicts[0] == verdicts[1], str(variant)
                found.add(verdicts[0])
    assert found or not any(placement.extents for plan in state.kernel_plans for placement in plan.placements)
