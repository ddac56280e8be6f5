"""A C file in, its SCoPs out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from polytile.c_flags import wraps
from polytile.dataclass import dataclass
from polytile.diagnostics import Location, NoScopError, NothingRunsError, OpaqueCallError, UserError
from polytile.frontend.assemble import FileContext, assemble
from polytile.frontend.find_scops import ScopPlace
from polytile.frontend.host_layouts import compiler_of
from polytile.frontend.layout_conditions import rests_on_table
from polytile.frontend.linkage import Linkage
from polytile.frontend.sequential import sequential_source
from polytile.frontend.source import fresh_scop_name, named, read_places
from polytile.frontend.source_region import verbatim_region
from polytile.frontend.unknown_sizes import extract_sized
from polytile.frontend.unreadable import Unread
from polytile.ir.scop import Scop
from polytile.ir.source_span import Span
from polytile.stage_times import stage
from polytile.work_pieces import piece


@dataclass(frozen=True, slots=True)
class Refusal:
    """A SCoP that stays the user's C, and why."""

    error: UserError
    name: str | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class SourceProgram:
    """A C file with its SCoPs in source order; `text` is the file as it is, byte for byte.

    `refusals` are SCoPs that the user marked, those among them whose calls stay on the host and whose loops without
    calls are in `scops`; `remarks` are loops that detection tried in vain, `left_out` the outermost ones that it leaves
    as they are; `unread` is what cannot be read and has no marked SCoP in it; `macros` are the names that are a macro
    somewhere in the file or in what it includes; `detected` are the names of SCoPs without pragmas.
    """

    path: str
    text: str
    scops: tuple[Scop, ...]
    refusals: tuple[Refusal, ...]
    remarks: tuple[Refusal, ...] = ()
    macros: frozenset[str] = frozenset()
    detected: frozenset[str] = frozenset()
    left_out: tuple[Refusal, ...] = ()
    unread: tuple[Unread, ...] = ()
    unasked: Scop | None = None  # the first that rests on sizes and signs of types for which no C compiler was asked
    places: Mapping[str, tuple[FileContext, ScopPlace]] = field(default_factory=dict, repr=False, compare=False)

    def apart(self, name: str) -> Scop:
        """A SCoP extracted anew, with none of its statements merged."""
        context, place = self.places[name]
        return scop_of(context, place, name, merging=False)


def read_program(
    path: str,
    text: str | None = None,
    *,
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
    autodetect: bool = False,
    preprocessor: str = "auto",
    flags: Sequence[str] = (),
    device_source: str = "",
    managed: bool = False,
    cflags: Sequence[str] = (),
) -> SourceProgram:
    """Read a C file (`-`: standard input) and extract its SCoPs; `preprocess` says what the preprocessor gets.
    `device_source` is CUDA that defines functions with access summaries, `cflags` are flags of the C compiler that may
    change types and values. With `managed` host and GPU share the heap of
    the program, so that SCoPs without pragmas, too, may ask memory for the sizes of arrays.

    A SCoP that cannot be extracted becomes a `Refusal`; what concerns the whole file is raised as a `UserError`.
    """
    with piece("reading", Location(path, 1)):
        context, places = read_places(
            path,
            text,
            include_dirs=include_dirs,
            defines=defines,
            preprocessor=preprocessor,
            flags=flags,
            device_source=device_source,
            cflags=cflags,
        )
    search = _Search(replace(context, asks_memory=managed), Linkage.of(context.file))
    search.marked(places)
    unread = context.file.unread
    search.unreadable([lost for lost in unread if lost.marks])
    remarks: tuple[Refusal, ...] = ()
    left_out: tuple[Refusal, ...] = ()
    detected: frozenset[str] = frozenset()
    if autodetect:
        from polytile.frontend.autodetect import detect

        found = detect(search.context, {p.function_name for p in places}, search.attempt)
        search.scops += found.scops
        detected = frozenset(s.name for s in found.scops)
        remarks = tuple(Refusal(error, None, place.span) for error, place in found.refused)
        left_out = tuple(Refusal(error) for error in found.left_out)
    idle = bool(remarks) and all(isinstance(r.error, NothingRunsError) for r in remarks)
    source = context.file.source
    if not search.scops and not search.refusals and not idle:
        raise _nothing_found(source.path, autodetect, left_out, remarks, unread)
    scops = tuple(sorted(search.scops, key=lambda s: s.span.start if s.span is not None else 0))
    made = source.path, source.raw, scops, tuple(search.refusals), remarks, source.macros, detected, left_out
    asked = compiler_of(source.compiler, source.cflags).command
    unasked = None if asked else next(filter(rests_on_table, scops), None)
    return SourceProgram(*made, tuple(lost for lost in unread if not lost.marks), unasked, search.found_at)


