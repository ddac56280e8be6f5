"""What is known of one SCoP on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from polytile.diagnostics import Diagnostic
from polytile.ir.host import HostProgram, Transfer
from polytile.ir.memory import Storage
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.machine import STATIC_SHARED_BYTES, Machine
from polytile.options import Options
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.executions import Executions, each_once
from polytile.scheduling.proof.legality import Proof
from polytile.scheduling.transform.reductions.text import with_partials


@dataclass(frozen=True, slots=True)
class Compilation:
    """One SCoP on its way, with the `source` that it started as.

    `analysed` is the Scop that was analysed last, with what was found: only what has changed since is found anew.
    `roomy` is the same with more expansion, for the schedule to choose. `homes` says, by kernel number, which arrays
    live inside a kernel, and `handovers` which have a copy in shared memory besides. `executions` are what kernels are
    made of, once it is known where threads combine what they hold; `known_homes` are homes in registers, or None, of
    arrays that were looked at for this.
    `considered` are lines on what schedules were compared, `otherwise` is the state to go back to when the one that was
    chosen cannot be proven, `looked_at` the same with the lanes and the storage that its estimate was made for.
    `program` stays None when nothing is parallel: the SCoP then stays on the host.
    """

    scop: Scop
    options: Options
    machine: Machine
    source: Scop
    dependences: Dependences | None = None
    analysed: tuple[Scop, Dependences] | None = None
    schedule: MappedSchedule | None = None
    executions: Executions | None = None
    known_homes: Mapping[str, Storage | None] = field(default_factory=dict)
    homes: Mapping[int, Mapping[str, Storage]] = field(default_factory=dict)
    handovers: Mapping[int, Mapping[str, Storage]] = field(default_factory=dict)
    transfers: tuple[Transfer, ...] = ()
    proof: Proof | None = None
    program: HostProgram | None = None
    remarks: tuple[Diagnostic, ...] = ()
    roomy: Compilation | None = None
    considered: tuple[str, ...] = ()
    otherwise: Compilation | None = None
    looked_at: Compilation | None = None

    def schedule_text(self) -> str:
        """The schedule as `--save-schedule` writes it; empty when the SCoP stays on the host."""
        return with_partials(self.scop, self.schedule.to_text()) if self.schedule else ""

    @property
    def run(self) -> Executions:
        """What kernels are made of; there is a schedule."""
        assert self.schedule is not None and self.dependences is not None
        return self.executions or each_once(self.scop, self.dependences, self.schedule)

    @property
    def shared_memory(self) -> int:
        """The bytes of shared memory that a block may use."""
        asked = self.options.max_shared_memory
        return STATIC_SHARED_BYTES if asked is None else asked

    def explain(self) -> str:
        """The proof, what was decided, what kernels take by estimate, and the schedule, for a person."""
        lines = [f"{self.scop.name}"]
        if self.proof:
            lines += [f"  {self.proof}", *(f"    {fact}" for fact in self.proof.facts)]
        lines += [f"  {r.message}" for r in self.remarks]
        if self.considered:
            lines += ["  considered:", *(f"    {line}" for line in self.considered)]
        if self.program:
            lines += ["  resources:", *(f"    {line}" for line in _resources(self.program, self.machine))]
        if self.schedule:
            lines += ["  schedule:", *(f"    {line}" for line in self.run.schedule.to_text().splitlines())]
        return "\n".join(lines)

    def with_remark(self, message: str) -> Compilation:
        remark = Diagnostic("remark", message, self.scop.location if self.scop.location.line else None)
        return replace(self, remarks=(*self.remarks, remark))


def _resources(program: HostProgram, machine: Machine) -> list[str]:
    """A line for each kernel; only explanations pay for the import."""
    from polytile.codegen.resources.estimate import estimate

    return [str(estimate(kernel, machine)) for kernel in program.kernels]
