"""The user's file in stretches: SCoPs with marks, reasons and ways to the kernels at their lines; what is between them
is folded.

before: lines 1 to 60 of gemm.c, a SCoP in 43 to 51
after:  1 to 40, folded;  41 to 53, the loop in line 44 is parallel, line 46 is computed in kernel k0;  54 to 60, folded
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from markupsafe import Markup

from polytile.dataclass import dataclass
from polytile.facts import LoopFacts, LoopKind, ProgramFacts, RefusalFacts, ScopFacts, reason_of
from polytile.report.code_view import MOST_LINES as MOST_CODE_LINES
from polytile.report.highlight import c_lines, clean, lines_of
from polytile.report.words import short_names

AROUND = 2  # lines that are shown around what is of interest
FEWEST_FOLDED = 4  # a stretch that is shorter is shown
MOST_LINES = 2000  # of files that are there as a whole
MOST_LINKS = 4  # of a line to each kernel


@dataclass(frozen=True, slots=True)
class Badge:
    """The mark of a loop: its kind, what runs it, and why."""

    kind: LoopKind
    where: str


@dataclass(frozen=True, slots=True)
class Link:
    """To lines of a kernel; `more` have none."""

    kernel: str
    targets: tuple[tuple[str, int], ...]  # anchors, and the numbers of the lines
    more: int


@dataclass(slots=True)
class SourceLine:
    """A line of the file and what is said at it."""

    number: int
    html: Markup
    scop: int | None = None
    badges: list[Badge] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    refusals: list[RefusalFacts] = field(default_factory=list)

    @property
    def of_interest(self) -> bool:
        return self.scop is not None or bool(self.badges or self.links or self.refusals)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some lines; `folded` ones are shown to who asks, and of those that are `left_out` there are only numbers."""

    first: int
    last: int
    folded: bool
    lines: tuple[SourceLine, ...]
    left_out: bool = False


def stretches(program: ProgramFacts) -> list[Stretch]:
    """Return the file from its first line to its last, in stretches."""
    texts = lines_of(program.source)
    whole = len(texts) <= MOST_LINES
    lines = [SourceLine(number, Markup("")) for number in range(1, len(texts) + 1)]
    _mark(program, lines)
    open_lines = _open(lines)
    found = []
    for first, last, shown in _runs(open_lines, len(lines)):
        own = lines[first - 1 : last]
        if shown or whole:
            for line, html in zip(own, c_lines("\n".join(texts[first - 1 : last]) + "\n"), strict=True):
                line.html = html
        found.append(Stretch(first, last, not shown, tuple(own), not shown and not whole))
    return found


def _mark(program: ProgramFacts, lines: list[SourceLine]) -> None:
    for position, scop in enumerate(program.scops):
        for line in lines[max(scop.first_line - 1, 0) : scop.last_line]:
            line.scop = position
        _mark_loops(program.path, scop, lines)
        for number, links in _links(program.path, position, scop).items():
            if 0 < number <= len(lines):
                lines[number - 1].links += links
    for refusal in program.refusals:
        if refusal.file == program.path and 0 < refusal.line <= len(lines):
            lines[refusal.line - 1].refusals.append(refusal)


def _mark_loops(path: str, scop: ScopFacts, lines: list[SourceLine]) -> None:
    for loop in scop.loops:
        if loop.file != path or not 0 < loop.line <= len(lines):
            continue
        line, badge = lines[loop.line - 1], Badge(loop.kind, ", ".join(where.value for where in loop.where))
        line.badges += [badge] if badge not in line.badges else []
        reason = loop_reason(loop)
        line.reasons += [reason] if reason and reason not in line.reasons else []


def loop_reason(loop: LoopFacts) -> str:
    """Return why a loop is what it is, without the word that its mark says already."""
    return clean(reason_of(loop).removeprefix(f"{loop.kind.value}: "))


def _links(path: str, position: int, scop: ScopFacts) -> dict[int, list[Link]]:
    """Return the kernels' lines that compute a line of the file."""
    names = short_names(scop)
    found: dict[int, dict[str, list[int]]] = {}
    for part in scop.parts:
        own = range(part.first_line, min(part.last_line + 1, part.first_line + MOST_CODE_LINES))
        for origin in scop.origins:
            if origin.file == path and origin.line in own:
                found.setdefault(origin.source_line, {}).setdefault(names[part.name], []).append(origin.line)
    return {number: [_link(position, *one) for one in kernels.items()] for number, kernels in found.items()}


def _link(position: int, kernel: str, numbers: list[int]) -> Link:
    starts = [n for k, n in enumerate(numbers) if k == 0 or n != numbers[k - 1] + 1]  # of lines in a row the first
    targets = tuple((code_anchor(position, n), n) for n in starts[:MOST_LINKS])
    return Link(kernel, targets, len(starts) - len(targets))


def code_anchor(scop: int, line: int) -> str:
    """Return the anchor of a line of generated code in the page."""
    return f"s{scop}-{line}"


def _open(lines: list[SourceLine]) -> list[bool]:
    """Return which lines are shown without unfolding."""
    shown = [False] * len(lines)
    for at, line in enumerate(lines):
        if line.of_interest:
            for near in range(max(at - AROUND, 0), min(at + AROUND + 1, len(lines))):
                shown[near] = True
    for first, last, is_open in list(_runs(shown, len(lines))):
        if not is_open and last - first + 1 < FEWEST_FOLDED:
            shown[first - 1 : last] = [True] * (last - first + 1)
    return shown


def _runs(shown: Iterable[bool], count: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the first and the last line of stretches in which all are shown, or none."""
    first, before = 1, None
    for number, one in enumerate(shown, 1):
        if before is not None and one != before:
            yield first, number - 1, before
            first = number
        before = one
    if before is not None:
        yield first, count, before
