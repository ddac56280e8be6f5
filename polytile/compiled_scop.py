"""One SCoP, compiled: what it is, what was decided, and the means to run it.

smooth = program["smooth"]
smooth(A=a, B=b, n=2000, steps=100)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from polytile.codegen.targets.c.header import print_header
from polytile.codegen.targets.cuda.cuda import locate_unit
from polytile.codegen.targets.source_map import LocatedText
from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.diagnostics import Diagnostic, is_bug
from polytile.generated_files import guard, short, title, unit_of
from polytile.ir.host import HostProgram
from polytile.ir.isl_util import one_at_a_time
from polytile.ir.plan import KernelPlan
from polytile.ir.scop import Scop
from polytile.options import Options
from polytile.pipeline import compile_scop as run_pipeline
from polytile.recursion_limit import deep_recursion
from polytile.runtime.output import check_targets, write_outputs
from polytile.runtime.parameters import check_parameters
from polytile.runtime.signature import signature
from polytile.settings import Settings, options_of
from polytile.tracebacks import for_callers, for_frequent_callers

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from polytile.distributed_scop import DistributedScop, Ranks
    from polytile.execution import Execution
    from polytile.facts import LoopFacts, ProgramFacts, ScopFacts
    from polytile.runtime.binding import Call, KnownSizes
    from polytile.runtime.checked import Unit
    from polytile.runtime.counted import Counted
    from polytile.runtime.engine import Engine
    from polytile.runtime.expectation import Expectation
    from polytile.runtime.repeated_calls import RepeatedCalls
    from polytile.runtime.timing import Timing
    from polytile.runtime.validate import Validation

T = TypeVar("T")
DRAW_SECONDS = 0.6  # of processor time for the pictures of a report


@dataclass(frozen=True, slots=True, repr=False)
class CompiledScop:
    """One SCoP, compiled: call it on arrays, read its CUDA, its schedule and the explanation. A copy, or one that was
    pickled, is compiled anew."""

    compilation: Compilation
    _engines: dict[str, Engine] = field(default_factory=dict, init=False, repr=False, compare=False)
    _known_sizes: list[KnownSizes] = field(default_factory=list, init=False, repr=False, compare=False)
    _repeated: list[RepeatedCalls] = field(default_factory=list, init=False, repr=False, compare=False)
    _names: list[frozenset[str]] = field(default_factory=list, init=False, repr=False, compare=False)
    _loops: list[tuple[LoopFacts, ...]] = field(default_factory=list, init=False, repr=False, compare=False)

    def __repr__(self) -> str:
        kernels = len(self.program.kernels) if self.program else 0
        runs = f"{kernels} kernel{'s' * (kernels != 1)}" if kernels else "sequential"
        return f"<polytile.CompiledScop {short(self.signature)}: {runs}>"

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
        return self.compilation.entry

    @property
    def cuda(self) -> str:
        """The .cu of this SCoP alone; empty when it stays sequential."""
        return self._located.text

    @property
    def _located(self) -> LocatedText:
        """The .cu, and the lines of the C that its lines compute."""
        if self.program is None:
            return LocatedText("", {})
        with deep_recursion():
            return locate_unit([self.program], header=f"{self.name}_kernel.h", title=title(self.name))

    @property
    def header(self) -> str:
        """The C header that declares the entry point."""
        return print_header([self.program] if self.program else [], guard_name=guard(self.name))

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
        """Which schedule was chosen and why, and which kernels one thread runs; or why the SCoP stays sequential. Hints
        say of each loop what keeps it so."""
        if not self.compilation.remarks:
            return ()
        *others, choice = self.compilation.remarks
        if self.program is not None:
            return (*others, *self._said_of_loops(self._one_thread), choice)
        reasons = self._said_of_loops(self._serial_loops)
        return (*others, replace(choice, hint="\n".join(reasons) or None))

    def with_first_remark(self, message: str, severity: str = "remark") -> CompiledScop:
        """Return the SCoP with a remark in front of its own; one that is a `note` is said in builds, too."""
        own = self.compilation.remarks
        (first,) = replace(self.compilation, remarks=()).with_remark(message, severity=severity).remarks
        return CompiledScop(replace(self.compilation, remarks=(first, *own)))

    def _one_thread(self) -> Iterator[Diagnostic]:
        if self.compilation.has_loops_of_one_thread:
            from polytile.facts import one_thread_remarks

            yield from one_thread_remarks(self.compilation, self.loops)

    def _serial_loops(self) -> Iterator[str]:
        from polytile.facts import serial_loops

        return serial_loops(self.compilation, self.loops)

    def _said_of_loops(self, said: Callable[[], Iterator[T]]) -> tuple[T, ...]:
        """Collect what is said of loops, where that can be found; the SCoP is right without."""
        try:
            return tuple(said())
        except Exception as error:
            if self.compilation.options.raise_bugs or not is_bug(error):
                raise
            return ()

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

        return scop_facts(self.compilation, self.loops, self._located)

    @for_callers
    @one_at_a_time
    def explain(self) -> str:
        """Explain the loops and what they are, the proof, the choice of schedule and the mapping, for a reader."""
        from polytile.facts import explained

        text = self.compilation.source.verbatim
        return f"{explained(self.facts, text.text if text else '')}\n\n{self.compilation.explain()}"

    @for_callers
    @one_at_a_time
    def draw(self, parameters: Mapping[str, int] | None = None) -> str:
        """Draw an SVG picture of the schedule's tiles with a dependence cone, and of the iterations with what they
        depend on (docs/drawings.md). Parameters that are not given get small values."""
        from polytile.drawing import draw

        return draw([self.compilation], parameters or {})[0]

    @property
    def _facts_alone(self) -> ProgramFacts:
        """What reports say of a file, where it has no other SCoP."""
        from polytile.facts import ProgramFacts

        facts, text = self.facts, self.compilation.source.verbatim
        path, source = (text.path, text.text) if text else (facts.file or self.name, "")
        return ProgramFacts(path, source, (facts,), (), host="", header=self.header)

    @for_callers
    @one_at_a_time
    def page(self, *, draw_seconds: float = DRAW_SECONDS) -> str:
        """Return the report of this SCoP alone as the text of an HTML file; see Program.page."""
        from polytile.drawing.time_limit import pictures_within
        from polytile.report import page

        return page(self._facts_alone, pictures_within([(self.compilation, self.loops)], draw_seconds))

    @for_callers
    @one_at_a_time
    def report(self, path: str | os.PathLike[str], *, draw_seconds: float = DRAW_SECONDS) -> Path:
        """Write the report to a file; raises UserError when that is the input, or cannot be written."""
        target = Path(path)
        check_targets([target], Path(self.compilation.source.location.file))
        write_outputs({target: self.page(draw_seconds=draw_seconds)})
        return target

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        from polytile.report import fragment

        return fragment(self._facts_alone)

    @for_frequent_callers
    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Run the SCoP: what the C function takes, in its order or by name; the rest by name (see `signature`).

        Sizes may be left out where all arrays are given by name: they follow from the shapes of arrays. NumPy arrays
        are updated where they are (through copies on a GPU); CuPy and other DLPack arrays on a GPU are used in place.
        `on="gpu"`, `"emulator"` or `"auto"` says where the kernels run. `auto` is the GPU, or the emulator where there
        is none, or no CuPy, with a warning, once. `stream=` is a stream of CuPy or torch, or another one with
        `__cuda_stream__`: kernels run there, and where all arrays are on the GPU a call returns before they end.
        (Both are arguments of the C where that has some of these names.)
        """
        on = self._taken("on", named, "auto") if "on" in named else "auto"
        stream = self._taken("stream", named, None) if "stream" in named else None
        self._called(on, arguments, named, stream)

    def _taken(self, name: str, named: dict[str, Any], default: T) -> T:
        """Take what a call says by this name, unless it is an argument of the C."""
        if not self._names:
            from polytile.runtime.binding import names

            self._names.append(frozenset(names(self.scop)))
        return default if name in self._names[0] else named.pop(name)

    def _called(self, on: str, arguments: tuple[Any, ...], named: Mapping[str, Any], stream: Any = None) -> None:
        if self._repeated and self._repeated[0].run(on, arguments, named, stream):
            return
        if stream is None:
            return self._bound_and_run(on, arguments, named)
        from polytile.runtime.cuda_streams import as_current

        with as_current(stream):
            self._bound_and_run(on, arguments, named, wait=False)

    def _bound_and_run(self, on: str, arguments: tuple[Any, ...], named: Mapping[str, Any], wait: bool = True) -> None:
        with deep_recursion():
            call = self._bind(arguments, named)
            self._execution.run(call, on, wait=wait)
            if on != "emulator" and (engine := self._engines.get("gpu")):
                from polytile.runtime.repeated_calls import RepeatedCalls

                if not self._repeated:
                    self._repeated.append(RepeatedCalls(self.scop))
                self._repeated[0].remember(on, arguments, named, call, engine)

    @for_callers
    def distribute(
        self,
        comm: Intracomm | None = None,
        *,
        ranks: Ranks = "auto",
        steps_per_exchange: int = 1,
        exchange: str = "overlap",
        transport: str = "auto",
        on: str = "auto",
    ) -> DistributedScop:
        """Distribute an iterated stencil over the ranks of an MPI communicator, by default all of the program's, which
        call this alike. `ranks` is the grid, such as "2,2,1"; see DistributedScop."""
        from polytile.distributed_scop import Choice, distribute
        chosen = Choice.of(ranks, steps_per_exchange, exchange, transport, on)
        return distribute(self.compilation, CompiledScop, comm, chosen)

    def engine(self, on: str) -> Engine:
        """Return what runs the kernels at a place, built where it was not."""
        return self._execution.engine(on=on)

    def prepare(self, on: str) -> None:
        """Build what runs the kernels at a place, as the first call would."""
        if self.program is not None:
            with deep_recursion():
                self._execution.engine(on=on)

    @for_callers
    def as_torch_op(self, name: str, *, on: str = "auto") -> Any:
        """Register the SCoP with `torch.library`, as an operator that `torch.compile` takes as a whole.

        `name` is "namespace::operator". Tensors come in the order of the C function's arguments, sizes by name or from
        shapes; what is written is mutated. Returns the operator.
        """
        from polytile.execution import check_place
        from polytile.runtime.torch_op import torch_op

        check_place(on)
        return torch_op(self.scop, name, partial(self._called, on, ()))

    def _bind(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Call:
        from polytile.runtime.binding import KnownSizes, bind

        if not self._known_sizes:
            self._known_sizes.append(KnownSizes(self.program.limits if self.program else ()))
        return bind(self.scop, arguments, named, self._known_sizes[0])

    def run(self, call: Call, *, on: str = "auto", stream: Any = None) -> None:
        """Run the SCoP on checked arguments at a chosen place, in a stream of a GPU without waiting for its end."""
        if stream is None:
            return self._execution.run(call, on)
        from polytile.runtime.cuda_streams import as_current
        with as_current(stream):
            self._execution.run(call, on, wait=False)

    @property
    def _execution(self) -> Execution:
        from polytile.execution import Execution

        return Execution(self.compilation, self._engines)

    def _sequential(self) -> str:
        return self._execution.sequential()

    def _unit(self) -> Unit:
        """Return the .cu of this SCoP alone, as the emulator's checks take it."""
        return unit_of([self.program] if self.program else [], self.name, self.name)

    @for_callers
    @one_at_a_time
    def expect(self, parameters: Mapping[str, int] | None = None, seed: int | None = None) -> Expectation:
        """Random inputs for these parameters (small ones where not given) and what the sequential C makes of them."""
        return self._execution.expect(parameters, seed)

    @for_callers
    @one_at_a_time
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

        Parameters that are not given get small values in a first run, and in further ones values with which all kernels
        run, with tiles inside and at the sides; `unrun` of a result names kernels that did not run in any of them (see
        `sizes_that_run`). On a GPU it runs through nvcc and through CuPy, as far as they exist. Empty when the SCoP
        stays sequential.
        `sanitize` names checks that the emulator makes on the way (address, undefined, race, uninitialised, or all;
        `unit` is the .cu that their findings name, by default that of this SCoP alone). Raises ValidationError when
        the results disagree, and FindingsError, which is one, when a check finds something.
        """
        return self._execution.validate(on, parameters, seed, sanitize, unit or self._unit())

    @for_callers
    @one_at_a_time
    def sizes_that_run(self, kernel: str) -> Mapping[str, int] | None:
        """Values of all parameters, as small as they are found, with which a kernel runs; None where none are found."""
        return self._execution.sizes_that_run(kernel)

    @for_callers
    @one_at_a_time
    def count(
        self, *, parameters: Mapping[str, int] | None = None, seed: int | None = None, unit: Unit | None = None
    ) -> Counted | None:
        """Validate once in the emulator, counting what each access costs: requests of warps, sectors, bank conflicts.

        None when the SCoP stays sequential. `unit` is the .cu whose lines are named, by default that of this SCoP
        alone. Raises ValidationError when the results disagree.
        """
        return self._execution.count(parameters, seed, unit or self._unit())

    @for_callers
    @one_at_a_time
    def time(self, *, parameters: Mapping[str, int] | None = None, seed: int | None = None) -> tuple[Timing, ...]:
        """Kernel time on the GPU, data on the device, for each way to run it; needs CuPy."""
        return self._execution.time(parameters, seed)


@for_callers
@one_at_a_time
def compile_scop(scop: Scop, *, options: Options | None = None, **settings: Unpack[Settings]) -> CompiledScop:
    """Compile a Scop that was built from isl relations (see scop_from_isl) or by another frontend."""
    chosen = options_of(settings, options)
    check_parameters(scop.parameters, chosen.parameters)
    return CompiledScop(run_pipeline(scop, chosen))


def _scop_compiled_again(scop: Scop, options: Options) -> CompiledScop:
    return compile_scop(scop, options=options)
