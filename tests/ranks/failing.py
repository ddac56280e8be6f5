"""What happens where a rank fails: `mpirun -n 3 python -m tests.ranks.failing SCOP WHAT [MOMENT]`.

SCOP is a file with the program of by_hand.py, read already. MOMENT counts what the last rank does: kernels, copies,
messages started and waited for, arrays scattered, united and gathered.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mpi4py

if "no-threads" in sys.argv:
    mpi4py.rc.thread_level = "single"
from mpi4py import MPI

from polytile.compilation import Compilation
from polytile.diagnostics import DeviceError
from polytile.distributed_scop import Choice, DistributedScop, distribute
from polytile.machine import machine_of
from polytile.options import Options
from polytile.runtime.ranks import persistent_requests
from polytile.runtime.ranks.failure import end_all_on_uncaught_exceptions
from polytile.runtime.ranks.kernels import CompiledPlan, Kernels
from polytile.runtime.ranks.mpi import communicator
from polytile.runtime.ranks.place import HostPlace
from polytile.runtime.ranks.root_arrays import RootArrays
from polytile.runtime.ranks.shared_arrays import SharedArrays
from tests.ranks import by_hand

SIZES = {"steps": 5, "n": 11, "m": 21}
LAST = MPI.COMM_WORLD.size - 1


class Moments:
    """Does something at a moment of the last rank; counts them all."""

    def __init__(self, at: int, happens: Callable[[], None]) -> None:
        self.at, self.happens, self.seen = at, happens, 0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with a moment in front of it."""

        def called(*arguments: Any, **named: Any) -> Any:
            if MPI.COMM_WORLD.rank == LAST:
                if self.seen == self.at:
                    self.happens()
                self.seen += 1
            return function(*arguments, **named)

        return called

    def everywhere(self, plan: CompiledPlan) -> CompiledPlan:
        """Put moments in front of all that the last rank does."""
        for kind, name in (
            (RootArrays, "scatter"),
            (RootArrays, "gather"),
            (SharedArrays, "unite"),
            (persistent_requests.PersistentRequests, "start"),
            (persistent_requests.PersistentRequests, "wait"),
        ):
            setattr(kind, name, self.around(getattr(kind, name)))
        phases = tuple(self._kernels(k) for k in plan.phases)
        copies = {
            name: replace(c, pack=self._kernels(c.pack), unpack=self._kernels(c.unpack))
            for name, c in plan.copies.items()
        }
        return replace(plan, phases=phases, copies=copies)

    def _kernels(self, kernels: Kernels) -> Kernels:
        return Kernels(kernels.names, lambda fixed: self.around(kernels.bound(fixed)))


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def failed() -> None:
    raise DeviceError("the GPU has gone", hint="look for it")


def distributed(scop: Any, moments: Moments) -> DistributedScop:
    comm = communicator(None)
    end_all_on_uncaught_exceptions(comm)
    plan = moments.everywhere(by_hand.compiled(2))
    chosen = Choice.of("auto", 2, "overlap", "auto", "emulator")
    return DistributedScop(scop, plan, comm, chosen, HostPlace())


def run(d: DistributedScop) -> None:
    """A call on arrays of rank 0."""
    if MPI.COMM_WORLD.rank == 0:
        d(**SIZES, **by_hand.initial(SIZES))
    else:
        d()


def other_length(change: int) -> None:
    """Let the last rank send messages of another length."""
    made = persistent_requests.PersistentRequests.__init__

    def changed(self: Any, comm: Any, routes: Any, sending: Any, receiving: Any) -> None:
        if comm.rank == LAST:
            sending = [bytearray(max(len(b) + change, 0)) if len(b) else b for b in sending]
        made(self, comm, routes, sending, receiving)

    persistent_requests.PersistentRequests.__init__ = changed  # type: ignore[method-assign]


def differ(scop: Any, what: str) -> None:
    """Distribute on all ranks, of which the last one wants something else."""
    other = MPI.COMM_WORLD.rank == LAST
    options = Options(strict=other and what == "options")
    if other and what == "program":
        scop = replace(scop, source=scop.source + " ")
    chosen = Choice.of(
        "auto" if not (other and what == "ranks") else "1,3",
        2 if other and what == "steps_per_exchange" else 1,
        "basic" if other and what == "exchange" else "overlap",
        "auto",
        "emulator",
    )
    compilation = Compilation(scop, options, machine_of(options.arch), scop)
    distribute(compilation, lambda part: None, None, chosen)  # type: ignore[arg-type, return-value]


def main(scop: Any, what: str, moment: int) -> None:
    by_hand.program = lambda: scop
    rank = MPI.COMM_WORLD.rank
    match what:
        case "count" | "kill" | "fail":
            moments = Moments(moment, failed if what == "fail" else killed)
            run(distributed(scop, moments))
            if rank == LAST:
                print(moments.seen)
        case "short" | "long":
            other_length(8 if what == "long" else -8)
            run(distributed(scop, Moments(-1, killed)))
        case "call":
            d = distributed(scop, Moments(-1, killed))
            if rank == LAST:
                local = d.local(**SIZES)
                d.run(**SIZES, **{a.name: local.zeros(a.name) for a in local.arrays})
            else:
                run(d)
        case "sizes":
            d = distributed(scop, Moments(-1, killed))
            sizes = SIZES | {"n": 11 + (rank == LAST)}
            local = d.local(**sizes)
            d.run(**sizes, **{a.name: local.zeros(a.name) for a in local.arrays})
        case "array":
            d = distributed(scop, Moments(-1, killed))
            local = d.local(**SIZES)
            arrays = {a.name: local.zeros(a.name) for a in local.arrays}
            if rank == LAST:
                arrays["A"] = arrays["A"][1:]
            d.run(**SIZES, **arrays)
        case "elsewhere":
            d = distributed(scop, Moments(-1, killed))
            if rank == LAST:
                raise ValueError("of the user's own")
            run(d)
        case _:
            differ(scop, what)


if __name__ == "__main__":
    main(pickle.loads(Path(sys.argv[1]).read_bytes()), sys.argv[2], int((sys.argv[3:] or ["-1"])[0]))
