"""A plan for Jacobi iterations in two dimensions, written by hand, whose kernels are Python: what the driver does with
a plan is seen without a planner and a compiler.

`mpirun -n 8 python -m tests.ranks.by_hand` prints a line of JSON for each case of so many ranks; with `device` behind
it kernels run in streams of a device that is slow (lazy_device.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytile
from polytile.distribution.boxes import directions
from polytile.distribution.plan import (
    Axis,
    BoxParameters,
    DistributedArray,
    DistributionPlan,
    HaloExchange,
    Phase,
    Placement,
    TimeLoop,
)
from polytile.distribution.process_grid import ProcessGrid
from polytile.distribution.transfers import ExchangeMode
from polytile.ir.expr import Literal, Name
from polytile.ir.scop import Scop
from polytile.runtime.ranks import place as place_module
from polytile.runtime.ranks import transport as transport_module
from polytile.runtime.ranks.agreement import from_root
from polytile.runtime.ranks.driver import RankProgram
from polytile.runtime.ranks.failure import end_all_on_uncaught_exceptions
from polytile.runtime.ranks.kernels import CompiledCopy, CompiledPlan, Kernels, kernels_of
from polytile.runtime.ranks.local_grid import extents_of, local_grid
from polytile.runtime.ranks.place import DevicePlace, HostPlace, Place
from polytile.runtime.ranks.records import RunRecord
from polytile.runtime.ranks.root_arrays import RootArrays
from polytile.runtime.ranks.shared_arrays import SharedArrays
from polytile.runtime.ranks.transport import transport_named
from tests.ranks import lazy_device

SOURCE = """
void jacobi(int steps, int n, int m, double A[n][m], double B[n][m], double seen[steps])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                B[i][j] = 0.25 * (A[i][j - 1] + A[i][j + 1] + A[i - 1][j] + A[i + 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[i][j] = 0.25 * (B[i][j - 1] + B[i][j + 1] + B[i - 1][j] + B[i + 1][j]);
        for (int i = 1; i < 2; i++)
            seen[t] = A[i][1];
    }
#pragma endscop
}
"""
BOXES = tuple(BoxParameters(f"{x}_first", f"{x}_end", f"{x}_offset", f"{x}_extent") for x in "ij")
PEER_MEMORY = cache(lambda: lazy_device.PeerMemory(lazy_device.cupy()))
DEVICE_TRANSPORTS = ("host", "mpi", "ipc", "nccl")  # taken in turns by the cases
COPY_FIRST, COPY_COUNT = ("i0", "j0"), ("in", "jn")


@cache
def program() -> Scop:
    """The program as rank 0 reads it; kernels are not made."""
    from mpi4py import MPI

    return from_root(MPI.COMM_WORLD, lambda: polytile.compile(SOURCE, name="by_hand.c")["jacobi"].scop)


def plan(steps: int) -> DistributionPlan:
    """Both arrays get halos of all that a period reads: A of 2 T, and B, of which no step writes the border, of 2 T -
    1."""
    scop = program()
    element = scop.array("A").element
    every = tuple(directions(2))
    far, near = ((2 * steps,) * 2,) * 2, ((2 * steps - 1,) * 2,) * 2
    size = Name("n"), Name("m")
    return DistributionPlan(
        scop=scop,
        axes=tuple(Axis(i, n, isl.PwAff(f"[{n.name}] -> {{ [({n.name})] }}")) for i, n in zip("ij", size, strict=True)),
        time=TimeLoop("t", Literal("0"), Name("steps")),
        steps=steps,
        arrays=(
            DistributedArray("A", element, (0, 1), size, far, written=True),
            DistributedArray("B", element, (0, 1), size, near, written=True),
            DistributedArray("seen", element, (None,), (Name("steps"),), ((0, 0), (0, 0)), written=True),
        ),
        phases=(
            Phase(("S0",), tuple(((2 * k + 1,) * 2,) * 2 for k in range(steps))),
            Phase(("S1", "S2"), tuple(((2 * k,) * 2,) * 2 for k in range(steps))),
        ),
        before=(HaloExchange("A", every, far), HaloExchange("B", every, near)),
        between=(HaloExchange("A", every, far),),
        boundary=((2 * steps,) * 2,) * 2,
        boxes=BOXES,
        step="t",
        placements=tuple(
            Placement(
                s,
                (isl.Map(f"{{ {s}[t, i, j] -> [i] }}"), isl.Map(f"{{ {s}[t, i, j] -> [j] }}")),
                isl.MultiAff(f"{{ {s}[t, i, j] -> {s}[t, i, j] }}"),
            )
            for s in ("S0", "S1", "S2")
        ),
        local=(),
        copies=(),
    )


def relax(source: Any, target: Any, given: dict[str, int]) -> None:
    """One sweep over a box, as far as there are neighbours."""
    low, high = [], []
    for names, extent in zip(BOXES, (given["n"], given["m"]), strict=True):
        offset = given[names.offset]
        low.append(max(given[names.first], 1 - offset))
        high.append(min(given[names.end], extent - 1 - offset))
    (a, c), (b, d) = low, high
    if a >= b or c >= d:
        return
    west, east = source[a:b, c - 1 : d - 1], source[a:b, c + 1 : d + 1]
    target[a:b, c:d] = 0.25 * (west + east + source[a - 1 : b - 1, c:d] + source[a + 1 : b + 1, c:d])


def first_phase(A: Any, B: Any, on: str, **given: int) -> None:
    relax(A, B, given)


def second_phase(A: Any, B: Any, seen: Any, on: str, **given: int) -> None:
    relax(B, A, given)
    at = [1 - given[names.offset] for names in BOXES]
    if all(given[names.first] <= p < given[names.end] for names, p in zip(BOXES, at, strict=True)):
        seen[given["t"]] = A[at[0], at[1]]


@cache
def compiled(steps: int) -> CompiledPlan:
    """The plan with kernels in Python."""
    numbers = {"n", "m", "steps", "t"} | {v for b in BOXES for v in (b.first, b.end, b.offset, b.extent)}
    copies = {}
    for name in ("A", "B"):

        def box(given: dict[str, int]) -> tuple[slice, ...]:
            at = zip(COPY_FIRST, COPY_COUNT, strict=True)
            return tuple(slice(given[first], given[first] + given[count]) for first, count in at)

        def pack(on: str, name: str = name, **given: Any) -> None:
            given["message"][:] = given[name][box(given)].reshape(-1)

        def unpack(on: str, name: str = name, **given: Any) -> None:
            target = given[name][box(given)]
            target[:] = given["message"].reshape(target.shape)

        taken = frozenset({*COPY_FIRST, *COPY_COUNT, name, "message"})
        both = kernels_of(pack, taken), kernels_of(unpack, taken)
        copies[name] = CompiledCopy(*both, name, COPY_FIRST, COPY_COUNT, "", "message")
    phases = (
        kernels_of(first_phase, frozenset({*numbers, "A", "B"})),
        kernels_of(second_phase, frozenset({*numbers, "A", "B", "seen"})),
    )
    return CompiledPlan(plan(steps), phases, copies)


def initial(sizes: dict[str, int]) -> dict[str, Any]:
    """The arrays at the start."""
    random = np.random.default_rng(1)
    shape = sizes["n"], sizes["m"]
    return {"A": random.random(shape), "B": random.random(shape), "seen": np.zeros(sizes["steps"])}


def expected(sizes: dict[str, int]) -> dict[str, Any]:
    """What one process computes."""
    found = initial(sizes)
    whole: dict[str, int] = {"i_first": 0, "i_end": sizes["n"], "j_first": 0, "j_end": sizes["m"], **sizes}
    whole |= {"i_offset": 0, "j_offset": 0}
    for t in range(sizes["steps"]):
        first_phase(found["A"], found["B"], "", t=t, **whole)
        second_phase(found["A"], found["B"], found["seen"], "", t=t, **whole)
    return found


def _place(comm: Any, on_device: bool) -> Place:
    if not on_device:
        return HostPlace()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place_module, "require_cupy", lazy_device.cupy)
        return DevicePlace(comm)


def on_lazy_device(plan: CompiledPlan) -> CompiledPlan:
    """The plan with kernels that run late."""

    def late(kernels: Kernels) -> Kernels:
        return Kernels(kernels.names, lambda fixed: lazy_device.launched(kernels.bound(fixed)))

    copies = {name: replace(c, pack=late(c.pack), unpack=late(c.unpack)) for name, c in plan.copies.items()}
    return replace(plan, phases=tuple(map(late, plan.phases)), copies=copies)


def run(
    comm: Any, shape: tuple[int, ...], steps: int, mode: ExchangeMode, sizes: dict[str, int], device: str
) -> Any:
    """Run one case; returns rank 0's arrays and the records of all ranks."""
    made, place = compiled(steps), _place(comm, bool(device))
    if device:
        made = on_lazy_device(made)
    grid = ProcessGrid(shape, extents_of(made.plan, sizes))
    grid.check(made.plan.halo, "ij")
    local = local_grid(made.plan, grid, comm.rank, sizes, place.arrays)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport_module, "peer_memory", PEER_MEMORY)
        patch.setattr(transport_module, "_why_no_echo", lambda _: None)  # this device is not one of a child's
        transport = transport_named(device or "host", comm, place)
    assert transport.name == (device or "host")
    arrays = initial(sizes) if comm.rank == 0 else {}
    root = RootArrays(comm, made.plan, local, place, arrays)
    mine = root.scatter()
    program = RankProgram(made, local, mode, transport, place)
    shared = SharedArrays(comm, made.plan, local, place, mine)
    record = program.run(mine)
    shared.unite()
    root.gather(mine)
    again = program.run(mine)  # buffers and requests are there
    return arrays, comm.gather(record), replace(again, spans=()) == replace(record, spans=())


