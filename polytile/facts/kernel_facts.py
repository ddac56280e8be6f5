"""Kernels with their grids and estimated times, copies between host and device, and the user's arrays."""

from __future__ import annotations

from collections.abc import Iterator

from polytile.codegen.targets.expressions import Printer
from polytile.compilation import Compilation
from polytile.facts.loop_mapping import kernel_versions
from polytile.facts.model import AccessFacts, ArrayFacts, KernelFacts, TransferFacts
from polytile.ir.expr import Access, Expr
from polytile.ir.expr_trees import walk
from polytile.ir.host import HostProgram
from polytile.ir.kernel import Kernel, Launch
from polytile.ir.node_text import node_text
from polytile.ir.scop import Array, Scop
from polytile.ir.struct_fields import spelt
from polytile.scheduling.cost.estimate import AccessTime, Estimate, KernelTime
from polytile.scheduling.cost.schedule_cost import timed
from polytile.scheduling.cost.time_tile_cost import time_tile_estimate


def estimate_of(state: Compilation) -> Estimate | None:
    """Return the time of a compiled SCoP by the cost model: that of the choice, or made now; None on the host."""
    return None if state.program is None else schedule_estimate(state)


def schedule_estimate(state: Compilation) -> Estimate | None:
    """Return the time of a schedule by the cost model, whether it is lowered or not; None for the host's."""
    if state.schedule is None:
        return None
    if state.estimate is not None:
        return state.estimate
    known = state.options.parameters
    if state.time_tile is not None:
        return time_tile_estimate(state.time_tile, state.scop, state.machine, known)
    run = state.run
    return timed(run.scop, run.schedule, state.kernel_plans, state.machine, known)


def kernels_of(state: Compilation, estimate: Estimate | None) -> tuple[KernelFacts, ...]:
    """Return the kernels in the order of the text."""
    if state.program is None:
        return ()
    times = _times(state, estimate)
    return tuple(_kernel(kernel, state.program, times.get(kernel.name, ())) for kernel in state.program.kernels)


def _times(state: Compilation, estimate: Estimate | None) -> dict[str, tuple[KernelTime, ...]]:
    """Return the estimated times by the name of a kernel, one for each kind of launch. The time of overlapped tiles is
    the total of all tiles, and stands at the first of their kernels; the remaining iterations have one for all of
    theirs. Of several versions of a kernel the first has it."""
    assert state.program is not None
    if estimate is None:
        return {}
    names = tuple(versions[0] for versions in kernel_versions(state))
    if state.overlapped is not None:
        names = (state.program.kernels[0].name, *names[:1])
    found: dict[str, tuple[KernelTime, ...]] = {}
    for time in estimate.kernels:
        if time.number < len(names):
            name = names[time.number]
            found[name] = (*found.get(name, ()), time)
    return found


def _kernel(kernel: Kernel, program: HostProgram, times: tuple[KernelTime, ...]) -> KernelFacts:
    launch = next((n for n in walk(*program.body) if isinstance(n, Launch) and n.kernel == kernel.name), None)
    x, y, z = ("", "", "") if launch is None else (text_of(g) for g in launch.grid)
    if not times:
        return KernelFacts(kernel.name, (x, y, z), kernel.block)
    longest = max(times, key=lambda time: time.microseconds)
    return KernelFacts(
        kernel.name,
        (x, y, z),
        kernel.block,
        sum(time.launches for time in times),
        sum(time.microseconds for time in times),
        longest.bound,
        tuple(_access(one) for one in longest.accesses),
    )


def _access(one: AccessTime) -> AccessFacts:
    return AccessFacts(one.statement, one.array, one.kind.value, one.location, one.sectors, one.ideal, one.shared)


def transfers_of(program: HostProgram | None) -> tuple[TransferFacts, ...]:
    """Return what the entry point copies, or has on the device alone."""
    if program is None:
        return ()
    return tuple(
        TransferFacts(b.array.name, text_of(b.first), text_of(b.elements), b.copy_in, b.copy_out)
        for b in program.buffers
    )


def arrays_of(scop: Scop) -> Iterator[ArrayFacts]:
    """Yield the arrays that the SCoP takes and leaves."""
    for array in scop.external_arrays:
        extents = tuple(None if e is None else text_of(e) for e in array.extents)
        yield ArrayFacts(array.name, _type(array), extents, array.live_in, array.live_out and scop.written(array.name))


def _type(array: Array) -> str:
    if array.fields:
        return f"struct {{ {' '.join(f'{kind} {name};' for name, kind in array.fields)} }}"
    return str(array.element)


def text_of(expr: Expr) -> str:
    """Return an expression of the host's as C text."""
    return Printer(_element, cpp=False, device=lambda inner, _: node_text(inner))(expr)


def _element(access: Access, printer: Printer) -> str:
    subscripts = "".join(f"[{printer(s)}]" for s in access.subscripts)
    return access.array + subscripts + spelt(access.field or "", [printer(s) for s in access.inside])
