"""Times of one program on ranks of MPI: `mpirun -n 2 python polybench/ranks.py cluster/stencil-7pt --param nx=514 ..`.

Each rank makes its own part of the arrays, the same values for any grid; a run is timed from a barrier to a barrier,
the median of some behind one to warm up. A line of JSON says the time, what each rank sent, the median time of each
kind of work, the share of the time of messages in which kernels ran (`hidden`), and a digest of the bits of all
elements, by which runs on other numbers of ranks are compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import polytile
from polybench.runner.tables import SIZES, load
from polytile.compilation import Compilation
from polytile.compiled_scop import CompiledScop
from polytile.distribution.timeline import measured_row
from polytile.runtime.ranks.agreement import from_root
from polytile.runtime.ranks.local_grid import LocalGrid

if TYPE_CHECKING:
    from polytile.distributed_scop import DistributedScop

ROOT = Path(__file__).resolve().parent
SCALARS = {"alpha": 0.4, "beta": 0.1, "omega": 0.8}  # for which values stay finite
MULTIPLIER, MODULUS = 2654435761, 1000003


def compiled(program: str, dtype: str, *, strict: bool, comm: Any) -> CompiledScop:
    """Return the SCoP of a program of the suite, which rank 0 compiles."""
    entry = load()[program]

    def made() -> Compilation:
        (scop,) = polytile.compile(ROOT / entry.path.relative_to(ROOT), strict=strict, defines=[f"DATA_TYPE={dtype}"])
        own = scop.compilation
        return Compilation(own.scop, own.options, own.machine, own.source, program=own.entry)

    return CompiledScop(from_root(comm, made))


def _places(arrays: Any, bounds: Sequence[tuple[int, int]], factor: int) -> Any:
    """Compute a number for each element from its indices in the whole array."""
    found = arrays.zeros([end - first for first, end in bounds], arrays.uint64)
    for d, (first, end) in enumerate(bounds):
        shape = [-1 if k == d else 1 for k in range(len(bounds))]
        found = found * arrays.uint64(factor) + arrays.arange(first, end).astype(arrays.uint64).reshape(shape)
    return found


def filled(local: LocalGrid, arrays: Any) -> dict[str, Any]:
    """Return this rank's arrays, halos included, with values that depend on the place in the whole array."""
    found: dict[str, Any] = {}
    for array in local.arrays:
        data = local.zeros(array.name)
        if data.ndim:
            numbers = _places(arrays, array.bounds, 1009) * arrays.uint64(MULTIPLIER) % arrays.uint64(MODULUS)
            data[...] = numbers.astype(data.dtype) / MODULUS / 10
        found[array.name] = data if data.ndim else SCALARS.get(array.name, 0.1)
    return found


def digest(local: LocalGrid, mine: Mapping[str, Any], arrays: Any) -> int:
    """Return a sum over the bits of the elements that this rank owns, each times an odd number of its place."""
    total = 0
    for array in local.arrays:
        data = mine[array.name]
        if np.ndim(data):
            bits = data[array.own].view(f"uint{8 * data.dtype.itemsize}").astype(arrays.uint64)
            weights = _places(arrays, array.owned, MODULUS) * arrays.uint64(2) + arrays.uint64(1)
            total += int((bits * weights).sum())
    return total


def measured(d: DistributedScop, sizes: Mapping[str, int], runs: int, comm: Any) -> dict[str, Any]:
    """Run on all ranks, and return what rank 0 prints; nothing on others."""
    place = d._place
    local = d.local(**sizes)
    mine = filled(local, place.arrays)
    times = []
    found = 0
    for number in range(runs + 1):
        place.settle()
        comm.Barrier()
        start = perf_counter()
        d.run(**sizes, **mine)
        place.settle()
        comm.Barrier()
        times.append(perf_counter() - start)
        if not number:
            found = digest(local, mine, place.arrays)
    assert d.record is not None
    spans = [(s.what, s.start, s.end) for s in d.record.spans]
    kinds = dict.fromkeys(what for what, _, _ in spans)
    took = {kind: 1e6 * median(end - begin for what, begin, end in spans if what == kind) for kind in kinds}
    own = {
        "messages": d.record.between.messages,
        "bytes": d.record.between.bytes,
        "hidden": measured_row(comm.rank, spans).hidden(),
        "microseconds": {what: round(us, 1) for what, us in took.items()},
    }
    everybody, digests = comm.gather(own), comm.gather(found)
    if comm.rank:
        return {}
    return {
        "grid": local.grid.shape,
        "transport": d.transport,
        "exchange": d.mode,
        "in_time_tiles": d.compiled.lead is not None,
        "median_ms": round(1e3 * median(times[1:]), 3),
        "runs_ms": [round(1e3 * t, 3) for t in times[1:]],
        "digest": sum(digests) % 2**64,
        "ranks": everybody,
    }


def main(words: Sequence[str]) -> int:
    """Measure one program on all ranks that `mpirun` has started."""
    from mpi4py import MPI

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("program", help="FAMILY/NAME of the suite, an iterated stencil")
    parser.add_argument("--param", action="append", default=[], metavar="N=V", help="sizes (those of MEDIUM)")
    parser.add_argument("--dtype", choices=tuple(SIZES), default="double")
    parser.add_argument("--steps-per-exchange", type=int, default=1, metavar="T")
    parser.add_argument("--exchange", default="overlap")
    parser.add_argument("--transport", default="auto")
    parser.add_argument("--on", default="auto", choices=("auto", "gpu", "emulator"))
    parser.add_argument("--reassociate", action="store_true", help="without --fp strict: bits may differ between grids")
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args(words)
    comm = MPI.COMM_WORLD
    given = dict(text.split("=") for text in chosen.param)
    f = compiled(chosen.program, chosen.dtype, strict=not chosen.reassociate, comm=comm)
    sizes = {**load()[chosen.program].sizes("medium"), **{name: int(value) for name, value in given.items()}}
    d = f.distribute(
        comm,
        steps_per_exchange=chosen.steps_per_exchange,
        exchange=chosen.exchange,
        transport=chosen.transport,
        on=chosen.on,
    )
    found = measured(d, {p.name: sizes[p.name] for p in f.scop.parameters}, chosen.runs, comm)
    if found:
        what = {"program": chosen.program, "dtype": chosen.dtype, "sizes": sizes}
        print(json.dumps({**what, "steps_per_exchange": chosen.steps_per_exchange, **found}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
