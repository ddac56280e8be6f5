"""Programs on all numbers of ranks, grids, modes and steps of a period, against C, bit by bit, in the emulator.

`mpirun -n 8 python -m tests.ranks.programs [PROGRAM..]` prints a line of JSON for each case; with `--transport ipc`, or
another one, kernels run on GPUs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations, product
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from mpi4py import MPI

import polytile
from polytile.compilation import Compilation
from polytile.compiled_scop import CompiledScop
from polytile.distributed_scop import Choice, DistributedScop
from polytile.distribution.process_grid import ProcessGrid, factorisations
from polytile.distribution.traffic import sent
from polytile.distribution.transfers import ExchangeMode
from polytile.runtime.layout import layouts
from polytile.runtime.ranks.agreement import from_root, wait_asleep
from polytile.runtime.ranks.failure import end_all_on_uncaught_exceptions
from polytile.runtime.ranks.local_grid import extents_of
from polytile.runtime.ranks.place import DevicePlace, HostPlace
from polytile.runtime.reference import reference

SUITE = Path(__file__).resolve().parents[2] / "polybench"
WAVE = """
void wave(int steps, int nx, int ny, int si, int sj, int ri, int rj, int qi, int qj, double c[nx][ny],
          double u[3][nx][ny], double source[steps], double seen[2][steps], double line[steps][nx])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < nx - 1; i++)
            for (int j = 1; j < ny - 1; j++)
                u[(t + 2) % 3][i][j] = 2.0 * u[(t + 1) % 3][i][j] - u[t % 3][i][j]
                    + c[i][j] * (u[(t + 1) % 3][i][j - 1] + u[(t + 1) % 3][i][j + 1] + u[(t + 1) % 3][i - 1][j]
                                 + u[(t + 1) % 3][i + 1][j] - 4.0 * u[(t + 1) % 3][i][j]);
        u[(t + 2) % 3][si][sj] += source[t];
        seen[0][t] = u[(t + 2) % 3][ri][rj];
        seen[1][t] = u[(t + 2) % 3][qi][qj];
        for (int i = 0; i < nx; i++)
            line[t][i] = u[(t + 2) % 3][i][1];
    }
#pragma endscop
}
"""


HEXAGONS = """
void hexagons(int steps, int n, int m, double A[n][m], double B[n][m], double C[n][m], double line[n], double last[2],
              double count[1])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 2; i++)
            for (int j = 2; j < m - 2; j++)
                B[i][j] = 0.2 * (A[i][j] + A[i - 1][j + i % 2] + A[i + 1][j + (i + t) % 2] + A[i][j - 1 + j % 2]
                                 + A[i + j % 2][j + 1]) + 0.001 * i + 0.002 * j;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                A[i][j] = B[i][j];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                C[i][j] = 0.5 * C[i][j] + A[i - 1][j] + A[i + 1][j - 1];
        for (int i = 0; i < n; i++)
            line[i] += A[i][m / 2];
        last[0] = A[n / 2][m / 2] + t % 2;
        last[1] = A[1][1];
        count[0] += 1;
    }
