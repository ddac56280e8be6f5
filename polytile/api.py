"""The library: C text or isl relations in, CUDA text and callable SCoPs out.

program = polytile.compile(Path("jacobi-2d.c"), defines={"N": 2000})
f = program.scops[0]
f(A=a, B=b, N=2000, T=100)

What only runs code is imported by what runs it: compiling needs no NumPy.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.c.host_file import host_file
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.compiled_scop import DRAW_SECONDS, CompiledScop, compile_scop
from polytile.dataclass import dataclass
from polytile.diagnostics import (
    InternalError,
    NothingRunsError,
    OpaqueCallError,
    UsageError,
    UserError,
)
from polytile.frontend.program import read_program
from polytile.frontend.unreadable import Unread
from polytile.generated_files import guard, short, title, unit_of
from polytile.ir.host import HostProgram
from polytile.ir.isl_util import one_at_a_time
from polytile.ir.scop import Scop
from polytile.options import Options
from polytile.recursion_limit import deep_recursion
from polytile.runtime.output import check_targets, output_stem, write_outputs
from polytile.runtime.parameters import check_parameters
from polytile.schedule_file import join_schedules, split_schedules
from polytile.scop_of_file import compile_tuned
from polytile.settings import Settings, checked_source, definitions, options_of, read_device_source
from polytile.tracebacks import for_callers

if TYPE_CHECKING:
    from polytile.facts import ProgramFacts
    from polytile.runtime.checked import Unit
    from polytile.tuned_file import TunedFile

__all__ = ["CompiledScop", "Program", "Settings", "compile", "compile_scop"]

Observer = Callable[[str, object], None]


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    """A C file, compiled; `program["smooth"]` is the SCoP of that name, or of the function.

    SCoPs that were refused, or that stay sequential, are the user's own C in `host`; `marked` are those of the refusals
    that concern SCoPs which the file marks by pragmas. `left_out` says why detection left out outermost loops that
    nobody marked, `unread` what of the file cannot be read. A copy, or one that was pickled, is compiled anew."""

    path: str
    text: str
    scops: tuple[CompiledScop, ...]
    refusals: tuple[UserError | InternalError, ...] = ()
    options: Options = field(default_factory=Options)
    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    macros: frozenset[str] = frozenset()
    marked: tuple[UserError | InternalError, ...] = ()
    left_out: tuple[UserError, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)  # what compile_file was told besides
    unread: tuple[Unread, ...] = ()
    unasked: Scop | None = None  # the first that rests on types for which there was no C compiler to ask

    def __repr__(self) -> str:
        refused = f", {len(self.refusals)} refused" if self.refusals else ""
        return f"<polytile.Program {short(self.path, 60)}: {short(', '.join(s.name for s in self.scops))}{refused}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled_again, (
            self.path,
            self.text,
            {**self.reading, "options": self.options, "include_dirs": self.include_dirs, "defines": self.defines},
        )

    def __iter__(self) -> Iterator[CompiledScop]:
        return iter(self.scops)

    @for_callers
    def __getitem__(self, name: str) -> CompiledScop:
        made_of = re.compile(rf"{re.escape(name)}(_[0-9a-f]{{8}})?_scop\d+")
        found = [s for s in self.scops if s.name == name] or [s for s in self.scops if made_of.fullmatch(s.name)]
        if len(found) == 1:
            return found[0]
        what = f"there are {len(found)} SCoPs in {name!r}" if found else f"there is no SCoP {name!r}"
        listed = ", ".join(s.name for s in found or self.scops) or "there are none"
        raise UsageError(f"{self.path}: {what}", hint=f"the names are {listed}")

    @property
    def stem(self) -> str:
        return output_stem(self.path)

    @property
    def programs(self) -> list[HostProgram]:
        return [s.program for s in self.scops if s.program is not None]

    @property
    def cuda(self) -> str:
        """The text of `NAME_kernel.cu`."""
        with deep_recursion():
            return print_unit(self.programs, header=f"{self.stem}_kernel.h", title=title(self.path))

    @property
    def unit(self) -> Unit:
        """`NAME_kernel.cu` as the emulator's checks take it."""
        return unit_of(self.programs, self.stem, self.path)

    @property
    def header(self) -> str:
        """The text of `NAME_kernel.h`."""
        return print_header(self.programs, guard_name=guard(self.stem))

    @property
    def host(self) -> str:
        """The text of `NAME_host.c`: the user's file with each compiled SCoP replaced by a call."""
        replaced = [(s.scop, s.program) for s in self.scops if s.program is not None]
        made = (s.compilation for s in self.scops)
        least = {c.source.name: (c.source, c.options.min_compute) for c in made}
        return host_file(self.text, self.path, replaced, self.macros, least=least)

    @property
    def schedules(self) -> str:
        """The schedules of the SCoPs that run on the GPU, with plans of kernels, as `--save-schedule` writes them."""
        return join_schedules({s.name: s.saved_schedule for s in self.scops if s.schedule})

    @property
    def certificate(self) -> str:
        """What was proven of each SCoP, as `--certificate` writes it and `polytile check` reads it."""
        from polytile.certificate import certificate

        made = [s.compilation for s in self.scops]
        return certificate(self.path, self.text, self.defines, made, cflags=self.options.cflags)

    @for_callers
    def explain(self) -> str:
        """Return the loops of each SCoP, what they are, what was done to the SCoP, and why."""
        parts = [s.explain().rstrip() for s in self.scops]
        return "\n\n".join([*parts, *(str(r) for r in self.refusals)]) + "\n"

    @property
    def facts(self) -> ProgramFacts:
        """All that reports say of the file, as plain records (docs/facts.md); found when asked for."""
        from polytile.facts import ProgramFacts, refusal_facts

        return ProgramFacts(
            path=self.path,
            source=self.text,
            scops=tuple(s.facts for s in self.scops),
            refusals=(
                *refusal_facts(self.refusals),
                *refusal_facts((*self.left_out, *(lost.remark for lost in self.unread if lost.loops)), left_out=True),
            ),
            host=self.host,
            header=self.header,
        )

    @for_callers
    def draw(self, parameters: Mapping[str, int] | None = None) -> str:
        """Draw an SVG picture of the schedules and iterations of all SCoPs; see CompiledScop.draw."""
        from polytile.drawing import draw

        if self.refusals and not self.scops:
            raise self.refusals[0]
        return draw([s.compilation for s in self.scops], parameters or {})[0]

    @for_callers
    def page(self, *, draw_seconds: float = DRAW_SECONDS, ranks: str = "") -> str:
        """Return the report as the text of an HTML file: the source with its loops, the kernels line by line, what was
        proven, times and pictures (docs/report.md), and what is said of `ranks`. All pictures together take at most
        `draw_seconds` of processor time."""
        from polytile.drawing.time_limit import pictures_within
        from polytile.report import page

        drawn = pictures_within([(s.compilation, s.loops) for s in self.scops], draw_seconds)
        return page(self.facts, drawn, ranks=ranks)

    @for_callers
    def report(self, path: str | os.PathLike[str], *, draw_seconds: float = DRAW_SECONDS) -> Path:
        """Write the report to a file; raises UserError when that is the input, or cannot be written."""
        target = Path(path)
        check_targets([target], Path(self.path))
        write_outputs({target: self.page(draw_seconds=draw_seconds)})
        return target

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        from polytile.report import fragment

        return fragment(self.facts)

    def files(self, folder: Path) -> dict[Path, str]:
        """Return the three files of the output and their texts."""
        return {
            folder / f"{self.stem}_host.c": self.host,
            folder / f"{self.stem}_kernel.cu": self.cuda,
            folder / f"{self.stem}_kernel.h": self.header,
        }

    @for_callers
    def write(self, folder: str | os.PathLike[str] = ".") -> tuple[Path, ...]:
        """Write the three files, all or none; raises UserError when the folder cannot be written."""
        files = self.files(Path(folder))
        write_outputs(files)
        return tuple(files)

    @for_callers
    def build(
        self,
        executable: str | os.PathLike[str],
        *,
        on: str = "auto",
        link: Sequence[str | Path] = (),
        managed: bool = False,
    ) -> Path:
        """Compile and link the whole program, for the GPU with nvcc or for the emulator with the host compilers.

        `auto` is nvcc where it is installed, with or without a GPU, else the emulator. With `managed`, its C files
        allocate memory that host and GPU share, which SCoPs use in place."""
        from polytile.execution import build_place
        from polytile.runtime.build import build_program

        target, place = Path(executable), build_place(on)
        with tempfile.TemporaryDirectory(prefix="polytile-") as folder:
            host, kernels, _ = self.write(folder)
            build_program(
                host,
                kernels,
                target,
                on=place,
                link=link,
                include_dirs=[_home(self.path), *self.include_dirs],
                defines=self.defines,
                cflags=self.options.cflags,
                arch=self.options.arch,
                strict=self.options.strict,
                managed=managed,
            )
        return target


