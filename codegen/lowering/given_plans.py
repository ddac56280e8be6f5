"""Plans of kernels as files have them: what passes were asked for is written down, and what a file says is done.

    found: k loads 8 iterations first; i updates 4 elements in registers
    given: # loop {"label": "k", "loads_first": 4}       k loads 4 first, i updates memory
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from polytile.codegen.passes.plan import LoweredPlan
from polytile.diagnostics import UserError
from polytile.ir.plan import PLAIN_LAUNCH, KernelPlan, LoopPlan

LAST_READ = "streaming"  # the hint for what nobody reads again

Loops = dict[str, LoopPlan]


def with_loops(
    plans: Iterable[KernelPlan], numbers: Sequence[int], lowered: Sequence[LoweredPlan]
) -> tuple[KernelPlan, ...]:
    """Return the plans of kernels, in the order of their numbers, with what their passes are asked for."""
    found = {plan.kernel: plan for plan in plans}
    for number, asked in zip(numbers, lowered, strict=True):
        if asked.tiled:  # planned before there were loops
            continue
        last = asked.last_reads if asked.loads_first else frozenset()
        loops = {label: LoopPlan(label, registers=elements) for label, elements in asked.promoted.items()}
        for label, loop in asked.loops.items():
            loops[label] = replace(loop, registers=asked.promoted.get(label, 0))
        found[number] = replace(
            found.get(number, KernelPlan(number)),
            loops=tuple(loops[label] for label in sorted(loops)),
            cache=tuple((array, LAST_READ) for array in sorted(last)),
        )
    return tuple(found[number] for number in sorted(found))


def obeyed(
    given: KernelPlan, promoted: Mapping[str, int], loops: Mapping[str, LoopPlan]
) -> tuple[dict[str, int], Loops]:
    """Return the elements in registers and the plans of loops that a given plan asks for.

    Raises UserError where it asks for what these loops cannot have.
    """
    if given.launch != PLAIN_LAUNCH or given.products:
        hint = "plans have placements, loops and hints for the cache"
        raise _refused(given, "launches and products cannot be asked for", hint)
    if any(hint != LAST_READ for _, hint in given.cache):
        raise _refused(given, f"there are hints for the cache other than {LAST_READ!r}", "leave them out")
    _check_loops(given, promoted, loops)
    kept = {loop.label: loop.registers for loop in given.loops if loop.registers}
    return kept, {loop.label: replace(loop, registers=0) for loop in given.loops if loop.loads_first}


def _check_loops(given: KernelPlan, promoted: Mapping[str, int], loops: Mapping[str, LoopPlan]) -> None:
    for loop in given.loops:
        if replace(loop, loads_first=0, registers=0) != LoopPlan(loop.label):
            raise _refused(given, f"{loop} cannot be asked for", "loops have loads_first and registers")
        if loop.registers not in (0, promoted.get(loop.label, 0)):
            elements = promoted.get(loop.label, 0)
            hint = f"{elements} elements can be, or 0: then they stay in memory" if elements else _known(promoted)
            raise _refused(given, f"loop {loop.label} has not {loop.registers} elements to keep in registers", hint)
        if loop.loads_first and loop.label not in loops:
            raise _refused(given, f"loop {loop.label} cannot load several iterations first", _known(loops))
        if loop.loads_first and loop.label in promoted and not loop.registers:
            hint = f"it updates {promoted[loop.label]} elements: as many `registers`, or 0 for `loads_first` too"
            raise _refused(given, f"loop {loop.label} loads several iterations first only with registers", hint)


def _known(labels: Iterable[str]) -> str:
    return f"the loops of this kernel that can: {', '.join(sorted(labels)) or 'none'}"


def _refused(given: KernelPlan, message: str, hint: str) -> UserError:
    return UserError(f"the plan given for kernel {given.kernel}: {message}", hint=hint)
