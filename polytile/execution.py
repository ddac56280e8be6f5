"""What runs the code of one SCoP: on arguments, against the sequential C, and with counts or times."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, reduce
from threading import Lock

from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError, UserError
from polytile.ir.host import HostProgram
from polytile.pipeline import sequential_text
from polytile.runtime.array_bounds import check_bounds
from polytile.runtime.binding import Call, check_limits
from polytile.runtime.checked import Unit, checked_engine, checks_named
from polytile.runtime.compilers import nvcc
from polytile.runtime.counted import Counted, counted_engine
from polytile.runtime.covering_sizes import covering_sizes, sizes_that_run
from polytile.runtime.cupy_engine import CupyEngine, cupy_available, cupy_engine
from polytile.runtime.engine import PLACES, Engine, emulator_engine, engines, on_gpu
from polytile.runtime.expectation import Expectation, expect
from polytile.runtime.index_ranges import elements_used
from polytile.runtime.inputs import new_seed
from polytile.runtime.known_inputs import KnownInputs
from polytile.runtime.launches import (
    each_version,
    launched_alone,
    launches_of,
    with_other_versions,
)
from polytile.runtime.parameters import MOST_CHOSEN, check_parameters, choose_parameters
from polytile.runtime.reference import reference
from polytile.runtime.source_reference import TooFewElementsError, check_extraction
from polytile.runtime.timing import Timing, time_engine
from polytile.runtime.unset_reads import check_set
from polytile.runtime.validate import Validation, validate

_BUILDING = Lock()  # of what runs a SCoP: threads would write the same files
MORE = 8  # times as many elements where a validation has made too few


@dataclass(frozen=True, slots=True)
class Execution:
    """One compiled SCoP, to be run; `built` keeps what was built for it, by place, `known` what validations of its
    other schedules have in common with its own."""

    compilation: Compilation
    built: dict[str, Engine]
    known: KnownInputs | None = None

    def run(self, call: Call, on: str, *, wait: bool = True) -> None:
        """Run the SCoP on checked arguments at a chosen place; without `wait`, arrays on a GPU may be set later."""
        check_place(on)
        name = self.compilation.scop.name
        if call.on_device and on == "emulator":
            raise UsageError(f"{name}: {min(call.on_device)} is on a GPU", hint="pass NumPy arrays to the emulator")
        if self.compilation.entry is None:
            self._run_sequential(call)
        else:
            engine = self.engine(on, on_device=bool(call.on_device))
            if wait or not isinstance(engine, CupyEngine):
                engine.run(call.layouts, call.values, call.memory)
            else:
                engine.run(call.layouts, call.values, call.memory, wait=False)

    def _run_sequential(self, call: Call) -> None:
        host = {name: data.get() if name in call.on_device else data for name, data in call.memory.items()}
        reference(self.compilation.scop, self.sequential())(call.layouts, call.values, host)
        for name in call.on_device:
            call.memory[name].set(host[name])

    def engine(self, on: str, *, on_device: bool = False) -> Engine:
        """Return what runs the kernels at a place, built where it was not; arrays on a device choose the GPU."""
        scop, program, options = self.compilation.scop, self.compilation.entry, self.compilation.options
        assert program is not None
        self._require_definitions()
        gpu = on_device or (on_gpu(on) if on == "gpu" else on == "auto" and cupy_available())
        place = "gpu" if gpu else "emulator"
        if on == "auto" and not gpu:
            tell_of_the_emulator()
        with _BUILDING:
            if place not in self.built:
                self.built[place] = cupy_engine(program, options) if gpu else emulator_engine(scop, program, options)
        return self.built[place]

    def _require_definitions(self) -> None:
        """Raise UsageError where it calls a function whose definition is not known here."""
        scop = self.compilation.source
        if scop.external and not scop.device_source:
            raise UsageError(
                f"{scop.name}: it calls `{scop.external[0].name}`, whose definition is not known",
                hint="name the CUDA file that defines it: --device-source F.cu, or device_source from Python",
            )

    def sequential(self) -> str:
        """Return the sequential C of the SCoP: its own text, or what was made of the Scop."""
        scop = self.compilation.source
        self._require_definitions()
        return scop.source if scop.source is not None else sequential_text(scop)

    def expect(
        self, parameters: Mapping[str, int] | None, seed: int | None, chosen: Mapping[str, int] | None = None
    ) -> Expectation:
        """Draw random inputs for these parameters (where not given, those that were chosen, or small ones) and compute
        what the sequential C makes of them.

        Raises UserError where it is undefined.
        """
        scop = self.compilation.scop
        given = self._given(parameters)
        values = dict(chosen) if chosen is not None else choose_parameters(scop, given)
        for extent, used in elements_used(self.compilation.source, values).items():
            if extent not in given and values.get(extent, used) < used <= MOST_CHOSEN:
                values[extent] = used
        check_limits(scop, self.compilation.entry.limits if self.compilation.entry else (), values)
        check_bounds(self.compilation.source, values)
        check_set(self.compilation.source, values, self.compilation.options.max_operations)
        return expect(scop, self.sequential(), values, new_seed() if seed is None else seed)

    def _given(self, parameters: Mapping[str, int] | None) -> dict[str, int]:
        """Return the values that are given here, or were when it was compiled. Raises UsageError for one that cannot
        be."""
        given = {**self.compilation.options.parameters, **(parameters or {})}
        check_parameters(self.compilation.scop.parameters, given)
        return given

    def validate(
        self,
        on: str,
        parameters: Mapping[str, int] | None,
        seed: int | None,
        sanitize: str | Iterable[str],
        unit: Unit,
    ) -> tuple[Validation, ...]:
        """Compare the generated code with the sequential C, and that with the user's own text; one result for each way
        to run it."""
        checks = _checks(sanitize, on)
        if self.compilation.entry is None:
            return ()
        self._require_definitions()
        ways = self._ways(on, checks, unit)
        inputs = list(self.inputs(parameters, seed))
        return tuple(self._validated(engines, inputs) for engines in ways)

    def _ways(self, on: str, checks: tuple[str, ...], unit: Unit) -> tuple[tuple[Engine, ...], ...]:
        """Return the engines of each way to run: the program, and the one that takes the other versions of its
        kernels."""
        scop, options = self.compilation.scop, self.compilation.options
        first, *others = self.versions()
        if checks:  # the lines of kernels in the .cu stay
            units = [(one, _with(unit, one)) for one in (first, *others)]
            return (tuple(checked_engine(scop, one, own, checks) for one, own in units),)
        found = [engines(scop, one, options, on) for one in (first, *map(launched_alone, others))]
        return tuple(zip(*found, strict=True))

    def versions(self) -> tuple[HostProgram, ...]:
        """Return what a validation runs: the program, the one for small grids, and those that take the other versions
        of their kernels, as far as there are such."""
        found = self._versions()
        return (*found, *(other for one in found if (other := with_other_versions(one)) is not None))

    def _shown(self) -> HostProgram:
        """Return the program to validate: it takes kernels for large sizes at small ones, too."""
        return self._versions()[0]

    def _versions(self) -> tuple[HostProgram, ...]:
        """Return the program to validate, and those of its other versions."""
        assert self.compilation.entry is not None
        return each_version(self.compilation.entry)

    def count(self, parameters: Mapping[str, int] | None, seed: int | None, unit: Unit) -> Counted | None:
        """Validate once in the emulator, counting what each access costs; None when the SCoP stays sequential."""
        if self.compilation.entry is None:
            return None
        self._require_definitions()
        program = self._shown()
        engine = counted_engine(self.compilation.scop, launched_alone(program), _with(unit, program))
        inputs = self._most_kernels(parameters, seed)
        return Counted(self._validated((engine,), [inputs]), engine.counts)

    def inputs(self, parameters: Mapping[str, int] | None, seed: int | None) -> Iterator[tuple[Expectation, str]]:
        """Yield what a validation runs on, each with a note: small sizes, then further ones with which what does not
        run for small ones does, kernels and tiles within."""
        seed = new_seed() if seed is None else seed
        small = self._checked(parameters, seed)
        yield small
        given, seen = self._given(parameters), [small[0].values]
        for program in map(launched_alone, self._versions()):
            known = self.known.sizes if self.known is not None else ()
            for sizes in covering_sizes(self.compilation.scop, program, given, small[0].values, known):
                if sizes in seen:
                    continue
                seen.append(sizes)
                try:
                    yield self._at(sizes, parameters, seed)
                except UserError:  # the C is undefined for these sizes, as it is not for small ones
                    continue

    def _at(self, sizes: Mapping[str, int], parameters: Mapping[str, int] | None, seed: int) -> tuple[Expectation, str]:
        """Return inputs of chosen sizes, which may be known."""
        if self.known is None:
            return self._checked(parameters, seed, sizes)
        found = self.known.get(self.compilation.scop, sizes, seed)
        if found is None:
            found = self._checked(parameters, seed, sizes)
            self.known.keep(sizes, *found)
        return found

    def _most_kernels(self, parameters: Mapping[str, int] | None, seed: int | None) -> tuple[Expectation, str]:
        """Return the first inputs with which all kernels run, or else as many as do."""
        program = launched_alone(self._shown())
        found: dict[int, tuple[Expectation, str]] = {}
        for inputs in self.inputs(parameters, seed):
            launched = sum(kernel.launches > 0 for kernel in launches_of(program, inputs[0].values))
            found.setdefault(launched, inputs)
            if launched == len(program.kernels):
                break
        return found[max(found)]

    def sizes_that_run(self, kernel: str) -> Mapping[str, int] | None:
        """Return values of all parameters, as small as they are found, with which a kernel runs; None where none are
        found."""
        if self.compilation.entry is None:
            return None
        programs = map(launched_alone, self._versions())
        found = (sizes_that_run(self.compilation.scop, p, kernel) for p in programs if _has(p, kernel))
        return next((sizes for sizes in found if sizes is not None), None)

    def _validated(self, ways: Iterable[Engine], inputs: Sequence[tuple[Expectation, str]]) -> Validation:
        """Validate in one place: run each program on each of the inputs."""
        strict = self.compilation.options.strict
        runs = [validate(given, way, strict=strict).with_note(note) for way in ways for given, note in inputs]
        return reduce(Validation.followed_by, runs)

    def _checked(
        self, parameters: Mapping[str, int] | None, seed: int, chosen: Mapping[str, int] | None = None
    ) -> tuple[Expectation, str]:
        """Return inputs that the user's own text agrees on, and a note on it. Arrays whose size the host would look for
        get more elements where these are too few, but for those whose number is given."""
        given = dict(parameters or {})
        fixed = given.keys() | self.compilation.options.parameters.keys()
        sizes = [extent for _, extent in self.compilation.source.found_sizes if extent not in fixed]
        while True:
            expectation = self.expect(given, seed, chosen)
            try:
                return expectation, self._check_extraction(expectation)
            except TooFewElementsError:
                grown = {name: MORE * max(expectation.values[name], 1) for name in sizes}
                if not grown or max(grown.values()) > MOST_CHOSEN:
                    raise
                given |= {name: grown.get(name, value) for name, value in expectation.values.items()}
                chosen = None

    def _check_extraction(self, expectation: Expectation) -> str:
        """Raise ExtractionError where the user's own text computes something else; a note where it cannot be asked."""
        obstacle = check_extraction(self.compilation.scop, expectation)
        return f"the text of the SCoP could not be compiled alone: {obstacle}" if obstacle else ""

    def time(self, parameters: Mapping[str, int] | None, seed: int | None) -> tuple[Timing, ...]:
        """Measure kernel time on the GPU, data on the device, for each way to run it."""
        if self.compilation.entry is None:
            return ()
        given = self.expect(parameters, seed)
        ways = engines(self.compilation.scop, self.compilation.entry, self.compilation.options, "gpu")
        return tuple(time_engine(way, given.layouts, given.values, given.before) for way in ways)


