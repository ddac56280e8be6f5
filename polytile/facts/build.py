"""From a compilation to its facts. Nothing is found before somebody asks: compiling pays nothing for them.

The parts of a generated .cu, and the lines of the user's C that its lines compute.

before: the text of the .cu, and where its lines come from
after:  kernel f_scop0_k0 in lines 18 to 40, entry f_scop0 in lines 250 to 271;  line 31 computes why.c:4
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from polytile.codegen.targets.source_map import LocatedText
from polytile.compilation import Compilation
from polytile.diagnostics import Location, PolytileError
from polytile.facts.kernel_facts import arrays_of, estimate_of, kernels_of, transfers_of
from polytile.facts.loop_mapping import kernels_of_statement, mappings_of, sharing_lanes
from polytile.facts.model import (
    CodePart,
    CodePartKind,
    GeneratedLine,
    LoopFacts,
    LoopKind,
    LoopMapping,
    Place,
    RefusalFacts,
    ScopFacts,
    StatementFacts,
    Where,
)
from polytile.facts.serial_execution import one_thread_remarks
from polytile.facts.source_loops import loops_of, source_loops
from polytile.runtime.signature import signature


def loop_facts(state: Compilation) -> tuple[LoopFacts, ...]:
    """Return the loops of a SCoP, with where they run."""
    by_place = {(loop.level, loop.statements): loop for loop in source_loops(state.source)}
    found = []
    for facts in loops_of(state):
        loop = by_place.get((facts.level, facts.statements))
        found.append(_data_loop(state, facts) if loop is None else replace(facts, mappings=mappings_of(state, loop)))
    return tuple(found)


def _data_loop(state: Compilation, facts: LoopFacts) -> LoopFacts:
    """Return a loop that data end, inside a statement: one thread runs it where that is in a kernel, or threads of a
    warp share it where it only adds up."""
    kernels = kernels_of_statement(state, facts.statements[0])
    statement = state.source.statement(facts.statements[0])
    shared = sharing_lanes(state) if facts.level == len(statement.iterators) else frozenset[str]()
    places = {
        kernel: (*((Place(Where.BLOCK),) if kernel in shared else ()), Place(within))
        for kernel, within in kernels.items()
    }
    mapped = replace(facts, mappings=tuple(LoopMapping(*one) for one in places.items()))
    if not shared.intersection(kernels):
        return mapped
    arrays = tuple(dict.fromkeys(a.array for a in statement.accesses if a.writes))
    return replace(mapped, kind=LoopKind.REDUCTION, arrays=arrays, reason="")


def scop_facts(state: Compilation, loops: tuple[LoopFacts, ...], cuda: LocatedText) -> ScopFacts:
    """Return what is known of a SCoP; `loops` as `loop_facts` gives them, `cuda` is the text of its kernels with the
    lines that it computes."""
    source, estimate = state.source, estimate_of(state)
    span, known, versions = source.span, state.options.parameters, reversed(state.versions)
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
        transfers=transfers_of(state.entry),
        kernels=(*(k for v in versions for k in kernels_of(v.compilation, None)), *kernels_of(state, estimate)),
        microseconds=estimate.microseconds if estimate else None,
        sizes=estimate.parameters if estimate else (),
        assumed=tuple(name for name, _ in estimate.parameters if name not in known) if estimate else (),
        proof=(str(state.proof), *state.shown) if state.proof else (),
        remarks=tuple(remark.message for remark in (*state.remarks, *one_thread_remarks(state, loops))),
        considered=state.considered,
        schedule=state.run.schedule.to_text() if state.schedule else "",
        plans=state.plan_text(),
        cuda=cuda.text,
        parts=code_parts(cuda.text),
        origins=generated_lines(cuda.lines),
    )


def refusal_facts(errors: Iterable[PolytileError], *, left_out: bool = False) -> tuple[RefusalFacts, ...]:
    """Return the SCoPs and loops that stay the user's C."""
    found = []
    for error in errors:
        place = error.location
        where = (place.file, place.line, place.column) if place and place.line else ("", 0, 0)
        found.append(RefusalFacts(*where, error.message, error.hint or "", left_out))
    return tuple(found)


_START = re.compile(r'extern "C" (?P<kernel>__global__ )?(?:void|int) (?:\w+\([^()]*\) )*(?P<name>[A-Za-z_$][\w$]*)\(')


def code_parts(cuda: str) -> tuple[CodePart, ...]:
    """Return the kernels and entry points of a .cu with the comments on top of them, in the order of the text."""
    return tuple(_parts(cuda.split("\n")))


def _parts(lines: Sequence[str]) -> Iterator[CodePart]:
    for number, line in enumerate(lines):
        start = _START.match(line)
        if start is None:
            continue
        first = number
        while first > 0 and lines[first - 1].startswith("//"):
            first -= 1
        last = next((k for k in range(number, len(lines)) if lines[k] == "}"), number)
        kind = CodePartKind.KERNEL if start["kernel"] else CodePartKind.ENTRY
        yield CodePart(start["name"], kind, first + 1, last + 1)


def generated_lines(places: Mapping[int, Location]) -> tuple[GeneratedLine, ...]:
    """Return where the lines of a .cu come from, in its order."""
    return tuple(GeneratedLine(line, place.file, place.line) for line, place in sorted(places.items()))
