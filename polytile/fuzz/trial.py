"""One trial: compile a program, load its own schedules again, and compare with the sequential C.

Kernels run in the emulator or on the GPU.

Sizes by the tiles of a compiled program: one below a tile, a tile, one above it, and behind two of them.

before: n = 7, m = 3
after:  n = 33, m = 31 for blocks of 32 threads, or n = 65, m = 0
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from polytile.api import CompiledScop, Program, compile_file
from polytile.codegen.targets.cuda.cuda import print_kernels
from polytile.dataclass import dataclass
from polytile.diagnostics import (
    DeviceError,
    InternalError,
    PolytileError,
    UsageError,
    UserError,
    ValidationError,
    remember_source,
)
from polytile.fuzz.case import Case, Choices
from polytile.fuzz.draw import Draw, source_of
from polytile.fuzz.evaluate import holds, with_known
from polytile.fuzz.outcome import AGREED, ON_HOST, REFUSED, Outcome, outcome_of
from polytile.fuzz.printing import LARGEST
from polytile.fuzz.ptx import check_ptx
from polytile.fuzz.tree import LARGEST_TILED, SIZES
from polytile.ir.host import HostProgram
from polytile.ir.libm import MATH_SIGNATURES
from polytile.runtime.compilers import c_compiler, check_command, nvcc
from polytile.runtime.control_flow import control_flow
from polytile.runtime.covering_sizes import tile_lengths
from polytile.runtime.emulator.build import SAME_ZEROS
from polytile.runtime.emulator.process import run_to_end
from polytile.runtime.validate import EXACT_FUNCTIONS

NAME = "fuzz.c"
OTHER_SIZES = "contradicts what is known of the parameters"  # what the host file checks is false
NOTHING_RUNS = "contains no statement"  # every loop and condition is known to be empty


def _no_others(_: Mapping[str, int]) -> None:
    """Do nothing, for programs that run at no other sizes."""


@dataclass(frozen=True, slots=True)
class Trial:
    """C text, how to compile it, and the sizes to run it at; see Case."""

    text: str
    choices: Choices
    sizes: tuple[Mapping[str, int], ...]
    strategies: tuple[str, ...]
    inputs: int = 1
    reload: bool = True
    autodetect: bool = False
    sanitize: tuple[str, ...] = ()
    driver: str = ""  # the same with a `main`, to be built as a whole
    on: str = "emulator"
    fitting: Fitting = _no_others

    def run(self) -> Outcome:
        """Run in this process; whatever is raised becomes an outcome."""
        remember_source(NAME, self.text)
        seen: set[str] = set()
        kernels = False
        for strategy in self.strategies:
            try:
                program = self._prepared(strategy)
            except Exception as error:
                refused = outcome_of(error, None, strategy)
                return (self._built(strategy) or refused) if refused.kind == REFUSED else refused
            if program is None or program.cuda in seen:
                continue
            seen.add(program.cuda)
            kernels |= bool(program.programs)
            found = (
                self._validated(program, strategy) or self._compiled_to_ptx(program, strategy) or self._built(strategy)
            )
            if found is not None:
                return found
        return Outcome(AGREED if kernels else ON_HOST)

    def _prepared(self, strategy: str) -> Program | None:
        """Return the compiled program, or None when nothing in it ever runs."""
        program = self._compiled(strategy)
        if program is not None and program.schedules and self.reload:
            self._reload(strategy, program)
        return program

    def _compiled(self, strategy: str, schedules: str | None = None) -> Program | None:
        options = self.choices.options(strategy)
        try:
            program = compile_file(NAME, self.text, options=options, autodetect=self.autodetect, schedules=schedules)
        except UserError as error:
            if NOTHING_RUNS in error.message:
                return None
            raise
        for refusal in program.refusals:
            if NOTHING_RUNS not in refusal.message:
                raise refusal
        return program

    def _reload(self, strategy: str, program: Program) -> None:
        """Check that what `--save-schedule` writes gives the same kernels when loaded; raises InternalError if not."""
        try:
            loaded = self._compiled(strategy, program.schedules)
        except PolytileError as error:
            raise InternalError(f"the saved schedule is refused: {error.message}") from error
        if loaded is None or _shapes(loaded) != _shapes(program):
            raise InternalError("the saved schedule gives other kernels")

    def _validated(self, program: Program, strategy: str) -> Outcome | None:
        """Run at every size; what went wrong, or None."""
        for number, sizes in enumerate(self.sizes):
            for scop in program.scops:
                try:
                    self._validate(scop, sizes)
                except Exception as error:
                    if isinstance(error, UsageError) and OTHER_SIZES in error.message:
                        continue  # the C runs then, as the host file finds: whole programs are built for that
                    return outcome_of(error, number, strategy)
        return self._validated_by_tiles(program, strategy)

    def _validated_by_tiles(self, program: Program, strategy: str) -> Outcome | None:
        """Run each SCoP at sizes around a tile; what went wrong, with the sizes, or None."""
        for scop in program.scops:
            if scop.program is None or not self.sizes:
                continue
            sizes = sizes_by_tiles(scop.program, self.sizes[-1], self.fitting, self.inputs)
            try:
                if sizes is not None:
                    self._validate(scop, sizes)
            except Exception as error:
                if not (isinstance(error, UsageError) and OTHER_SIZES in error.message):
                    return outcome_of(error, None, strategy)
        return None

    def _compiled_to_ptx(self, program: Program, strategy: str) -> Outcome | None:
        """Check what NVRTC makes of the kernels, where it is installed; return what went wrong, or None."""
        try:
            for one in program.programs:
                check_ptx(print_kernels(one))
        except Exception as error:
            return outcome_of(error, None, strategy)
        return None

    def _validate(self, scop: CompiledScop, sizes: Mapping[str, int]) -> None:
        used = {p.name: sizes[p.name] for p in scop.scop.parameters if p.name in sizes}
        scop.validate(on=self.on, parameters=used, seed=self.inputs, sanitize=self.sanitize)

    def _built(self, strategy: str) -> Outcome | None:
        """Build the whole program and run it; what went wrong, or None."""
        if not self.driver:
            return None
        try:
            program = compile_file(NAME, self.driver, options=self.choices.options(strategy))
            with tempfile.TemporaryDirectory() as folder:
                compare_builds(program, self.driver, Path(folder), self.on)
        except Exception as error:
            return outcome_of(error, None, strategy)
        return None


def attempt(case: Case) -> Outcome:
    """Run the trial of a case in this process."""
    text = case.text
    whole = case.whole and (case.on == "emulator" or (nvcc() is not None and same_bits_on_gpus(text)))
    return Trial(
        text,
        case.choices,
        tuple(with_known(case.program, sizes) for sizes in case.sizes),
        case.strategies,
        case.inputs,
        case.reload,
        case.program.autodetect,
        case.sanitize,
        case.driver if whole else "",
        case.on,
        partial(_fitting, case),
    ).run()


def _fitting(case: Case, sizes: Mapping[str, int]) -> Mapping[str, int] | None:
    """Return all sizes of a program for these; None where its arrays are too small or its assumptions do not hold."""
    found = {**sizes, **dict(case.program.fixed), **dict(case.choices.parameters)}
    static = any(a.form == "static" and a.rank > 0 for a in case.program.arrays)
    largest = max(found[name] for name in SIZES)
    if largest > (LARGEST if static else LARGEST_TILED) or not all(holds(a, found) for a in case.program.assumptions):
        return None
    return with_known(case.program, found)


def _shapes(program: Program) -> list[list[tuple[tuple[int, ...], int]]]:
    return [[(k.block, k.barriers) for k in p.kernels] for p in program.programs]


TRIES = 6
MOST_WORK = 1e8  # in nodes that threads execute: half a second with the emulator's checks
Sizes = Mapping[str, int]
Fitting = Callable[[Sizes], Sizes | None]  # all sizes of a program for some n and m, or None where it has none


def sizes_by_tiles(program: HostProgram, before: Sizes, fitting: Fitting, seed: int) -> Sizes | None:
    """Choose sizes around a tile, with which the program runs for a moment; None where a few tries find none."""
    threads = {size for kernel in program.kernels for size in kernel.block if size > 1}
    lengths = sorted({*threads, *tile_lengths(program)})
    known = {*before, *SIZES}
    if not lengths or any(p.name not in known for p in program.parameters):  # one is no size of the source
        return None
    draw, flow = source_of(seed, 0), control_flow(program)
    for _ in range(TRIES):
        found = fitting({**before, **{name: _around(draw, draw.one_of(lengths)) for name in SIZES}})
        if found is not None and flow.reach(found).work <= MOST_WORK:
            return found
    return None


def _around(draw: Draw, tile: int) -> int:
    return draw.pick(tile - 1, tile, tile + 1, tile + 1, 2 * tile + 1, 0, 1)


FLAGS = ("-std=gnu99", "-O2", "-ffp-contract=off", "-w", *SAME_ZEROS)
SECONDS = 100.0
_CALL = re.compile(r"\b([a-z]\w*)\s*\(")


def same_bits_on_gpus(text: str) -> bool:
    """Return whether a program calls no mathematical function that CUDA rounds otherwise than the C library."""
    return EXACT_FUNCTIONS.issuperset(set(_CALL.findall(text)) & MATH_SIGNATURES.keys())


def compare_builds(program: Program, text: str, folder: Path, on: str) -> None:
    """Build a program both ways in `folder`, for the GPU or the emulator as `on` says, and run it.

    Raises ValidationError when the outputs differ.

    DeviceError says that a compiler, or the program itself, failed.
    """
    source = folder / "sequential.c"
    source.write_text(text)
    sequential = folder / "sequential"
    flags = [*FLAGS, *program.options.cflags]
    check_command([*c_compiler(), *flags, str(source), "-o", str(sequential), "-lm"], "compiling the whole program")
    expected = _printed(sequential)
    actual = _printed(program.build(folder / "built", on=on))
    if actual != expected:
        raise ValidationError(f"the whole program prints {actual.strip()!r}, the sequential C {expected.strip()!r}")


def _printed(executable: Path) -> str:
    finished = run_to_end([str(executable)], timeout=SECONDS)
    if finished.status != 0:
        raise DeviceError(f"{executable.name} ended with status {finished.status}: {finished.output[-500:]}")
    return finished.output
