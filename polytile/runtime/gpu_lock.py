"""One process at a time on a GPU: what is timed must run alone."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock_of(device: str, folder: Path) -> Path:
    """Return the file in a folder, the machine's for temporary files, that all who time something on a device lock;
    `device` is its PCI bus number, or another name."""
    return folder / f"polytile-{re.sub(r'[^0-9A-Za-z]+', '-', device)}.lock"


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Wait for the device of a lock, and hold it: it is free again when the block or the process ends."""
    file = _opened(lock)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _opened(lock: Path) -> int:
    try:
        return os.open(lock, os.O_RDONLY)  # another user's file is only to be read
    except FileNotFoundError:
        return os.open(lock, os.O_RDONLY | os.O_CREAT, 0o644)
