"""The end of all ranks where one fails: the others would wait for its messages for ever."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from polytile.diagnostics import EXIT_BUG, PolytileError

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

_WATCHED: list[int] = []  # the rank in the program, once uncaught exceptions end all ranks
_AGREED: list[BaseException] = []  # the last error that was raised on all of them


def agreed(comm: Intracomm, error: PolytileError) -> PolytileError:
    """Return an error that all ranks of a communicator are about to raise: one of the program's reports it, if they
    are all, and none has to be ended by others."""
    from mpi4py import MPI

    if comm.size == MPI.COMM_WORLD.size:
        _AGREED[:] = [error]
    return error


@contextmanager
def aborting(comm: Intracomm) -> Iterator[None]:
    """Report what this raises on one of several ranks as `rank N: ...`, and abort all; alone, raise as ever."""
    try:
        yield
    except BaseException as error:
        if comm.size == 1:
            raise
        _abort(comm.rank, error)
        raise


def end_all_on_uncaught_exceptions(comm: Intracomm) -> None:
    """Abort all ranks where an exception ends one of them outside of our calls, too."""
    if comm.size == 1 or _WATCHED:
        return
    _WATCHED.append(comm.rank)

    usual = sys.excepthook

    def ended(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if error in _AGREED:
            if _WATCHED[0] == 0:
                usual(kind, error, trace)
            else:  # rank 0 says it for all, unless it has caught it
                print(f"rank {_WATCHED[0]} ends: {str(error).splitlines()[0]}\n", end="", file=sys.stderr, flush=True)
            return
        _abort(_WATCHED[0], error.with_traceback(trace))

    sys.excepthook = ended


def _abort(rank: int, error: BaseException) -> None:
    from mpi4py import MPI

    known = isinstance(error, PolytileError)
    text = str(error) if known else "".join(traceback.format_exception(error)).rstrip()
    print(f"rank {rank}: {text}\n", end="", file=sys.stderr, flush=True)
    sys.stdout.flush()
    MPI.COMM_WORLD.Abort(error.exit_status if isinstance(error, PolytileError) else EXIT_BUG)
