"""The walk of docs/extending.md with a trivial thing of each kind: what is added is compiled and agrees with C."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import islpy as isl
import pytest

import polytile
from polytile.api import CompiledScop
from polytile.choices import CHOICES
from polytile.codegen.passes import KERNEL_PASSES
from polytile.codegen.passes.plan import Context, LoweredPlan, Pass
from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.codegen.targets.dialects import CUDA
from polytile.diagnostics import InternalError
from polytile.ir.kernel import Barrier, Comment, Kernel
from polytile.ir.memory import Space
from polytile.ir.plan import WHOLE_KERNEL, KernelPlan, Owner, Placement
from polytile.ir.schedule import KERNEL, MappedSchedule
from polytile.options import STRATEGIES
from polytile.runtime.emulator import EmulatorLibrary, compile_shared
from polytile.runtime.engine import EmulatorEngine
from polytile.runtime.validate import validate
from polytile.scheduling.candidate import Candidate, Problem

SMOOTH = """
void smooth(int n, double A[n][32], double B[n][32])
{
#pragma scop
    for (int i = 0; i < n; i++) {
        double t[32];
        for (int j = 0; j < 32; j++)
            t[j] = 2.0 * A[i][j];
        for (int j = 0; j < 32; j++)
            B[i][j] = t[j] + t[31 - j];
    }
#pragma endscop
}
"""


def compiled(schedule: str = "classic", **settings: bool) -> CompiledScop:
    (scop,) = polytile.compile(SMOOTH, name="smooth.c", schedule=schedule, **settings).scops  # type: ignore[arg-type]
    return scop


def agrees_with_c(scop: CompiledScop) -> bool:
    """Whether it ran in the emulator, under all of its checks; ValidationError where it computes something else."""
    return bool(scop.validate(on="emulator", seed=1, sanitize="all"))


# A pass: a function from kernel to kernel in codegen/passes, and its place in the list --------------------------------
def explain_barriers(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
    """Barriers say on which machine they wait."""
    where = Comment(f"all threads of the block wait on {context.machine.arch}")
    body = (part for stmt in kernel.body for part in ((where, stmt) if isinstance(stmt, Barrier) else (stmt,)))
    return replace(kernel, body=tuple(body))


@pytest.mark.slow
def test_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    added = Pass("explain-barriers", lambda plan: bool(plan.placements), explain_barriers)
    monkeypatch.setattr("polytile.codegen.passes.KERNEL_PASSES", (*KERNEL_PASSES, added))
    found = compiled(verify_passes=True, raise_bugs=True)
    assert "// all threads of the block wait on sm_90\n    __syncthreads();" in found.cuda
    assert agrees_with_c(found)
    assert "all threads" not in compiled("superposed").cuda, "no array is placed there, so that nothing asks for it"


# A strategy: a module with `propose`, and a line of the registry ------------------------------------------------------
def one_thread(problem: Problem) -> Iterator[Candidate]:
    """The SCoP in its original order, in one kernel of one thread."""
    tree = problem.scop.schedule.intersect_domain(problem.scop.domain.intersect_params(problem.scop.context))
    tree = tree.get_root().child(0).insert_mark(isl.Id(KERNEL)).get_schedule()
    schedule = MappedSchedule(tree, "one-thread")
    yield Candidate("one-thread", problem.scop, problem.dependences, schedule)


def backwards(problem: Problem) -> Iterator[Candidate]:
    """All statements in the opposite order, which is wrong."""
    for candidate in one_thread(problem):
        assert candidate.schedule is not None
        order = candidate.schedule.tree.get_map()
        turned = isl.UnionPwMultiAff.from_union_map(order).neg() if order.is_single_valued() else None
        assert turned is not None
        band = isl.MultiUnionPwAff.from_union_pw_multi_aff(turned)
        tree = isl.Schedule.from_domain(problem.scop.domain).insert_partial_schedule(band)
        tree = tree.get_root().child(0).insert_mark(isl.Id(KERNEL)).get_schedule()
        yield replace(candidate, schedule=MappedSchedule(tree, "one-thread"))


def register(monkeypatch: pytest.MonkeyPatch, propose: object) -> None:
    """As a file of scheduling/strategies and lines in polytile/options.py and polytile/choices.py would."""
    module = ModuleType("polytile.scheduling.strategies.one_thread")
    module.__dict__["propose"] = propose
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(STRATEGIES, "one-thread", module.__name__)
    known = [replace(one, values=("auto", *STRATEGIES)) if one.name == "schedule" else one for one in CHOICES]
    monkeypatch.setattr("polytile.options.CHOICES", tuple(known))


@pytest.mark.slow
def test_a_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, one_thread)
    found = compiled("one-thread")
    assert found.compilation.proof is not None
    assert found.compilation.proof.proven
    assert "one-thread schedule, 1 kernel" in str(found.remarks[-1])
    assert "__launch_bounds__(1)" in found.cuda
    assert agrees_with_c(found)


@pytest.mark.slow
def test_a_strategy_that_is_wrong_gives_way_to_a_simpler_one(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, backwards)
    found = compiled("one-thread")
    assert any("the one-thread schedule is not used, as its proof fails" in str(r) for r in found.remarks)
    assert agrees_with_c(found)


# A placement: cells of an array near the threads ----------------------------------------------------------------------
def forward_rows(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """t stays in device memory, and the threads of a block forward its rows through this many cells."""
    cell = f"{{ [[i] -> t[r, j]] -> [j mod {cells}] }}"
    placed = Placement("t_here", "t", (), WHOLE_KERNEL, Space.SHARED, Owner.BLOCK, cell, (cells,), through=True)
    monkeypatch.setattr("polytile.stages.place_data.kernel_plans", lambda *_: (KernelPlan(0, (placed,)),))


@pytest.mark.slow
def test_a_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    forward_rows(monkeypatch, 32)
    found = compiled()
    assert "t_here: t in shared memory of a block, 32" in "\n".join(found.plans[0].lines())
    assert found.compilation.proof is not None
    assert any("t forwarded through shared memory" in fact for fact in found.compilation.proof.facts)
    assert "__shared__ double t_here[32]" in found.cuda
    assert agrees_with_c(found)


def test_a_placement_that_is_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    forward_rows(monkeypatch, 16)
    with pytest.raises(InternalError, match="the storage of t is wrong"):
        compiled(raise_bugs=True)


# A target: a way to print a program, and an engine that runs what was printed -----------------------------------------
def test_a_target(tmp_path: Path) -> None:
    counting = replace(CUDA, barriers={**CUDA.barriers, "block": "(void)__syncthreads_count(1);"})
    found = compiled()
    assert found.program is not None
    (tmp_path / "unit.h").write_text(print_header([found.program], guard_name="UNIT_H"))
    unit = tmp_path / "unit.cu"
    unit.write_text(print_unit([found.program], header="unit.h", title=[], dialect=counting))
    assert "(void)__syncthreads_count(1);  // smooth.c:10 depends on smooth.c:8 through t" in unit.read_text()
    compile_shared(unit, tmp_path / "unit.so")
    library = EmulatorLibrary.open(tmp_path / "unit.so")
    engine = EmulatorEngine(found.scop, found.program, library, "the emulator counting threads")
    assert validate(found.expect(seed=1), engine, strict=True).bitwise
