"""Calls of a distributed SCoP, right ones and wrong ones, on four ranks: `mpirun -n 4 python -m tests.ranks.calls`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from polytile.diagnostics import PolytileError, UsageError
from polytile.distributed_scop import Choice, DistributedScop, Ranks
from polytile.runtime.ranks.failure import end_all_on_uncaught_exceptions
from polytile.runtime.ranks.place import HostPlace
from tests.ranks import by_hand

COMM = MPI.COMM_WORLD
SIZES = {"steps": 5, "n": 13, "m": 21}


def distributed(ranks: Ranks = "2,2", steps: int = 1) -> DistributedScop:
    chosen = Choice.of(ranks, steps, "overlap", "auto", "emulator")
    return DistributedScop(by_hand.program(), by_hand.compiled(steps), COMM, chosen, HostPlace())


def refused(call: Callable[[], object], message: str, kind: type[PolytileError] = UsageError) -> None:
    """All ranks raise the same, and go on."""
    try:
        call()
    except kind as error:
        assert message in error.message, error.message
        assert len(set(COMM.allgather(error.message))) == 1
    else:
        raise AssertionError(f"not refused: {message}")


def on_root(d: DistributedScop, **sizes: int) -> None:
    """A call with arrays of these sizes on rank 0; results are as of one rank."""
    if COMM.rank == 0:
        arrays, wanted = by_hand.initial(sizes), by_hand.expected(sizes)
        d(**sizes, **arrays)
        assert all(arrays[name].tobytes() == wanted[name].tobytes() for name in wanted)
    else:
        d(**sizes)


def parts_of_arrays() -> None:
    d = distributed()
    assert repr(d) == f"<polytile.DistributedScop {d.plan.scop.name}: i, j over 4 ranks>"
    local = d.local(**SIZES)
    assert local.coordinates == divmod(COMM.rank, 2) and local.grid.shape == (2, 2)
    i, j = local.coordinates
    assert local.owned == (((0, 6), (6, 13))[i], ((0, 10), (10, 21))[j])
    assert local.stored == (((0, 8), (4, 13))[i], ((0, 12), (8, 21))[j])
    a = local["A"]
    assert a.shape == (8 + i, 12 + j) and a.bounds == local.stored and a.owned == local.owned
    assert a.nbytes == 8 * a.shape[0] * a.shape[1] and local.nbytes == 2 * a.nbytes + 8 * SIZES["steps"]
    found = local.zeros("A")
    found[a.own] = 1
    assert COMM.allreduce(found.sum()) == 13 * 21 and not found.all()
    assert np.isnan(local.unset("B")).all() and local["seen"].shape == (5,) and not local["seen"].is_cut
    refused(lambda: local["C"], "there is no array 'C'")
    refused(lambda: d.local(n=3), "missing: steps, m")
    refused(lambda: d.local(**{**SIZES, "n": 2.5}), "n must be an integer, not float")  # type: ignore[arg-type]


def runs() -> None:
    d = distributed()
    for sizes in (SIZES, {**SIZES, "n": 17}, SIZES):
        on_root(d, **sizes)
    assert d.record is not None and d.record.exchanges == 4 and d.record.steps == 5
    assert d.record.between.messages == 4 * 3 and d.record.messages_per_step == 12 / 5
    assert d.record.bytes_per_step == d.record.between.bytes / 5 and d.record.before.messages == 3
    assert d.record.rank == COMM.rank and d.record.array_bytes == d.local(**SIZES).nbytes
    assert d.record.buffer_bytes == 2 * (d.record.before.bytes + d.record.between.bytes // 4)
    for n in range(20, 26):  # more sizes than buffers are kept for
        on_root(d, **{**SIZES, "n": n})
    on_root(distributed("auto", 2), **SIZES)
    alone = Choice.of("auto", 1, "basic", "auto", "emulator")
    one = DistributedScop(d.plan.scop, d.compiled, MPI.COMM_SELF, alone, HostPlace())
    arrays, wanted = by_hand.initial(SIZES), by_hand.expected(SIZES)
    one(**SIZES, **arrays)
    assert all(arrays[name].tobytes() == wanted[name].tobytes() for name in wanted)


def explanations() -> None:
    d = distributed()
    assert "\n  exchange: overlap\n" in d.explain() and " on 2 x 2 ranks" not in d.explain()
    on_root(d, **SIZES)
    assert d.record is not None
    sent = d.record.between.bytes // d.record.exchanges
    said = f"rank {COMM.rank} sends {sent} bytes in 3 messages an exchange, 3 messages and {sent} bytes a step (to "
    assert said in d.explain(**SIZES)


def refusals() -> None:
    d = distributed()
    root, other = by_hand.initial(SIZES), by_hand.initial(SIZES)
    refused(lambda: d(**SIZES, **(root if COMM.rank == 0 else other)), "A is an array, and the arrays of rank 0")
    refused(lambda: d(**({**SIZES, **root} if COMM.rank == 0 else {"n": 12})), "rank 1: n is 12, and 13 on rank 0")
    wrong = {**root, "A": root["A"][1:]}
    refused(lambda: d(**({**SIZES, **wrong} if COMM.rank == 0 else {})), "A has shape (12, 21), but 13x21 elements")
    refused(lambda: distributed("4").local(**SIZES), "ranks: 4 is no grid of 4 ranks over i, j")
    refused(lambda: distributed("2,3").local(**SIZES), "ranks: 2, 3 is no grid of 4 ranks over i, j")
    refused(lambda: on_root(distributed("4,1", 2), **SIZES), "4 ranks cut the 13 positions of i into parts of 3")
    refused(lambda: on_root(distributed("auto", 3), **{**SIZES, "m": 11}), "no grid of 4 ranks fits 13 x 11 positions")
    local = d.local(**SIZES)
    mine: dict[str, Any] = {a.name: local.zeros(a.name) for a in local.arrays}
    refused(lambda: d.run(**SIZES, A=mine["A"]), "missing: B")
    refused(lambda: d.run(**SIZES, **{**mine, "A": [1.0]}), "A is list, not numpy.ndarray")
    refused(lambda: d.run(**SIZES, **{**mine, "seen": np.zeros(5, np.float32)}), "seen has shape (5,) of float32")
    refused(lambda: d.run(**SIZES, **mine, C=mine["A"]), "there is no argument 'C'")
    refused(lambda: Choice.of("auto", 1, "basic", "auto", "here"), "there is no place 'here'")


def main() -> None:
    end_all_on_uncaught_exceptions(COMM)
    for check in (parts_of_arrays, runs, explanations, refusals):
        check()
    if COMM.rank == 0:
        print("as it should be")


if __name__ == "__main__":
    main()
