"""The safety nets, one by one: the same compilation with an error planted in it goes through each of them.

A mutant changes the state behind one stage of the pipeline. The stage `legality` refuses it or not; either way the
compilation goes on, as if nothing had been proven, so that the other nets get their chance too.
"""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from polytile.api import CompiledScop
from polytile.certificate import certificate
from polytile.check.checker import problems
from polytile.compilation import Compilation
from polytile.diagnostics import DeviceError, FindingsError, InternalError, PolytileError, UserError, ValidationError
from polytile.frontend.program import read_program
from polytile.machine import machine_of
from polytile.options import Options
from polytile.pipeline import STAGES
from polytile.runtime.emulator.instrument import CHECKS
from polytile.scheduling.proof.legality import Proof

NETS = ("proof", "checker", *CHECKS, "validation")
Change = Callable[[Compilation], Compilation]


@dataclass(frozen=True)
class Hunt:
    """What the nets said of one compilation: by net, the message."""

    caught: dict[str, str]

    def __str__(self) -> str:
        return ", ".join(net for net in NETS if net in self.caught) or "nobody"


def compile_with(text: str, schedule: str | None, after: str, change: Change) -> tuple[Compilation, str]:
    """The state at the end of the pipeline, and why the proof refused it (empty: it did not)."""
    scop = read_program("mutant.c", text).scops[0]
    options = Options("classic", load_schedule=schedule, strict=True)
    state, refused = Compilation(scop, options, machine_of(options.arch), scop), ""
    for name, stage in STAGES:
        try:
            state = stage(state)
        except (UserError, InternalError) as error:
            if name != "legality":
                raise
            refused = error.message
            state = replace(state, proof=Proof(True, 0))
        if name == after:
            state = change(state)
    return state, refused


def check_certificate(state: Compilation) -> str:
    content = json.loads(certificate("mutant.c", "", (), [state]))
    return "; ".join(line for scop in content["scops"] for line in problems(scop))


def run_in_emulator(state: Compilation, sanitize: tuple[str, ...] = ()) -> list[str]:
    """What a run said: findings, a disagreement or a failed launch; empty when it agreed, at sizes that leave borders
    and at others whose rows are aligned."""
    for size in (37, 68):
        parameters = {p.name: 3 if p.name == "T" else size for p in state.scop.parameters}
        try:
            CompiledScop(state).validate(on="emulator", parameters=parameters, seed=1, sanitize=sanitize)
        except FindingsError as error:
            return [finding.message for finding in error.findings]
        except (ValidationError, DeviceError) as error:
            return [error.message]
    return []


def in_a_child(state: Compilation) -> list[str]:
    """A plain run, in a process of its own: without checks, a kernel that writes anywhere may end it."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def run() -> None:
        faulthandler.disable()  # the end of this process is a result, not a failure of the test
        there.send(run_in_emulator(state))

    child = context.Process(target=run)
    child.start()
    there.close()
    try:
        found: list[str] = here.recv()
    except EOFError:
        found = ["the process was killed"]
    child.join()
    return found


@pytest.fixture
def hunt(checking_compiler: None) -> Callable[..., Hunt]:
    def run(text: str, schedule: str | None, after: str, change: Change) -> Hunt:
        caught: dict[str, str] = {}
        try:
            state, caught["proof"] = compile_with(text, schedule, after, change)
        except PolytileError as error:  # no code can be made of it
            return Hunt({"proof": error.message})
        if after != "ast":
            caught["checker"] = check_certificate(state)
        findings = run_in_emulator(state, CHECKS)
        for check in CHECKS:
            caught[check] = "; ".join(f for f in findings if f.startswith(f"{check}:"))
        caught["validation"] = "; ".join(in_a_child(state))
        return Hunt({net: message for net, message in caught.items() if message})

    return run