#pragma endscop
}
"""


@dataclass(frozen=True)
class Program:
    """A program: C text or a file of the suite, its sizes by axis, the name of its number of steps."""

    name: str
    source: str
    sizes: tuple[str, ...]
    steps: str
    schedule: str = "classic"
    points: tuple[tuple[str, int], ...] = ()  # sizes that are positions, with the number of the axis
    strict: bool = True


PROGRAMS = (
    *(
        Program(name, f"cluster/{name}.c", ("nx", "ny", "nz"), "tsteps")
        for name in ("stencil-7pt", "stencil-13pt", "himeno-19pt", "stencil-27pt")
    ),
    Program("jacobi-2d", "polybench/jacobi-2d.c", ("n", "n"), "tsteps"),
    Program("jacobi-2d in time tiles", "polybench/jacobi-2d.c", ("n", "n"), "tsteps", "overlapped"),
    Program("stencil-7pt in time tiles", "cluster/stencil-7pt.c", ("nx", "ny", "nz"), "tsteps", "overlapped"),
    Program("heat-3d", "polybench/heat-3d.c", ("n", "n", "n"), "tsteps"),
    Program("fdtd-2d", "polybench/fdtd-2d.c", ("nx", "ny"), "tmax"),
    Program("hexagons", HEXAGONS, ("n", "m"), "steps"),
    Program("wave", WAVE, ("nx", "ny"), "steps", points=tuple((p + x, k) for p in "srq" for k, x in enumerate("ij"))),
)
RANKS, STEPS, MODES = (1, 2, 3, 4, 6, 8), (1, 2, 3), ("basic", "diagonal", "overlap")


@dataclass(frozen=True)
class Case:
    """One run."""

    program: str
    ranks: int
    dimensions: int  # of the grid that have more than one rank
    steps: int
    mode: str
    own_arrays: bool  # each rank has its own, or rank 0 all


def cut(shape: Sequence[int]) -> int:
    """How many dimensions of a grid have more than one rank, 1 where none has."""
    return max(1, sum(n > 1 for n in shape))


MOST_AT_ONCE = (  # what pairs leave out: corners, thick halos and messages behind the interior, all in one case
    Case("jacobi-2d in time tiles", 4, 2, 3, "overlap", True),
    Case("stencil-7pt in time tiles", 8, 3, 3, "overlap", False),
    Case("fdtd-2d", 6, 2, 3, "overlap", False),
    Case("hexagons", 4, 2, 1, "overlap", True),
    Case("wave", 8, 2, 3, "overlap", True),
    Case("heat-3d", 8, 3, 3, "overlap", False),
    Case("heat-3d", 8, 3, 2, "basic", True),
)


def pairwise_cases(programs: Sequence[str]) -> list[Case]:
    """Few cases in which each two values of different factors are together: each new one has most new pairs."""
    factors: tuple[Sequence[Any], ...] = (programs, RANKS, (1, 2, 3), STEPS, MODES, (False, True))
    axes = {p.name: len(p.sizes) for p in PROGRAMS}
    least = {p.name: 1 + (p.schedule == "overlapped") for p in PROGRAMS}  # steps of a period
    every = [
        c for c in product(*factors) if c[2] in map(cut, factorisations(c[1], axes[c[0]])) and c[3] >= least[c[0]]
    ]
    pairs = {c: set(combinations(enumerate(c), 2)) for c in every}
    missing = set().union(*pairs.values())
    found = []
    while missing:
        best = max(every, key=lambda c: len(pairs[c] & missing))
        missing -= pairs[best]
        found.append(Case(*best))
    return found


@cache
def compiled(program: Program) -> CompiledScop:
    """The program as rank 0 compiles it, for all ranks."""

    def made() -> Compilation:
        source = program.source if "\n" in program.source else SUITE / program.source
        (scop,) = polytile.compile(source, strict=program.strict, schedule=program.schedule)
        own = scop.compilation
        return Compilation(own.scop, own.options, own.machine, own.source, program=own.entry)

    return CompiledScop(from_root(MPI.COMM_WORLD, made))


@cache
def distributed(program: Program, steps: int, on: str) -> DistributedScop:
    """The program on all ranks, of which cases take what is compiled."""
    return compiled(program).distribute(MPI.COMM_WORLD, steps_per_exchange=steps, on=on)


def shape_of(ranks: int, axes: int, dimensions: int) -> tuple[int, ...]:
    """A grid with as many dimensions of more than one rank as asked for, of several one by their number."""
    grids = list(factorisations(ranks, axes))
    every = [shape for shape in grids if cut(shape) == dimensions] or grids
    return every[(ranks + dimensions) % len(every)]


def sizes_of(program: Program, d: DistributedScop, shape: tuple[int, ...], *, interior: bool) -> dict[str, int]:
    """Extents with the thinnest parts that can be, or such as have an `interior` behind their sides, and one position
    more, so that no number of ranks divides them."""
    found: dict[str, int] = {program.steps: 2 * d.plan.steps + 1}
    names = [getattr(axis.extent, "name", "") for axis in d.plan.axes]
    for name, parts, (below, above) in zip(names, shape, d.plan.halo, strict=True):
        thickness = max(below, above, 2) * (3 if interior else 1)
        least = max(7 if parts == 1 else parts * thickness + 1, found.get(name, 0))
        found[name] = least
    for name in program.sizes:
        found.setdefault(name, 9)
    for number, (name, axis) in enumerate(program.points):
        extent = found[program.sizes[axis]]
        found[name] = extent - 1 if number > 3 else extent // 2 - (number > 1)  # at the middle, where parts meet
    return found


def inputs(f: CompiledScop, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Random arrays, the same for equal sizes."""
    random = np.random.default_rng(7)
    shapes = layouts(f.scop, sizes)
    return {name: np.asarray(random.random(layout.shape) * 0.1, layout.dtype) for name, layout in shapes.items()}


def run_on_root(d: DistributedScop, sizes: dict[str, int], arrays: dict[str, Any], comm: Any) -> dict[str, Any]:
    """Run on arrays of rank 0, which are updated."""
    if comm.rank == 0:
        d(**sizes, **arrays)
    else:
        d()
    return arrays