def cases() -> Iterator[tuple[tuple[int, int], int, ExchangeMode, dict[str, int]]]:
    """Grids, steps of a period, modes and sizes, none of which are multiples of others."""
    shapes = [(1, 1), (2, 1), (1, 3), (2, 2), (3, 2), (2, 4), (1, 8)]
    for shape, steps, mode in product(shapes, (1, 2, 3), ExchangeMode):
        yield shape, steps, mode, {"steps": 7, "n": 23, "m": 53}
    yield (2, 2), 1, ExchangeMode.OVERLAP, {"steps": 0, "n": 23, "m": 31}
    yield (2, 2), 3, ExchangeMode.OVERLAP, {"steps": 2, "n": 23, "m": 31}


def summary(records: list[RunRecord]) -> dict[str, Any]:
    """What ranks recorded."""
    return {
        "messages": [r.between.messages for r in records],
        "bytes": [r.between.bytes for r in records],
        "exchanges": records[0].exchanges,
        "memory": [r.array_bytes for r in records],
        "spans": sorted({s.what for r in records for s in r.spans}),
    }


def main(on_device: bool) -> None:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    end_all_on_uncaught_exceptions(world)
    program()
    for number, (shape, steps, mode, sizes) in enumerate(cases()):
        ranks = shape[0] * shape[1]
        if ranks > world.size:
            continue
        comm = world.Split(0 if world.rank < ranks else MPI.UNDEFINED)
        if comm != MPI.COMM_NULL:
            device = DEVICE_TRANSPORTS[number % len(DEVICE_TRANSPORTS)] if on_device else ""
            arrays, records, same = run(comm, shape, steps, mode, sizes, device)
            if comm.rank == 0:
                wanted = expected(sizes)
                equal = all(arrays[name].tobytes() == wanted[name].tobytes() for name in wanted)
                case = {"shape": shape, "steps": steps, "mode": mode.value, "iterations": sizes["steps"]}
                case["transport"] = device
                print(json.dumps(case | {"equal": equal, "again": same} | summary(records)), flush=True)
            comm.Free()


if __name__ == "__main__":
    main(on_device="device" in sys.argv)
