"""What a call leaves: all of its files when it succeeds, none when it fails."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from polytile.diagnostics import DeviceError


@contextmanager
def workspace() -> Iterator[Path]:
    """Yield a folder for intermediate files and remove it in the end. (A `TemporaryDirectory` is removed at the end of
    every process that is forked meanwhile.)"""
    folder = tempfile.mkdtemp(prefix="polytile-cc-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_in_place(made: Mapping[Path, Path]) -> None:
    """Let each file that was made appear under its name, complete; a device or a pipe is written to."""
    for source, target in made.items():
        try:
            if target.exists() and not target.is_file():
                with target.open("wb") as opened:
                    opened.write(source.read_bytes())
                continue
            partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
            try:
                shutil.copyfile(source, partial)
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            raise DeviceError(f"cannot write {target}: {error.strerror or error}", hint="make room there") from error


def remove(outputs: Sequence[Path]) -> None:
    """Remove what a failing call, or one before it, has made: a second `make` must not find it."""
    for path in outputs:
        if os.path.isfile(path):  # not /dev/null
            with contextlib.suppress(OSError):
                path.unlink()
