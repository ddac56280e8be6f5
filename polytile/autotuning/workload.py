"""What is tuned: one SCoP of a C file, compiled for the sizes at which it is timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any

from polytile.choices import Choices
from polytile.compiled_scop import CompiledScop
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError, UsageError, UserError
from polytile.frontend.program import SourceProgram, read_program
from polytile.ir.scop import Scop
from polytile.options import Options
from polytile.scop_of_file import compile_one, estimate_one
from polytile.settings import options_of

if TYPE_CHECKING:
    from polytile.scheduling.cost.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Workload:
    """A C file (`path`, or `text` under that name) with what it is read with, the name of one of its SCoPs, values of
    all parameters of that SCoP, and the options that points do not change. Each point is compiled for these sizes, as
    with `--param`."""

    path: str
    scop: str
    sizes: Mapping[str, int]
    text: str | None = None
    defines: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    autodetect: bool = False
    device_source: str = ""  #: CUDA that defines functions with access summaries
    preprocessor: str = "auto"
    preprocessor_flags: tuple[str, ...] = ()

    def read(self) -> Source:
        """Read the file; raises UserError where it or the SCoP cannot be read, UsageError for a SCoP or a size that is
        not there, and for options with which kernels run at one size alone: they are validated at small ones."""
        if self.options.specialize:
            hint = "tune without it, and specialize what was found"
            raise UsageError("--specialize: such kernels cannot be validated at small sizes", hint=hint)
        program = read_program(
            self.path,
            self.text,
            include_dirs=self.include_dirs,
            defines=self.defines,
            autodetect=self.autodetect,
            preprocessor=self.preprocessor,
            flags=self.preprocessor_flags,
            device_source=self.device_source,
            cflags=self.options.cflags,
        )
        found = next((scop for scop in program.scops if scop.name == self.scop), None)
        if found is None:
            refused = next((r.error for r in program.refusals if r.name == self.scop), None)
            names = ", ".join(scop.name for scop in program.scops) or "there are none"
            raise refused or UsageError(f"{self.path}: there is no SCoP {self.scop!r}", hint=f"the names are {names}")
        missing = [p.name for p in found.parameters if p.name not in self.sizes]
        if missing:
            raise UsageError(f"{self.scop}: {missing[0]} has no value", hint=f"give it with --param {missing[0]}=N")
        return Source(self, program, found)

    def to_json(self) -> dict[str, Any]:
        """Return the workload as JSON holds it; options that have their defaults are left out."""
        plain = {f.name: getattr(self, f.name) for f in fields(Workload) if f.name != "options"}
        asked = {f.name: getattr(self.options, f.name) for f in fields(Options)}
        return {**plain, "options": {k: v for k, v in asked.items() if v != getattr(Options(), k)}}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Workload:
        """Return the workload that `to_json` has told."""
        lists = {name: tuple(value) for name, value in told.items() if isinstance(value, list)}
        return cls(**{**told, **lists, "options": options_of(told["options"])})


@dataclass(frozen=True, slots=True)
class Source:
    """A workload whose file was read: points of it are compiled without reading it again."""

    workload: Workload
    program: SourceProgram
    scop: Scop

    @property
    def sizes(self) -> dict[str, int]:
        """Return the values of the parameters of the SCoP, in their order."""
        return {p.name: self.workload.sizes[p.name] for p in self.scop.parameters}

    def compile(self, choices: Choices) -> CompiledScop:
        """Compile the SCoP as a point asks for it.

        Raises UserError, UsageError or InternalError where it is refused, or has no kernels.
        """
        found = compile_one(self.program, self.scop, self._options(choices))
        if isinstance(found, UserError | InternalError):
            raise found
        if found.program is None:
            reason = found.remarks[-1].message if found.remarks else "nothing of it is parallel"
            raise UserError(reason, location=found.scop.location)
        return found

    def estimate(self, choices: Choices) -> Estimate | None:
        """Return the cost model's time of a point, which is neither proven nor compiled; None on the host.

        Raises UserError, UsageError or InternalError where there is no such schedule.
        """
        return estimate_one(self.scop, self._options(choices))

    def _options(self, choices: Choices) -> Options:
        base = replace(self.workload.options, parameters={**self.workload.options.parameters, **self.sizes})
        return options_of(choices.asked, base)
