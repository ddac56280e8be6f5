"""Runs the passes that plans ask for, and says what each has done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from itertools import product

from polytile.codegen import passes
from polytile.codegen.passes.plan import Context, LoweredPlan, Pass, ProgramPass
from polytile.dataclass import dataclass
from polytile.diagnostics import InternalError, UsageError
from polytile.ir.expr import Invoke, While
from polytile.ir.expr_trees import statements
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.name_supply import Names
from polytile.ir.verify.kernel import check_kernel
from polytile.stage_times import stage

LOWERING = "lowering"  # after no pass: the plain kernel


@dataclass(frozen=True, slots=True)
class After:
    """A kernel after a pass."""

    done: str
    kernel: Kernel


Observer = Callable[[After], None]


def all_passes() -> tuple[Pass | ProgramPass, ...]:
    """Return the passes on kernels, then those on programs."""
    return (*passes.KERNEL_PASSES, *passes.PROGRAM_PASSES)


def pass_names() -> tuple[str, ...]:
    """Return the names of the lowering and of all passes, in order."""
    return (LOWERING, *(one.name for one in all_passes()))


def improvements() -> frozenset[str]:
    """Return the names of the passes that kernels can do without."""
    return frozenset(one.name for one in all_passes() if one.improves)


def check_disabled(names: Iterable[str]) -> None:
    """Raise UsageError for a name that is neither of a pass that kernels can do without, nor of a part of one."""
    parts = (part for one in passes.KERNEL_PASSES for part in one.parts)
    optional = improvements().union(parts, (passes.REGISTER_LIMIT,))
    for name in names:
        if name not in optional:
            what = "kernels need the pass" if name in pass_names() else "there is no pass"
            raise UsageError(f"--disable-pass: {what} {name!r}", hint=f"one of {', '.join(sorted(optional))}")


def asked_by(name: str, plans: Iterable[LoweredPlan]) -> bool:
    """Return whether some plan asks for a pass, or for the pass that has this part."""
    listed = (one for one in all_passes() if name == one.name or (isinstance(one, Pass) and name in one.parts))
    return any(one.asked(plan) for one, plan in product(listed, plans))


def why_not_called(name: str, plain: Kernel, disabled: Iterable[str]) -> str:
    """Say why a kernel that was lowered to `plain` has not been through a pass."""
    if name in disabled:
        return "--disable-pass leaves it out"
    if name in improvements() and _is_partly_unknown(plain):
        return "loops that data end, or calls, may change what it would keep"
    return "the kernel's plan does not ask for it"


def run_passes(
    kernel: Kernel,
    plan: LoweredPlan,
    context: Context,
    observer: Observer,
    *,
    without: frozenset[str] = frozenset(),
    verify: bool = False,
) -> Kernel:
    """Run all passes that a kernel's plan asks for, but those that are left out.

    `observer` sees the kernel after each; with `verify` it is checked there, and InternalError raised where a pass has
    broken it. What does not depend on the registers of a thread is done once for all bounds of these that are tried,
    and the rest once for each bound.
    """
    seen = _Seen(observer, context, verify)
    key = "without bounds", kernel.name
    first: _WithoutBounds | None = context.remembered.get(key)
    if first is not None and first.is_of(kernel, plan, without):
        for step in first.steps:
            observer(step)
    else:
        first = context.remembered[key] = _WithoutBounds.of(kernel, plan, context, without, seen)
    if plan.registers in first.bounded:
        steps = first.bounded[plan.registers]
        for step in steps:
            observer(step)
    else:
        own = replace(context, names=first.names.copy(), without=without)
        steps = _run(_passes(bounded=True), first.steps[-1].kernel, plan, own, without, seen)
        first.bounded[plan.registers] = steps
    return (*first.steps, *steps)[-1].kernel


@dataclass(frozen=True, slots=True)
class _WithoutBounds:
    """A kernel after the passes that do not depend on how many registers a thread may have, and the names that are then
    in use; what it is after each of the others, by the bound of registers."""

    plain: Kernel
    plan: LoweredPlan
    without: frozenset[str]
    steps: tuple[After, ...]
    names: Names
    bounded: dict[int, list[After]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, kernel: Kernel, plan: LoweredPlan, context: Context, without: frozenset[str], seen: _Seen
    ) -> _WithoutBounds:
        first = After(LOWERING, kernel)
        seen(first)
        own = replace(context, names=context.names.copy(), without=without)
        steps = _run(_passes(bounded=False), kernel, plan, own, without, seen)
        return cls(kernel, replace(plan, registers=0), without, (first, *steps), own.names)

    def is_of(self, kernel: Kernel, plan: LoweredPlan, without: frozenset[str]) -> bool:
        return kernel is self.plain and without == self.without and replace(plan, registers=0) == self.plan


def _passes(*, bounded: bool) -> Sequence[Pass]:
    """Return the passes from the first on that depends on the registers of a thread, or those before it."""
    every = passes.KERNEL_PASSES
    first = next((k for k, one in enumerate(every) if one.bounded), len(every))
    return every[first:] if bounded else every[:first]


def _run(
    some: Sequence[Pass], kernel: Kernel, plan: LoweredPlan, context: Context, without: frozenset[str], seen: _Seen
) -> list[After]:
    """Run some passes, and return the kernel after each."""
    steps: list[After] = []
    for one in some:
        if one.asked(plan) and one.name not in without and not (one.improves and _is_partly_unknown(kernel)):
            with stage(one.name):
                kernel = one.run(kernel, plan, context)
            steps.append(After(one.name, kernel))
            seen(steps[-1])
    return steps


def _is_partly_unknown(kernel: Kernel) -> bool:
    """Return whether loops in bodies run as often as data say, or functions defined elsewhere access arrays.

    Passes that improve kernels know loops of schedules and accesses to elements alone: what they keep in registers over
    such a loop, or call, it may change.
    """
    return any(isinstance(stmt, While | Invoke) for stmt in statements(*kernel.body))


def run_program_passes(
    program: HostProgram,
    plans: Sequence[LoweredPlan],
    context: Context,
    observer: Observer,
    *,
    without: frozenset[str] = frozenset(),
    verify: bool = False,
) -> HostProgram:
    """Run the passes on programs, as `run_passes` does those on kernels.

    Each gets the kernels whose plans ask for it, and those that passes before it have added. They follow the kernels
    that do not ask.
    """
    seen = _Seen(observer, context, verify)
    planned = {kernel.name: plan for kernel, plan in zip(program.kernels, plans, strict=True)}
    for one in passes.PROGRAM_PASSES:
        aside = tuple(k for k in program.kernels if k.name in planned and not one.asked(planned[k.name]))
        asked = tuple(k for k in program.kernels if k not in aside)
        if not asked or one.name in without:
            continue
        own = [planned[kernel.name] for kernel in asked if kernel.name in planned]
        with stage(one.name):
            changed = one.run(replace(program, kernels=asked), own, context.machine)
        for kernel in changed.kernels:
            seen(After(one.name, kernel))
        program = replace(changed, kernels=(*aside, *changed.kernels))
    return program


def optimise(
    program: HostProgram,
    plans: Sequence[LoweredPlan],
    context: Context,
    observer: Observer,
    *,
    without: frozenset[str] = frozenset(),
    verify: bool = False,
) -> HostProgram:
    """Run all passes on a program of plain kernels, each with its own supply of names, as if it were alone."""
    kernels = tuple(
        run_passes(k, p, replace(context, names=context.names.copy()), observer, without=without, verify=verify)
        for k, p in zip(program.kernels, plans, strict=True)
    )
    program = replace(program, kernels=kernels)
    return run_program_passes(program, plans, context, observer, without=without, verify=verify)


@dataclass(frozen=True, slots=True)
class Versions:
    """A program of plain kernels after all passes, for plans that differ in the bounds of registers alone: each version
    is made once, however often it is asked for."""

    plain: HostProgram
    context: Context
    without: frozenset[str] = frozenset()
    verify: bool = False
    _made: dict[tuple[int, ...], tuple[HostProgram, tuple[After, ...]]] = field(default_factory=dict, init=False)

    def of(self, plans: Sequence[LoweredPlan]) -> tuple[HostProgram, tuple[After, ...]]:
        """Return the program for these plans, and its kernels after each pass."""
        key = tuple(plan.registers for plan in plans)
        if key not in self._made:
            steps: list[After] = []
            made = optimise(self.plain, plans, self.context, steps.append, without=self.without, verify=self.verify)
            self._made[key] = made, tuple(steps)
        return self._made[key]


@dataclass(frozen=True, slots=True)
class _Seen:
    observer: Observer
    context: Context
    verify: bool

    def __call__(self, step: After) -> None:
        self.observer(step)
        if self.verify:
            try:
                check_kernel(step.kernel, machine=self.context.machine)
            except InternalError as error:
                raise InternalError(f"after {step.done}: {error.message}") from error
