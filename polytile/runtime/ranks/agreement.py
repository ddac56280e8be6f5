"""What ranks decide together: a difference or an error of one is raised on all of them, so that none waits for it."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Mapping
from time import perf_counter, sleep
from typing import TYPE_CHECKING, TypeVar

from polytile.diagnostics import BUGS, InternalError, PolytileError, UsageError, described
from polytile.runtime.ranks.failure import agreed

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

T = TypeVar("T")


def on_all(comm: Intracomm, decided: Callable[[], T]) -> T:
    """Return what is decided on this rank; raises on all ranks what the first of them raises, if any does."""
    found, error = _outcome(decided)
    wait_asleep(comm)
    errors = comm.allgather(error)
    for rank, first in enumerate(errors):
        if first is not None:
            if any(other is None or other.message != first.message for other in errors):
                first.message = f"rank {rank}: {first.message}"
            raise agreed(comm, first)
    return found  # type: ignore[return-value]


def from_root(comm: Intracomm, decided: Callable[[], T]) -> T:
    """Return what is decided on rank 0, which sends it to the others; raises on all ranks what it raises there."""
    sent, outcome = _sendable(decided) if comm.rank == 0 else (b"", None)
    wait_asleep(comm)
    sent = comm.bcast(sent)
    found, error = pickle.loads(sent) if outcome is None else outcome
    if error is not None:
        raise agreed(comm, error)
    return found  # type: ignore[return-value]


def wait_asleep(comm: Intracomm) -> None:
    """Wait until all ranks are here without using a processor: libraries of MPI poll, and one that compiles may need
    it. Pauses are a tenth of what was waited so far, so that little is waited in vain, and a long wait looks seldom."""
    request, begun = comm.Ibarrier(), perf_counter()
    while not request.Test():
        sleep(min(max((perf_counter() - begun) / 10, 2e-5), 1e-2))


def agree(comm: Intracomm, what: Mapping[str, str]) -> None:
    """Raise UsageError on all ranks where they differ in what they are about to do, naming in what, and which ranks.

    `what` are texts or digests by name, with the same names everywhere: what is called is compared first, alone.
    """
    everywhere = comm.allgather(dict(what))
    for name in what:
        ranks: dict[str, list[int]] = {}
        for rank, one in enumerate(everywhere):
            ranks.setdefault(one[name], []).append(rank)
        if len(ranks) > 1:
            values = "; ".join(f"{value} on {_numbers(on)}" for value, on in ranks.items())
            raise agreed(comm, UsageError(f"ranks differ in {name}: {values}", hint="make the same calls on all ranks"))


def _numbers(ranks: list[int]) -> str:
    """Print `rank 3`, `ranks 0, 1, 2`, and how many more where there are many."""
    shown = ", ".join(map(str, ranks[:8])) + (f" and {len(ranks) - 8} others" if len(ranks) > 8 else "")
    return f"rank{'s' * (len(ranks) > 1)} {shown}"


def _sendable(decided: Callable[[], T]) -> tuple[bytes, tuple[T | None, PolytileError | None]]:
    """Return the outcome as the others get it, too: what cannot be sent is an error on all ranks, which wait for it."""
    outcome = _outcome(decided)
    sent, error = _outcome(lambda: pickle.dumps(outcome))
    if sent is None:
        outcome = None, error
        sent = pickle.dumps(outcome)
    return sent, outcome


def _outcome(decided: Callable[[], T]) -> tuple[T | None, PolytileError | None]:
    try:
        return decided(), None
    except PolytileError as error:
        return None, error.with_traceback(None)
    except Exception as error:  # of this rank alone, and the others wait
        traceback.print_exc()
        return None, InternalError(f"internal error: {described(error)}", hint=BUGS)
