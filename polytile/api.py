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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polytile
from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.c.host_file import host_file
from polytile.codegen.targets.cuda.cuda import print_unit
from polytile.compilation import Compilation
from polytile.diagnostics import (
    Diagnostic,
    InternalError,
    NothingRunsError,
    OpaqueCallError,
    UsageError,
    UserError,
    is_bug,
    reported,
)
from polytile.frontend.isl_text import scop_from_isl
from polytile.frontend.preprocess import STDIN
from polytile.frontend.program import read_program
from polytile.ir.host import HostProgram
from polytile.ir.plan import KernelPlan
from polytile.ir.scop import Scop
from polytile.options import IN_HASTE, Options
from polytile.pipeline import compile_scop as run_pipeline
from polytile.runtime.output import write_outputs
from polytile.runtime.parameters import allowed_values, check_parameters
from polytile.runtime.signature import signature
from polytile.schedule_file import join_schedules, split_schedules
from polytile.settings import Settings, checked_source, definitions, options_of
from polytile.work_pieces import deep_recursion, piece

if TYPE_CHECKING:
    from polytile.execution import Execution
    from polytile.facts import LoopFacts, ProgramFacts, ScopFacts
    from polytile.runtime.binding import Call
    from polytile.runtime.checked import Unit
    from polytile.runtime.counted import Counted
    from polytile.runtime.engine import Engine
    from polytile.runtime.expectation import Expectation
    from polytile.runtime.timing import Timing
    from polytile.runtime.validate import Validation

__all__ = ["CompiledScop", "Program", "Settings", "compile", "compile_scop", "scop_from_isl"]

Observer = Callable[[str, object], None]


