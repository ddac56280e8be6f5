"""What `--ranks` asks for: C for mpicc beside the three files, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polytile.api import Program
from polytile.cli.arguments import Request
from polytile.cli.report import Report
from polytile.distribution.c_program.distributed import Wish
from polytile.distribution.explain import explained, most_messages
from polytile.distribution.process_grid import ProcessGrid
from polytile.distribution.transfers import ExchangeMode
from polytile.ir.evaluate import evaluate
from polytile.mpi_program import mpi_program

if TYPE_CHECKING:
    from polytile.distribution.c_program.distributed import Distributed
    from polytile.mpi_program import MpiProgram


def distribute(request: Request, report: Report, program: Program, shape: tuple[int, ...]) -> MpiProgram:
    """Distribute a program over a grid of ranks, one that is chosen when it runs where it has no numbers; say which
    SCoPs cannot be distributed.

    Raises UserError or UsageError where none can.
    """
    wish = Wish(shape, request.steps_per_exchange, ExchangeMode(request.exchange))
    with report.stage("distribute"):
        made = mpi_program(program, wish)
    for refusal in made.refusals:
        report.diagnostic(replace(refusal.diagnostic, severity="remark"))
    for one in made.scops:
        report.line(_line(one))
    report.add(distribution=[facts(one) for one in made.scops])
    if request.explain:
        report.text(described(request, made))
    return made


def described(request: Request, made: MpiProgram) -> str:
    """Return what --explain and the report say of the SCoPs on ranks."""
    return "".join(explained(s.plan, s.wish.mode, request.parameters, _grid(request, s)) for s in made.scops)


def facts(made: Distributed) -> dict[str, Any]:
    """Return what JSON says of a SCoP on ranks."""
    plan, (at_once, in_turn) = made.plan, most_messages(made.plan)
    return {
        "scop": plan.scop.name,
        "function": made.name,
        "axes": [axis.name for axis in plan.axes],
        "grid": list(made.wish.shape) or "auto",
        "steps": plan.steps,
        "exchange": made.wish.mode.value,
        "phases": [list(phase.statements) for phase in plan.phases],
        "halos": {a.name: [list(reach) for reach in a.halo] for a in plan.arrays if a.is_cut},
        "whole": [a.name for a in plan.arrays if not a.is_cut],
        "exchanged": [e.array for e in plan.between],
        "messages": {"diagonal": at_once, "basic": in_turn},
        "proof": plan.proof,
    }


def _line(made: Distributed) -> str:
    plan = made.plan
    axes = ", ".join(a.name for a in plan.axes)
    steps = f"{plan.steps} step{'s' * (plan.steps != 1)} between two exchanges"
    return f"{plan.scop.name}: {made.name}() cuts {axes} over ranks, {steps}; {made.wish.mode.value}"


def _grid(request: Request, made: Distributed) -> ProcessGrid | None:
    """Return the process grid that is named, where the sizes are, too; else None."""
    named = request.ranks or ()
    known = all(p.name in request.parameters for p in made.sizes)
    if not named or not known:
        return None
    return ProcessGrid(named, tuple(evaluate(a.extent, request.parameters) for a in made.plan.axes))
