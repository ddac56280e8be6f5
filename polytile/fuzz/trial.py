"""One trial: compile a program with every strategy, load its own schedules again, and compare with the sequential C."""

from __future__ import annotations

from collections.abc import Mapping

from polytile.api import CompiledScop, Program, compile_file
from polytile.diagnostics import InternalError, PolytileError, UserError, remember_source
from polytile.fuzz.case import Case
from polytile.fuzz.outcome import AGREED, ON_HOST, Outcome, outcome_of
from polytile.fuzz.printing import c_text

NAME = "fuzz.c"
NOTHING_RUNS = "contains no statement"  # every loop and condition is known to be empty


def attempt(case: Case) -> Outcome:
    """Run one trial in this process; whatever is raised becomes an outcome."""
    text = c_text(case.program)
    remember_source(NAME, text)
    seen: set[str] = set()
    kernels = False
    for strategy in case.strategies:
        try:
            program = _compiled(case, text, strategy)
            if program is None:
                continue
            if case.reload:
                _reload(case, text, strategy, program)
        except Exception as error:
            return outcome_of(error, None, strategy)
        kernels |= bool(program.programs)
        if program.cuda in seen:
            continue
        seen.add(program.cuda)
        found = _run(case, program, strategy)
        if found is not None:
            return found
    return Outcome(AGREED if kernels else ON_HOST)


def _compiled(case: Case, text: str, strategy: str, schedules: str | None = None) -> Program | None:
    """The compiled program, or None when nothing in it ever runs."""
    try:
        program = compile_file(
            NAME, text, options=case.options(strategy), autodetect=case.program.autodetect, schedules=schedules
        )
    except UserError as error:
        if NOTHING_RUNS in error.message:
            return None
        raise
    for refusal in program.refusals:
        if NOTHING_RUNS not in refusal.message:
            raise refusal
    return program


def _reload(case: Case, text: str, strategy: str, program: Program) -> None:
    """What `--save-schedule` writes gives the same kernels when it is loaded."""
    if not program.schedules:
        return
    try:
        loaded = _compiled(case, text, strategy, program.schedules)
    except PolytileError as error:
        raise InternalError(f"the saved schedule is refused: {error.message}") from error
    if loaded is None or _shapes(loaded) != _shapes(program):
        raise InternalError("the saved schedule gives other kernels")


def _shapes(program: Program) -> list[list[tuple[tuple[int, ...], int]]]:
    return [[(k.block, k.barriers) for k in p.kernels] for p in program.programs]


def _run(case: Case, program: Program, strategy: str) -> Outcome | None:
    """Run at every size; what went wrong, or None."""
    for number, sizes in enumerate(case.sizes):
        for scop in program.scops:
            if scop.program is None:
                continue
            try:
                _validate(case, scop, sizes)
            except Exception as error:
                return outcome_of(error, number, strategy)
    return None


def _validate(case: Case, scop: CompiledScop, sizes: Mapping[str, int]) -> None:
    used = {p.name: sizes[p.name] for p in scop.scop.parameters if p.name in sizes}
    scop.validate(on="emulator", parameters=used, seed=case.inputs, sanitize=case.sanitize)
