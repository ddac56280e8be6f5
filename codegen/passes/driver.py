"""Runs the passes that plans ask for, and says what each has done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from polytile.codegen import passes
from polytile.codegen.passes.plan import Context, LoweredPlan, Pass, ProgramPass
from polytile.diagnostics import InternalError
from polytile.ir.expr import Invoke, While
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel
from polytile.ir.verify.kernel import check_kernel

LOWERING = "lowering"  # after no pass: the plain kernel


@dataclass(frozen=True, slots=True)
class After:
    """A kernel after a pass, which took so many seconds."""

    done: str
    kernel: Kernel
    seconds: float = 0.0


Observer = Callable[[After], None]


def all_passes() -> tuple[Pass | ProgramPass, ...]:
    """The passes on kernels, then those on programs."""
    return (*passes.KERNEL_PASSES, *passes.PROGRAM_PASSES)


def pass_names() -> tuple[str, ...]:
    """What kernels can be after, in order."""
    return (LOWERING, *(one.name for one in all_passes()))


def improvements() -> frozenset[str]:
    """The passes that kernels can do without."""
    return frozenset(one.name for one in all_passes() if one.improves)


def run_passes(
    kernel: Kernel,
    plan: LoweredPlan,
    context: Context,
    observer: Observer,
    *,
    without: frozenset[str] = frozenset(),
    verify: bool = False,
) -> Kernel:
    """The kernel after all passes that its plan asks for, but those that are left out. `observer` sees it after each;
    with `verify` it is checked there, and InternalError raised where a pass has broken it."""
    seen = _Seen(observer, context, verify)
    seen(LOWERING, kernel, 0.0)
    for one in passes.KERNEL_PASSES:
        if one.asked(plan) and one.name not in without and not (one.improves and _is_partly_unknown(kernel)):
            start = perf_counter()
            kernel = one.run(kernel, plan, context)
            seen(one.name, kernel, perf_counter() - start)
    return kernel


def _is_partly_unknown(kernel: Kernel) -> bool:
    """Whether loops in bodies run as often as data say, or functions that are defined elsewhere access arrays. Passes
    that improve kernels know loops of schedules and accesses to elements alone: what they keep in registers over such a
    loop, or call, it may change."""
    return any(isinstance(node, While | Invoke) for node in kernel.nodes)


def run_program_passes(
    program: HostProgram,
    plans: Sequence[LoweredPlan],
    context: Context,
    observer: Observer,
    *,
    without: frozenset[str] = frozenset(),
    verify: bool = False,
) -> HostProgram:
    """The same for the passes on programs, by the plans of its kernels."""
    seen = _Seen(observer, context, verify)
    for one in passes.PROGRAM_PASSES:
        if one.asked(plans) and one.name not in without:
            start = perf_counter()
            program = one.run(program, plans, context.machine)
            seconds = (perf_counter() - start) / max(len(program.kernels), 1)
            for kernel in program.kernels:
                seen(one.name, kernel, seconds)
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
    """A program of plain kernels after all passes. Each kernel has a name supply of its own, as if it were alone."""
    kernels = tuple(
        run_passes(k, p, replace(context, names=context.names.copy()), observer, without=without, verify=verify)
        for k, p in zip(program.kernels, plans, strict=True)
    )
    program = replace(program, kernels=kernels)
    return run_program_passes(program, plans, context, observer, without=without, verify=verify)


@dataclass(frozen=True, slots=True)
class _Seen:
    observer: Observer
    context: Context
    verify: bool

    def __call__(self, done: str, kernel: Kernel, seconds: float) -> None:
        self.observer(After(done, kernel, seconds))
        if self.verify:
            try:
                check_kernel(kernel, machine=self.context.machine)
            except InternalError as error:
                raise InternalError(f"after {done}: {error.message}") from error