@dataclass(frozen=True, slots=True, repr=False)
class CompiledScop:
    """One SCoP, compiled: call it on arrays, read its CUDA, its schedule and the explanation. A copy, or one that was
    pickled, is compiled anew."""

    compilation: Compilation
    _engines: dict[str, Engine] = field(default_factory=dict, init=False, repr=False, compare=False)
    _loops: list[tuple[LoopFacts, ...]] = field(default_factory=list, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        kernels = len(self.program.kernels) if self.program else 0
        runs = f"{kernels} kernel{'s' * (kernels != 1)}" if kernels else "sequential"
        return f"<polytile.CompiledScop {_short(self.signature)}: {runs}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _scop_compiled_again, (self.compilation.source, self.compilation.options)

    @property
    def scop(self) -> Scop:
        return self.compilation.scop

    @property
    def name(self) -> str:
        return self.scop.name

    @property
    def signature(self) -> str:
        """The arguments of a call, as C declares them."""
        return signature(self.scop)

    @property
    def program(self) -> HostProgram | None:
        """The kernels and the host code that launches them, or None when the SCoP stays sequential C."""
        return self.compilation.program

    @property
    def cuda(self) -> str:
        """The .cu of this SCoP alone; empty when it stays sequential."""
        program = self.program
        with deep_recursion():
            return print_unit([program], header=f"{self.name}_kernel.h", title=_title(self.name)) if program else ""

    @property
    def header(self) -> str:
        """The C header that declares the entry point."""
        return print_header([self.program] if self.program else [], guard_name=_guard(self.name))

    @property
    def schedule(self) -> str:
        """The mapped schedule tree."""
        return self.compilation.schedule_text()

    @property
    def saved_schedule(self) -> str:
        """The mapped schedule tree and the plans of its kernels, as `--save-schedule` writes them."""
        return self.compilation.saved_schedule()

    @property
    def plans(self) -> tuple[KernelPlan, ...]:
        """What is decided about kernels that the schedule does not say: where arrays live, which loops load first."""
        return self.compilation.kernel_plans

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """Which schedule was chosen and why, or why the SCoP stays sequential: the hint says it of each loop."""
        remarks = self.compilation.remarks
        if self.program is not None or not remarks:
            return remarks
        *others, last = remarks
        return (*others, replace(last, hint=self._reasons() or None))

    def _reasons(self) -> str:
        """Why loops are serial, where that can be said; the SCoP is right without."""
        from polytile.facts import serial_loops

        try:
            return "\n".join(serial_loops(self.loops))
        except Exception as error:
            if self.compilation.options.raise_bugs or not is_bug(error):
                raise
            return ""

    @property
    def loops(self) -> tuple[LoopFacts, ...]:
        """The loops of the source, outer ones first: parallel, reductions, or serial and why; and where they run."""
        from polytile.facts import loop_facts

        if not self._loops:
            self._loops.append(loop_facts(self.compilation))
        return self._loops[0]

    @property
    def facts(self) -> ScopFacts:
        """All that reports say of the SCoP, as plain records (docs/facts.md)."""
        from polytile.facts import scop_facts

        return scop_facts(self.compilation, self.loops, self.cuda)

    def explain(self) -> str:
        """The loops and what they are, the proof, the choice of schedule and the mapping, for a reader."""
        from polytile.facts import explained

        text = self.compilation.source.verbatim
        return f"{explained(self.facts, text.text if text else '')}\n\n{self.compilation.explain()}"

    def draw(self, parameters: Mapping[str, int] | None = None) -> str:
        """An SVG picture of the schedule: the iteration space, its tiles and a dependence cone. Parameters that are not
        given get small values."""
        from polytile.drawing import draw

        return draw([self.compilation], parameters or {})[0]

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Run the SCoP: what the C function takes, in its order or by name; the rest by name (see `signature`).

        Sizes may be left out where all arrays are given by name: they follow from the shapes of arrays. NumPy arrays
        are updated where they are (through copies on a GPU); CuPy and other DLPack arrays on a GPU are used in place.
        `on="gpu"`, `"emulator"` or `"auto"` says where the kernels run. `auto` is the GPU, or the emulator where there
        is none, or no CuPy, with a warning, once. (It is an argument of the C where that has one of this name.)
        """
        from polytile.runtime.binding import bind, names

        on = "auto" if "on" in names(self.scop) else named.pop("on", "auto")
        self.run(bind(self.scop, arguments, named), on=on)

    def run(self, call: Call, *, on: str = "auto") -> None:
        """Run the SCoP on checked arguments at a chosen place."""
        self._execution.run(call, on)

    @property
    def _execution(self) -> Execution:
        from polytile.execution import Execution

        return Execution(self.compilation, self._engines)

    def _sequential(self) -> str:
        return self._execution.sequential()

    def _unit(self) -> Unit:
        """The .cu of this SCoP alone, as the emulator's checks take it."""
        return _unit_of([self.program] if self.program else [], self.name, self.name)

    def expect(self, parameters: Mapping[str, int] | None = None, seed: int | None = None) -> Expectation:
        """Random inputs for these parameters (small ones where not given) and what the sequential C makes of them."""
        return self._execution.expect(parameters, seed)

    def validate(
        self,
        *,
        on: str = "auto",
        parameters: Mapping[str, int] | None = None,
        seed: int | None = None,
        sanitize: str | Iterable[str] = (),
        unit: Unit | None = None,
    ) -> tuple[Validation, ...]:
        """Compare the generated code with the sequential C; one result for each way to run it.

        On a GPU it runs through nvcc and through CuPy, as far as they exist. Empty when the SCoP stays sequential.
        `sanitize` names checks that the emulator makes on the way (address, undefined, race, uninitialised, or all;
        `unit` is the .cu that their findings name, by default that of this SCoP alone). Raises ValidationError when
        the results disagree, and FindingsError, which is one, when a check finds something.
        """
        return self._execution.validate(on, parameters, seed, sanitize, unit or self._unit())

    def count(
        self, *, parameters: Mapping[str, int] | None = None, seed: int | None = None, unit: Unit | None = None
    ) -> Counted | None:
        """Validate once in the emulator, counting what each access costs: requests of warps, sectors, bank conflicts.

        None when the SCoP stays sequential. `unit` is the .cu whose lines are named, by default that of this SCoP
        alone. Raises ValidationError when the results disagree.
        """
        return self._execution.count(parameters, seed, unit or self._unit())

    def time(self, *, parameters: Mapping[str, int] | None = None, seed: int | None = None) -> tuple[Timing, ...]:
        """Kernel time on the GPU, data on the device, for each way to run it; needs CuPy."""
        return self._execution.time(parameters, seed)


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    """A C file, compiled; `program["smooth"]` is the SCoP of that name, or of the function.

    SCoPs that were refused, or that stay sequential, are the user's own C in `host`; `marked` are those of the refusals
    that concern SCoPs which the file marks by pragmas. `left_out` says why detection left out outermost loops that
    nobody marked. A copy, or one that was pickled, is compiled anew."""

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

    def __repr__(self) -> str:
        refused = f", {len(self.refusals)} refused" if self.refusals else ""
        return f"<polytile.Program {_short(self.path, 60)}: {_short(', '.join(s.name for s in self.scops))}{refused}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled_again, (
            self.path,
            self.text,
            {**self.reading, "options": self.options, "include_dirs": self.include_dirs, "defines": self.defines},
        )

    def __iter__(self) -> Iterator[CompiledScop]:
        return iter(self.scops)

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
            return print_unit(self.programs, header=f"{self.stem}_kernel.h", title=_title(self.path))

    @property
    def unit(self) -> Unit:
        """`NAME_kernel.cu` as the emulator's checks take it."""
        return _unit_of(self.programs, self.stem, self.path)

    @property
    def header(self) -> str:
        """The text of `NAME_kernel.h`."""
        return print_header(self.programs, guard_name=_guard(self.stem))

    @property
    def host(self) -> str:
        """The text of `NAME_host.c`: the user's file with each compiled SCoP replaced by a call."""
        replaced = [(s.scop, s.program) for s in self.scops if s.program is not None]
        return host_file(self.text, self.path, replaced, self.macros)

    @property
    def schedules(self) -> str:
        """The schedules of the SCoPs that run on the GPU, with plans of kernels, as `--save-schedule` writes them."""
        return join_schedules({s.name: s.saved_schedule for s in self.scops if s.schedule})

    @property
    def certificate(self) -> str:
        """What was proven of each SCoP, as `--certificate` writes it and `polytile check` reads it."""
        from polytile.certificate import certificate

        return certificate(self.path, self.text, self.defines, [s.compilation for s in self.scops])

    def explain(self) -> str:
        """The loops of each SCoP and what they are; what was done to it and why."""
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
            refusals=(*refusal_facts(self.refusals), *refusal_facts(self.left_out, left_out=True)),
            host=self.host,
            header=self.header,
        )

    def draw(self, parameters: Mapping[str, int] | None = None) -> str:
        """An SVG picture of the schedules of all SCoPs that can be drawn; see CompiledScop.draw."""
        from polytile.drawing import draw

        return draw([s.compilation for s in self.scops], parameters or {})[0]

    def files(self, folder: Path) -> dict[Path, str]:
        """The three files of the output and their texts."""
        return {
            folder / f"{self.stem}_host.c": self.host,
            folder / f"{self.stem}_kernel.cu": self.cuda,
            folder / f"{self.stem}_kernel.h": self.header,
        }

    def write(self, folder: str | os.PathLike[str] = ".") -> tuple[Path, ...]:
        """Write the three files, all or none; raises UserError when the folder cannot be written."""
        files = self.files(Path(folder))
        write_outputs(files)
        return tuple(files)

    def build(self, executable: str | os.PathLike[str], *, on: str = "auto", link: Sequence[str | Path] = ()) -> Path:
        """Compile and link the whole program, for the GPU with nvcc or for the emulator with the host compilers.

        `auto` is nvcc where it is installed, with or without a GPU, else the emulator."""
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
                arch=self.options.arch,
                strict=self.options.strict,
            )
        return target


