"""The proof of plans for ranks: right plans pass, and each planted error is refused by its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import islpy as isl
import pytest

from polytile.distribution.plan import DistributionPlan
from polytile.distribution.proof import DistributionError, prove
from polytile.scheduling.analysis.dependences import analyse
from tests.unit.distribution.programs import ADVECTION, READ_BEHIND, STAR, WAVE, distribute, scop_of, scop_of_file

Change = Callable[[DistributionPlan], DistributionPlan]


def _narrower(plan: DistributionPlan) -> DistributionPlan:
    """Exchange one position less."""
    first = plan.between[0]
    reach = tuple((max(0, below - 1), above) for below, above in first.reach)
    return replace(plan, between=(replace(first, reach=reach), *plan.between[1:]))


def _without_corner(plan: DistributionPlan) -> DistributionPlan:
    first = plan.between[0]
    return replace(plan, between=(replace(first, directions=first.directions[1:]), *plan.between[1:]))


def _other_plane(plan: DistributionPlan) -> DistributionPlan:
    first = plan.between[0]
    return replace(plan, between=(replace(first, planes=(*first.planes[1:], first.planes[0])), *plan.between[1:]))


def _not_exchanged_before(plan: DistributionPlan) -> DistributionPlan:
    return replace(plan, before=())


def _smaller_box(plan: DistributionPlan) -> DistributionPlan:
    """Compute in no step more than the part."""
    phases = tuple(replace(p, growth=tuple(tuple((0, 0) for _ in g) for g in p.growth)) for p in plan.phases)
    return replace(plan, phases=phases)


def _one_phase(plan: DistributionPlan) -> DistributionPlan:
    statements = tuple(s for p in plan.phases for s in p.statements)
    return replace(plan, phases=(replace(plan.phases[0], statements=statements),))


def _phases_in_reverse(plan: DistributionPlan) -> DistributionPlan:
    return replace(plan, phases=plan.phases[::-1])


def _moved(plan: DistributionPlan) -> DistributionPlan:
    """Run instances one position further than where they write."""
    one = isl.Map("{ [p] -> [p + 1] }")
    placements = tuple(
        replace(p, positions=tuple(None if m is None else m.apply_range(one) for m in p.positions))
        for p in plan.placements
    )
    return replace(plan, placements=placements)


def _thin_sides(plan: DistributionPlan) -> DistributionPlan:
    return replace(plan, boundary=tuple((0, 0) for _ in plan.boundary))


def _sides_of_the_part(plan: DistributionPlan) -> DistributionPlan:
    """Compute in front of what is sent as much of the box of the last phase as is sent of the part inside of it."""
    beyond = plan.phases[plan.split_phase].growth[0]
    assert beyond == ((1, 1),)
    sides = zip(plan.boundary, beyond, strict=True)
    return replace(plan, boundary=tuple((low - below, high - above) for (low, high), (below, above) in sides))


def _thin_storage(plan: DistributionPlan) -> DistributionPlan:
    return replace(plan, arrays=tuple(replace(a, halo=tuple((0, 0) for _ in a.halo)) for a in plan.arrays))


def _shorter_axis(plan: DistributionPlan) -> DistributionPlan:
    end = plan.axes[0].end
    return replace(plan, axes=(replace(plan.axes[0], end=end.add_constant_val(isl.Val(-2))), *plan.axes[1:]))


def _other_accesses(plan: DistributionPlan) -> DistributionPlan:
    """Let a phase read one element further than the source."""
    local = plan.local[0]
    first = local.statements[0]
    array = first.accesses[0].array
    elements = [f"e{k}" for k in range(first.accesses[0].relation.dim(isl.dim_type.out))]
    further = ", ".join([*elements[:-1], f"{elements[-1]} + 1"])
    moved = first.accesses[0].relation.apply_range(
        isl.Map(f"{{ {array}[{', '.join(elements)}] -> {array}[{further}] }}")
    )
    changed = replace(first, accesses=(replace(first.accesses[0], relation=moved), *first.accesses[1:]))
    return replace(plan, local=(replace(local, statements=(changed, *local.statements[1:])), *plan.local[1:]))


def _no_margin(plan: DistributionPlan) -> DistributionPlan:
    return replace(plan, margin=tuple((0, 0) for _ in plan.margin))


def _wide_margin(plan: DistributionPlan) -> DistributionPlan:
    return replace(plan, margin=tuple((below + 1, above) for below, above in plan.margin))


def _fewer_steps(plan: DistributionPlan) -> DistributionPlan:
    """Let the SCoP of many steps leave out the first one."""
    assert plan.lead is not None
    (first, *others) = plan.lead.statements
    rest = ", ".join(["t", *(f"x{k}" for k in range(1, len(first.iterators)))])
    later = isl.Set(f"[{plan.step}] -> {{ {first.name}[{rest}] : t > {plan.step} }}")
    changed = replace(first, domain=first.domain.intersect(later))
    return replace(plan, lead=replace(plan.lead, statements=(changed, *others)))


PLANTED: list[tuple[str, int, Change, str]] = [
    (STAR, 1, _narrower, "missing"),
    (STAR, 2, _without_corner, "missing"),
    (STAR, 1, _other_plane, "missing"),
    (STAR, 1, _not_exchanged_before, "missing"),
    (STAR, 2, _smaller_box, "stale"),
    (STAR, 1, _moved, "astray|lost"),
    (STAR, 1, _thin_sides, "unsent"),
    (STAR, 1, _thin_storage, "beyond"),
    (READ_BEHIND, 1, _sides_of_the_part, "unsent"),
    (STAR, 1, _shorter_axis, "lost"),
    (STAR, 1, _other_accesses, "unlike"),
    (STAR, 2, _no_margin, "overrun"),
    (STAR, 3, _wide_margin, "overrun"),
    (STAR, 2, _fewer_steps, "unlike"),
    (WAVE, 2, _smaller_box, "stale"),
    (WAVE, 1, _narrower, "missing"),
    (ADVECTION, 1, _not_exchanged_before, "missing"),
    ("polybench/jacobi-2d.c", 1, _smaller_box, "stale"),
    ("polybench/jacobi-2d.c", 1, _one_phase, "disorder"),
    ("polybench/fdtd-2d.c", 1, _phases_in_reverse, "disorder|stale"),
    ("polybench/fdtd-2d.c", 1, _one_phase, "disorder"),
    ("polybench/jacobi-2d.c", 2, _narrower, "missing"),
]


def plan_of(program: str, steps: int) -> DistributionPlan:
    return distribute(scop_of_file(program) if program.endswith(".c") else scop_of(program), steps)


@pytest.mark.slow(but=6)
@pytest.mark.parametrize(("program", "steps", "change", "kind"), PLANTED)
def test_planted_errors_are_refused(program: str, steps: int, change: Change, kind: str) -> None:
    plan = plan_of(program, steps)
    with pytest.raises(DistributionError, match=kind):
        prove(change(plan), analyse(plan.scop))


@pytest.mark.slow(but=("1-program0", "1-program2", "2-program1", "4-polybench/fdtd-2d.c", "1-polybench/heat-3d.c"))
@pytest.mark.parametrize("program", [STAR, WAVE, ADVECTION, "polybench/fdtd-2d.c", "polybench/heat-3d.c"])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_plans_are_proven(program: str, steps: int) -> None:
    assert plan_of(program, steps).proof.startswith("proven for any part and sizes: ")
