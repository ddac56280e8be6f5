"""What the C, or a kernel of one thread, runs in order: which loops, why, and how long it takes by estimate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import islpy as isl

from polytile.compilation import Compilation
from polytile.diagnostics import Diagnostic, Location
from polytile.facts.kernel_facts import estimate_of, kernels_of
from polytile.facts.loop_mapping import kernels_of_statement
from polytile.facts.model import LoopFacts, LoopKind, Where
from polytile.facts.text import called, reason_of
from polytile.ir.expr import DOUBLE, FLOAT
from polytile.ir.scop import Scop
from polytile.scheduling.cost.estimate import Estimate

FEW = 32  # iterations that a thread may run alone: a loop over taps or components, not over data


def serial_loops(state: Compilation, loops: Iterable[LoopFacts]) -> Iterator[str]:
    """Yield the reasons of the loops that the C runs: all that are not parallel."""
    yield from (_why(state, loop) for loop in loops if loop.kind is not LoopKind.PARALLEL)


def one_thread_remarks(state: Compilation, loops: Sequence[LoopFacts]) -> Iterator[Diagnostic]:
    """Yield a remark for each kernel of one thread with loops over data; its hint has a line for each of these."""
    alone = _loops_of_one_thread(state, loops)
    estimate = estimate_of(state) if alone else None
    times = {kernel.name: kernel.microseconds for kernel in kernels_of(state, estimate)} if estimate else {}
    for name, own in alone.items():
        place = Location(own[0].file, own[0].line) if own[0].line else None
        shown = _time(times.get(name), estimate)
        why = "\n".join(_why(state, loop) for loop in own)
        yield Diagnostic("remark", f"{name} runs in one GPU thread{shown}", place, why)


def _loops_of_one_thread(state: Compilation, loops: Sequence[LoopFacts]) -> dict[str, list[LoopFacts]]:
    """Return the outermost loops over data in each kernel of one thread, by its name."""
    found: dict[str, list[LoopFacts]] = {}
    for loop in loops:
        alone = [m.kernel for m in loop.mappings if any(place.where is Where.ONE_THREAD for place in m.places)]
        running = _over_data(state, loop) if alone else frozenset()
        for kernel in (name for name in alone if name in running):
            around = (one for one in found.get(kernel, ()) if one.level < loop.level)
            if not any(set(loop.statements) <= set(one.statements) for one in around):
                found.setdefault(kernel, []).append(loop)
    return found


def _over_data(state: Compilation, loop: LoopFacts) -> frozenset[str]:
    """Return the kernels that run a statement in more than a few iterations of a loop, or in as many as sizes or data
    say: not those that only keep the last value of a scalar."""
    many = (name for name in loop.statements if _has_many(state.source, name, loop.level))
    return frozenset(kernel for name in many for kernel in kernels_of_statement(state, name))


def _has_many(scop: Scop, statement: str, level: int) -> bool:
    domain = scop.statement(statement).domain.intersect_params(scop.context)
    return bool(level >= domain.dim(isl.dim_type.set)) or _iterations(domain, level) > FEW


def _iterations(domain: isl.Set, level: int) -> float:
    """Return how far apart the first and the last iteration of a loop are at most, plus one, in one of the loops around
    it."""
    inner = domain.dim(isl.dim_type.set) - level - 1
    own = domain.project_out(isl.dim_type.set, level + 1, inner)
    apart = isl.Map.from_domain_and_range(own, own)
    for k in range(level):
        apart = apart.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    if apart.is_empty():
        return 0
    most = apart.deltas().dim_max_val(level)
    return float(most.to_python()) + 1 if most.is_int() else float("inf")


def _time(microseconds: float | None, estimate: Estimate | None) -> str:
    if microseconds is None or estimate is None:
        return ""
    sizes = ", ".join(f"{name}={value}" for name, value in estimate.parameters)
    return f", {microseconds:.3g} of {estimate.microseconds:.3g} us by estimate" + (f" with {sizes}" if sizes else "")


def _why(state: Compilation, loop: LoopFacts) -> str:
    """Explain why threads do not share out a loop."""
    where = f"{loop.file}:{loop.line}: {called(loop)}" if loop.line else called(loop)
    if loop.kind is LoopKind.PARALLEL:
        return f"{where} is parallel, but no schedule of several threads was found for its kernel"
    rounds = any(state.source.array(name).element in (FLOAT, DOUBLE) for name in loop.arrays)
    kept = loop.kind is LoopKind.REDUCTION and rounds and state.options.strict
    return f"{where} is {reason_of(loop)}{', and --fp strict keeps the order of its roundings' if kept else ''}"
