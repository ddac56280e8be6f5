"""How many processors this process may use: in a container often fewer than the machine has."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path

_QUOTAS = (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us"))  # of control groups of version 2 and of version 1


def usable_processors(process: Path = Path("/proc/self")) -> int:
    """Count the processors that it may run on, at most what the control groups around it allow, rounded up.

    `process` is its folder under /proc.
    """
    present = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min([present, *_allowed(process)])))


def _allowed(process: Path) -> Iterator[float]:
    """Yield the processors that each control group around a process may use: time in a period, by that period."""
    with contextlib.suppress(OSError):
        mounts = [line.split() for line in (process / "mountinfo").read_text().splitlines()]
        for group in (process / "cgroup").read_text().splitlines():
            _, controllers, path = group.split(":", 2)
            for mount in mounts:
                if _holds(mount, controllers.split(",")):
                    yield from _quotas(Path(mount[4]), os.path.relpath(path, mount[3]))


def _holds(mount: list[str], controllers: list[str]) -> bool:
    """Return whether a mount has groups that may limit processors, of version 2 or of that controller of version 1."""
    kind, options = mount[-3], mount[-1].split(",")
    return kind == "cgroup2" if controllers == [""] else kind == "cgroup" and "cpu" in {*options} & {*controllers}


def _quotas(mounted: Path, group: str) -> Iterator[float]:
    """Yield the quotas of a group, and of those that it is in, as far as they are mounted.

    The namespace may hide some, or all.
    """
    for folder in (mounted / group, *(mounted / parent for parent in Path(group).parents)):
        for files in _QUOTAS:
            with contextlib.suppress(OSError, ValueError):
                quota, period = " ".join((folder / file).read_text() for file in files).split()
                if quota not in ("max", "-1"):
                    yield int(quota) / int(period)
