"""The one list of passes: what it has, that plans ask for passes, and that every kernel on the way is well formed."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import polytile
from polytile import pipeline
from polytile.cli.main import main
from polytile.codegen import passes
from polytile.codegen.passes import KERNEL_PASSES, PROGRAM_PASSES, WAITING_FOR_A_STRATEGY
from polytile.codegen.passes.driver import LOWERING, all_passes, pass_names, run_passes
from polytile.codegen.passes.plan import Context, LoweredPlan, OnDemand, Pass
from polytile.diagnostics import EXIT_DONE, EXIT_USAGE, InternalError, UsageError
from polytile.ir.expr import DOUBLE, Assign, Execution, For, Name
from polytile.ir.expr_trees import walk
from polytile.ir.kernel import Kernel
from polytile.ir.name_supply import Names
from polytile.ir.verify.kernel import check_kernel
from polytile.machine import machine_of

PRODUCT = """void f(int n, int m, double A[n][m], double B[m][m], double C[n][m]) {
#pragma scop
for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { C[i][j] *= 3;
  for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j]; }
#pragma endscop
}
"""
AGAIN = """void f(int n, int m, double A[n][m], double x[m], double t[n], double y[m]) {
#pragma scop
for (int j = 0; j < m; j++) y[j] = 0;
for (int i = 0; i < n; i++) { t[i] = 0;
  for (int j = 0; j < m; j++) t[i] += A[i][j] * x[j];
  for (int j = 0; j < m; j++) y[j] += A[i][j] * t[i]; }
#pragma endscop
}
"""
EMPTY = Kernel("k", (), (32, 1, 1), (), (), ())


def steps(text: str, **settings: Any) -> list[tuple[str, Kernel]]:
    (scop,) = polytile.compile(text, name="test.c", schedule="superposed", **settings).scops
    return [(step.done, step.kernel) for step in scop.compilation.steps]


def test_names_are_distinct_and_all_say_what_they_do() -> None:
    names = pass_names()
    assert len(set(names)) == len(names) and all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)
    assert all(one.summary.endswith(".") for one in all_passes())


def test_plans_ask() -> None:
    """A pass that is not asked for is not called."""
    assert not any(one.asked(LoweredPlan()) for one in KERNEL_PASSES)
    plan = LoweredPlan(clean=True, requested=frozenset(["index-width"]))
    asked = [one.name for one in KERNEL_PASSES if one.asked(plan)]
    assert asked == ["clean-up", "remove-unused", "index-width", "prune-signature"]
    seen: list[str] = []
    context = Context(machine_of("sm_90"), Names())
    assert run_passes(EMPTY, plan, context, lambda after: seen.append(after.done)) == EMPTY
    assert seen == [LOWERING, *asked]


def test_what_does_not_depend_on_registers_runs_once_for_all_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def counted(one: Pass) -> Pass:
        def run(kernel: Kernel, plan: LoweredPlan, context: Context) -> Kernel:
            ran.append(one.name)
            return one.run(kernel, plan, context)

        return replace(one, run=run)

    monkeypatch.setattr(passes, "KERNEL_PASSES", tuple(map(counted, KERNEL_PASSES)))
    context, plan = Context(machine_of("sm_90"), Names()), LoweredPlan(clean=True)
    found = [run_passes(EMPTY, replace(plan, registers=n), context, lambda _: None) for n in (64, 128, 64)]
    assert [kernel.max_registers for kernel in found] == [64, 128, 64]
    assert ran.count("clean-up") == 1 and ran.count("register-limit") == 2  # once for each bound
    run_passes(replace(EMPTY), plan, context, lambda _: None)  # another kernel
    run_passes(EMPTY, replace(plan, clean=False), context, lambda _: None)  # another plan
    assert ran.count("clean-up") == 2


@pytest.mark.slow(but="float-product")
@pytest.mark.parametrize("text", [PRODUCT, AGAIN], ids=["product", "again"])
@pytest.mark.parametrize("element", ["double", "float"])
def test_every_kernel_on_the_way_is_well_formed(text: str, element: str) -> None:
    found = steps(text.replace("double", element))
    for _, kernel in found:
        check_kernel(kernel)
    order = [name for name in pass_names() if any(done == name for done, _ in found)]
    per_kernel = [done for done, kernel in found if kernel.name == "f_scop0_k0"]
    assert per_kernel == order


def test_plain_kernels_have_labels_and_executions() -> None:
    plain = [kernel for done, kernel in steps(PRODUCT) if done == LOWERING]
    nodes = [n for kernel in plain for n in walk(*kernel.body)]
    labels = [n.label for n in nodes if isinstance(n, For) and isinstance(n.step, int)]
    assert labels and all(labels) and len(set(labels)) == len(labels)
    assert {n.statement for n in nodes if isinstance(n, Execution)} == {"S0", "S1"}
    last = [kernel for done, kernel in steps(PRODUCT) if done == PROGRAM_PASSES[-1].name]
    assert not any(isinstance(n, Execution) for kernel in last for n in walk(*kernel.body))


def test_verification_names_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(kernel: Kernel, *_: object) -> Kernel:
        return replace(kernel, body=(*kernel.body, Assign(Name("nowhere", DOUBLE), "", Name("nowhere", DOUBLE))))

    changed = (replace(one, run=broken) if one.name == "loop-carry" else one for one in KERNEL_PASSES)
    monkeypatch.setattr(passes, "KERNEL_PASSES", tuple(changed))
    with pytest.raises(InternalError, match=r"after loop-carry: .*nowhere"):
        steps(PRODUCT, verify_passes=True, raise_bugs=True)


def test_passes_can_be_left_out() -> None:
    """Those that kernels can do without; other names are wrong usage."""
    done = {name for name, _ in steps(PRODUCT)}
    found = {name for name, _ in steps(PRODUCT, disable_pass=["loop-carry", "register-limit", "share-sums"])}
    assert "loop-carry" in done and found == done - {"loop-carry"}
    for name, message in (("loop-carried", "there is no pass"), ("clean-up", "kernels need the pass")):
        with pytest.raises(UsageError, match=message):
            steps(PRODUCT, disable_pass=name)
    with pytest.raises(UsageError, match="3 is no name"):
        steps(PRODUCT, disable_pass=3)


@pytest.mark.slow
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.c").write_text(AGAIN)
    command = [str(tmp_path / "f.c"), "-o", str(tmp_path), "--schedule", "superposed", "--verify-passes", "-v"]
    asked = ["passes", LOWERING, "unroll-loads-first"]
    assert main([*command, *(word for name in asked for word in ("--dump", name))]) == EXIT_DONE
    printed = capsys.readouterr()
    listed = re.findall(r"^([a-z-]+) {2,}[A-Z]", printed.out, re.MULTILINE)
    assert tuple(listed) == pass_names()
    assert "# f_scop0: lowering" in printed.out and "execution S1" in printed.out and " called " in printed.out
    assert "# f_scop0: unroll-loads-first" in printed.out
    assert "f_scop0: ast: superposed: unroll-loads-first: " in printed.err
    assert main([*command, "--dump", "unrolling"]) == EXIT_USAGE
    assert "--dump passes lists" in capsys.readouterr().err


@pytest.mark.slow
def test_what_waits_for_a_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled programs ask for each pass but those that are said to wait, and for none of these."""
    gemver = Path(__file__).parents[3] / "polybench" / "polybench" / "gemver.c"
    (scop,) = polytile.compile(gemver, schedule="superposed").scops
    asked = {step.done for step in scop.compilation.steps}
    asked |= {done for text in (PRODUCT, AGAIN) for done, _ in steps(text)}
    asked |= {done for done, _ in steps(PRODUCT, registers=64)}
    box = gemver.parents[1] / "reorder" / "2d25pt.c"
    asked |= {step.done for step in polytile.compile(box, schedule="classic").scops[0].compilation.steps}
    gemm = gemver.with_name("gemm.c")
    machine = machine_of("sm_90")
    promotion = replace(machine.tuning.promotion, copy_bytes=16)
    wide = replace(machine, tuning=replace(machine.tuning, promotion=promotion))
    monkeypatch.setattr(pipeline, "machine_of", lambda _: wide)
    asked |= {step.done for step in polytile.compile(gemm, schedule="tiled").scops[0].compilation.steps}
    assert {*pass_names()} - asked == {*WAITING_FOR_A_STRATEGY}
    assert len(WAITING_FOR_A_STRATEGY) == len({*WAITING_FOR_A_STRATEGY})


def test_no_module_is_reached_from_tests_alone() -> None:
    """Each module of codegen/passes is in the list, or what is there uses it."""
    folder, prefix = Path(passes.__file__).parent, "polytile.codegen.passes"
    on_demand = [one.run.found.__module__ for one in KERNEL_PASSES if isinstance(one.run, OnDemand)]
    reached, waiting = set[str](), ["__init__", "driver", *(name.removeprefix(f"{prefix}.") for name in on_demand)]
    while waiting:
        module = waiting.pop()
        if module in reached:
            continue
        reached.add(module)
        for node in ast.walk(ast.parse((folder / f"{module}.py").read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == prefix:
                waiting += [a.name for a in node.names if (folder / f"{a.name}.py").exists()]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{prefix}."):
                waiting.append(str(node.module).removeprefix(f"{prefix}."))
    assert {path.stem for path in folder.glob("*.py")} == reached
