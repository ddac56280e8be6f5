"""From a compilation to its facts. Nothing is found before somebody asks: compiling pays nothing for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polytile.compilation import Compilation
from polytile.diagnostics import PolytileError
from polytile.facts.kernel_facts import arrays_of, estimate_of, kernels_of, transfers_of
from polytile.facts.loop_mapping import mappings_of
from polytile.facts.model import LoopFacts, LoopMapping, Place, RefusalFacts, ScopFacts, StatementFacts, Where
from polytile.facts.source_loops import loops_of, source_loops
from polytile.ir.scop import SourceLoop
from polytile.runtime.signature import signature


def loop_facts(state: Compilation) -> tuple[LoopFacts, ...]:
    """The loops of a SCoP, with where they run."""
    by_place = {(loop.level, loop.statements): loop for loop in source_loops(state.source)}
    return tuple(
        replace(facts, mappings=_mappings(state, facts, by_place.get((facts.level, facts.statements))))
        for facts in loops_of(state)
    )


def _mappings(state: Compilation, facts: LoopFacts, loop: SourceLoop | None) -> tuple[LoopMapping, ...]:
    """Of a loop; one that data end is inside a statement, which one thread runs where it is in a kernel."""
    if loop is not None:
        return mappings_of(state, loop)
    kernels = dict.fromkeys(
        mapping.kernel
        for around in source_loops(state.source)
        if set(facts.statements) <= set(around.statements)
        for mapping in mappings_of(state, around)
    )
    return tuple(LoopMapping(kernel, (Place(Where.THREAD),)) for kernel in kernels)


def scop_facts(state: Compilation, loops: tuple[LoopFacts, ...], cuda: str) -> ScopFacts:
    """What is known of a SCoP; `loops` as `loop_facts` gives them, `cuda` is the text of its kernels."""
    source, estimate = state.source, estimate_of(state)
    span, known = source.span, state.options.parameters
    return ScopFacts(
        name=source.name,
        file=source.location.file if source.location.line else "",
        line=source.location.line,
        first_line=span.first_line if span else 0,
        last_line=span.last_line if span else 0,
        signature=signature(source),
        strategy=state.schedule.strategy if state.schedule else "",
        loops=loops,
        statements=tuple(
            StatementFacts(s.name, s.location.file if s.location.line else "", s.location.line, s.text)
            for s in source.statements
        ),
        arrays=tuple(arrays_of(source)),
        transfers=transfers_of(state.program),
        kernels=kernels_of(state, estimate),
        microseconds=estimate.microseconds if estimate else None,
        sizes=estimate.parameters if estimate else (),
        assumed=tuple(name for name, _ in estimate.parameters if name not in known) if estimate else (),
        proof=(str(state.proof), *state.proof.facts) if state.proof else (),
        remarks=tuple(remark.message for remark in state.remarks),
        considered=state.considered,
        schedule=state.run.schedule.to_text() if state.schedule else "",
        plans=state.plan_text(),
        cuda=cuda,
    )


def refusal_facts(errors: Iterable[PolytileError], *, left_out: bool = False) -> tuple[RefusalFacts, ...]:
    """SCoPs and loops that stay the user's C."""
    found = []
    for error in errors:
        place = error.location
        where = (place.file, place.line, place.column) if place and place.line else ("", 0, 0)
        found.append(RefusalFacts(*where, error.message, error.hint or "", left_out))
    return tuple(found)
