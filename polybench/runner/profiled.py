"""One job run once, to be watched by a profiler: `python -m polybench.runner.profiled JOB`, JOB as of `sweep` in JSON.

Programs are compiled at the same time as others', kernels run while the lock of the GPU is held.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import polytile
from polybench.runner.figures import values_of
from polybench.runner.resident import SEED, engine_of
from polytile.runtime.gpu_lock import alone
from polytile.runtime.resident_runs import ResidentRuns


def main(text: str) -> int:
    """Run the SCoPs of one job after each other on random inputs."""
    job = json.loads(text)
    os.chdir(job["root"])
    program = polytile.compile(Path(job["file"]), defines=job["defines"], schedule=job["schedule"], **job["settings"])
    with alone(Path(job["lock"])):
        for scop in program.scops:
            ResidentRuns(scop.scop, values_of(scop, job["parameters"]), SEED).run(engine_of(scop))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
