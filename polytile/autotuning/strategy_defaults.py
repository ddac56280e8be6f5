"""What the compiler makes of each strategy by itself: where spaces begin."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace

from polytile.choices import OVERLAPPED, SPLIT, Choices
from polytile.compiled_scop import CompiledScop, compile_scop
from polytile.diagnostics import PolytileError
from polytile.ir.isl_util import OverBudgetError, budget
from polytile.options import CODE_OPERATIONS, STRATEGIES
from polytile.scheduling.analysis.stencil_form import NotAStencilError, iterated_stencil
from polytile.scheduling.candidate import Problem
from polytile.scheduling.strategies.overlapped.strategy import values_of


def compiled_with(scop: CompiledScop, sizes: Mapping[str, int], choices: Choices) -> CompiledScop | None:
    """Compile the SCoP with these choices in place of its own, for these sizes; None where the compiler refuses it, or
    takes another strategy than the one that was asked for."""
    asked = {f.name: getattr(choices, f.name) for f in fields(Choices)}
    try:
        options = replace(scop.compilation.options, **asked, parameters=dict(sizes), load_schedule=None)
        made = compile_scop(scop.compilation.source, options=options)
    except PolytileError:
        return None
    return made if choices.schedule in ("auto", strategy_of(made)) else None


def strategy_of(made: CompiledScop) -> str:
    """Return the strategy whose schedule was taken; nothing where the SCoP stays on the host."""
    schedule = made.compilation.schedule
    return schedule.strategy.split()[0] if schedule is not None and made.program is not None else ""


def strategy_defaults(
    scop: CompiledScop, sizes: Mapping[str, int], wanted: Collection[str] = tuple(STRATEGIES)
) -> dict[str, CompiledScop]:
    """Compile with each of the strategies that are wanted, to find what it chooses by itself; without strategies that
    have no schedule, and those with the kernels of a simpler one."""
    found: dict[str, CompiledScop] = {}
    texts = set[str]()
    for name in (name for name in STRATEGIES if name in wanted and _may_have(name, scop)):
        made = compiled_with(scop, sizes, Choices(schedule=name))
        text = kernel_text(made) if made is not None else ""
        if made is not None and text not in texts:
            found[name] = made
            texts.add(text)
    return found


def _may_have(name: str, scop: CompiledScop) -> bool:
    """Return whether a strategy may have a schedule: tiles of time and space need stencils, which are known sooner."""
    if name == OVERLAPPED:
        return is_stencil(scop, values_of)
    return name != SPLIT or is_stencil(scop, lambda one: iterated_stencil(one.scop, one.dependences))


def is_stencil(scop: CompiledScop, found: Callable[[Problem], object]) -> bool:
    """Find whether a SCoP has stencils of a form, which raises NotAStencilError otherwise."""
    compilation = scop.compilation
    options = replace(compilation.options, schedule=OVERLAPPED)
    if compilation.analysed is None:
        return False
    try:
        with budget(CODE_OPERATIONS):
            found(Problem(*compilation.analysed, options, compilation.machine, options))
    except (NotAStencilError, OverBudgetError):
        return False
    return True


def kernel_text(made: CompiledScop) -> str:
    """Return the CUDA without its comments, which say how it was made."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", made.cuda, flags=re.DOTALL)
