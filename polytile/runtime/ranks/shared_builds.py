"""Builds for the emulator that ranks of one host make once: eight ranks would compile the same kernels eight times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from polytile.runtime.ranks.agreement import on_all
from polytile.runtime.ranks.mpi import require_mpi
from polytile.runtime.reference import shared_workspace, workspace

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm


def build_once(comm: Intracomm, build: Callable[[], None]) -> None:
    """Build on one rank of each host, then on the others, which find there what the first has compiled.

    Raises on all ranks what `build` raises on one.
    """
    here = comm.Split_type(require_mpi().COMM_TYPE_SHARED)
    first = here.rank == 0
    folder = Path(here.bcast(str(workspace()) if first else ""))
    here.Free()
    if not folder.is_dir():  # a host whose ranks have file systems of their own
        folder = workspace()
    with shared_workspace(folder):
        on_all(comm, lambda: build() if first else None)
        on_all(comm, lambda: None if first else build())
