"""Sums, minima, maxima and counts over the positions of all ranks, for all numbers and grids of ranks, in the emulator.

`mpirun -n 8 python -m tests.ranks.sums` prints a line of JSON for each case; with `--transport ipc`, or another one,
kernels run on GPUs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from math import isnan
from typing import Any

import numpy as np
from mpi4py import MPI

from polytile.compiled_scop import CompiledScop
from polytile.distributed_scop import Choice, DistributedScop
from polytile.distribution.process_grid import factorisations
from polytile.distribution.traffic import combined
from polytile.runtime.layout import layouts
from polytile.runtime.ranks.agreement import wait_asleep
from polytile.runtime.ranks.failure import end_all_on_uncaught_exceptions
from polytile.runtime.ranks.place import DevicePlace, HostPlace
from polytile.runtime.ranks.records import Traffic
from polytile.runtime.reference import reference
from tests.ranks.programs import MODES, RANKS, Case, Program, compiled, cut, distributed, run_on_own, run_on_root

# Counts, extremes and sums of integers have the bits of the C; floating-point sums the same for all grids.
CELLS = """
void cells(int steps, int n, int m, int A[2][n][m], int alive[steps], long total[1], unsigned least[1], int most[2])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        alive[t] = 0;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++) {
                int near;
                near = A[t % 2][i - 1][j] + A[t % 2][i + 1][j] + A[t % 2][i][j - 1] + A[t % 2][i][j + 1];
                A[(t + 1) % 2][i][j] = (3 * near + A[t % 2][i][j] + 7 * i + t) % 11 - 3;
                if (near > 4) alive[t]++;
                total[0] -= 1000000000 + near;
                if (near > most[1]) most[1] = near;
            }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                least[0] = least[0] < 5u * A[(t + 1) % 2][i][j] ? least[0] : 5u * A[(t + 1) % 2][i][j];
    }
#pragma endscop
}
"""
ROD = """
void rod(int steps, int n, float A[n], float B[n], float e[steps], float range[2])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        for (int i = 2; i < n - 1; i++)
            B[i] = 0.5f * A[i] + 0.2f * A[i - 2] + 0.3f * A[i + 1];
        e[t] = 1;
        for (int i = 2; i < n - 1; i++)
            e[t] += (B[i] - A[i]) * (B[i] - A[i]);
        for (int i = 2; i < n - 1; i++) {
            A[i] = B[i];
            range[0] = range[0] < B[i] ? range[0] : B[i];
            if (B[i] > range[1]) range[1] = B[i];
        }
    }
#pragma endscop
}
"""
POWER = """
void power(int steps, int n, int m, int l, double A[n][m][l], double B[n][m][l], double norm[steps])
{
#pragma scop
    for (int t = 0; t < steps; t++) {
        double s = 0;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                for (int k = 1; k < l - 1; k++)
                    B[i][j][k] = 6 * A[i][j][k] + A[i - 1][j][k] + A[i + 1][j][k] + A[i][j - 1][k] + A[i][j + 1][k]
                        + A[i][j][k - 1] + A[i][j][k + 1];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                for (int k = 1; k < l - 1; k++)
                    s += B[i][j][k] * B[i][j][k];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < m - 1; j++)
                for (int k = 1; k < l - 1; k++)
                    A[i][j][k] = B[i][j][k] / s;
        norm[t] = s;
    }
