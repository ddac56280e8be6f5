"""Facts for a person: the numbered source with a mark for each loop, then the reasons.

      4 | serial: host         | for (int i = 1; i < n; i++)
      5 |                      |     a[i] += a[i - 1];
    why.c:4: loop i is serial: a[i] written at i=1 is read at i=2
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polytile.facts.loop_mapping import in_words
from polytile.facts.model import AccessPlace, DependenceKind, LoopFacts, LoopKind, ScopFacts, Witness
from polytile.facts.source_loops import WHILE


def marked_source(scop: ScopFacts, source: str) -> Iterator[str]:
    """Yield the lines of a SCoP with their numbers; loops say what they are and where they run."""
    lines = source.splitlines()[scop.first_line - 1 : scop.last_line] if scop.first_line else []
    marks: dict[int, list[str]] = {}
    for loop in scop.loops:
        if loop.file == scop.file:
            marks.setdefault(loop.line, []).append(_mark(loop))
    shown = {line: "; ".join(dict.fromkeys(own)) for line, own in marks.items()}
    inside = range(scop.first_line, scop.last_line + 1)
    wide = max((len(text) for line, text in shown.items() if line in inside), default=0)
    for number, text in zip(inside, lines, strict=False):
        yield f"{number:5} | {shown.get(number, ''):{wide}} | {text}".rstrip()


def _mark(loop: LoopFacts) -> str:
    return f"{loop.kind.value}: {', '.join(where.value for where in loop.where)}"


def reasons(loops: Iterable[LoopFacts]) -> Iterator[str]:
    """Yield a line for each loop that is not simply parallel: `why.c:4: loop i is serial: a[i] written at i=1 is read
    at i=2`."""
    for loop in loops:
        what = reason_of(loop)
        if what:
            where = f"{loop.file}:{loop.line}: " if loop.line else ""
            yield f"{where}{called(loop)} is {what}"


def called(loop: LoopFacts) -> str:
    """Return what a loop is called in messages."""
    return "while loop" if loop.iterator == WHILE else f"loop {loop.iterator}"


def reason_of(loop: LoopFacts) -> str:
    """Describe a loop that is not simply parallel: `serial: a[i] written at i=1 is read at i=2`."""
    match loop.kind:
        case LoopKind.SERIAL:
            return f"serial: {loop.reason if loop.witness is None else in_sentence(loop.witness)}"
        case LoopKind.REDUCTION:
            return f"a reduction into {', '.join(loop.arrays)}"
        case LoopKind.UNEXAMINED:
            return loop.reason
    kept = ", ".join(loop.arrays)
    return f"parallel: nothing but the reuse of {kept} orders its iterations, and that is removed" if kept else ""


def in_sentence(one: Witness) -> str:
    """Format a witness as `a[i] written at i=1 is read at i=2`; with the lines, where they differ."""
    apart = one.source.line != one.sink.line
    first, then = _at(one.source, apart=apart), _at(one.sink, apart=apart)
    before = "read" if one.kind is DependenceKind.ANTI else "written"
    after = "read" if one.kind is DependenceKind.FLOW else "overwritten"
    if one.may:
        return f"{one.source.text} may be {before} {first} and {after} {then}"
    return f"{one.source.text} {before} {first} is {after} {then}"


def _at(place: AccessPlace, *, apart: bool) -> str:
    values = ", ".join(f"{name}={value}" for name, value in place.iteration)
    return (f"at {values}" if values else "once") + (f" (line {place.line})" if apart and place.line else "")


def mapping_lines(loops: Iterable[LoopFacts]) -> Iterator[str]:
    """Yield where each loop runs in each kernel."""
    for loop in loops:
        for mapping in loop.mappings:
            where = f"line {loop.line}, " if loop.line else ""
            steps = f"; {mapping.steps} steps of it in a kernel" if mapping.steps else ""
            yield f"{where}loop {loop.iterator} in {mapping.kernel}: {in_words(mapping)}{steps}"


def explained(scop: ScopFacts, source: str) -> str:
    """Return what --explain opens with."""
    lines = [f"{scop.name}: loops" if not scop.line else f"{scop.file}:{scop.line}: {scop.name}"]
    lines += marked_source(scop, source)
    lines += reasons(scop.loops)
    mapped = list(mapping_lines(scop.loops))
    lines += ["where loops run:", *(f"  {line}" for line in mapped)] if mapped else []
    return "\n".join(lines)
