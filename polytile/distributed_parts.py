"""What ranks run of a SCoP, compiled: the phases of its plan, packing and unpacking, and several steps at once."""

from __future__ import annotations

from dataclasses import replace

from polytile.choices import CLASSIC, OVERLAPPED
from polytile.compilation import Compilation
from polytile.distribution.copies import kind_of
from polytile.distribution.kernel_options import combination_options, copy_options, phase_options, steps_options
from polytile.distribution.plan import DistributionPlan
from polytile.distribution.planner import distribute
from polytile.ir.isl_util import one_at_a_time
from polytile.ir.scop import Scop
from polytile.options import Options
from polytile.pipeline import compile_scop
from polytile.runtime.ranks.kernels import CompiledCopy, CompiledPlan, Kernels

_PARTS: dict[str, Compilation] = {}  # by what they are made from


@one_at_a_time
def planned(compilation: Compilation, steps: int) -> tuple[DistributionPlan, list[Compilation]]:
    """Return the plan of a SCoP and its programs, as far as it takes to run them, which is what ranks send each other:
    phases, pairs of packing and unpacking, what combines terms of global reductions, and several steps at once where
    the plan keeps them.

    Raises UserError for what is not distributed.
    """
    options = compilation.options
    plan = distribute(compilation.source, steps, strict=options.strict)
    one_step = phase_options(plan, options)
    found = [compiled_part(scop, one_step) for scop in plan.local]
    distinct = {kind_of(copy): copy for copy in reversed(plan.copies)}.values()
    copies = copy_options(options)
    found += [compiled_part(scop, copies) for copy in distinct for scop in (copy.pack, copy.unpack)]
    found += [compiled_part(scop, combination_options(options)) for c in plan.combinations for scop in c.scops]
    lead = compiled_lead(plan, steps_options(plan, options))
    parts = [replace(part, schedule=None) for part in (*found, *filter(None, [lead]))]
    return plan if lead else replace(plan, lead=None), parts


def compiled_lead(plan: DistributionPlan, options: Options) -> Compilation | None:
    """Return several steps at once, where they run in time tiles and are right wherever they write: what a receiver
    writes beyond the boxes of phases is not."""
    everywhere = all(axis in array.axes for array in plan.arrays if array.written for axis in range(len(plan.axes)))
    if plan.lead is None or not everywhere or options.schedule not in ("auto", OVERLAPPED):
        return None
    made = compiled_part(plan.lead, options)
    return made if made.schedule is not None and made.schedule.strategy == OVERLAPPED else None


def compiled_part(scop: Scop, asked: Options) -> Compilation:
    """Return a part of a plan compiled, as far as it takes to run it: plans for other numbers of steps have the same
    parts."""
    known = {p.name: asked.parameters[p.name] for p in scop.parameters if p.name in asked.parameters}
    options = replace(asked, parameters={} if asked.schedule == CLASSIC else known)
    text = f"{scop.name}{scop.parameters}{scop.arrays}{scop.statements}{scop.context}{scop.schedule.to_str()}"
    key = f"{text}{scop.definitions}{options}"
    if key not in _PARTS:
        made = compile_scop(scop, options)
        part = Compilation(made.scop, made.options, made.machine, made.source, program=made.entry)
        _PARTS[key] = replace(part, schedule=made.schedule)
    return _PARTS[key]


def compiled_plan(plan: DistributionPlan, kernels: list[Kernels]) -> CompiledPlan:
    """Return the plan with its kernels, in the order of `planned`."""
    first = len(plan.local)
    distinct = {kind_of(copy): copy for copy in reversed(plan.copies)}
    of_copies = kernels[first : first + 2 * len(distinct)]
    pairs = dict(zip(distinct, zip(of_copies[::2], of_copies[1::2], strict=True), strict=True))
    copies = {
        c.array: CompiledCopy(*pairs[kind_of(c)], distinct[kind_of(c)].array, c.first, c.count, c.plane, c.buffer)
        for c in plan.copies
    }
    rest = iter(kernels[first + 2 * len(distinct) :])
    combinations = tuple(tuple(next(rest) for _ in c.scops) for c in plan.combinations)
    return CompiledPlan(plan, tuple(kernels[:first]), copies, kernels[-1] if plan.lead else None, combinations)
