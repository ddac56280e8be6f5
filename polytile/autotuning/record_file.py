"""A file to which several processes append lines, each in one write under a lock.

What a process that was killed has left of a line is cut off before the next one, and is never read.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polytile.autotuning.record_lines import BEGIN
from polytile.diagnostics import UsageError

HINT = "--record F names another file"


class RecordFile:
    """The lines of a file, read as far as it has grown; raises UsageError where it cannot be read or written, or has
    lines of something else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0  # bytes, which end with a line
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise UsageError(f"cannot write the record {path}: {error.strerror}", hint=HINT) from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from appending."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:  # a file system without locks
            raise UsageError(f"cannot lock the record {self.path}: {error.strerror}", hint=HINT) from error
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def has_grown(self) -> bool:
        """Return whether there is something after the lines that were read."""
        return os.fstat(self._file).st_size != self._read

    def new_lines(self) -> list[bytes]:
        """Read the lines that have been appended since the last call; the lock is held. Cut off what is none."""
        size = os.fstat(self._file).st_size
        found = b""
        while len(found) < size - self._read:
            part = os.pread(self._file, size - self._read - len(found), self._read + len(found))
            if not part:
                break
            found += part
        if self._read == 0 and not found.startswith(BEGIN[: len(found)]):
            raise UsageError(f"{self.path} is no record of evaluations", hint=HINT)
        whole = found[: found.rfind(b"\n") + 1]
        self._read += len(whole)
        if self._read < size:
            os.ftruncate(self._file, self._read)
        return whole.splitlines()

    def append(self, line: bytes) -> None:
        """Write a line; the lock is held, and all lines are read. Raises UsageError where the disk is full."""
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise UsageError(f"cannot write the record {self.path}: {error.strerror}", hint=HINT) from error
        if written < len(line):
            os.ftruncate(self._file, self._read)
            raise UsageError(f"cannot write the record {self.path}: the disk is full", hint=HINT)
        self._read += written

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def complete_lines(path: Path) -> list[bytes]:
    """Read the lines of a record that is left as it is; raises UsageError where it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the record {path}: {error.strerror}", hint="name a file that exists") from error
    if not content.startswith(BEGIN[: len(content)]):
        raise UsageError(f"{path} is no record of evaluations", hint="name a file that `polytile tune` has written")
    return content[: content.rfind(b"\n") + 1].splitlines()
