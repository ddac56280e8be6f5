"""Kernels of every strategy go through the list: what the command says of passes and plans holds for each of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest

from polytile.choices import SCHEDULES
from polytile.cli.main import main
from polytile.codegen import passes
from polytile.codegen.passes import KERNEL_PASSES, PROGRAM_PASSES
from polytile.codegen.passes.driver import LOWERING, improvements
from polytile.codegen.passes.plan import LoweredPlan
from polytile.diagnostics import EXIT_DONE
from polytile.ir.expr import DOUBLE, Assign, Name
from polytile.ir.kernel import Kernel

PLANE = """void f(int t, int n, int m, double A[n][m], double B[n][m]) {
#pragma scop
for (int s = 0; s < t; s++) {
  for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
    B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i - 1][j] + A[i + 1][j]);
  for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)
    A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i - 1][j] + B[i + 1][j]); }
#pragma endscop
}
"""
OF_TIME_TILES = ("f_scop0_in", "f_scop0_out", "f_scop0_split")
LEFT_OUT = re.compile(r"kernel (\w+): not called, as (.*)")

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """The exit status of a command on the program, with what it printed and what it said of that."""

    def run(*words: str) -> tuple[int, str, str]:
        (tmp_path / "f.c").write_text(PLANE)
        status = main([str(tmp_path / "f.c"), "-o", str(tmp_path), "--no-cache", *words])
        return (status, *capsys.readouterr())

    return run


def kernels(text: str) -> set[str]:
    """The kernels that a dump shows."""
    return set(re.findall(r"^kernel (\w+)\(", text, re.MULTILINE))


def launched(tmp_path: Path) -> set[str]:
    return set(re.findall(r"__global__[^(]*(?:\(\d+(?:, \d+)?\))?\s*(\w+)\(", (tmp_path / "f_kernel.cu").read_text()))


@pytest.mark.slow(but="split")
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_dumps_have_all_kernels(schedule: str, command: Command, tmp_path: Path) -> None:
    """Plain kernels are those of the program; behind a pass a kernel is shown, or why it is not."""
    asked = ("plan", LOWERING, "loop-carry", "block-order", "dependent-launch")
    words = [word for name in asked for word in ("--dump", name)]
    status, out, _ = command("--schedule", schedule, "--verify-passes", *words)
    assert status == EXIT_DONE
    _, *shown = re.split(r"^# f_scop0: ", out, flags=re.MULTILINE)
    found = dict(text.split("\n", 1) for text in shown)
    assert [*found] == [*asked]
    every = kernels(found[LOWERING])
    assert every and every == launched(tmp_path)
    for name in asked[2:]:
        reasons = dict(LEFT_OUT.findall(found[name]))
        assert kernels(found[name]) | {*reasons} == every and not kernels(found[name]) & {*reasons}
        assert {*reasons.values()} <= {"the kernel's plan does not ask for it"}
    assert {k for k in every if k in OF_TIME_TILES} <= {*dict(LEFT_OUT.findall(found["loop-carry"]))}
    over_time = {"split": ["split"], "overlapped": ["overlapped"], "auto": ["overlapped", "split"]}
    tiles = [f"  time tile, {shape}:" for shape in over_time.get(schedule, [])]
    assert all(f"\n{line}" in f"\n{found['plan']}" for line in ("kernel 0:", *tiles))


@pytest.mark.slow(but="split-dependent-launch")
@pytest.mark.parametrize("name", ["order-statements", "dependent-launch"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_passes_are_left_out_or_it_is_said_that_none_is(schedule: str, name: str, command: Command) -> None:
    status, out, _ = command("--schedule", schedule, "--disable-pass", name, "--dump", name, "--dump", LOWERING)
    assert status == EXIT_DONE
    disabled, plain = out.partition("# f_scop0: lowering")[::2]
    assert {*LEFT_OUT.findall(disabled)} == {(k, "--disable-pass leaves it out") for k in kernels(plain)}
    said = f"--disable-pass {name} changes nothing, as no kernel asks for this pass"
    assert (said in out) is (schedule == "split" and name == "order-statements")


@pytest.mark.slow(but="overlapped")
@pytest.mark.parametrize("schedule", ["split", "overlapped"])
def test_verification_and_times(schedule: str, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of time tiles takes its time, and is checked."""

    def broken(kernel: Kernel, plan: LoweredPlan, _: object) -> Kernel:
        sleep(0.01)  # shorter ones are not named
        nowhere = Assign(Name("nowhere", DOUBLE), "", Name("nowhere", DOUBLE))
        return replace(kernel, body=(*kernel.body, nowhere)) if plan.time_tile else kernel

    changed = (replace(one, run=broken) if one.name == "register-limit" else one for one in KERNEL_PASSES)
    monkeypatch.setattr(passes, "KERNEL_PASSES", tuple(changed))
    _, out, said = command("--schedule", schedule, "--registers", "64", "--verify-passes", "-v")
    assert f"f_scop0: ast: {schedule}: register-limit: " in said
    assert re.search(rf"the {schedule} schedule is not used, as .* after register-limit: .*nowhere", out + said)


def test_time_tiles_ask_for_little() -> None:
    """Neither changes what a tile consists of; bounds of registers are the user's."""
    plan = LoweredPlan(time_tile=True, registers=64)
    assert [one.name for one in KERNEL_PASSES if one.asked(plan)] == ["register-limit"]
    asked = {one.name for one in PROGRAM_PASSES if one.asked(plan)}
    assert asked == {"subwarp-loops", "warp-aggregation", "privatization", "dependent-launch"}
    assert asked - {"dependent-launch"} == {one.name for one in PROGRAM_PASSES if one.asked(replace(plan, early=False))}
    assert improvements() >= asked