def _compiled_again(path: str, text: str, told: dict[str, Any]) -> Program:
    return compile_file(path, text, **told)


def _home(path: str) -> Path:
    """Return the folder that `#include "..."` in the user's file starts from."""
    return Path(path).resolve().parent


def compile_file(
    path: str,
    text: str | None = None,
    *,
    options: Options,
    defines: Sequence[str] = (),
    include_dirs: Sequence[Path] = (),
    autodetect: bool = False,
    schedules: str | None = None,
    schedules_file: str = "load_schedule",
    observe: Callable[[str, str, object], None] | None = None,
    preprocessor: str = "auto",
    preprocessor_flags: Sequence[str] = (),
    device_source: str = "",
    managed: bool = False,
    tuned: TunedFile | None = None,
) -> Program:
    """Compile every SCoP of a file; those that are refused are in `refusals`, and nothing is raised for them.

    `observe` is called with the SCoP's name, a stage's name and its result. `preprocessor` is the command that expands
    macros, and `preprocessor_flags` are options for it beside `defines` and `include_dirs`. `device_source` is CUDA
    that defines functions with access summaries, `managed` says that host and GPU will share the program's heap.
    SCoPs that are in `tuned` have its schedules where these were measured on such a machine.
    Raises UserError when the file as a whole cannot be read, and UsageError when an option does not fit any SCoP.
    """
    source = read_program(
        path,
        text,
        include_dirs=[str(d) for d in include_dirs],
        defines=defines,
        autodetect=autodetect,
        preprocessor=preprocessor,
        flags=preprocessor_flags,
        device_source=device_source,
        managed=managed,
        cflags=options.cflags,
    )
    refused: list[UserError | InternalError] = [r.error for r in source.refusals]
    marked = [error for error in refused if not isinstance(error, NothingRunsError | OpaqueCallError)]
    if not refused:
        check_parameters([p for s in source.scops for p in s.parameters], options.parameters)
    loaded = {} if schedules is None else split_schedules(schedules, [s.name for s in source.scops], schedules_file)
    found = {
        s.name: compile_tuned(source, s, replace(options, load_schedule=loaded.get(s.name)), observe, tuned)
        for s in source.scops
    }
    failed = {name: error for name, error in found.items() if not isinstance(error, CompiledScop)}
    refused += failed.values()
    marked += [error for name, error in failed.items() if name not in source.detected]
    done = tuple(one for one in found.values() if isinstance(one, CompiledScop))
    made = source.path, source.text, done, tuple(refused)
    left = tuple(remark.error for remark in source.left_out)
    reading = {
        "autodetect": autodetect,
        "schedules": schedules,
        "schedules_file": schedules_file,
        "preprocessor": preprocessor,
        "preprocessor_flags": tuple(preprocessor_flags),
        "device_source": device_source,
        "managed": managed,
        "tuned": tuned,
    }
    read = tuple(include_dirs), tuple(defines), source.macros
    return Program(*made, options, *read, tuple(marked), left, reading, source.unread, source.unasked)