#pragma endscop
}
"""
DOT = """
void dot(int n, int m, int fields, float A[fields][n][m], float B[fields][n][m], float s[1])
{
#pragma scop
    for (int f = 0; f < fields; f++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < i && j < m; j++)
                s[0] -= A[f][i][j] * B[f][i][j];
#pragma endscop
}
"""

POLES = """
void poles(int n, double A[n], double s[2])
{
#pragma scop
    for (int i = 1; i < n; i++) {
        s[0] += 1 / A[i];
        s[1] -= 1 / A[i - 1];
    }
#pragma endscop
}
"""
EXTREMES = "\n".join(line for line in ROD.splitlines() if "e[t]" not in line)
EXTREMES = EXTREMES.replace("rod(", "extremes(").replace(
    "        for (int i = 2; i < n - 1; i++)\n        for", "        for"
)
SIZES: dict[str, dict[str, int]] = {
    "cells": {"n": 29, "m": 31},
    "rod": {"n": 53},
    "extremes": {"n": 53},
    "power": {"n": 17, "m": 19, "l": 25},
    "dot": {"n": 17, "m": 13, "fields": 9},
    "poles": {"n": 19},
}
PERIODS = {"cells": (1, 2), "rod": (2,), "extremes": (3,), "power": (3,), "dot": (1,), "poles": (1,)}
NUMBERS = {"cells": RANKS, "rod": (1, 3, 8), "extremes": (2, 6), "power": (1, 4, 6, 8), "dot": (1, 4), "poles": (1, 4)}
STEPS = 7
PROGRAMS = (
    Program("cells", CELLS, ("n", "m"), "steps"),
    Program("rod", ROD, ("n",), "steps", strict=False),
    Program("extremes", EXTREMES, ("n",), "steps"),
    Program("power", POWER, ("n", "m", "l"), "steps", strict=False),
    Program("dot", DOT, ("fields", "n", "m"), "", strict=False),
    Program("poles", POLES, ("n",), "", strict=False),
)


def cases(program: Program) -> Iterator[tuple[Case, tuple[int, ...]]]:
    """Two grids of each of some numbers of ranks; modes, steps of a period and whose arrays they are take turns."""
    number = 0
    for ranks in NUMBERS[program.name]:
        grids = [shape for shape in factorisations(ranks, len(program.sizes)) if max(shape) < 8 or len(shape) == 1]
        for shape in dict.fromkeys((grids[len(grids) // 3], max(grids, key=cut))):
            number += 1
            periods = PERIODS[program.name]
            steps = periods[(number + ranks) % len(periods)]
            yield Case(program.name, ranks, cut(shape), steps, MODES[number % 3], number % 4 > 1), shape


def inputs(f: CompiledScop, sizes: dict[str, int]) -> dict[str, Any]:
    """Random arrays, the same for equal sizes; whole numbers where elements are such. Poles are infinite terms."""
    random = np.random.default_rng(11)
    made = {name: random.random(layout.shape) for name, layout in layouts(f.scop, sizes).items()}
    types = {name: layout.dtype for name, layout in layouts(f.scop, sizes).items()}
    if f.scop.name.startswith("poles"):
        made["A"][5] = 0
    return {n: np.asarray(a * (50 if types[n].kind in "iu" else 1), types[n]) for n, a in made.items()}


def errors(found: dict[str, Any], wanted: dict[str, Any]) -> dict[str, float]:
    """How far results are from the C's, in units of the last place of the greatest element; 0 where bits are equal."""
    far = {}
    for name, right in wanted.items():
        if found[name].tobytes() == right.tobytes():
            far[name] = 0.0
        elif right.dtype.kind == "f":
            unit = float(np.finfo(right.dtype).eps * abs(right).max())
            distance = float(abs(found[name] - right).max()) / unit
            far[name] = float("inf") if isnan(distance) else distance
        else:
            far[name] = float("inf")
    return far


def run(program: Program, case: Case, shape: tuple[int, ...], comm: Any, transport: str) -> dict[str, Any]:
    """Run a case on the ranks of a communicator; what is found on rank 0."""
    on = "gpu" if transport else "emulator"
    f, whole = compiled(program), distributed(program, case.steps, on)
    if comm == MPI.COMM_NULL:
        return {}
    sizes = SIZES[program.name] | ({program.steps: STEPS} if program.steps else {})
    chosen = Choice.of(shape, case.steps, case.mode, transport or "auto", on)
    d = DistributedScop(f.scop, whole.compiled, comm, chosen, DevicePlace(comm) if transport else HostPlace())
    arrays = (run_on_own if case.own_arrays else run_on_root)(d, sizes, inputs(f, sizes), comm)
    assert d.record is not None
    each = [Traffic(*one) for one in combined(d.plan)] * (STEPS if program.steps else 1)
    counted = comm.gather(d.record.reductions == sum(each, Traffic()))
    if comm.rank:
        return {}
    wanted = inputs(f, sizes)
    call = f._bind((), {**sizes, **wanted})
    reference(f.scop, f._sequential())(call.layouts, call.values, call.memory)
    bits = hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(wanted))).hexdigest()
    return {**asdict(case), "shape": shape, "errors": errors(arrays, wanted), "bits": bits, "counted": all(counted)}


def main(names: list[str], transport: str) -> None:
    """Run the cases of some programs, or of all, each on as many ranks as it wants, if there are so many."""
    world = MPI.COMM_WORLD
    end_all_on_uncaught_exceptions(world)
    for program in (p for p in PROGRAMS if not names or p.name in names):
        for case, shape in cases(program):
            if case.ranks > world.size:
                continue
            comm = world.Split(0 if world.rank < case.ranks else MPI.UNDEFINED)
            found = run(program, case, shape, comm, transport)
            if world.rank == 0:
                print(json.dumps(found), flush=True)
            if comm != MPI.COMM_NULL:
                comm.Free()
            wait_asleep(world)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--transport", default="")
    given = parser.parse_args()
    main(given.programs, given.transport)
