"""One SCoP on the ranks of an MPI communicator: arrays of rank 0, or each rank's own, go in and are updated.

smooth = program["smooth"].distribute(MPI.COMM_WORLD, steps_per_exchange=2)
smooth(A=a, steps=100)                     # arrays of rank 0; other ranks call smooth()
local = smooth.local(n=2000, steps=100)    # or arrays of each rank, its box and halos
mine = local.zeros("A")
smooth.run(A=mine, **local.sizes)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from polytile.codegen.targets.source_map import LocatedText
from polytile.compilation import Compilation
from polytile.dataclass import dataclass
from polytile.diagnostics import UsageError
from polytile.distributed_parts import compiled_plan, planned
from polytile.distribution.explain import explained
from polytile.distribution.plan import DistributionPlan
from polytile.distribution.process_grid import ProcessGrid, choose_grid
from polytile.distribution.transfers import ExchangeMode
from polytile.execution import check_place, tell_of_the_emulator
from polytile.ir.host import HostProgram
from polytile.ir.scop import Scop
from polytile.runtime.binding import Call, KnownSizes, bind, names, names_by_position
from polytile.runtime.cupy_engine import cupy_available, require_cupy
from polytile.runtime.engine import printed_unit, take_printed_unit
from polytile.runtime.parameters import check_parameters, with_products
from polytile.runtime.ranks.agreement import agree, from_root, on_all
from polytile.runtime.ranks.box_launches import BoxLaunches, Runnable
from polytile.runtime.ranks.driver import RankProgram
from polytile.runtime.ranks.failure import aborting, end_all_on_uncaught_exceptions
from polytile.runtime.ranks.kernels import CompiledPlan, Kernels
from polytile.runtime.ranks.local_grid import LocalGrid, extents_of, local_grid
from polytile.runtime.ranks.mpi import communicator
from polytile.runtime.ranks.place import DevicePlace, HostPlace, Place
from polytile.runtime.ranks.records import RunRecord
from polytile.runtime.ranks.root_arrays import RootArrays, shaped
from polytile.runtime.ranks.shared_arrays import SharedArrays
from polytile.runtime.ranks.shared_builds import build_once
from polytile.runtime.ranks.transport import transport_named
from polytile.tracebacks import for_callers
from polytile.version import __version__

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

Ranks = str | int | Iterable[int]
MOST = 4  # sizes whose buffers are kept, the latest ones


@dataclass(frozen=True, slots=True)
class Choice:
    """How a SCoP is distributed; `grid` is None where it is chosen for the sizes of a call, `mode` by the GPUs."""

    grid: tuple[int, ...] | None
    steps: int
    mode: ExchangeMode
    transport: str
    on: str

    @staticmethod
    def of(ranks: Ranks, steps_per_exchange: int, exchange: str, transport: str, on: str) -> Choice:
        """Return the choice that a call names; raises UsageError for what is none."""
        check_place(on)
        if isinstance(steps_per_exchange, bool) or not isinstance(steps_per_exchange, int) or steps_per_exchange < 1:
            hint = "1 exchanges halos in each step; 2 or 3 do half or a third of the messages, with thicker halos"
            raise UsageError(f"steps_per_exchange must be a positive integer, not {steps_per_exchange!r}", hint=hint)
        modes = [mode.value for mode in ExchangeMode]
        if exchange not in modes:
            raise UsageError(f"there is no exchange {exchange!r}", hint=f"one of {', '.join(modes)}")
        return Choice(_grid(ranks), steps_per_exchange, ExchangeMode(exchange), transport, on)


def _grid(ranks: Ranks) -> tuple[int, ...] | None:
    """Parse the grid of ranks. before: "auto", "2,2,1", 4, (2, 2); after: None, (2, 2, 1), (4,), (2, 2)."""
    if ranks == "auto":
        return None
    try:
        parts = ranks.split(",") if isinstance(ranks, str) else [ranks] if isinstance(ranks, int) else list(ranks)
        found = tuple(int(part) for part in parts)
    except (TypeError, ValueError):
        found = ()
    if not found or min(found) < 1:
        raise UsageError(f"ranks: {ranks!r} is no grid", hint='write ranks="auto", ranks="2,2,1" or ranks=(2, 2, 1)')
    return found


class DistributedScop:
    """A SCoP that runs on all ranks of a communicator, each of which owns a box of positions and calls this alike.

    Where a rank fails, it reports why and all ranks end. `plan` says who computes what and which halos are exchanged,
    `record` what the last run of this rank did: messages, bytes, memory and times.
    """

    def __init__(self, scop: Scop, compiled: CompiledPlan, comm: Intracomm, choice: Choice, place: Place) -> None:
        self.plan: DistributionPlan = compiled.plan
        self.record: RunRecord | None = None
        self.compiled = compiled
        self._scop, self._comm, self._choice, self._place = scop, comm, choice, place
        self._transport = transport_named(choice.transport, comm, place)
        self._known = KnownSizes()
        self._programs: dict[tuple[tuple[str, int], ...], RankProgram] = {}

    @property
    def mode(self) -> str:
        """How halos are exchanged."""
        return self._choice.mode.value

    @property
    def transport(self) -> str:
        """Return how messages travel: `host`, `mpi`, `ipc` or `nccl`."""
        return self._transport.name

    def __repr__(self) -> str:
        axes = ", ".join(axis.name for axis in self.plan.axes)
        return f"<polytile.DistributedScop {self._scop.name}: {axes} over {self._comm.size} ranks>"

    @for_callers
    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Run on arrays of rank 0, as the SCoP itself is called there: parts go to all ranks, results come back.

        Other ranks give None for arrays, or nothing; sizes that they give must be those of rank 0.
        """
        comm = self._comm
        agree(comm, {"call": "a call on arrays of rank 0"})
        call = from_root(comm, lambda: self._sizes_of(self._bound(arguments, named)))
        if comm.rank == 0:
            bound = self._bound(arguments, named)
        on_all(comm, lambda: None if comm.rank == 0 else self._check_other(arguments, named, call))
        program = on_all(comm, lambda: self._program(call))
        with aborting(comm):
            whole = self._whole(bound) if comm.rank == 0 else {}
            root = RootArrays(comm, self.plan, program.local, self._place, whole)
            mine = root.scatter()
            self._run(program, mine)
            root.gather(mine)

    @for_callers
    def local(self, **sizes: int) -> LocalGrid:
        """Return this rank's part for these sizes, with which its arrays are made; no messages are sent for that."""
        return self._local(self._all_sizes(sizes))

    @for_callers
    def explain(self, **sizes: int) -> str:
        """Return the plan as text: what is cut, halos, and the exchange; for sizes also what each rank holds and sends,
        in messages and bytes a step. Any rank may ask, alone."""
        known = self._all_sizes(sizes) if sizes else {}
        grid = self._grid(extents_of(self.plan, known)) if sizes else None
        return explained(self.plan, self._choice.mode, known, grid)

    @for_callers
    def run(self, **named: Any) -> None:
        """Run in place on each rank's own arrays, all of which are given by name, as are all sizes.

        Halos need not be set: they are exchanged first. Arrays that are whole on each rank must be the same on all.
        """
        comm = self._comm
        parameters = [p.name for p in self._scop.parameters]
        arrays = {name: value for name, value in named.items() if name not in parameters}
        agree(comm, {"call": "a run on arrays of each rank"})
        sizes = on_all(comm, lambda: self._all_sizes({n: v for n, v in named.items() if n in parameters}))
        agree(comm, {"sizes": ", ".join(f"{name}={value}" for name, value in sizes.items())})
        program = on_all(comm, lambda: self._checked_program(sizes, arrays))
        with aborting(comm):
            self._run(program, arrays)

    def _run(self, program: RankProgram, arrays: Mapping[str, Any]) -> None:
        shared = SharedArrays(self._comm, self.plan, program.local, self._place, arrays)
        self.record = program.run(arrays)
        shared.unite()

    def _bound(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Call:
        return bind(self._scop, arguments, named, self._known)

    def _sizes_of(self, call: Call) -> dict[str, int]:
        return {p.name: call.values[p.name] for p in self._scop.parameters}

    def _whole(self, call: Call) -> dict[str, Any]:
        return {name: shaped(data, call.layouts[name].shape) for name, data in call.memory.items()}

    def _check_other(self, arguments: tuple[Any, ...], named: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        """Raise UsageError for arguments of a rank other than 0 that say something else than rank 0's."""
        by_position = names_by_position(self._scop, len(arguments))
        for name, value in {**dict(zip(by_position, arguments, strict=False)), **named}.items():
            if name in sizes and value is not None and value != sizes[name]:
                raise UsageError(f"{name} is {value}, and {sizes[name]} on rank 0", hint="pass the same sizes")
            if getattr(value, "shape", ()) != ():
                hint = "pass None on ranks other than 0, or each rank's own arrays to run()"
                raise UsageError(f"{name} is an array, and the arrays of rank 0 are used", hint=hint)

    def _all_sizes(self, given: Mapping[str, Any]) -> dict[str, int]:
        for name, value in given.items():
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise UsageError(f"{name} must be an integer, not {type(value).__name__}")
        found = with_products(self._scop, {name: int(value) for name, value in given.items()})
        check_parameters(self._scop.parameters, found)
        if missing := [p.name for p in self._scop.parameters if p.name not in found]:
            raise UsageError(f"missing: {', '.join(missing)}", hint="give all sizes by name")
        return {p.name: found[p.name] for p in self._scop.parameters}

    def _local(self, sizes: Mapping[str, int]) -> LocalGrid:
        extents = extents_of(self.plan, sizes)
        grid = self._grid(extents)
        return local_grid(self.plan, grid, self._comm.rank, sizes, self._place.arrays)

    def _grid(self, extents: tuple[int, ...]) -> ProcessGrid:
        axes, ranks, shape = [axis.name for axis in self.plan.axes], self._comm.size, self._choice.grid
        if shape is None:
            return choose_grid(ranks, extents, self.plan.halo, axes)
        grid = ProcessGrid(shape, extents)
        if len(shape) != len(axes) or grid.ranks != ranks:
            raise UsageError(
                f"ranks: {', '.join(map(str, shape))} is no grid of {ranks} ranks over {', '.join(axes)}",
                hint=f"{len(axes)} number{'s' * (len(axes) > 1)} whose product is {ranks}, or auto",
            )
        grid.check(self.plan.halo, axes)
        return grid

    def _program(self, sizes: Mapping[str, int]) -> RankProgram:
        """Return the rank's part for some sizes, with buffers and requests, those of an earlier call where it had
        them."""
        key = tuple(sizes.items())
        found = self._programs.pop(key, None)
        if found is None:
            local = self._local(sizes)
            mode, comm = self._choice.mode, self._comm
            found = RankProgram(self.compiled, local, mode, self._transport, self._place, comm)
        self._programs[key] = found  # the latest is last
        for old in list(self._programs)[:-MOST]:
            del self._programs[old]
        return found

    def _checked_program(self, sizes: Mapping[str, int], arrays: Mapping[str, Any]) -> RankProgram:
        program = self._program(sizes)
        program.local.check(arrays)
        return program


def distribute(
    compilation: Compilation, runnable: Callable[[Compilation], Runnable], comm: Intracomm | None, choice: Choice
) -> DistributedScop:
    """Plan and compile a SCoP for the ranks of a communicator; all of them call this.

    Rank 0 plans and compiles the phases, and the packing and unpacking of halos; the others get the kernels' programs.
    Raises UsageError where MPI cannot be used or ranks want different things, on all of them, and UserError, naming the
    reason, for what cannot be distributed.
    """
    given = communicator(comm)
    end_all_on_uncaught_exceptions(given)
    agree(given, {"call": f"the distribution of {compilation.scop.name}"})
    place = on_all(given, lambda: _place(choice.on, given))
    agree(given, _wanted(compilation, choice, place))
    private = given.Dup()
    plan, parts, units = from_root(private, lambda: _sent(compilation, choice.steps, place.on))
    for program, unit in units:
        take_printed_unit(program, unit)
    made = [runnable(part) for part in parts]
    build_once(private, lambda: _prepare(made, place.on))
    kernels = [
        Kernels(frozenset(names(part.scop)), partial(BoxLaunches, part.scop, own, plan.step))
        for part, own in zip(parts, made, strict=True)
    ]
    return DistributedScop(compilation.scop, compiled_plan(plan, kernels), private, choice, place)


def _sent(
    compilation: Compilation, steps: int, on: str
) -> tuple[DistributionPlan, list[Compilation], list[tuple[HostProgram, LocatedText]]]:
    """Return what all ranks get of rank 0: plan, programs and, for the emulator, what is printed of these, which takes
    each rank longer than to read it."""
    plan, parts = planned(compilation, steps)
    programs = [p.entry for p in parts if p.entry is not None and on == "emulator"]
    return plan, parts, [(program, printed_unit(program)) for program in programs]


def _place(on: str, comm: Intracomm) -> Place:
    if on == "gpu" or (on == "auto" and cupy_available()):
        require_cupy()
        return DevicePlace(comm)
    if on == "auto" and comm.rank == 0:
        tell_of_the_emulator()
    return HostPlace()


def _wanted(compilation: Compilation, choice: Choice, place: Place) -> dict[str, str]:
    """Return what ranks compare: a difference is named, so programs and options, which are long, are digests."""
    scop = compilation.source
    text = scop.source or f"{scop.arrays}{scop.statements}{scop.schedule.to_str()}"
    return {
        "version": __version__,
        "program": _digest(text),
        "options": _digest(repr(compilation.options)),
        "ranks": "auto" if choice.grid is None else ",".join(map(str, choice.grid)),
        "steps_per_exchange": str(choice.steps),
        "exchange": choice.mode.value,
        "transport": choice.transport,
        "place": place.on,
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _prepare(programs: Iterable[Runnable], on: str) -> None:
    for run in programs:
        run.prepare(on)
