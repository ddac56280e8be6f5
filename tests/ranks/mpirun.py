"""Python modules on the ranks of MPI: `mpich` of the [test] extra has mpirun beside Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# There are more ranks than processors, and those that wait would poll: MPICH lets them sleep. Six ranks that add up
# sums take 0.4 s of processor time, not 2.
SLEEPING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "4",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
}


def mpirun(ranks: int, module: str, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a module of the tests on so many ranks, from the root of the repository."""
    command = [str(launcher()), "-n", str(ranks), sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=timeout, check=False)


def launcher() -> Path:
    """The mpirun of this Python's environment, or of the machine; what it starts sleeps while it waits."""
    os.environ.update(SLEEPING)
    beside = Path(sys.executable).with_name("mpirun")
    found = beside if beside.exists() else shutil.which("mpirun")
    assert found, "mpirun is missing: pip install '.[test]'"
    return Path(os.fspath(found))