def _has(program: HostProgram, kernel: str) -> bool:
    return any(k.name == kernel for k in program.kernels)


def _with(unit: Unit, program: HostProgram) -> Unit:
    """Replace the unit's program of the same name."""
    return replace(unit, programs=[program if p.name == program.name else p for p in unit.programs])


@cache
def tell_of_the_emulator() -> None:
    """Warn, once in a process: who does not ask for the emulator may not expect how slow it is."""
    message = 'polytile: there is no GPU, or no CuPy: kernels run in the emulator, slowly (on="emulator" means it)'
    warnings.warn(message, RuntimeWarning, stacklevel=8)


def build_place(on: str) -> str:
    """Return `gpu` or `emulator`, for a program to build: nvcc needs no GPU, and `auto` takes it where there is one."""
    check_place(on)
    return on if on != "auto" else ("emulator" if nvcc() is None else "gpu")


def check_place(on: str) -> None:
    """Raise UsageError for what is no place to run."""
    if on not in PLACES:
        raise UsageError(f"there is no place {on!r} to run on", hint=f"one of {', '.join(PLACES)}")


def _checks(sanitize: str | Iterable[str], on: str) -> tuple[str, ...]:
    """Return the checks that are asked for. Raises UsageError on a GPU, as only the emulator makes them."""
    check_place(on)
    checks = checks_named(sanitize.split(",") if isinstance(sanitize, str) and sanitize else sanitize)
    if checks and on == "gpu":
        raise UsageError("the emulator makes these checks, not the GPU", hint="use --on emulator with --sanitize")
    return checks
