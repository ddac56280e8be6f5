"""MPI as mpi4py has it, imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polytile.diagnostics import UsageError

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

INSTALL = "pip install mpi4py mpich, and start programs with mpirun -n 4 python"


def require_mpi() -> Any:
    """Return the module `mpi4py.MPI`, initialised; raises UsageError where it is missing or has no thread support.

    Python programs have threads of their libraries, and any of them may call a SCoP: MPI must allow calls of all
    threads, one at a time (MPI 4.1, section 11.6).
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # without the package, or without a library for it
        raise UsageError(f"MPI cannot be used: {error}", hint=INSTALL) from None
    if not MPI.Is_initialized() or MPI.Is_finalized():
        state = "has ended" if MPI.Is_finalized() else "was not initialised"
        raise UsageError(f"MPI {state}", hint="leave mpi4py.rc.initialize and mpi4py.rc.finalize as they are")
    if MPI.Query_thread() < MPI.THREAD_SERIALIZED:
        raise UsageError(
            "MPI was started without support of threads",
            hint='leave mpi4py.rc.thread_level at "multiple", and take a library that has it: pip install mpich',
        )
    return MPI


def communicator(given: Any) -> Intracomm:
    """Return the communicator of a call, by default all ranks of the program; raises UsageError for anything else."""
    mpi = require_mpi()
    if given is None:
        return mpi.COMM_WORLD  # type: ignore[no-any-return]
    if not isinstance(given, mpi.Intracomm) or given == mpi.COMM_NULL:
        raise UsageError(
            f"comm is {type(given).__name__}, no communicator of MPI", hint="pass mpi4py.MPI.COMM_WORLD, or part of it"
        )
    return given  # type: ignore[no-any-return]
