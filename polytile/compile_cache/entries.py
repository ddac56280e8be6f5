"""Texts in a folder, each in a file named after its key, the last used kept longest.

A file is complete or not there: it is written under another name and renamed, so that processes at the same time
lose nothing. Its first line tells whether the rest is as it was written; what is not is removed, and counts as absent.
Nothing is raised for a folder that cannot be read or written, or a full disk: there are fewer entries then.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from polytile.dataclass import dataclass

VARIABLE = "POLYTILE_CACHE"
OFF = "0"
MOST_BYTES = 500_000_000
LEFT = 0.8  # of these bytes, where older entries were removed
ABANDONED = 3600.0  # seconds after which nobody writes to an unfinished file any more
_FORMAT = "polytile cache 1"
_ENTRY = re.compile(r"[0-9a-f]{64}\.entry")
_UNFINISHED = re.compile(r"\.[0-9a-f]{16}\.unfinished")


def cache_folder() -> Path | None:
    """Return the folder that $POLYTILE_CACHE names, or that of the user's caches; None where there is to be none."""
    named = os.environ.get(VARIABLE, "")
    if named == OFF:
        return None
    if named:
        return Path(named).expanduser()
    import platformdirs

    found = platformdirs.user_cache_path("polytile", appauthor=False)
    return found if found.is_absolute() else None  # a user without a home


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries in a folder, which take `most` bytes or little more."""

    folder: Path
    most: int = MOST_BYTES

    def read(self, key: str) -> str | None:
        """Return the text of a key and renew its date, or None without one."""
        path = self._path(key)
        try:
            if not path.is_file():
                return None
            content = path.read_bytes()
        except OSError:
            return None
        text = _opened(content)
        with contextlib.suppress(OSError):
            if text is None:
                path.unlink()
            else:
                os.utime(path)
        return text

    def write(self, key: str, text: str) -> None:
        """Keep a text, and remove the oldest entries where there are too many."""
        unfinished = self.folder / f".{os.urandom(8).hex()}.unfinished"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished.write_bytes(_closed(text))
            unfinished.replace(self._path(key))
        except OSError:
            return
        finally:  # of a process that is ended, too
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
        self._shrink()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.entry"

    def _shrink(self) -> None:
        found = sorted(self._files(), key=lambda one: one[1].st_mtime)
        size = sum(state.st_size for _, state in found)
        if size <= self.most:
            return
        for path, state in found:
            with contextlib.suppress(OSError):
                os.unlink(path)
            size -= state.st_size
            if size <= self.most * LEFT:
                break

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the entries. Files that killed processes have left are removed; other files are left alone."""
        with contextlib.suppress(OSError), os.scandir(self.folder) as found:
            for file in found:
                with contextlib.suppress(OSError):
                    if _ENTRY.fullmatch(file.name):
                        yield file.path, file.stat(follow_symlinks=False)
                    elif _UNFINISHED.fullmatch(file.name) and file.stat().st_mtime < time.time() - ABANDONED:
                        os.unlink(file.path)


def _closed(text: str) -> bytes:
    content = text.encode()
    return f"{_FORMAT} {hashlib.sha256(content).hexdigest()}\n".encode() + content


def _opened(content: bytes) -> str | None:
    head, _, rest = content.partition(b"\n")
    return rest.decode() if head == f"{_FORMAT} {hashlib.sha256(rest).hexdigest()}".encode() else None
