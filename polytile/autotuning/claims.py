"""Which process measures the kernels with a key, so that two tuners at once measure nothing twice."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

from polytile.autotuning.record_lines import Claim

HELD_SECONDS = 1800.0  # after which a claim holds no longer, whoever made it


def own_claim(key: str, *, released: bool = False) -> Claim:
    """Make the claim of this process to a key, or its end."""
    process = os.getpid()
    return Claim(key, socket.gethostname(), process, _started(process), time.time(), released)


def holds(claim: Claim) -> bool:
    """Return whether a claim keeps others from measuring: it is young, and its process runs as far as can be told from
    this host."""
    if claim.released or time.time() - claim.time > HELD_SECONDS:
        return False
    return claim.host != socket.gethostname() or _runs(claim)


def _runs(claim: Claim) -> bool:
    try:
        os.kill(claim.process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return _started(claim.process) == claim.started


def _started(process: int) -> str:
    """Return when a process has started, in ticks of Linux (proc(5), field 22 of stat); "" where it does not say, or
    only its parent has not seen yet that it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]