def _short(text: str, most: int = 110) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _compiled_again(path: str, text: str, told: dict[str, Any]) -> Program:
    return compile_file(path, text, **told)


def _scop_compiled_again(scop: Scop, options: Options) -> CompiledScop:
    return compile_scop(scop, options=options)


def output_stem(path: str) -> str:
    """`gemm` for `src/gemm.c`; the outputs are named after it, without what cannot stand in an `#include`."""
    return "stdin" if path in ("-", STDIN) else re.sub(r'["\\\x00-\x1f\x7f]', "_", Path(path).stem)


def _home(path: str) -> Path:
    """The folder that `#include "..."` in the user's file starts from."""
    return Path(path).resolve().parent


def _title(name: str) -> list[str]:
    return [f"Generated by polytile {polytile.__version__} from {Path(name).name}."]


def _guard(name: str) -> str:
    return "POLYTILE_" + "".join(c if c.isalnum() and c.isascii() else "_" for c in name).upper() + "_KERNEL_H"


def _unit_of(programs: Sequence[HostProgram], stem: str, name: str) -> Unit:
    from polytile.runtime.checked import Unit

    return Unit(programs, stem, _title(name))


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
) -> Program:
    """Compile every SCoP of a file; those that are refused are in `refusals`, and nothing is raised for them.

    `observe` is called with the SCoP's name, a stage's name and its result. `preprocessor` is the command that expands
    macros, and `preprocessor_flags` are options for it beside `defines` and `include_dirs`. Raises UserError when the
    file as a whole cannot be read, and UsageError when an option does not fit any SCoP.
    """
    source = read_program(
        path,
        text,
        include_dirs=[str(d) for d in include_dirs],
        defines=defines,
        autodetect=autodetect,
        preprocessor=preprocessor,
        flags=preprocessor_flags,
    )
    refused: list[UserError | InternalError] = [r.error for r in source.refusals]
    marked = [error for error in refused if not isinstance(error, NothingRunsError | OpaqueCallError)]
    names = [s.name for s in source.scops]
    if not refused:
        check_parameters([p for s in source.scops for p in s.parameters], options.parameters)
    loaded = {} if schedules is None else split_schedules(schedules, names, schedules_file)
    done = []
    for scop in source.scops:
        own = {p.name: options.parameters[p.name] for p in scop.parameters if p.name in options.parameters}
        chosen = replace(options, parameters=own, load_schedule=loaded.get(scop.name))
        try:
            allowed_values(scop, own)
            if observe is not None:
                observe(scop.name, "scop", scop)
            with piece(f"{scop.name} {scop.span}", scop.location) as hurried:
                if hurried:
                    chosen = replace(chosen, max_operations=min(chosen.max_operations, IN_HASTE))
                done.append(CompiledScop(run_pipeline(scop, chosen, observe=_named(observe, scop.name))))
        except UserError as error:
            refused.append(error)
            marked += [] if scop.name in source.detected else [error]
        except Exception as error:
            if options.raise_bugs or not is_bug(error):
                raise
            refused.append(reported(error, scop.location))
            marked += [] if scop.name in source.detected else [refused[-1]]
    made = source.path, source.text, tuple(done), tuple(refused)
    left = tuple(remark.error for remark in source.left_out)
    reading = {
        "autodetect": autodetect,
        "schedules": schedules,
        "schedules_file": schedules_file,
        "preprocessor": preprocessor,
        "preprocessor_flags": tuple(preprocessor_flags),
    }
    read = tuple(include_dirs), tuple(defines), source.macros
    return Program(*made, options, *read, tuple(marked), left, reading)


def _named(observe: Callable[[str, str, object], None] | None, name: str) -> Observer | None:
    return None if observe is None else lambda stage, result: observe(name, stage, result)


def compile(
    source: Path | str,
    *,
    name: str = "program.c",
    defines: Mapping[str, object] | Iterable[str] = (),
    include_dirs: Iterable[str | os.PathLike[str]] = (),
    autodetect: bool = False,
    **settings: Unpack[Settings],
) -> Program:
    """Compile a C file (a Path) or C text (a str, which messages call `name`).

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
    )
    faults = [error for error in program.refusals if not isinstance(error, NothingRunsError)]
    if faults and not program.scops:
        raise faults[0]
    return program


def compile_scop(scop: Scop, *, options: Options | None = None, **settings: Unpack[Settings]) -> CompiledScop:
    """Compile a Scop that was built from isl relations (see scop_from_isl) or by another frontend."""
    chosen = options_of(settings, options)
    check_parameters(scop.parameters, chosen.parameters)
    return CompiledScop(run_pipeline(scop, chosen))
