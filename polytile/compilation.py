"""What is known of one SCoP on its way through the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import pairwise

from polytile.codegen.passes.driver import After
from polytile.dataclass import dataclass
from polytile.diagnostics import Diagnostic
from polytile.ir.expr import For, While
from polytile.ir.expr_trees import walk
from polytile.ir.host import HostProgram, Transfer
from polytile.ir.memory import Storage
from polytile.ir.overlapped_tiles import OverlappedTiles
from polytile.ir.plan import KernelPlan, TimeTiled, time_tile
from polytile.ir.schedule import MappedSchedule
from polytile.ir.scop import Scop
from polytile.ir.split_tiles import SplitTiles
from polytile.ir.statement_names import quoted
from polytile.ir.version_conditions import FewerCells, NearSizes
from polytile.machine import Machine
from polytile.options import Options
from polytile.scheduling.analysis.dependences import Dependences
from polytile.scheduling.analysis.executions import Executions, each_once
from polytile.scheduling.candidate import Analysed, Candidate, Plans, Reason, SmallGrids, lines_of
from polytile.scheduling.cost.estimate import Estimate
from polytile.scheduling.cost.mapped_loops import is_one_thread, kernels, statements
from polytile.scheduling.proof.legality import Proof
from polytile.scheduling.transform.constant_divisors import multiply_by_reciprocals
from polytile.scheduling.transform.fused_sums import begin_with_addends
from polytile.scheduling.transform.reciprocal_roots import multiply_by_reciprocal_roots

ORDERED = "order-statements"  # the pass behind which large bodies are in another order


@dataclass(frozen=True, slots=True)
class Compilation(TimeTiled):
    """One SCoP on its way, with the `source` that it started as.

    `analysed` is the Scop that was analysed last, with what was found: only what has changed since is found anew.
    `unexpanded` is the same of the Scop before its storage was expanded, and `notes` are what is said of that.
    Once a candidate is taken, `scop` and `dependences` are its own. `executions` are what kernels are made of, once it
    is known where threads combine what they hold; `known_homes` are homes in registers, or None, of arrays that were
    looked at for this. `given` are plans that are obeyed, of time tiles or, `all_given`, of a schedule file, which has
    all. `small_grids` are to be run by another candidate; one that runs `behind` time tiles begins with any iteration.
    `reasons` are lines on what schedules were compared, `estimate` is the time of the chosen one where that was asked
    for.
    `program` stays None when nothing is parallel: the SCoP then stays on the host. `versions` are others, which the
    host takes in place of it where they are faster; the last one is asked first. `steps` are its own kernels after
    each pass.
    """

    scop: Scop
    options: Options
    machine: Machine
    source: Scop
    dependences: Dependences | None = None
    analysed: Analysed | None = None
    unexpanded: Analysed | None = None
    notes: tuple[str, ...] = ()
    schedule: MappedSchedule | None = None
    executions: Executions | None = None
    known_homes: Mapping[str, Storage | None] = field(default_factory=dict)
    given: tuple[KernelPlan, ...] = ()
    all_given: bool = False
    small_grids: SmallGrids | None = None
    behind: bool = False
    plans: Plans | None = None
    reasons: tuple[Reason, ...] = ()
    estimate: Estimate | None = None
    proof: Proof | None = None
    program: HostProgram | None = None
    versions: tuple[Version, ...] = ()
    steps: tuple[After, ...] = field(default=(), repr=False)
    bounds: tuple[str, ...] = ()  # on registers, that were chosen
    remarks: tuple[Diagnostic, ...] = ()

    def taking(self, candidate: Candidate, remarks: Iterable[str] = ()) -> Compilation:
        """Return the compilation with this candidate, and remarks after its own."""
        state = replace(
            self,
            scop=candidate.scop,
            dependences=candidate.dependences,
            schedule=candidate.schedule,
            executions=candidate.run,
            known_homes=candidate.known_homes,
            given=candidate.given,
            all_given=candidate.all_given,
            small_grids=candidate.small_grids,
            plans=candidate.plans,
            reasons=candidate.reasons,
            estimate=candidate.estimate,
        )
        for note in (*candidate.notes, *remarks):
            state = state.with_remark(note)
        return state

    @property
    def entry(self) -> HostProgram | None:
        """Return the program of the entry point: that of all versions, where there are several."""
        return self.versions[-1].entry if self.versions else self.program

    def with_version(self, version: Version) -> Compilation:
        """Return the compilation with another version, which is asked for first."""
        assert version.compilation.schedule is not None and version.compilation.program is not None
        kernels = len(version.compilation.program.kernels)
        return replace(self, versions=(*self.versions, version)).with_remark(
            f"{self.scop.name}: {version.compilation.schedule.strategy} schedule for {version.where}, "
            f"{kernels} kernel{'s' * (kernels != 1)}; {version.compilation.proof}"
        )

    @property
    def considered(self) -> tuple[str, ...]:
        """Lines on what was considered, for --explain."""
        return lines_of(self.reasons)

    def saved_schedule(self) -> str:
        """Return the schedule with plans, as `--save-schedule` writes it; empty when the SCoP stays on the host."""
        from polytile.ir.choices_text import choices_line  # for few commands

        text = self.schedule_with_plans()
        return f"{choices_line(self.options)}{text}" if text else ""

    def schedule_with_plans(self) -> str:
        from polytile.ir.plan_text import plan_lines

        own = self.schedule_text() + plan_lines(self.kernel_plans)
        return own + "".join(version.saved() for version in self.versions)

    def schedule_text(self) -> str:
        """Return the tree, after lines on reductions that were changed; empty when the SCoP stays on the host."""
        if self.schedule is None:
            return ""
        from polytile.scheduling.transform.reductions.text import with_reductions

        return with_reductions(self.scop, self.schedule.to_text())

    def plan_text(self) -> str:
        """Return the plans of kernels, for a person."""
        return "\n".join(line for plan in self.kernel_plans for line in plan.lines())

    @property
    def time_tile(self) -> OverlappedTiles | SplitTiles | None:
        """The time tile of the kernels, if any."""
        return time_tile(self.plans.kernels if self.plans else self.given)

    @property
    def run(self) -> Executions:
        """What kernels are made of; there is a schedule."""
        assert self.schedule is not None and self.dependences is not None
        return self.executions or each_once(self.scop, self.dependences, self.schedule)

    @property
    def kernel_plans(self) -> tuple[KernelPlan, ...]:
        """What is decided about kernels that the schedule does not say."""
        return self.plans.kernels if self.plans and self.schedule else ()

    @property
    def has_loops_of_one_thread(self) -> bool:
        """Whether a kernel of one thread has loops: facts of them are asked for then."""
        if self.program is None or self.schedule is None:
            return False
        alone = (one for mark in kernels(self.run.schedule.tree) if is_one_thread(one := statements(mark)))
        executed = (self.run.scop.statement(mapped.name) for kernel in alone for mapped in kernel)
        return any(s.iterators or any(isinstance(n, For | While) for n in walk(*s.body)) for s in executed)

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """Copies between host and device."""
        return self.plans.transfers if self.plans else ()

    @property
    def shared_memory(self) -> int:
        """The bytes of shared memory that a block may use."""
        return self.options.shared_memory

    @property
    def shown(self) -> tuple[str, ...]:
        """What was proven, and for which values, where the host asks for them."""
        asked = self.source.checked
        only = [f"for {asked} alone: the program asks when it runs, and runs the C elsewhere"] if asked else []
        apart = (f"where {c.lvalue} does not lie in {', '.join(c.arrays)} alone" for c in self.source.alias_checks)
        only += [f"{text}: the program compares addresses, and runs the C elsewhere" for text in apart]
        least = self.options.min_compute if self.program else 0
        if least:
            only.append(f"for {least} statement instances or more: the program counts them, and runs the C for fewer")
        return (*only, *self.proof.facts) if self.proof else tuple(only)

    def explain(self) -> str:
        """Explain the proof, what was decided, what kernels take by estimate, and the schedule, for a person."""
        lines = [f"{self.scop.name}"]
        if self.proof:
            lines += [f"  {self.proof}", *(f"    {fact}" for fact in self.shown)]
        lines += [f"  {r.message}" for r in self.remarks]
        lines += [f"  {line}" for line in (*self._merged(), *self._arithmetic())]
        named = [f"    {s.name} is {s.location.short}: {quoted(s)}" for s in self.source.statements if s.location.line]
        if named:
            lines += ["  statements:", *named]
        if self.considered:
            lines += ["  considered:", *(f"    {line}" for line in self.considered)]
        if self.program and self.program.limits:
            lines.append(f"  sizes: kernels run where {' && '.join(map(str, self.program.limits))}, the C elsewhere")
        if self.program:
            lines += ["  resources:", *(f"    {line}" for line in _resources(self.program, self.machine))]
        for version in self.versions:
            lines += version.lines()
        if self.schedule:
            lines += ["  schedule:", *(f"    {line}" for line in self.run.schedule.to_text().splitlines())]
        if self.kernel_plans:
            lines += ["  plans:", *(f"    {line}" for line in self.plan_text().splitlines())]
        return "\n".join(lines)

    def _merged(self) -> Iterator[str]:
        """Yield which statements are many of the C."""
        for one in self.source.statements:
            if one.merged:
                lines = sorted(place.line for place in one.merged)
                where = f"line {lines[0]}" if lines[0] == lines[-1] else f"lines {lines[0]} to {lines[-1]}"
                yield f"{one.name}: {len(one.merged)} assignments of {where} are one statement"

    def _arithmetic(self) -> Iterator[str]:
        """Yield what became of the operations of statements, and in which order they are."""
        plain = self.source.statements
        exact = multiply_by_reciprocals(self.source, self.options.strict).statements
        changed = [a.name for a, b in zip(plain, exact, strict=True) if a is not b]
        if changed:
            yield f"divisions by constants are multiplications by reciprocals in {', '.join(changed)}"
        roots = plain if self.options.strict else multiply_by_reciprocal_roots(self.source).statements
        changed = [a.name for a, b in zip(plain, roots, strict=True) if a is not b]
        if changed:
            yield f"divisions by square roots are multiplications by reciprocal roots in {', '.join(changed)}"
        fused = self.overlapped is not None and not self.options.strict
        sums = begin_with_addends(self.source).statements if fused else plain
        changed = [a.name for a, b in zip(plain, sums, strict=True) if a is not b]
        if changed:
            yield f"sums begin with an addend that is no product in {', '.join(changed)}"
        for before, after in pairwise(self.steps):
            if after.done == ORDERED and before.kernel.body != after.kernel.body:
                order = f"an order of few live values (--order {self.options.order})"
                yield f"{after.kernel.name}: statements are in {order}"
        if self.program and self.options.registers:
            yield f"a thread has {self.options.registers} registers at most, as asked for"
        yield from self.bounds

    def with_remark(self, message: str, *, severity: str = "remark", hint: str | None = None) -> Compilation:
        remark = Diagnostic(severity, message, self.scop.location if self.scop.location.line else None, hint)
        return replace(self, remarks=(*self.remarks, remark))


@dataclass(frozen=True, slots=True)
class Version:
    """Another version of a SCoP, with its own proof, and where it is taken; `entry` has it and all before it."""

    compilation: Compilation
    where: FewerCells | NearSizes
    entry: HostProgram

    def lines(self) -> list[str]:
        """Return what --explain says of it."""
        state = self.compilation
        assert state.schedule is not None and state.program is not None
        lines = [f"{state.schedule.strategy}: {state.proof}"]
        lines += state.time_tile.lines() if state.time_tile else ()
        lines += _resources(state.program, state.machine)
        return [f"  {self.where}:", *(f"    {line}" for line in lines)]

    def saved(self) -> str:
        """Return its part of a schedule file; only one that is for some sizes was asked for with choices of its own."""
        own = self.compilation
        text = own.schedule_with_plans() if isinstance(self.where, FewerCells) else own.saved_schedule()
        return f"# for {self.where}:\n{text}"


def _resources(program: HostProgram, machine: Machine) -> list[str]:
    """Return a line of estimated resources for each kernel; only explanations pay for the import."""
    from polytile.codegen.resources.estimate import estimate

    return [str(estimate(kernel, machine)) for kernel in program.kernels]
