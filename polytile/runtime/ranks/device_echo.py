"""Whether a library of MPI that does not say so takes memory of a GPU: a child process sends itself a message of it.

A library that knows nothing of CUDA reads the pointer as one of the host, and the process ends with a signal: the child
alone. `python -m polytile.runtime.ranks.device_echo PCI_BUS_ID` is the child, a program of MPI with one rank.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polytile.runtime.cupy_engine import require_cupy
from polytile.runtime.ranks.mpi import require_mpi

SECONDS = 60.0
DIFFERS = 3  # the exit status where other bytes come back
_SIZES = (8, 1 << 20)  # bytes: with what is around it, and alone
# By these variables a process finds those that were started with it; the child is alone.
_OF_LAUNCHERS = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "MPI_LOCAL", "HYDRA_", "HYDI_")


def why_no_echo(command: Sequence[str], seconds: float = SECONDS) -> str | None:
    """Run a child; return why it has not got its messages back, or None where it has."""
    try:
        done = subprocess.run(
            list(command), env=_alone(os.environ), capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"a message to itself takes longer than {seconds:g} s"
    except OSError as error:
        return f"no process can be started: {error.strerror}"
    if done.returncode < 0:
        return f"a process that sends it ends with signal {signal.Signals(-done.returncode).name}"
    if done.returncode == DIFFERS:
        return "other bytes come back than are sent"
    said = done.stderr.strip().splitlines()
    return None if done.returncode == 0 else f"a process that sends it fails: {said[-1] if said else done.returncode}"


def child_on(gpu: str) -> list[str]:
    """Return the command of the child on a GPU, by its PCI bus ID."""
    return [sys.executable, "-m", __name__, gpu]


def echoes(arrays: Any) -> bool:
    """Send this process messages of `arrays`, a module like CuPy; return whether the same bytes come back."""
    mpi = require_mpi()
    for size in _SIZES:
        sent, got = arrays.arange(size, dtype=np.uint8), arrays.zeros(size, dtype=np.uint8)
        arrays.cuda.Device().synchronize()
        mpi.COMM_SELF.Sendrecv([sent, mpi.BYTE], 0, 0, [got, mpi.BYTE], 0, 0)
        if not (arrays.asnumpy(got) == arrays.asnumpy(sent)).all():
            return False
    return True


def _alone(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(_OF_LAUNCHERS)}


def main(gpu: str) -> int:
    """Be the child; returns the exit status."""
    arrays = require_cupy()
    arrays.cuda.Device(arrays.cuda.runtime.deviceGetByPCIBusId(gpu)).use()
    return 0 if echoes(arrays) else DIFFERS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
