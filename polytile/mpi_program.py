"""A compiled file for ranks: each SCoP that can be distributed, as C for mpicc.

before: himeno.c, compiled
after:  himeno_mpi.c, himeno_mpi.h, himeno_mpi_kernel.cu, himeno_mpi_kernel.h
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from polytile.api import Program
from polytile.certificate import certificate
from polytile.dataclass import dataclass
from polytile.diagnostics import PolytileError, UsageError, UserError
from polytile.distributed_parts import compiled_lead, compiled_part
from polytile.distribution.c_program.distributed import Distributed, Wish, check, function_name
from polytile.distribution.c_program.driver import driver_files
from polytile.distribution.copies import kind_of
from polytile.distribution.kernel_options import combination_options, copy_options, phase_options, steps_options
from polytile.distribution.plan import DistributionPlan
from polytile.distribution.planner import distribute
from polytile.generated_files import title
from polytile.ir.host import HostProgram
from polytile.ir.scop import Array, Scop
from polytile.options import Options
from polytile.rank_certificate import ranks_entry
from polytile.recursion_limit import deep_recursion
from polytile.runtime.build import build_program
from polytile.runtime.mpi_compiler import mpi_flags
from polytile.runtime.output import write_outputs


@dataclass(frozen=True, slots=True)
class MpiProgram:
    """The SCoPs of a file that can be distributed, and why others cannot."""

    program: Program
    scops: tuple[Distributed, ...]
    refusals: tuple[PolytileError, ...] = ()

    @property
    def files(self) -> dict[str, str]:
        """The texts of the files, by their names."""
        with deep_recursion():
            return driver_files(self.scops, self.program.stem, title(self.program.path))

    @property
    def certificate(self) -> str:
        """What was proven of each SCoP and of its plan for ranks, for `polytile check`."""
        program = self.program
        made = [s.compilation for s in program.scops]
        sources = {c.source.name: c.source for c in made}
        ranks = [ranks_entry(one.plan, sources[one.plan.scop.name]) for one in self.scops]
        return certificate(
            program.path, program.text, program.defines, made, cflags=program.options.cflags, ranks=ranks
        )

    def build(
        self, executable: str | os.PathLike[str], *, on: str, link: Sequence[str | Path] = (), managed: bool = False
    ) -> Path:
        """Compile and link the program and its C for ranks, with the flags of mpicc; `link` has the file with `main`.

        The header for ranks is where C files of `link` find it. Raises DeviceError where there is no mpicc.
        """
        flags, program = mpi_flags(), self.program
        with tempfile.TemporaryDirectory(prefix="polytile-") as name:
            folder = Path(name)
            host, kernels, _ = program.write(folder)
            write_outputs({folder / file: text for file, text in self.files.items()})
            ours = [folder / f"{program.stem}_mpi.c", folder / f"{program.stem}_mpi_kernel.cu"]
            build_program(
                host,
                kernels,
                Path(executable),
                on=on,
                link=[*ours, *link, *flags.link],
                include_dirs=[folder, Path(program.path).resolve().parent, *program.include_dirs],
                defines=program.defines,
                cflags=[*program.options.cflags, *flags.compile],
                arch=program.options.arch,
                strict=program.options.strict,
                managed=managed,
            )
        return Path(executable)


def mpi_program(program: Program, wish: Wish) -> MpiProgram:
    """Distribute the SCoPs of a program, and compile what each rank runs.

    Raises UserError or UsageError, that of the first SCoP, where none can be distributed.
    """
    done: list[Distributed] = []
    refused: list[PolytileError] = []
    names = tuple(s.name for s in program.scops)
    for scop in program.scops:
        source = scop.compilation.source
        try:
            done.append(distributed(source, wish, scop.compilation.options, function_name(source.name, names)))
        except (UserError, UsageError) as error:
            refused.append(error)
    if not done:
        raise refused[0] if refused else UsageError(f"{program.path}: there is no SCoP to distribute")
    return MpiProgram(program, tuple(done), tuple(refused))


def distributed(scop: Scop, wish: Wish, options: Options, function: str) -> Distributed:
    """Plan a SCoP for ranks, and compile its phases and copies.

    Raises UserError or UsageError where it cannot be distributed in this way.
    """
    plan = distribute(scop, wish.steps, strict=options.strict)
    if wish.shape and len(wish.shape) != len(plan.axes):
        axes = ", ".join(a.name for a in plan.axes)
        many = len(plan.axes)
        raise UsageError(
            f"--ranks {','.join(map(str, wish.shape))}: {scop.name} is cut along {axes}",
            hint=f"{many} number{'s' * (many != 1)}, or --ranks auto",
        )
    plan = _as_in_c(plan)
    one_step = phase_options(plan, options)
    phases = tuple(_kernels(one, one_step) for one in plan.local)
    distinct = {kind_of(copy): copy for copy in reversed(plan.copies)}
    halos = copy_options(options)
    pairs = {kind: (_kernels(c.pack, halos), _kernels(c.unpack, halos)) for kind, c in distinct.items()}
    lead = compiled_lead(plan, steps_options(plan, options))
    copies = {c.array: pairs[kind_of(c)] for c in plan.copies}
    combining = combination_options(options)
    terms = tuple(tuple(_kernels(one, combining) for one in c.scops) for c in plan.combinations)
    made = Distributed(plan, wish, function, phases, copies, lead.program if lead else None, terms)
    check(made)
    return made


def _as_in_c(plan: DistributionPlan) -> DistributionPlan:
    """Return a plan whose copies have names that no other plan's have, and whose SCoPs take scalars by pointer which
    some phase writes."""
    def named(scop: Scop) -> Scop:
        return replace(scop, name=f"{plan.scop.name}_{scop.name}")

    copies = [replace(c, pack=named(c.pack), unpack=named(c.unpack)) for c in plan.copies]
    combinations = [
        replace(c, combine=named(c.combine), largest=named(c.largest) if c.largest else None) for c in plan.combinations
    ]
    lead = None if plan.lead is None else _with_pointers(plan, plan.lead)
    local = tuple(_with_pointers(plan, one) for one in plan.local)
    return replace(plan, local=local, copies=tuple(copies), combinations=tuple(combinations), lead=lead)


def _with_pointers(plan: DistributionPlan, scop: Scop) -> Scop:
    """Return a phase that takes scalars by pointer which some phase writes."""
    arrays: list[Array] = []
    for array in scop.arrays:
        known = next((a for a in plan.scop.arrays if a.name == array.name), None)
        value = known is not None and plan.scop.by_value(known)
        value = value or array.name in {r.result for r in plan.reductions}
        arrays.append(array if array.rank or value else replace(array, by_pointer=True))
    return replace(scop, arrays=tuple(arrays))


def _kernels(scop: Scop, options: Options) -> HostProgram:
    made = compiled_part(scop, options).program
    if made is None:
        raise UserError(f"{scop.name} has no kernels: it would stay on the host", location=scop.location)
    return made
