"""One process at a time on a GPU: what is timed must run alone."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock_of_this_machine() -> Path:
    """Return the file that all who time something on this machine's GPU lock, whoever they are."""
    return Path(tempfile.gettempdir()) / "polytile-gpu.lock"


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Wait for the GPU, and hold it; it is free again when the block or the process ends."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
