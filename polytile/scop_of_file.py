"""One SCoP of a C file through the pipeline, as it was extracted or in another form that is better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from polytile.compiled_scop import CompiledScop
from polytile.diagnostics import InternalError, UserError, is_bug, reported
from polytile.frontend.program import SourceProgram
from polytile.ir.scop import Scop
from polytile.options import IN_HASTE, Options
from polytile.pipeline import compile_scop as run_pipeline
from polytile.pipeline import scheduled_scop
from polytile.runtime.parameters import allowed_values, with_products
from polytile.stage_times import stage
from polytile.unmerged_statements import is_better, may_be_better_apart
from polytile.work_pieces import piece

if TYPE_CHECKING:
    from polytile.scheduling.cost.estimate import Estimate
    from polytile.tuned_file import TunedFile

Observer = Callable[[str, object], None]


def compile_tuned(
    source: SourceProgram,
    scop: Scop,
    options: Options,
    observe: Callable[[str, str, object], None] | None,
    tuned: TunedFile | None,
) -> CompiledScop | UserError | InternalError:
    """Compile one SCoP with its schedule in a result file of `polytile tune`, if it has one for this machine."""
    if tuned is None:
        return compile_one(source, scop, options, observe)
    from polytile.runtime.gpu_identity import gpu_identity  # for few programs
    from polytile.tuned_choice import take

    taken = take(tuned, scop, options, gpu_identity())
    found = compile_one(source, scop, taken.options, observe)
    severity = "note" if taken.stale else "remark"
    return found.with_first_remark(taken.remark, severity) if isinstance(found, CompiledScop) else found


def compile_one(
    source: SourceProgram, scop: Scop, options: Options, observe: Callable[[str, str, object], None] | None = None
) -> CompiledScop | UserError | InternalError:
    """Compile one SCoP of a file as it was extracted, or without merged statements where more of its loops are parallel
    then; returns why it stays C where it does. Raises UsageError for options that do not fit it."""
    found = _attempted(scop, options, observe)
    if not may_be_better_apart(scop, found, options):
        return found
    try:
        other = source.apart(scop.name)
    except UserError:
        return found
    made = _attempted(other, options, observe, " apart")
    return made if is_better(made, found) else found


def _attempted(
    scop: Scop, options: Options, observe: Callable[[str, str, object], None] | None, work: str = ""
) -> CompiledScop | UserError | InternalError:
    """Compile one SCoP, or return why it stays C; `work` distinguishes pieces of work on one SCoP. Raises what is no
    bug, and bugs where `options` ask for them."""
    try:
        return _compiled(scop, options, observe, work)
    except UserError as error:
        return error
    except Exception as error:
        if options.raise_bugs or not is_bug(error):
            raise
        return reported(error, scop.location)


def _compiled(
    scop: Scop, options: Options, observe: Callable[[str, str, object], None] | None, work: str
) -> CompiledScop:
    """Compile one SCoP, by the values of its own parameters."""
    chosen = _own_options(scop, options)
    if observe is not None:
        observe(scop.name, "scop", scop)
    with piece(f"{scop.name} {scop.span}{work}", scop.location) as hurried:
        if hurried:
            chosen = replace(chosen, max_operations=min(chosen.max_operations, IN_HASTE))
        with stage(scop.name):
            return CompiledScop(run_pipeline(scop, chosen, observe=_named(observe, scop.name)))


def estimate_one(scop: Scop, options: Options) -> Estimate | None:
    """Return the cost model's time of a SCoP as these options ask for it; None where it stays on the host.

    Nothing is proven or lowered, which takes most of a compilation. Raises UserError, UsageError or InternalError.
    """
    from polytile.facts.kernel_facts import schedule_estimate  # for the tuner alone

    return schedule_estimate(scheduled_scop(scop, _own_options(scop, options)))


def _own_options(scop: Scop, options: Options) -> Options:
    """Return the options with the values of the SCoP's own parameters. Raises UsageError for one that cannot be."""
    given = {p.name: options.parameters[p.name] for p in scop.parameters if p.name in options.parameters}
    own = with_products(scop, given)
    allowed_values(scop, own)
    return replace(options, parameters=own, specialize=options.specialize and bool(own))


def _named(observe: Callable[[str, str, object], None] | None, name: str) -> Observer | None:
    return None if observe is None else lambda stage, result: observe(name, stage, result)
