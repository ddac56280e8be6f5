"""The page: what is known of a compiled file, for a browser.

before: ProgramFacts, and a picture of each SCoP or the reason why there is none
after:  one file of HTML without scripts, which loads nothing
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from polytile.dataclass import dataclass
from polytile.facts import ArrayFacts, KernelFacts, LoopFacts, LoopKind, ProgramFacts, ScopFacts, TransferFacts
from polytile.report import words
from polytile.report.code_view import MOST_LINES, CodeBlock, entries, host_call, kernels
from polytile.report.pictures import inlined
from polytile.report.schedule_view import Chain, tree_of
from polytile.report.source_view import code_anchor, loop_reason, stretches
from polytile.report.templating import templates_in

TEMPLATES = Path(__file__).parent / "templates"
FRAGMENT_LINES = 60  # of a kernel in a notebook


@dataclass(frozen=True, slots=True)
class ScopView:
    """A SCoP and what the templates show of it beside its facts."""

    number: int
    facts: ScopFacts
    names: dict[str, str]
    kernels: list[CodeBlock]
    entries: list[CodeBlock]
    call: CodeBlock | None
    tree: Chain | None
    pictures: list[Markup]
    not_drawn: list[str]  # why pictures are missing

    @property
    def longest(self) -> float:
        """The time of the kernels that take longest, to which the bars of the others relate."""
        return max((kernel.microseconds or 0.0 for kernel in self.facts.kernels), default=0.0)

    @property
    def transfers(self) -> list[tuple[ArrayFacts | None, TransferFacts | None]]:
        """The arrays of the user's with their copies, then those that only kernels see."""
        copies = {transfer.array: transfer for transfer in self.facts.transfers}
        own: list[tuple[ArrayFacts | None, TransferFacts | None]]
        own = [(array, copies.pop(array.name, None)) for array in self.facts.arrays]
        return own + [(None, transfer) for transfer in copies.values()]

    @property
    def accesses(self) -> list[KernelFacts]:
        return [kernel for kernel in self.facts.kernels if kernel.accesses]


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures in the head of a page."""

    kernels: int
    microseconds: float | None
    sizes: str
    loops: int
    parallel: int
    reductions: int
    serial: int
    proven: int
    refused: int


def summary_of(program: ProgramFacts) -> Summary:
    loops = [loop for scop in program.scops for loop in scop.loops]
    times = [scop.microseconds for scop in program.scops if scop.microseconds is not None]
    sizes = {name: value for scop in program.scops for name, value in scop.sizes}
    return Summary(
        kernels=sum(len(scop.kernels) for scop in program.scops),
        microseconds=sum(times) if times else None,
        sizes=words.values(tuple(sizes.items())),
        loops=len(loops),
        parallel=_of_kind(loops, LoopKind.PARALLEL),
        reductions=_of_kind(loops, LoopKind.REDUCTION),
        serial=_of_kind(loops, LoopKind.SERIAL),
        proven=sum(len(scop.proof) for scop in program.scops),
        refused=sum(not refusal.left_out for refusal in program.refusals),
    )


def _of_kind(loops: Iterable[LoopFacts], kind: LoopKind) -> int:
    return sum(loop.kind is kind for loop in loops)


def page(
    program: ProgramFacts, pictures: Mapping[str, Sequence[tuple[str, str]]] | None = None, *, ranks: str = ""
) -> str:
    """Return the text of the file. By the names of SCoPs there are `pictures`: each the text of an SVG file and "", or
    "" and why there is none. `ranks` says how SCoPs run on ranks, where they do."""
    source = stretches(program)
    linked = frozenset(line.number for one in source if not one.left_out for line in one.lines)
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            program=program,
            summary=summary_of(program),
            source=source,
            linked=linked,
            inside=Path(program.path).name,
            ranks=ranks,
            scops=[_view(program, number, linked, pictures or {}) for number in range(len(program.scops))],
        )
    )


def fragment(program: ProgramFacts) -> str:
    """Return what a notebook shows: loops and kernels in tables, the rest folded. It has no anchors, as a notebook may
    have it twice."""
    views = [_view(program, number, (), {}, FRAGMENT_LINES) for number in range(len(program.scops))]
    return (
        _environment()
        .get_template("fragment.html.j2")
        .render(program=program, summary=summary_of(program), linked=frozenset[int](), inside="", scops=views)
    )


def _view(
    program: ProgramFacts,
    number: int,
    linked: Iterable[int],
    pictures: Mapping[str, Sequence[tuple[str, str]]],
    most: int = MOST_LINES,
) -> ScopView:
    scop = program.scops[number]
    drawn = pictures.get(scop.name, ())
    return ScopView(
        number=number,
        facts=scop,
        names=words.short_names(scop),
        kernels=kernels(scop, program.path, frozenset(linked), most),
        entries=entries(scop, most),
        call=host_call(scop, program.host),
        tree=tree_of(scop.schedule),
        pictures=[svg for k, (text, _) in enumerate(drawn) if (svg := inlined(text, f"{number}-{k}"))],
        not_drawn=list(dict.fromkeys(reason for _, reason in drawn if reason)),
    )


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return templates_in(
        TEMPLATES,
        {"style": "report.css", "fragment_style": "fragment.css"},
        words=words,
        loop_reason=loop_reason,
        code_anchor=code_anchor,
    )