@for_callers
@one_at_a_time
def compile(
    source: Path | str,
    *,
    name: str = "program.c",
    defines: Mapping[str, object] | Iterable[str] = (),
    include_dirs: Iterable[str | os.PathLike[str]] = (),
    autodetect: bool = False,
    device_source: str | os.PathLike[str] | None = None,
    tuned: str | os.PathLike[str] | None = None,
    **settings: Unpack[Settings],
) -> Program:
    """Compile a C file (a Path) or C text (a str, which messages call `name`). `device_source` names a CUDA file that
    defines functions with access summaries, `tuned` a file that `polytile tune` has written: SCoPs in it have its
    schedules, which are proven, where these were measured on such a machine.

    A SCoP that is refused stays C and is listed in `refusals`, as is one that runs no statement; when every SCoP is
    refused the first refusal is raised. Of a SCoP that calls what may do anything the loops without such calls are in
    `scops`, and the call is in `refusals`.
    """
    checked_source(source)
    options = options_of(settings)
    schedules = options.load_schedule
    program = compile_file(
        name if isinstance(source, str) else str(source),
        source if isinstance(source, str) else None,
        options=replace(options, load_schedule=None),
        defines=definitions(defines),
        include_dirs=[Path(d) for d in include_dirs],
        autodetect=autodetect,
        schedules=schedules,
        device_source="" if device_source is None else read_device_source(device_source),
        tuned=None if tuned is None else _read_tuned(tuned, schedules),
    )
    faults = [error for error in program.refusals if not isinstance(error, NothingRunsError)]
    if faults and not program.scops:
        raise faults[0]
    return program


def _read_tuned(tuned: str | os.PathLike[str], schedules: str | None) -> TunedFile:
    from polytile.tuned_file import read_tuned_file  # for few programs

    return read_tuned_file(tuned, schedules)