@dataclass(slots=True)
class _Search:
    """The SCoPs of a file and those that are refused, as they are found."""

    context: FileContext
    linkage: Linkage
    scops: list[Scop] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    found_at: dict[str, tuple[FileContext, ScopPlace]] = field(default_factory=dict)

    def marked(self, places: Sequence[ScopPlace]) -> None:
        """Extract the SCoPs with pragmas; of one that a call keeps on the host, the loops without calls."""
        context = replace(self.context, asks_memory=True)
        for name, place in list(named(context, places, self.counts)):
            self.found_at[name] = context, place
            try:
                self.scops.append(scop_of(context, place, name))
            except UserError as error:
                self.refusals.append(Refusal(error, name, place.span))
                if isinstance(error, OpaqueCallError):
                    from polytile.frontend.autodetect import detect_inside

                    inside = detect_inside(self.context, place, self.attempt)
                    self.scops += inside.scops
                    others = _each_once([(error, place), *inside.refused])[1:]
                    self.refusals += [Refusal(e, name, p.span) for e, p in others]

    def unreadable(self, lost: Sequence[Unread]) -> None:
        """Refuse the SCoPs that are marked in what cannot be read."""
        for one in lost:
            name = fresh_scop_name(self.linkage.unique(one.name), self.counts, self.context.file.names)
            self.refusals.append(Refusal(one.error, name if one.name else None))

    def attempt(self, place: ScopPlace) -> Scop:
        """The SCoP at a place without pragmas, whose number is taken where it can be extracted."""
        numbered = dict(self.counts)
        name = fresh_scop_name(self.linkage.unique(place.function_name), numbered, self.context.file.names)
        self.found_at[name] = self.context, place
        scop = scop_of(self.context, place, name)
        self.counts.update(numbered)
        return scop


def _each_once(refused: Sequence[tuple[UserError, ScopPlace]]) -> list[tuple[UserError, ScopPlace]]:
    """The first refusal with each message."""
    first: dict[str, tuple[UserError, ScopPlace]] = {}
    for error, place in refused:
        first.setdefault(error.message, (error, place))
    return list(first.values())


def scop_of(context: FileContext, place: ScopPlace, name: str, *, merging: bool = True) -> Scop:
    """Region, Scop and sequential source of one place; `merging` is that of `extract`."""
    with piece(f"{name} {place.span}{'' if merging else ' apart'}", place.location):
        with stage(name), stage("inline"):
            region = assemble(context, place, name)
        with stage(name), stage("extract"):
            region, scop = extract_sized(region, merging=merging, asking=context.asks_memory)
        verbatim = verbatim_region(context, place, region, scop)
        cflags = context.file.source.cflags
        if wraps(cflags):  # few files have such flags
            from polytile.frontend.wrapping_arithmetic import with_wrapping

            scop = with_wrapping(scop)
        return replace(scop, source=sequential_source(region, scop), verbatim=verbatim, cflags=cflags)


def _nothing_found(
    path: str, autodetect: bool, left_out: Sequence[Refusal], remarks: Sequence[Refusal], unread: Sequence[Unread]
) -> UserError:
    """What to say of a file without a SCoP: what cannot be read of it, or why its loops are none."""
    if unread and not remarks and (not autodetect or any(lost.loops for lost in unread)):
        return unread[0].error
    hint = "put '#pragma scop' and '#pragma endscop' around the loops to compile, or give --autodetect"
    if autodetect:
        hint = "the file has no loop that could be one"
    if remarks:
        first = remarks[0].error
        hint = f"the first loop that could be one is refused: {first.location}: {first.message}"
    reasons = (*(lost.remark for lost in unread if lost.loops), *(refusal.error for refusal in left_out))
    return NoScopError("no SCoP in this file", location=Location(path, 1), hint=hint, reasons=reasons)