def run_on_own(d: DistributedScop, sizes: dict[str, int], arrays: dict[str, Any], comm: Any) -> dict[str, Any]:
    """Run on arrays of each rank, with halos of NaN; puts what ranks own together."""
    local = d.local(**sizes)
    mine = {}
    for array in local.arrays:
        mine[array.name] = local.unset(array.name)
        mine[array.name][array.own] = d._place.arrays.asarray(arrays[array.name][array.of_whole])
    d.run(**sizes, **mine)
    parts = comm.gather([(a.name, a.of_whole, d._place.to_host(mine[a.name][a.own])) for a in local.arrays])
    for name, where, part in (piece for each in parts or () for piece in each):
        arrays[name][where] = part
    return arrays


def run(program: Program, case: Case, comm: Any, transport: str) -> dict[str, Any]:
    """Run a case of a program on the ranks of a communicator; what is found on rank 0."""
    on = "gpu" if transport else "emulator"
    f, whole = compiled(program), distributed(program, case.steps, on)
    if comm == MPI.COMM_NULL:
        return {}
    shape = shape_of(case.ranks, len(whole.plan.axes), case.dimensions)
    sizes = sizes_of(program, whole, shape, interior=case.mode == "overlap" and case.ranks in (2, 4))
    chosen = Choice.of(shape, case.steps, case.mode, transport or "auto", on)
    d = DistributedScop(f.scop, whole.compiled, comm, chosen, DevicePlace(comm) if transport else HostPlace())
    arrays = (run_on_own if case.own_arrays else run_on_root)(d, sizes, inputs(f, sizes), comm)
    assert d.record is not None
    records = comm.gather(d.record)
    if comm.rank:
        return {}
    wanted = inputs(f, sizes)
    call = f._bind((), {**sizes, **wanted})
    reference(f.scop, f._sequential())(call.layouts, call.values, call.memory)
    return {
        **asdict(case),
        "shape": shape,
        "sizes": sizes,
        "differ": [name for name in wanted if arrays[name].tobytes() != wanted[name].tobytes()],
        "finite": all(bool(np.isfinite(a).all()) for a in wanted.values()),
        "exchanges": [r.exchanges for r in records],
        "messages": [r.between.messages for r in records],
        "bytes": [r.between.bytes for r in records],
        "array_bytes": [r.array_bytes for r in records],
        "transport": d.transport,
        "at_once": d.compiled.lead is not None,
        **planned(d, shape, sizes, wanted),
    }


def planned(d: DistributedScop, shape: tuple[int, ...], sizes: Mapping[str, int], whole: Mapping[str, Any]) -> Any:
    """What --explain says that each rank sends in an exchange, and the bytes that it has: a box, with halos, of what is
    cut."""
    plan, grid = d.plan, ProcessGrid(shape, extents_of(d.plan, sizes))
    ranks, mode = range(grid.ranks), ExchangeMode(d.mode)
    each = [sent(plan, grid, rank, plan.between, mode, sizes) for rank in ranks]
    stored = [[end - first for first, end in grid.stored(rank, plan.halo)] for rank in ranks]
    axes = {name: plan.array(name).axes for name in whole}
    held = [
        sum(
            a.itemsize * prod(n if axis is None else own[axis] for n, axis in zip(a.shape, axes[name], strict=True))
            for name, a in whole.items()
        )
        for own in stored
    ]
    return {
        "expected_array_bytes": held,
        "expected_messages": [len(messages) for messages in each],
        "expected_bytes": [sum(m.bytes for m in messages) for messages in each],
    }


def run_all(cases: Sequence[tuple[Program, Case]], transport: str = "") -> None:
    """Run cases, each on as many ranks as it wants, if there are so many."""
    world = MPI.COMM_WORLD
    end_all_on_uncaught_exceptions(world)
    for program, case in cases:
        if case.ranks > world.size:
            continue
        comm = world.Split(0 if world.rank < case.ranks else MPI.UNDEFINED)
        start = perf_counter()
        found = run(program, case, comm, transport)
        if world.rank == 0:
            print(json.dumps({**found, "seconds": round(perf_counter() - start, 2)}), flush=True)
        if comm != MPI.COMM_NULL:
            comm.Free()
        wait_asleep(world)


def main(words: Sequence[str]) -> None:
    """Run all cases of some programs, or of all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--transport", default="")
    given = parser.parse_args(words)
    pairs = from_root(MPI.COMM_WORLD, lambda: pairwise_cases([p.name for p in PROGRAMS]))
    every = {*pairs, *MOST_AT_ONCE}
    cases = [c for c in every if not given.programs or c.program in given.programs]
    by_name = {p.name: p for p in PROGRAMS}
    cases.sort(key=lambda c: (c.program, c.steps, c.ranks, c.dimensions, c.mode, c.own_arrays))
    run_all([(by_name[c.program], c) for c in cases], given.transport)


if __name__ == "__main__":
    main(sys.argv[1:])
