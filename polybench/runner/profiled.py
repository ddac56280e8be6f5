"""One job run once, to be watched by a profiler: `python -m polybench.runner.profiled JOB`, JOB as of `sweep` in JSON.

Programs are compiled at the same time as others', kernels run while the lock of the GPU is held.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from pathlib import Path

import polytile
from polybench.runner.figures import values_of
from polybench.runner.resident import engine_of, inputs
from polytile.runtime.layout import layouts


def main(text: str) -> int:
    """Run the SCoPs of one job after each other on random inputs."""
    job = json.loads(text)
    os.chdir(job["root"])
    program = polytile.compile(Path(job["file"]), defines=job["defines"], schedule=job["schedule"], **job["settings"])
    with Path(job["lock"]).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for scop in program.scops:
            values = values_of(scop, job["parameters"])
            shapes = layouts(scop.scop, values)
            engine_of(scop).run(shapes, values, inputs(scop, shapes, values))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
