"""Writing output files: all of them or none."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from polytile.diagnostics import UserError
from polytile.frontend.preprocess import STDIN


def output_stem(path: str) -> str:
    """Return the stem of output files, `gemm` for `src/gemm.c`, without what cannot stand in an `#include`."""
    return "stdin" if path in ("-", STDIN) else re.sub(r'["\\\x00-\x1f\x7f]', "_", Path(path).stem)


def write_outputs(files: Mapping[Path, str]) -> None:
    """Write each text to its path, in place of what was there; raises UserError where that is impossible.

    The texts go to temporary files next to their targets first, which are renamed once all of them are complete, so
    that nothing half-written is left behind. A device or a pipe is written to. Missing folders are made. Bytes that
    were no UTF-8 in the input are written as they came.
    """
    with ExitStack() as undo:
        written = []
        for path, text in files.items():
            make_folder(path)
            if _is_special(path):
                _attempt_write(path, path, text)
                continue
            partial = path.with_name(f".polytile-{os.urandom(4).hex()}.tmp")
            undo.callback(partial.unlink, missing_ok=True)
            _attempt_write(partial, path, text)
            written.append((partial, path))
        for partial, path in written:
            _attempt_rename(partial, path)


def _is_special(path: Path) -> bool:
    """Return whether `path` is a device or a pipe, which a file must not replace."""
    return os.path.exists(path) and not os.path.isfile(path)


def check_targets(paths: Sequence[Path], source: Path) -> None:
    """Raise UserError when one of the files to write cannot be written, is another of them, or is the input."""
    seen: dict[str, Path] = {}
    for path in paths:
        check_target(path)
        place = os.path.realpath(path)
        if os.path.isfile(path) and not path.is_symlink() and source.is_file() and os.path.samefile(path, source):
            raise UserError(f"writing {path} would overwrite the input", hint="name another file or folder")
        if place in seen:
            raise UserError(f"two outputs are called {path}", hint="name another file or folder")
        seen[place] = path


def make_folder(path: Path) -> None:
    """Make the folder that `path` is to stand in; raises UserError where that is impossible."""
    check_target(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _failure(path, error) from error


def check_target(path: Path) -> None:
    """Raise UserError when `path` cannot become a file: its folder cannot be made or is locked, or it is a folder."""
    folder = path.parent
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    if not os.path.isdir(folder):
        raise UserError(f"the output folder {folder} is not a folder", hint="name a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"the output folder {folder} cannot be written", hint="name a folder that you may write to")
    if os.path.isdir(path):
        raise UserError(f"cannot write {path}: a folder has that name", hint="remove it, or name another folder")
    if not _is_special(path):
        _attempt_file(folder, path)


def _attempt_file(folder: Path, path: Path) -> None:
    """Make a file in a folder and remove it: some file systems take none, whatever their permissions say."""
    try:
        with tempfile.TemporaryFile(prefix=".polytile-", dir=folder):
            pass
    except OSError as error:
        raise _failure(path, error) from error


def _attempt_write(partial: Path, path: Path, text: str) -> None:
    try:
        partial.write_bytes(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise _failure(path, error) from error


def _attempt_rename(partial: Path, path: Path) -> None:
    try:
        partial.replace(path)
    except OSError as error:
        raise _failure(path, error) from error


def _failure(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot write {path}: {error.strerror or error}", hint="make room, or name another folder")
